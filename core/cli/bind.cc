#include "cli/bind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/arena.h"
#include "base/os/os.h"
#include "cli/fit.h"
#include "discover/conditions.h"
#include "discover/cpu_load.h"
#include "generate/levels.h"
#include "generate/registry.h"
#include "profile/profile.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

// Words of mpirun's command line, and beginnings of variables, by which the user has said where ranks go.
constexpr const char* kOfMpirun[] = {"bind-to", "map-by", "rank-by", "cpu-set", "cpu-list", "rankfile", "rf"};
constexpr const char* kOfRanks[] = {"OMPI_MCA_rmaps_base_mapping_policy", "OMPI_MCA_hwloc_base_binding_policy",
                                    "PRTE_MCA_rmaps_default_mapping_policy", "PRTE_MCA_hwloc_default_binding_policy"};
constexpr const char* kOfThreads[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};

// `members` (indices into the profile), neighbours near each other.
void sort_members(const Profile& profile, std::vector<uint16_t>* members) {
  const auto n = static_cast<uint32_t>(members->size());
  MappedArena arena(generation_bytes(n));
  Costs costs;
  TreeProblem problem;
  Levels levels;
  if (subset_costs(profile.costs, {members->data(), n}, arena, &costs) != 0 ||
      make_problem(costs, Direction::kBroadcast, arena, &problem) != 0 || find_levels(problem, arena, &levels) != 0)
    throw UserError("no memory to look at the machine's profile");
  std::vector<uint16_t> order(n);
  sort_by_nearness(levels, n, order.data());
  std::vector<uint16_t> sorted;
  for (const uint16_t i : order) sorted.push_back((*members)[i]);
  *members = std::move(sorted);
}

std::string says_already(const char* const* first, const char* const* last,
                         const std::function<const char*(const char*)>& environment) {
  for (; first != last; ++first)
    if (const char* const value = environment(*first); value && *value) return *first;
  return "";
}

std::string mpirun_says_already(const std::vector<std::string>& command) {
  for (const std::string& word : command) {
    if (!word.starts_with('-')) continue;
    const std::string name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    for (const char* const one : kOfMpirun)
      if (name == one) return word;
  }
  return "";
}

}  // namespace

Cores look_at_cores() {
  const LoadWatch watch(this_system());
  Profile profile;
  Refusal why;
  if (load_profile(&profile, &why) != 0) throw UserError("no memory for the machine's profile");
  const uint32_t most = profile.header.cpus;
  std::vector<uint32_t> allowed(kMaxProfileCpus);
  allowed.resize(std::min<size_t>(os::allowed_cpu_list(allowed.data(), kMaxProfileCpus), allowed.size()));
  std::map<uint16_t, std::vector<uint32_t>> of_core;
  std::vector<uint16_t> first_of_each;
  std::set<uint16_t> nodes, caches;
  for (const uint32_t cpu : allowed) {
    const uint16_t index = profile_index(profile, cpu);
    if (index >= most) continue;
    std::vector<uint32_t>& core = of_core[profile.costs.core[index]];
    if (core.empty()) first_of_each.push_back(index);
    core.push_back(cpu);
    nodes.insert(profile.costs.node[index]);
    caches.insert(profile.costs.llc[index]);
  }
  Cores cores;
  if (!first_of_each.empty()) sort_members(profile, &first_of_each);
  for (const uint16_t index : first_of_each) cores.cpus.push_back(of_core[profile.costs.core[index]]);
  cores.nodes = static_cast<uint32_t>(nodes.size());
  cores.caches = static_cast<uint32_t>(caches.size());
  unload_profile(&profile);
  cores.others_cpus = watch.in_time().others_cpus;
  return cores;
}

Binding bind_to(const std::string& policy, const Cores& cores, const std::vector<std::string>& command,
                uint32_t threads, const std::function<const char*(const char*)>& environment) {
  const auto nothing = [](std::string why) { return Binding{{}, "nothing is bound: " + std::move(why)}; };
  if (cores.others_cpus >= kNoticedLoad)
    return nothing(
        fmt::format("others use {:.1f} CPUs here, and a bound thread cannot get out of their way", cores.others_cpus));
  if (cores.cpus.size() < 2) return nothing("one core may be used");
  if (const std::string set = says_already(std::begin(kOfThreads), std::end(kOfThreads), environment); !set.empty())
    return nothing(set + " is set already");
  Binding binding;
  const bool ranks_too = !command.empty() && !mpi_launcher(command[0]).empty();
  if (ranks_too) {
    std::string set = says_already(std::begin(kOfRanks), std::end(kOfRanks), environment);
    if (set.empty()) set = mpirun_says_already(command);
    if (!set.empty()) return nothing(set + " says it already");
    const auto each = std::max(threads, 1u);
    const uint32_t ranks = ranks_of(command) ? ranks_of(command) : static_cast<uint32_t>(cores.cpus.size());
    if (uint64_t{ranks} * each > cores.cpus.size())
      return nothing(
          fmt::format("{} ranks of {} thread{} on {} cores", ranks, each, each == 1 ? "" : "s", cores.cpus.size()));
    const std::string over = cores.nodes > 1 ? "numa" : cores.caches > 1 ? "l3cache" : "";
    std::string mapping = "core";
    if (policy == "spread" && !over.empty())
      mapping = each > 1 ? fmt::format("{}:PE={},SPAN", over, each) : over + ":SPAN";
    else if (each > 1)
      mapping = fmt::format("slot:PE={}", each);
    for (const char* const name : {kOfRanks[0], kOfRanks[2]}) binding.changes.push_back({name, mapping});
    for (const char* const name : {kOfRanks[1], kOfRanks[3]}) binding.changes.push_back({name, "core"});
    binding.changes.push_back({"OMP_PLACES", "cores"});
    binding.why = fmt::format("ranks by {}, each on {} core{}", mapping, each, each == 1 ? "" : "s");
  } else {
    std::string places;
    for (const std::vector<uint32_t>& core : cores.cpus)
      places += fmt::format("{}{{{}}}", places.empty() ? "" : ",", fmt::join(core, ","));
    binding.changes.push_back({"OMP_PLACES", places});
    binding.why =
        fmt::format("threads {} on {} cores", policy == "close" ? "side by side" : "spread", cores.cpus.size());
  }
  binding.changes.push_back({"OMP_PROC_BIND", policy});
  return binding;
}

}  // namespace smelt
