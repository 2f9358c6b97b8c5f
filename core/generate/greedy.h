// Greedy construction of a tree: see greedy.cc.
#pragma once

#include "generate/levels.h"
#include "generate/problem.h"

namespace smelt {

struct GreedyWeights {
  float look_ahead = 1;  // of a child's next step; 0: earliest completing edge first
  float urgency = 1;     // of the time that a whole group still needs that nobody has entered; 0: it has no say
};

// The groups of a machine as greedy construction needs them, once for all its trees.
struct GroupNeeds {
  float* time = nullptr;        // [levels][n] by group: how long a broadcast within it takes, about
  float* local_edge = nullptr;  // [n] mean edge to the own cluster
  uint16_t* members = nullptr;  // [levels][n] by group (list_members)
  uint16_t* first = nullptr;    // [levels][n + 1]
};

// O(n^2) for each level. 0 or -ENOMEM, then nothing is left in the arena.
int study_groups(const TreeProblem& problem, const Levels& levels, Arena& arena, GroupNeeds* out);

// A spanning tree from `root` into `out`, which is a made tree of problem.n; its contents are forgotten. O(n^2) as a
// rule. 0; -EINVAL for a root out of range; -ENOMEM, then `out` is unchanged. The arena is as before either way.
int greedy_tree(const TreeProblem& problem, const Levels& levels, const GroupNeeds& needs, uint16_t root,
                GreedyWeights weights, Arena& arena, Tree* out);

}  // namespace smelt
