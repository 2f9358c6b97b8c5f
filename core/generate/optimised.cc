// The optimised tree as a row of the registry: for broadcasts, with what a program that starts can spend. Who knows the operation
// and has more time goes by schedule/choose.h, which searches for it: exact.cc for few participants, optimise.cc for many.
#include "generate/exact.h"
#include "generate/optimise.h"
#include "generate/patterns.h"
#include "generate/problem.h"

namespace smelt {

int optimised_tree(const Costs& costs, uint32_t, int root, Arena& arena, Tree* out) {
  constexpr uint32_t kFew = 9;  // about a millisecond
  // The result first, so that the scratch behind it can be given back.
  char* const start = arena.mark();
  Tree kept;
  if (int error = start_tree(costs.n, root, 0, arena, &kept)) return error;
  char* const scratch = arena.mark();
  TreeProblem problem;
  Tree found;
  double value = 0;
  int error = make_problem(costs, Direction::kBroadcast, arena, &problem);
  if (!error && costs.n <= kFew) {
    error = exact_tree(problem, root, SearchLimits{}, arena, &found, &value);
  } else if (!error) {
    OptimiseSettings greedy;
    greedy.moves = 0;
    error = optimise_tree(problem, root, greedy, arena, &found, &value);
  }
  if (error) {
    arena.rewind(start);
    return error;
  }
  copy_tree(found, kept);
  arena.rewind(scratch);
  *out = kept;
  return 0;
}

}  // namespace smelt
