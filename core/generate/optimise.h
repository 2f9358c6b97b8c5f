// A tree near the optimum, for any number of participants: see optimise.cc.
#pragma once

#include <cstdint>
#include <span>

#include "generate/problem.h"
#include "generate/search_limits.h"

namespace smelt {

inline constexpr uint32_t kDefaultMoves = ~0u;  // default_moves(n)
uint32_t default_moves(uint32_t n);             // the number that 0 stands for: a tenth of a second or less

struct OptimiseSettings {
  uint32_t moves = kDefaultMoves;  // that annealing may try, all runs together; 0: greedy only; default: by n
  uint64_t seed = 1;               // same problem, settings and seed: same tree, unless the limits below cut in
  SearchLimits limits;
  std::span<const Tree* const>
      starts;  // known trees; the result is above none of them. Those with another root do not count.
};

// A spanning tree with a low value(root), its children in the best order, and that value. `root` is a participant or
// -1: whichever serves best. When the limits end the search, the best so far. 0; -EINVAL for a root out of range;
// -ENOMEM, then nothing is left in the arena. Takes about 450 n bytes of scratch.
int optimise_tree(const TreeProblem& problem, int root, const OptimiseSettings& settings, Arena& arena, Tree* out,
                  double* value);

}  // namespace smelt
