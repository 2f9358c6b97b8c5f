#include "generate/tree.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "machines.h"

using namespace smelt;
using namespace smelt::test;

namespace {

class TreeTest : public testing::Test {
 protected:
  MappedArena arena{1 << 20};
  Tree tree;

  // The tree in the header of tree.h.
  void SetUp() override {
    ASSERT_EQ(make_tree(4, 0, arena, &tree), 0);
    append_child(tree, 0, 1);
    append_child(tree, 0, 2);
    append_child(tree, 1, 3);
  }
  std::vector<uint16_t> children(uint16_t parent) {
    std::vector<uint16_t> out(tree.n);
    out.resize(children_of(tree, parent, out.data()));
    return out;
  }
};

TEST_F(TreeTest, ChildrenKeepTheirSendOrder) {
  EXPECT_EQ(children(0), (std::vector<uint16_t>{1, 2}));
  EXPECT_EQ(children(1), (std::vector<uint16_t>{3}));
  EXPECT_TRUE(children(3).empty());
  EXPECT_TRUE(is_spanning(tree));
  const uint16_t reversed[] = {2, 1};
  set_children(tree, 0, reversed, 2);
  EXPECT_EQ(children(0), (std::vector<uint16_t>{2, 1}));
  EXPECT_TRUE(is_spanning(tree));
}

bool in_subtree(const Tree& tree, uint16_t top, uint16_t node) {
  while (node != kNobody && node != top) node = tree.parent[node];
  return node == top;
}

TEST_F(TreeTest, CuttingAndMovingASubtree) {
  cut_child(tree, 1);
  EXPECT_FALSE(is_spanning(tree));
  EXPECT_TRUE(in_subtree(tree, 1, 3));
  EXPECT_FALSE(in_subtree(tree, 0, 3));
  append_child(tree, 2, 1);
  EXPECT_TRUE(is_spanning(tree));
  EXPECT_TRUE(in_subtree(tree, 0, 3));
  EXPECT_TRUE(in_subtree(tree, 2, 3));
  cut_child(tree, 2);  // the only child
  append_child(tree, 0, 2);
  EXPECT_TRUE(is_spanning(tree));
}

TEST_F(TreeTest, CuttingTheYoungestKeepsTheListOpen) {
  cut_child(tree, 2);
  append_child(tree, 0, 2);
  EXPECT_EQ(children(0), (std::vector<uint16_t>{1, 2}));
  EXPECT_TRUE(is_spanning(tree));
}

TEST_F(TreeTest, ParentsComeBeforeChildren) {
  uint16_t order[4];
  ASSERT_EQ(top_down_order(tree, order), 4u);
  EXPECT_EQ(order[0], 0);
  EXPECT_EQ(order[3], 3);
  cut_child(tree, 1);
  EXPECT_EQ(top_down_order(tree, order), 2u);
}

TEST_F(TreeTest, ACopyIsIndependent) {
  Tree copy;
  ASSERT_EQ(make_tree(4, 0, arena, &copy), 0);
  copy_tree(tree, copy);
  cut_child(tree, 3);
  EXPECT_TRUE(is_spanning(copy));
  EXPECT_FALSE(is_spanning(tree));
}

TEST_F(TreeTest, DamageIsFound) {
  tree.parent[3] = 2;  // listed by 1
  EXPECT_FALSE(is_spanning(tree));
  tree.parent[3] = 1;
  EXPECT_TRUE(is_spanning(tree));
  tree.next[2] = 1;  // a list in a circle
  EXPECT_FALSE(is_spanning(tree));
  tree.next[2] = kNobody;
  tree.last[0] = 1;
  EXPECT_FALSE(is_spanning(tree));
  tree.last[0] = 2;
  tree.parent[0] = 3;  // the root below somebody
  EXPECT_FALSE(is_spanning(tree));
}

TEST_F(TreeTest, ALoopApartFromTheRootIsFound) {
  // 0 has 1 and 2; 3 and 4 are each other's parents: n - 2 listed children and more, but not from the root.
  Tree loop;
  ASSERT_EQ(make_tree(5, 0, arena, &loop), 0);
  append_child(loop, 0, 1);
  append_child(loop, 0, 2);
  append_child(loop, 3, 4);
  append_child(loop, 4, 3);
  EXPECT_FALSE(is_spanning(loop));
}

TEST_F(TreeTest, OneIsATreeAndNoneIsNot) {
  Tree one;
  ASSERT_EQ(make_tree(1, 0, arena, &one), 0);
  EXPECT_TRUE(is_spanning(one));
  EXPECT_EQ(make_tree(0, 0, arena, &one), -EINVAL);
  EXPECT_EQ(make_tree(4, 4, arena, &one), -EINVAL);
  EXPECT_EQ(make_tree(kMaxParticipants + 1, 0, arena, &one), -EINVAL);
  char memory[8];
  Arena tiny(memory, sizeof memory);
  EXPECT_EQ(make_tree(4, 0, tiny, &one), -ENOMEM);
}

}  // namespace
