// Nearness, as the costs tell it: groupings of the participants from fine to coarse. See levels.cc.
#pragma once

#include "generate/problem.h"

namespace smelt {

struct Grouping {
  uint32_t count = 0;      // groups
  uint16_t* of = nullptr;  // [n] the group of each, 0 .. count - 1
};

inline constexpr uint32_t kMostLevels = 7;  // alone, four found at most, the clusters, all together

// level[0] is everybody alone, level[count - 1] everybody together; before that come the clusters (same NUMA node and
// same last-level cache), and between 0 and those the levels found, each coarser than the one before. Clusters need not
// be nested in them.
struct Levels {
  Grouping level[kMostLevels];
  uint32_t count = 0;

  const Grouping& clusters() const { return level[count - 2]; }
};

// The participants by group: those of group k are members[first[k]] .. members[first[k + 1] - 1], in ascending order.
// members[n], first[n + 1]: room of the caller.
void list_members(const Grouping& grouping, uint32_t n, uint16_t* members, uint16_t* first);

// The participants, neighbours near each other: those that are together in a group and in all coarser ones are one run.
// sorted[n]: room of the caller.
void sort_by_nearness(const Levels& levels, uint32_t n, uint16_t* sorted);

// O(n^2). 0 or -ENOMEM, then nothing is left in the arena.
int find_levels(const TreeProblem& problem, Arena& arena, Levels* out);

}  // namespace smelt
