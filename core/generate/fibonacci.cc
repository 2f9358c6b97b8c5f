// Fibonacci tree: a node of rank k has a child of rank k - 1 and then one of rank k - 2.
//
//            4            A send and a receive are taken to cost the same, so the second child starts one step later
//          /   \          than the first and gets a smaller subtree, and all leaves are done at about the same time
//         3     2         (Bruck et al., "On the design and implementation of broadcast and global combine operations
//        / \   /          using the postal model", IEEE TPDS 1996, with latency 2; one of the static trees of Smelt,
//       2   1 1           OSDI 2016, §2). A tree of rank k has F(k + 2) - 1 nodes.
//      /
//     1                   For n in between, the smallest sufficient tree loses its deepest, last nodes.
#include "generate/patterns.h"

namespace smelt {

int fibonacci_tree(const Costs& costs, uint32_t, int root, Arena& arena, Tree* out) {
  const uint32_t n = costs.n;
  if (int error = start_tree(n, root, 0, arena, out)) return error;
  char* const scratch = arena.mark();
  uint8_t* const rank = arena.make<uint8_t>(n);
  if (!rank) return -ENOMEM;

  // Nodes in ranks k and k - 1: size(k) = 1 + size(k - 1) + size(k - 2).
  uint32_t size = 1, smaller = 0;
  rank[0] = 1;
  while (size < n) {
    const uint32_t larger = 1 + size + smaller;
    smaller = size;
    size = larger;
    ++rank[0];
  }

  // Level by level, so that stopping at n cuts off the deepest.
  uint32_t placed = 1;
  for (uint32_t i = 0; placed < n; ++i) {
    for (int step = 1; step <= 2 && rank[i] > step && placed < n; ++step) {
      rank[placed] = static_cast<uint8_t>(rank[i] - step);
      append_child(*out, at_position(i, out->root), at_position(placed, out->root));
      ++placed;
    }
  }
  arena.rewind(scratch);
  return 0;
}

}  // namespace smelt
