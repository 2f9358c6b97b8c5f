#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "generate/patterns.h"
#include "machines.h"

using namespace smelt;
using namespace smelt::test;

namespace {

// Six participants: packages of four and two, the first of two caches.
struct SixOnTwoPackages {
  std::vector<float> hop = std::vector<float>(36, 100);
  const uint16_t node[6] = {7, 7, 7, 7, 3, 3}, llc[6] = {1, 1, 2, 2, 5, 5}, own[6] = {0, 1, 2, 3, 4, 5};
  Costs costs;

  SixOnTwoPackages() {
    for (uint32_t i = 0; i < 6; ++i) hop[i * 6 + i] = 0;
    costs.n = 6;
    costs.hop = costs.send_busy = costs.recv_busy = costs.ready_read = hop.data();
    costs.node = costs.package = node;
    costs.llc = llc;
    costs.core = own;
  }
};

std::vector<uint16_t> children(const Tree& tree, uint16_t parent) {
  std::vector<uint16_t> out(tree.n);
  out.resize(children_of(tree, parent, out.data()));
  return out;
}

TEST(LineTree, IsAStarWithTheRootsOwnGroupLast) {
  const SixOnTwoPackages six;
  MappedArena arena(1 << 16);
  Tree tree;
  ASSERT_EQ(line_tree(six.costs, kOneLine, 2, arena, &tree), 0);
  EXPECT_EQ(children(tree, 2), (std::vector<uint16_t>{0, 1, 3, 4, 5}));
  ASSERT_EQ(line_tree(six.costs, kCacheLines, 2, arena, &tree), 0);
  EXPECT_EQ(children(tree, 2), (std::vector<uint16_t>{0, 1, 4, 5, 3}));
  ASSERT_EQ(line_tree(six.costs, kPackageLines, 4, arena, &tree), 0);
  EXPECT_EQ(children(tree, 4), (std::vector<uint16_t>{0, 1, 2, 3, 5}));
}

TEST(RelayTree, HasALeaderInEveryOtherGroup) {
  const SixOnTwoPackages six;
  MappedArena arena(1 << 16);
  Tree tree;
  ASSERT_EQ(relay_tree(six.costs, kCacheLines, 2, arena, &tree), 0);
  EXPECT_EQ(children(tree, 2), (std::vector<uint16_t>{0, 4, 3}));
  EXPECT_EQ(children(tree, 0), (std::vector<uint16_t>{1}));
  EXPECT_EQ(children(tree, 4), (std::vector<uint16_t>{5}));
  ASSERT_EQ(relay_tree(six.costs, kPackageLines, 1, arena, &tree), 0);
  EXPECT_EQ(children(tree, 1), (std::vector<uint16_t>{4, 0, 2, 3}));
  EXPECT_EQ(children(tree, 4), (std::vector<uint16_t>{5}));
}

// On every machine, from every kind of root: nobody is further than a leader away, and nobody serves another group but
// the root.
TEST(LineTrees, SpanEveryMachine) {
  for (const TestMachine& machine : machines()) {
    MappedArena arena(size_t{64} << 20);
    const Costs costs = machine.overlap(arena);
    std::vector<uint16_t> group(machine.n);
    for (const uint32_t level : {kOneLine, kCacheLines, kPackageLines})
      for (const int root : {-1, 0, static_cast<int>(machine.n / 2), static_cast<int>(machine.n - 1)}) {
        Tree star, relay;
        ASSERT_EQ(line_tree(costs, level, root, arena, &star), 0) << machine;
        ASSERT_EQ(relay_tree(costs, level, root, arena, &relay), 0) << machine;
        EXPECT_TRUE(is_spanning(star) && is_spanning(relay)) << machine;
        EXPECT_EQ(relay.root, root < 0 ? 0 : root);
        number_line_groups(costs, level, group.data());
        for (uint16_t v = 0; v < machine.n; ++v) {
          EXPECT_EQ(star.parent[v], v == star.root ? kNobody : star.root);
          if (v == relay.root || relay.parent[v] == relay.root) continue;
          EXPECT_EQ(relay.parent[relay.parent[v]], relay.root);
          EXPECT_EQ(group[v], group[relay.parent[v]]);
        }
        // The children of one group follow each other, so that they get one line.
        const std::vector<uint16_t> told = children(star, star.root);
        for (size_t k = 1; k < told.size(); ++k) {
          const bool again = std::any_of(told.begin() + static_cast<ptrdiff_t>(k), told.end(),
                                         [&](uint16_t c) { return group[c] == group[told[k - 1]]; });
          EXPECT_TRUE(group[told[k]] == group[told[k - 1]] || !again) << machine;
        }
      }
  }
}

TEST(LineTrees, RefuseARootThatIsNoneAndAFullArena) {
  const SixOnTwoPackages six;
  MappedArena arena(1 << 16);
  Tree tree;
  EXPECT_EQ(line_tree(six.costs, kOneLine, 6, arena, &tree), -EINVAL);
  alignas(8) char little[56];  // enough for the tree alone
  Arena small(little, sizeof little);
  char* const before = small.mark();
  EXPECT_EQ(relay_tree(six.costs, kCacheLines, 0, small, &tree), -ENOMEM);
  EXPECT_EQ(small.mark(), before);
}

}  // namespace
