// smelt run --bind: the settings for threads and ranks on some cores, or none, and that libgomp and mpirun obey them.
#include "cli/bind.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/os/os.h"
#include "program.h"

namespace smelt::test {
namespace {

using Variables = std::map<std::string, std::string>;
using Words = std::vector<std::string>;

Binding binding_of(const std::string& policy, const Cores& cores, const Words& command = {}, uint32_t threads = 0,
                   const Variables& set = {}) {
  return bind_to(policy, cores, command, threads, [&](const char* name) {
    const auto found = set.find(name);
    return found == set.end() ? nullptr : found->second.c_str();
  });
}

const Cores four{{{0, 4}, {1, 5}, {2, 6}, {3, 7}}, 2, 2, 0};

TEST(Bind, ThreadsHaveWholeCoresInTheOrderOfNearness) {
  const Cores crossed{{{2, 6}, {0, 4}, {3, 7}, {1, 5}}, 1, 1, 0};
  EXPECT_EQ(changes(binding_of("close", crossed)), "OMP_PLACES={2,6},{0,4},{3,7},{1,5} OMP_PROC_BIND=close");
  EXPECT_EQ(changes(binding_of("spread", crossed)), "OMP_PLACES={2,6},{0,4},{3,7},{1,5} OMP_PROC_BIND=spread");
  EXPECT_EQ(binding_of("close", four).why, "threads side by side on 4 cores");
}

TEST(Bind, RanksHaveAsManyCoresAsThreads) {
  const auto mapping = [](const std::string& policy, const Cores& cores, uint32_t threads) {
    const Binding binding = binding_of(policy, cores, {"mpirun", "-n", "2", "./app"}, threads);
    return binding.changes.empty() ? binding.why : binding.changes[0].value.value_or("-");
  };
  const Cores one_node{four.cpus, 1, 2, 0}, one_cache{four.cpus, 1, 1, 0};
  EXPECT_EQ(mapping("close", four, 0), "core");
  EXPECT_EQ(mapping("close", four, 2), "slot:PE=2");
  EXPECT_EQ(mapping("spread", four, 1), "numa:SPAN");
  EXPECT_EQ(mapping("spread", four, 2), "numa:PE=2,SPAN");
  EXPECT_EQ(mapping("spread", one_node, 1), "l3cache:SPAN");
  EXPECT_EQ(mapping("spread", one_cache, 1), "core");
  EXPECT_EQ(mapping("close", four, 3), "nothing is bound: 2 ranks of 3 threads on 4 cores");
  const Binding binding = binding_of("close", four, {"mpirun", "./app"}, 1);  // one rank a core
  EXPECT_EQ(changes(binding),
            "OMPI_MCA_rmaps_base_mapping_policy=core PRTE_MCA_rmaps_default_mapping_policy=core "
            "OMPI_MCA_hwloc_base_binding_policy=core PRTE_MCA_hwloc_default_binding_policy=core OMP_PLACES=cores "
            "OMP_PROC_BIND=close");
}

TEST(Bind, NothingWhereOthersWorkOrTheUserHasSaidIt) {
  const auto refused = [](const Binding& binding) { return binding.changes.empty() ? binding.why : "bound"; };
  Cores busy = four;
  busy.others_cpus = 1.25;
  EXPECT_EQ(refused(binding_of("close", busy)),
            "nothing is bound: others use 1.2 CPUs here, and a bound thread cannot get out of their way");
  busy.others_cpus = 0.2;
  EXPECT_EQ(refused(binding_of("close", busy)), "bound");
  EXPECT_EQ(refused(binding_of("close", {{{0, 1}}, 1, 1, 0})), "nothing is bound: one core may be used");
  EXPECT_EQ(refused(binding_of("close", four, {}, 0, {{"OMP_PLACES", "{0}"}})),
            "nothing is bound: OMP_PLACES is set already");
  EXPECT_EQ(refused(binding_of("close", four, {}, 0, {{"OMP_PLACES", ""}})), "bound");
  EXPECT_EQ(refused(binding_of("close", four, {"mpirun", "--map-by", "node", "-n", "2", "./app"})),
            "nothing is bound: --map-by says it already");
  EXPECT_EQ(refused(binding_of("close", four, {"mpirun", "-n", "2", "./app"}, 0,
                               {{"PRTE_MCA_hwloc_default_binding_policy", "none"}})),
            "nothing is bound: PRTE_MCA_hwloc_default_binding_policy says it already");
  EXPECT_EQ(refused(binding_of("close", four, {"./app", "--map-by"})), "bound") << "the program's own option";
}

// This machine's cores, as if nobody else worked here.
Cores here() {
  Cores cores = look_at_cores();
  cores.others_cpus = 0;
  return cores;
}

TEST(Bind, EveryCpuOfThisMachineHasOnePlace) {
  std::set<uint32_t> seen;
  size_t count = 0;
  for (const std::vector<uint32_t>& core : here().cpus) {
    count += core.size();
    seen.insert(core.begin(), core.end());
  }
  EXPECT_EQ(seen.size(), count);
  EXPECT_EQ(count, os::allowed_cpus());
}

Outcome run_bound(const Binding& binding, const std::string& program, Words arguments, Variables set) {
  for (const EnvironmentChange& change : binding.changes) set[change.name] = change.value.value_or("");
  Call call{std::move(arguments), std::move(set)};
  call.program = program;
  return run(call);
}

TEST(Bind, LibgompPutsThreadsThere) {
  const std::string program = from_environment("SMELT_TEST_MEETING");
  const Cores cores = here();
  if (program.empty() || cores.cpus.size() < 2) GTEST_SKIP() << "no OpenMP, or one core";
  for (const char* const policy : {"close", "spread"}) {
    const Outcome said = run_bound(
        binding_of(policy, cores), program, {},
        {{"OMP_NUM_THREADS", "2"}, {"OMP_DISPLAY_AFFINITY", "true"}, {"OMP_AFFINITY_FORMAT", "thread %n: %A."}});
    EXPECT_EQ(said.code, 0) << said.err;
    const size_t second = policy == std::string("close") ? 1 : cores.cpus.size() / 2;
    for (const auto& [thread, core] : {std::pair(0, cores.cpus[0]), std::pair(1, cores.cpus[second])})
      EXPECT_NE((said.out + said.err).find(fmt::format("thread {}: {}", thread, core.front())), std::string::npos)
          << policy << "\n"
          << said.out << said.err;
  }
}

TEST(Bind, MpirunPutsRanksThere) {
  const Cores cores = here();
  if (from_environment("SMELT_TEST_COMPONENT").empty() || cores.cpus.size() < 2) GTEST_SKIP() << "no MPI, or one core";
  for (const char* const policy : {"close", "spread"}) {
    const Outcome said = run_bound(binding_of(policy, cores, {"mpirun", "-n", "2", "true"}, 1), "/bin/sh",
                                   {"-c", "mpirun --report-bindings -n 2 true"},
                                   {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                    {"OMPI_MCA_orte_tmpdir_base", scratch()}});  // not where other jobs clean up
    EXPECT_EQ(said.code, 0) << said.err;
    const std::string all = said.out + said.err;
    const size_t first = all.find("bound to");
    EXPECT_NE(first, std::string::npos) << all;
    EXPECT_NE(all.find("bound to", first + 1), std::string::npos) << all;
    EXPECT_EQ(all.find("not bound"), std::string::npos) << all;
  }
}

// The whole of it, whether others work here or not: bound as told, or left alone.
TEST(Bind, SmeltRunSaysWhatItDoes) {
  const Outcome said = run({{"run", "--library", from_environment("SMELT_TEST_LIBRARY"), "--bind", "close", "--", "sh",
                             "-c", "echo ${OMP_PROC_BIND-none} ${OMP_PLACES-none}"},
                            {}});
  if (said.err.find("smelt: --bind: threads side by side on ") != std::string::npos)
    EXPECT_EQ(said.out.rfind("close {", 0), 0u) << said.out;
  else
    EXPECT_EQ(said.out, "none none\n") << said.err;
  EXPECT_NE(said.err.find("smelt: --bind: "), std::string::npos) << said.err;
  EXPECT_EQ(smelt({"run", "--bind", "tight", "--", "true"}).code, 2);
}

}  // namespace
}  // namespace smelt::test
