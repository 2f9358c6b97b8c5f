// Binary tree: position i tells 2i + 1, then 2i + 2.
//
//          0
//        /   \          Smelt, OSDI 2016, §2. Depth log2 n whatever the machine looks like, and the neighbours in the
//       1     2         tree are neighbours by number only.
//      / \   /
//     3   4 5
#include "generate/patterns.h"

namespace smelt {

int binary_tree(const Costs& costs, uint32_t, int root, Arena& arena, Tree* out) {
  if (int error = start_tree(costs.n, root, 0, arena, out)) return error;
  for (uint32_t i = 1; i < costs.n; ++i) {
    append_child(*out, at_position((i - 1) / 2, out->root), at_position(i, out->root));
  }
  return 0;
}

}  // namespace smelt
