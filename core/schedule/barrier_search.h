#pragma once

#include "schedule/build.h"

namespace smelt {

// The cheapest barrier by a tree that gathers and shared lines that release, under `root` or, with -1, the better of
// two roots: fills in both trees and the schedule of *out. 0, or -ENOMEM, -EINTR as search_tree; then the arena may
// hold scratch.
int search_barrier(int root, const Costs& costs, const SearchEffort& effort, Arena& arena, Choice* out);

// The cheapest join and fork, by two trees or one, under participant 0 (team/fork_join.h): as above.
int search_fork(const Costs& costs, const SearchEffort& effort, Arena& arena, Choice* out);

}  // namespace smelt
