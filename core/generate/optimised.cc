// The optimised tree: exact.cc for few participants, optimise.cc for many, which starts from every other tree that the
// registry has. As a row of the registry it is the tree for broadcasts, found in the time that a starting program can
// spend; a caller that knows the operation and has more time goes by schedule/choose.h.
#include "generate/optimised.h"

#include "generate/exact.h"
#include "generate/patterns.h"
#include "generate/registry.h"

namespace smelt {

namespace {

constexpr uint32_t kMostStarts = 32;  // trees that the registry can offer, arguments included

// The other trees of the registry, so that the result is above none of them. Two are left out: they take the longest,
// and are never the best.
uint32_t known_trees(const Costs& costs, int root, const SearchEffort& effort, Arena& arena, const Tree** out) {
  uint32_t count = 0;
  if (!effort.known || is_hurried(effort, costs.n)) return 0;
  for (const PatternInfo& info : pattern_registry()) {
    if (!info.tree || info.tree == optimised_tree) continue;
    if (info.tree == mst_tree || info.tree == bad_tree) continue;
    for (uint32_t argument : candidate_arguments(info)) {
      auto* tree = arena.make<Tree>(1);
      if (!tree || count == kMostStarts) break;
      if (info.tree(costs, argument, root, arena, tree) == 0) out[count++] = tree;
    }
  }
  return count;
}

}  // namespace

int search_tree(const Costs& costs, Direction direction, int root, const SearchEffort& effort, Arena& arena, Tree* out,
                double* value) {
  if (costs.n == 0 || root < -1 || root >= static_cast<int>(costs.n)) return -EINVAL;
  char* const start = arena.mark();
  // The result first, so that all the scratch behind it can be given back.
  Tree kept;
  if (int error = make_tree(costs.n, 0, arena, &kept)) return error;
  char* const scratch = arena.mark();
  TreeProblem problem;
  int error = make_problem(costs, direction, arena, &problem);
  Tree found;
  bool done = false;
  if (!error && costs.n <= effort.most_exact) {
    error = exact_tree(problem, root, effort.limits, arena, &found, value);
    done = error == 0;
    if (error == -EINTR || error == -ERANGE) error = 0;
  }
  if (!error && !done) {
    const Tree* starts[kMostStarts];
    OptimiseSettings settings;
    settings.moves = effort.moves;
    settings.seed = effort.seed;
    settings.limits = effort.limits;
    settings.starts = {starts, known_trees(costs, root, effort, arena, starts)};
    error = optimise_tree(problem, root, settings, arena, &found, value);
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

int optimised_tree(const Costs& costs, uint32_t, int root, Arena& arena, Tree* out) {
  double value;
  return search_tree(costs, Direction::kBroadcast, root, kStartEffort, arena, out, &value);
}

}  // namespace smelt
