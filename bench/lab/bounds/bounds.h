// The cost below which no pattern can go: the floor under predict.h.
#pragma once

#include "generate/search_limits.h"
#include "schedule/schedule.h"

namespace smelt {

// A lower bound on the predicted makespan: of any tree for broadcasts by messages and reductions (bound.h;
// root -1: any root); with `lines` of any broadcast whatever: the shortest way to the farthest; of any barrier
// whatever: none ends before the news of the farthest two has gone the shortest way, nor before the one that is
// farthest from the others has heard from all as by the cheapest tree to gather; of any barrier by trees under `root`:
// none ends before that one has heard from all and its news has then gone the shortest way to the farthest. O(n^3) for
// barriers, 17 million steps for 256, and as for reductions. 0 for one participant, or when the arena is too small to
// say more; less, and still a bound, when the limits end it.
double price_bound(const Costs& costs, Operation op, int root, Arena& arena, const SearchLimits& limits = {},
                   bool lines = false);

}  // namespace smelt
