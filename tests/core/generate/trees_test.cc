#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "generate/patterns.h"
#include "generate/registry.h"
#include "machines.h"

using namespace smelt;
using namespace smelt::test;

namespace {

// A tree as text: "0(1(3)2)" is the one drawn in tree.h.
std::string text(const Tree& tree, uint16_t at) {
  std::string out = std::to_string(at);
  if (tree.first[at] == kNobody) return out;
  out += '(';
  for (uint16_t c = tree.first[at]; c != kNobody; c = tree.next[c]) {
    if (c != tree.first[at]) out += ' ';
    out += text(tree, c);
  }
  return out + ')';
}

std::string grow(const char* pattern, const Costs& costs, int root = -1) {
  MappedArena arena(1 << 22);
  Pattern found;
  Tree tree;
  if (find_pattern(pattern, &found) != 0) return "unknown";
  if (int error = found.info->tree(costs, found.argument, root, arena, &tree)) return std::to_string(error);
  return text(tree, tree.root);
}

// n alike participants on one node.
std::string grow(const char* pattern, uint32_t n, int root = -1) {
  MappedArena arena(1 << 22);
  return grow(pattern, make_machine("alike", 1, n, 100, 100, 0, 1).paper(arena), root);
}

TEST(Trees, StaticShapes) {
  EXPECT_EQ(grow("sequential", 4), "0(1 2 3)");
  EXPECT_EQ(grow("binary", 6), "0(1(3 4) 2(5))");
  EXPECT_EQ(grow("binomial", 8), "0(4(6(7) 5) 2(3) 1)");
  EXPECT_EQ(grow("knomial:2", 8), grow("binomial", 8));
  EXPECT_EQ(grow("knomial:1", 4), "0(1(2(3)))");
  EXPECT_EQ(grow("knomial:3", 9), "0(3(4 5) 6(7 8) 1 2)");
  EXPECT_EQ(grow("knomial:3", 8), "0(3(4 5) 6(7) 1 2)");
  EXPECT_EQ(grow("knomial:1023", 5), "0(1 2 3 4)");
  EXPECT_EQ(grow("fibonacci", 7), "0(1(3(6) 4) 2(5))");  // ranks 4; 3 2; 2 1 1; 1
  EXPECT_EQ(grow("fibonacci", 5), "0(1(3 4) 2)");
  EXPECT_EQ(grow("mst", 6), "0(1(3 4) 2(5))");
}

TEST(Trees, AnExplicitRootChangesPlacesWithParticipantZero) {
  EXPECT_EQ(grow("sequential", 4, 2), "2(1 0 3)");
  EXPECT_EQ(grow("binary", 6, 2), "2(1(3 4) 0(5))");
  EXPECT_EQ(grow("knomial:1", 4, 3), "3(1(2(0)))");
  EXPECT_EQ(grow("binary", 6, 0), grow("binary", 6));
}

TEST(Trees, RootsAndArgumentsOutOfRangeAreRefused) {
  for (const PatternInfo& info : pattern_registry()) {
    if (!info.tree) continue;
    EXPECT_EQ(grow(info.name, 4, 4), std::to_string(-EINVAL)) << info.name;
    EXPECT_EQ(grow(info.name, 4, -2), std::to_string(-EINVAL)) << info.name;
    EXPECT_EQ(grow(info.name, 4, 70000), std::to_string(-EINVAL)) << info.name;
  }
  MappedArena arena(1 << 16);
  Tree tree;
  EXPECT_EQ(knomial_tree(make_machine("m", 1, 4, 1, 1, 0, 1).paper(arena), 0, -1, arena, &tree), -EINVAL);
}

TEST(Trees, ClusterKeepsEachNodeUnderOneLeader) {
  MappedArena arena(1 << 20);
  const Costs costs = make_machine("m", 3, 3, 100, 600, 0, 1).paper(arena);
  EXPECT_EQ(grow("cluster", costs), "0(3(4 5) 6(7 8) 1 2)");
  // The root leads its node, and its node comes first.
  EXPECT_EQ(grow("cluster", costs, 7), "7(0(1 2) 3(4 5) 6 8)");
}

TEST(Trees, PrimGrowsAlongTheCheapestLinksAndBadAlongTheDearest) {
  // A ring of links of cost 1: 0-2-4-1-3-0, everything else 10, but 0-1 is 20.
  const uint32_t n = 5;
  std::vector<float> send(n * n, 0), receive(n * n, 10);
  const auto link = [&](uint32_t a, uint32_t b, float cost) { receive[a * n + b] = receive[b * n + a] = cost; };
  for (uint32_t i = 0; i < n; ++i) link(i, i, 0);
  link(0, 2, 1), link(2, 4, 1), link(4, 1, 1), link(1, 3, 1), link(0, 1, 20);
  MappedArena arena(1 << 20);
  Costs costs;
  ASSERT_EQ(costs_from_send_receive(n, CostUnit::kCycles, send.data(), receive.data(), nullptr, arena, &costs), 0);
  EXPECT_EQ(grow("mst", costs), "0(2(4(1(3))))");
  EXPECT_EQ(grow("mst", costs, 1), "1(3 4(2(0)))");
  // 20 to 1, then the 10s: 0 has room for one more, then it is 1's turn, whose other 10s are used up.
  EXPECT_EQ(grow("bad", costs), "0(1(2) 3(4))");
}

TEST(Trees, AdaptiveSendsFarFirstAndCrossesEachNodeOnce) {
  MappedArena arena(1 << 20);
  const Costs costs = make_machine("m", 2, 3, 100, 600, 0, 1).paper(arena);
  // 0 crosses at once (t_send 180 of 780), then serves its own node: 180 + 30 + 100.
  EXPECT_EQ(grow("adaptive", costs, 0), "0(3(4 5) 1 2)");
  for (const TestMachine& machine : machines()) {
    if (machine.name == "zeros_2x6") continue;
    MappedArena own(kBlockBytes);
    Tree tree;
    const Costs all = machine.paper(own);
    ASSERT_EQ(adaptive_tree(all, 0, -1, own, &tree), 0);
    std::vector<uint32_t> crossings(65536);
    for (uint32_t i = 0; i < all.n; ++i) {
      if (i != tree.root && all.node[tree.parent[i]] != all.node[i]) ++crossings[all.node[i]];
    }
    EXPECT_EQ(crossings[all.node[tree.root]], 0u) << machine;
    for (uint32_t count : crossings) ASSERT_LE(count, 1u) << machine;
  }
}

// From being informed to the last of the subtree being informed; checks the order on the way.
double checked_subtree(const Tree& tree, const Costs& costs, uint16_t at, const TestMachine& machine) {
  double sent = 0, latest = 0, before = 0;
  for (uint16_t c = tree.first[at]; c != kNobody; c = tree.next[c]) {
    const double tail = costs.t_receive(at, c) + checked_subtree(tree, costs, c, machine);
    if (c != tree.first[at]) {
      EXPECT_LE(tail, before * (1 + 1e-9)) << c << " under " << at << " on " << machine;
    }
    before = tail;
    sent += costs.t_send(at, c);
    latest = std::max(latest, sent + tail);
  }
  return latest;
}

TEST(Trees, SortedMeansTheLongestTailFirstEverywhere) {
  for (const TestMachine& machine : machines()) {
    MappedArena arena(kBlockBytes);
    const Costs costs = machine.paper(arena);
    for (int root : {-1, 0, static_cast<int>(machine.n) - 1}) {
      Tree tree;
      ASSERT_EQ(adaptive_sorted_tree(costs, 0, root, arena, &tree), 0);
      checked_subtree(tree, costs, tree.root, machine);
    }
  }
}

TEST(Trees, AdaptiveStartsAtTheCheapestSender) {
  MappedArena arena(1 << 20);
  TestMachine machine = make_machine("m", 1, 6, 100, 100, 0, 1);
  for (uint32_t j = 0; j < 6; ++j) machine.t_send[4 * 6 + j] = j == 4 ? 0 : 20;
  Tree tree;
  ASSERT_EQ(adaptive_tree(machine.paper(arena), 0, -1, arena, &tree), 0);
  EXPECT_EQ(tree.root, 4);
}

void expect_spanning(const Costs& costs, int root, const std::string& where) {
  for (const PatternInfo& info : pattern_registry()) {
    if (!info.tree) continue;
    std::vector<uint32_t> arguments{info.default_argument};
    if (info.argument) arguments = {1, 2, 3, 4, 5, 8, 1023};
    for (uint32_t argument : arguments) {
      MappedArena arena(kBlockBytes);
      Tree tree, again;
      ASSERT_EQ(info.tree(costs, argument, root, arena, &tree), 0) << info.name << " on " << where;
      EXPECT_TRUE(is_spanning(tree)) << info.name << ':' << argument << " on " << where;
      if (root >= 0) {
        EXPECT_EQ(tree.root, root) << info.name << " on " << where;
      }
      ASSERT_EQ(info.tree(costs, argument, root, arena, &again), 0);
      EXPECT_TRUE(std::equal(tree.parent, tree.parent + tree.n, again.parent)) << info.name << " is not repeatable";
    }
  }
}

TEST(Trees, EveryPatternSpansEveryMachineFromEveryKindOfRoot) {
  for (const TestMachine& machine : machines()) {
    MappedArena arena(kBlockBytes);
    const Costs paper = machine.paper(arena), overlap = machine.overlap(arena);
    for (int root : {-1, 0, static_cast<int>(machine.n) - 1, static_cast<int>(machine.n) / 3}) {
      expect_spanning(paper, root, machine.name);
      expect_spanning(overlap, root, machine.name + " (overlap)");
    }
  }
}

TEST(Trees, EveryPatternSpansSubsets) {
  for (const TestMachine& machine : machines()) {
    for (uint32_t size : {1u, 2u, 3u, 7u, machine.n / 2, machine.n}) {
      MappedArena arena(kBlockBytes);
      const auto members = random_subset(machine.n, size, machine.n + size);
      if (members.empty()) continue;
      Costs part;
      ASSERT_EQ(subset_costs(machine.paper(arena), members, arena, &part), 0);
      expect_spanning(part, -1, machine.name + " in part");
      expect_spanning(part, static_cast<int>(members.size()) - 1, machine.name + " in part");
    }
  }
}

TEST(Trees, TheLargestTeamIsServed) {
  MappedArena arena(kBlockBytes);
  const TestMachine machine = make_machine("m", 16, 64, 50, 200, 0.3f, 9);
  expect_spanning(machine.paper(arena), 1023, machine.name);
}

TEST(Trees, AFullArenaIsReported) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 4, 16, 50, 200, 0.3f, 9).paper(arena);
  for (const PatternInfo& info : pattern_registry()) {
    if (!info.tree) continue;
    for (size_t bytes : {size_t{0}, size_t{100}, size_t{64} * 8}) {
      std::vector<char> memory(bytes + 1);
      Arena tiny(memory.data(), bytes);
      Tree tree;
      const int error = info.tree(costs, info.default_argument, -1, tiny, &tree);
      // The static trees need no more than their own links.
      if (bytes == size_t{64} * 8 && error == 0) continue;
      EXPECT_EQ(error, -ENOMEM) << info.name << " with " << bytes;
    }
  }
}

}  // namespace
