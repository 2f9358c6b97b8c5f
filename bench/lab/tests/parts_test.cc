// What smelt_paper computes: the machines, the prices, the reduction over a tree.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <thread>

#include "base/os/os.h"
#include "bench/lab/paper/machines.h"
#include "bench/lab/paper/price.h"
#include "bench/lab/paper/radices.h"
#include "bench/lab/paper/tree_reduction.h"
#include "bench/lab/paper/vector_reductions.h"

namespace smelt::paper {
namespace {

// n participants of one node, t_send and t_receive everywhere the same.
struct UniformMachine {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("smelt_paper_parts." + std::to_string(getpid()));
  UniformMachine(const std::string& name, int n, int send, int receive) {
    std::filesystem::create_directory(folder);
    const auto size = static_cast<size_t>(n);
    std::vector<std::vector<int>> sends(size, std::vector<int>(size, send)), receives = sends;
    for (size_t i = 0; i < size; ++i)
      for (size_t j = 0; j < size; ++j) sends[i][j] = i == j ? 0 : send, receives[i][j] = i == j ? 0 : receive;
    std::vector<int> cpus(size);
    std::iota(cpus.begin(), cpus.end(), 0);
    const nlohmann::json json = {{"name", "uniform"}, {"unit", "cycles"},
                                 {"cpus", cpus},      {"numa_node", std::vector<int>(size)},
                                 {"t_send", sends},   {"t_receive", receives}};
    std::ofstream(folder / (name + ".json")) << json;
  }
  ~UniformMachine() { std::filesystem::remove_all(folder); }
};

TEST(Machines, HaveTheShapesOfThePaper) {
  for (const auto& [name, cores, threads] : {std::tuple{"A MC 4x12x1", 48u, 48u},
                                             {"I NL 4x8x2", 32u, 64u},
                                             {"A BC 8x4x1", 32u, 32u},
                                             {"I KNC 1x60x4", 60u, 60u},
                                             {"I SB 2x8x2", 16u, 32u},
                                             {"A SH 4x4x1", 16u, 16u},
                                             {"A IL 4x4x2", 16u, 32u},
                                             {"I SB 4x8x2", 32u, 64u},
                                             {"I BF 2x4x2", 8u, 16u},
                                             {"A IS 4x6x1", 24u, 24u},
                                             {"Clovertown", 8u, 8u},
                                             {"Barcelona", 32u, 32u},
                                             {"Niagara2", 32u, 256u}}) {
    EXPECT_EQ(paper_machine(name, Occupancy::kCores, "").members.size(), cores) << name;
    EXPECT_EQ(paper_machine(name, Occupancy::kThreads, "").members.size(), threads) << name;
    EXPECT_NE(paper_machine(name, Occupancy::kCores, "").stand_in, "") << name;
  }
  EXPECT_EQ(osdi_machines().size(), 11u);
}

TEST(Machines, CoresAreDifferentCores) {
  const PaperMachine machine = paper_machine("I SB 4x8x2", Occupancy::kCores, "");
  std::set<uint16_t> cores;
  for (const uint16_t member : machine.members) cores.insert(machine.file.core[member]);
  EXPECT_EQ(cores.size(), machine.members.size());
}

TEST(Machines, AFolderDescribesThemBetter) {
  const UniformMachine folder("syn_A_IS_4x6x1", 5, 10, 30);
  const PaperMachine machine = paper_machine("A IS 4x6x1", Occupancy::kCores, folder.folder);
  EXPECT_EQ(machine.members.size(), 5u);
  EXPECT_STREQ(machine.unit(), "cycles");
  EXPECT_EQ(paper_machine("A SH 4x4x1", Occupancy::kCores, folder.folder).members.size(), 16u);
}

TEST(Machines, RoundRobinTakesFromTheNodesInTurn) {
  const PaperMachine machine = paper_machine("A IL 4x4x2", Occupancy::kCores, "");
  std::set<uint16_t> nodes;
  for (const uint16_t member : round_robin(machine, 8)) nodes.insert(machine.file.overlap.node[member]);
  EXPECT_EQ(nodes.size(), 8u);
  std::set<uint16_t> all;
  for (const uint16_t member : round_robin(machine, 99)) all.insert(member);
  EXPECT_EQ(all, std::set<uint16_t>(machine.members.begin(), machine.members.end()));
}

TEST(Pricing, TwoPhaseCommitIsThreeWaysOverOneTree) {
  const PaperMachine machine = paper_machine("I SB 4x8x2", Occupancy::kCores, "");
  Pricing pricing(machine.file, machine.members);
  for (const char* pattern : {"sequential", "binary", "adaptive-sorted"}) {
    const double down = pricing.makespan(Work::kBroadcast, pattern, 0);
    const double up = pricing.makespan(Work::kReduction, pattern, 0);
    const double all = pricing.makespan(Work::kTwoPhaseCommit, pattern, 0);
    EXPECT_GT(all, down + up) << pattern;
    EXPECT_LE(all, (2 * down + up) * 1.3) << pattern;  // votes are ready when the late ones are awaited
  }
}

TEST(Pricing, LongVectorsKeepTheirReaders) {
  const UniformMachine folder("syn_A_IS_4x6x1", 9, 10, 30);
  const PaperMachine machine = paper_machine("A IS 4x6x1", Occupancy::kCores, folder.folder);
  const double chain = price_reduction(machine, {"knomial:1", false}, 1024);
  const double flat = price_reduction(machine, {"sequential", false}, 1024);
  // The root of a flat tree reads eight vectors, everybody in a chain one.
  EXPECT_NEAR(flat / chain, 8, 0.2);
  EXPECT_GT(price_reduction(machine, {"knomial:1", true}, 1024), 7 * chain);
  EXPECT_NEAR(price_reduction(machine, {"sequential", false}, 2048) / flat, 2, 0.05);
}

TEST(Pricing, BestIsNeverDearerThanANamedPattern) {
  const PaperMachine machine = paper_machine("A IL 4x4x2", Occupancy::kCores, "");
  Pricing pricing(machine.file, machine.members);
  for (const Work work : {Work::kBroadcast, Work::kReduction, Work::kBarrier})
    for (const Topology& topology : kTopologies)
      EXPECT_LE(pricing.makespan(work, "best"), pricing.makespan(work, topology.pattern) * 1.000001)
          << work_name(work) << " " << topology.pattern;
}

TEST(Radices, OfTwoParticipantsThereAreTwo) {
  EXPECT_EQ(radices_for(2), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(radices_for(256), (std::vector<uint32_t>{1, 2, 4, 8, 16}));
}

std::vector<uint32_t> cpus_here() {
  std::vector<uint32_t> cpus(os::allowed_cpu_list(nullptr, 0));
  os::allowed_cpu_list(cpus.data(), static_cast<uint32_t>(cpus.size()));
  return cpus;
}

// Loose: nobody waits for anybody but by the reduction itself, and every contribution is overwritten at once.
void reduce_many(const std::string& pattern, uint32_t threads, size_t words) {
  constexpr uint32_t kEpisodes = 400;
  const std::vector<uint32_t> cpus = {cpus_here().front()};  // one: then they yield, however many CPUs there are
  TreeReduction reduction(pattern, threads, cpus, words);
  std::vector<std::thread> team;
  uint32_t wrong = 0;
  for (uint32_t thread = 0; thread < threads; ++thread)
    team.emplace_back([&, thread] {
      std::vector<double> in(words), result(words);
      for (uint32_t episode = 0; episode < kEpisodes; ++episode) {
        for (size_t k = 0; k < words; ++k) in[k] = episode * 1000.0 + thread + static_cast<double>(k);
        reduction.reduce(thread, in.data(), result.data());
        if (thread != 0) continue;
        for (size_t k = 0; k < words; ++k)
          wrong += result[k] != threads * (episode * 1000.0 + static_cast<double>(k)) + threads * (threads - 1) / 2;
      }
    });
  for (std::thread& thread : team) thread.join();
  EXPECT_EQ(wrong, 0u) << pattern << ", " << threads << " threads, " << words << " doubles";
}

TEST(TreeReduction, EveryLooseReductionIsTheSum) {
  for (const char* pattern : {"sequential", "knomial:1", "knomial:2", "knomial:4"})
    for (const uint32_t threads : {1u, 2u, 5u, 8u}) reduce_many(pattern, threads, 33);
}

}  // namespace
}  // namespace smelt::paper
