// The search for the best tree, for any caller and any length of time: see optimised.cc.
#pragma once

#include "generate/optimise.h"
#include "generate/problem.h"

namespace smelt {

// How hard the search for a pattern may try.
struct SearchEffort {
  uint32_t most_exact = 9;  // up to so many participants the optimal tree itself is found (generate/exact.h)
  uint32_t moves =
      0;  // of annealing above that, and of the search for partners; 0: greedy construction alone, no such search
  uint64_t seed = 1;
  SearchLimits limits;  // with limits, the result depends on the time there was
  bool known = true;    // the search begins with the registry's trees, unless a program starts with many
  bool lines = true;    // broadcasts by lines that several poll: not where the messages go through queues
};
// So many participants that a starting program looks only at what wins with as many.
inline bool is_hurried(const SearchEffort& effort, uint32_t n) { return effort.moves == 0 && n > 64; }
// While a program starts: about a millisecond, and the same for everybody that computes it.
inline constexpr SearchEffort kStartEffort{};
// When a person waits: the optimum up to 14 participants, annealing by the default number of moves above; a tenth of a
// second.
inline constexpr SearchEffort kPatientEffort{14, kDefaultMoves, 1, {}};

// A tree of low value(root) for one direction (problem.h), and that value. `root` is a participant or -1: whichever
// serves best. It is above no tree that it begins with. 0; -EINVAL for a root out of range; -ENOMEM, then nothing is
// left in the arena.
int search_tree(const Costs& costs, Direction direction, int root, const SearchEffort& effort, Arena& arena, Tree* out,
                double* value);

}  // namespace smelt
