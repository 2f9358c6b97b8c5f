// Prim's algorithm with at most two children per node, for mst.cc and bad.cc.
#pragma once

#include "generate/tree.h"

namespace smelt {

enum class EdgeChoice { kCheapest, kDearest };  // which link the tree grows along

// Grows from `root` (-1: participant 0) along the cheapest or dearest t_send + t_receive. 0, -EINVAL, -ENOMEM.
int prim_tree(const Costs& costs, EdgeChoice link, int root, Arena& arena, Tree* out);

}  // namespace smelt
