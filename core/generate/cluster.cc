// Cluster tree: a binary tree over one leader per NUMA node, and a star inside each node.
//
//            0                  Smelt, OSDI 2016, §2 (there: hierarchical). Each link between nodes is crossed once,
//      /   /   \ \              and each leader serves the other leaders before its own node: those are farther away
//     4   8     1 2 ...         and have more to pass on.
//    /|\  /|\                   (a star under each leader)
//   5 6 7 9 10 11               leaders 0, 4, 8 of the nodes {0..3}, {4..7}, {8..11}
#include "generate/patterns.h"

namespace smelt {

int cluster_tree(const Costs& costs, uint32_t, int root, Arena& arena, Tree* out) {
  const uint32_t n = costs.n;
  if (int error = start_tree(n, root, 0, arena, out)) return error;
  char* const scratch = arena.mark();
  uint16_t* const leader = arena.make<uint16_t>(n);
  if (!leader) return -ENOMEM;

  // The root leads its node, which comes first; of the others the lowest member leads, in order of that member.
  uint32_t leaders = 0;
  leader[leaders++] = out->root;
  for (uint32_t i = 0; i < n; ++i) {
    bool led = false;
    for (uint32_t k = 0; k < leaders && !led; ++k) led = costs.node[leader[k]] == costs.node[i];
    if (!led) leader[leaders++] = static_cast<uint16_t>(i);
  }
  for (uint32_t k = 1; k < leaders; ++k) append_child(*out, leader[(k - 1) / 2], leader[k]);
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t k = 0; k < leaders; ++k) {
      if (costs.node[leader[k]] != costs.node[i]) continue;
      if (leader[k] != i) append_child(*out, leader[k], static_cast<uint16_t>(i));
      break;
    }
  }
  arena.rewind(scratch);
  return 0;
}

}  // namespace smelt
