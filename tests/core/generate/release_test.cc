#include "generate/release.h"

#include <gtest/gtest.h>

#include "generate/problem.h"
#include "machines.h"

using namespace smelt;
using namespace smelt::test;

namespace {

TEST(ReleaseLines, OneWhenPollersCostNothingAndOneEachWhenStoresDo) {
  EXPECT_EQ(release_lines(0, 1, 1), 1u);
  EXPECT_EQ(release_lines(1, 5, 0), 1u);
  EXPECT_EQ(release_lines(32, 0, 3), 1u);
  EXPECT_EQ(release_lines(3, 5, 0), 3u);
  EXPECT_EQ(release_lines(32, 5, 0), kMostReleaseLines);
}

TEST(ReleaseLines, TheNumberWithTheEarliestLastPoller) {
  for (uint32_t children : {2u, 7u, 32u, 100u}) {
    for (double poller : {0.1, 0.5, 2.0}) {
      for (double busy : {0.5, 3.0, 20.0}) {
        const auto last = [&](uint32_t lines) {
          return (lines - 1) * busy + ((children + lines - 1) / lines - 1) * poller;
        };
        const uint32_t found = release_lines(children, poller, busy);
        for (uint32_t lines = 1; lines <= kMostReleaseLines && lines <= children; ++lines)
          EXPECT_LE(last(found), last(lines)) << children << ' ' << poller << ' ' << busy;
      }
    }
  }
}

TEST(ReleaseTree, IsSpanningAtEveryLevelAndAStarAtTheLast) {
  for (const TestMachine& machine : machines()) {
    MappedArena arena(size_t{64} << 20);
    const Costs costs = machine.overlap(arena);
    TreeProblem problem;
    Levels levels;
    ASSERT_EQ(make_problem(costs, Direction::kBroadcast, arena, &problem), 0);
    ASSERT_EQ(find_levels(problem, arena, &levels), 0);
    const auto root = static_cast<uint16_t>(machine.n / 2);
    for (uint32_t level = 0; level < levels.count; ++level) {
      Tree tree;
      ASSERT_EQ(release_tree(costs, levels, level, root, arena, &tree), 0);
      EXPECT_TRUE(is_spanning(tree)) << machine;
      EXPECT_EQ(tree.root, root);
      // Nobody is further than a leader away from the root, and a leader serves its own group only.
      for (uint16_t v = 0; v < machine.n; ++v) {
        if (v == root || tree.parent[v] == root) continue;
        EXPECT_EQ(tree.parent[tree.parent[v]], root);
        EXPECT_EQ(levels.level[level].of[v], levels.level[level].of[tree.parent[v]]);
      }
    }
    Tree star;
    ASSERT_EQ(release_tree(costs, levels, levels.count - 1, root, arena, &star), 0);
    for (uint16_t v = 0; v < machine.n; ++v) EXPECT_EQ(star.parent[v], v == root ? kNobody : root);
    EXPECT_EQ(release_tree(costs, levels, levels.count, root, arena, &star), -EINVAL);
  }
}

}  // namespace
