// Bad tree: the minimum spanning tree of the inverted costs (maximum + 1 - cost), so the dearest links are taken.
//
// Smelt, OSDI 2016, §2, has it as the worst case: how much a tree that ignores the machine can lose. Inverting turns
// the order of the links round and changes nothing else, so Prim is simply told to prefer the dearest.
#include "generate/patterns.h"
#include "generate/prim.h"

namespace smelt {

int bad_tree(const Costs& costs, uint32_t, int root, Arena& arena, Tree* out) {
  return prim_tree(costs, EdgeChoice::kDearest, root, arena, out);
}

}  // namespace smelt
