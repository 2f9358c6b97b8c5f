// The tidy tree. From the leaves up: a subtree knows its outline, the leftmost and the rightmost x on each of its
// levels; siblings are pushed apart until the outlines of neighbours are 1 apart everywhere, and the parent is put in
// the middle.
#include <algorithm>

#include "draw/layout.h"

namespace smelt {
namespace {

// Relative to the subtree's own root.
struct Outline {
  std::vector<double> left, right;  // [levels]
};

struct Layouter {
  const Tree& tree;
  std::vector<double> shift;  // [n] of a child against its parent

  // Recursion is as deep as the tree, at most kMaxParticipants.
  Outline place(uint16_t node) {
    std::vector<double> at;  // of the children, the first at 0
    Outline all;             // of the children so far, on the same origin
    const std::vector<uint16_t> list = children(tree, node);
    for (const uint16_t child : list) {
      const Outline own = place(child);
      double x = 0;
      const size_t common = std::min(all.right.size(), own.left.size());
      for (size_t level = 0; level < common; ++level) x = std::max(x, all.right[level] - own.left[level] + 1);
      at.push_back(x);
      for (size_t level = 0; level < own.left.size(); ++level) {
        if (level == all.left.size()) {
          all.left.push_back(own.left[level] + x);
          all.right.push_back(own.right[level] + x);
        }
        all.right[level] = own.right[level] + x;
      }
    }
    const double middle = at.empty() ? 0 : (at.front() + at.back()) / 2;
    for (size_t i = 0; i < list.size(); ++i) shift[list[i]] = at[i] - middle;
    Outline outline{{0}, {0}};
    for (size_t level = 0; level < all.left.size(); ++level) {
      outline.left.push_back(all.left[level] - middle);
      outline.right.push_back(all.right[level] - middle);
    }
    return outline;
  }
};

}  // namespace

TreeLayout lay_out_tree(const Tree& tree) {
  TreeLayout layout;
  layout.x.resize(tree.n);
  layout.level.resize(tree.n);
  Layouter layouter{tree, std::vector<double>(tree.n)};
  const Outline outline = layouter.place(tree.root);
  const double leftmost = *std::min_element(outline.left.begin(), outline.left.end());
  layout.width = *std::max_element(outline.right.begin(), outline.right.end()) - leftmost;
  layout.levels = static_cast<uint32_t>(outline.left.size());

  std::vector<uint16_t> order(tree.n);
  order.resize(top_down_order(tree, order.data()));
  for (const uint16_t node : order) {
    const uint16_t parent = tree.parent[node];
    layout.x[node] = parent == kNobody ? -leftmost : layout.x[parent] + layouter.shift[node];
    layout.level[node] = parent == kNobody ? 0 : layout.level[parent] + 1;
  }
  return layout;
}

}  // namespace smelt
