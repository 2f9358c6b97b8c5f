#pragma once

#include "schedule/build.h"

namespace smelt {

// The cheapest barrier by a tree that gathers and one that releases, under `root` or, with -1, whichever is best: fills
// in both trees and the schedule of *out. 0, or -ENOMEM, -EINTR as search_tree; then the arena may hold scratch.
int search_barrier(int root, const Costs& costs, const SearchEffort& effort, Arena& arena, Choice* out);

}  // namespace smelt
