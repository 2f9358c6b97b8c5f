// Sequential tree: the root tells everybody itself, one after the other.
//
//          0
//      / / | \ \        Smelt, OSDI 2016, §2: a star. Nobody waits for more than one hop, but the root is busy n - 1
//     1 2  3  4 5       times; best where a further message costs next to nothing against a hop.
#include "generate/patterns.h"

namespace smelt {

int sequential_tree(const Costs& costs, uint32_t, int root, Arena& arena, Tree* out) {
  if (int error = start_tree(costs.n, root, 0, arena, out)) return error;
  for (uint32_t i = 1; i < costs.n; ++i) append_child(*out, out->root, at_position(i, out->root));
  return 0;
}

}  // namespace smelt
