// The search for a barrier by trees. It gathers by the best tree to reduce and releases by lines that many poll,
// straight or through leaders, under one root. The best root is neither where gathering ends soonest nor where lines
// release soonest, so both are tried, every way of releasing is priced as a schedule, and the cheaper root's tree is
// annealed. It stands here and not beside the trees' search, because only schedules have a price that knows both
// halves.
//
// A release by messages is not tried: on 96 machines, with 2 to 384 participants each, it was never cheapest of all.
#include "schedule/barrier_search.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "generate/patterns.h"
#include "generate/release.h"
#include "schedule/predict.h"

namespace smelt {

namespace {

// What a fork and join may cost, as a share of a simpler one's price: the model prices a tree within a cache too low.
// On the 16 CPUs of results/2026-11-22-xeon-vm-16cpu.txt a flat gather and one line took 4.6 hops, a searched tree to
// gather 5.5; the model says 5.1 and 4.2.
constexpr double kLeaders = 0.95, kSearched = 0.75;

// Where releasing by one line takes the least.
uint16_t nearest_to_all(const Costs& costs) {
  uint16_t nearest = 0;
  float least = 0;
  for (uint16_t i = 0; i < costs.n; ++i) {
    const float farthest = *std::max_element(costs.hop + costs.at(i, 0), costs.hop + costs.at(i, 0) + costs.n);
    if (i > 0 && farthest >= least) continue;
    nearest = i;
    least = farthest;
  }
  return nearest;
}

// The cheapest barrier by a gather tree under this root, or, for -1, under the best one of such trees, and shared lines
// that release, straight or through leaders of some level.
int barrier_under(int root, const Levels& levels, const Costs& costs, const SearchEffort& effort, Arena& arena,
                  Choice* out, double* predicted) {
  double value;
  Choice best, made = *out;
  if (int error = search_tree(costs, Direction::kReduce, root, effort, arena, &made.gather, &value)) return error;
  for (uint32_t level = 1; level < levels.count; ++level) {
    char* const scratch = arena.mark();
    Choice trial = made;
    double now = 0;
    int error = release_tree(costs, levels, level, made.gather.root, arena, &trial.tree);
    if (!error) error = lined_barrier_schedule(trial.gather, trial.tree, costs, arena, &trial.schedule);
    if (!error) error = price_schedule(trial.schedule, costs, arena, &now);
    if (error) return error;
    if (level > 1 && now >= *predicted) {
      arena.rewind(scratch);
      continue;
    }
    best = trial;
    *predicted = now;
  }
  *out = best;
  return 0;
}

// The levels of these costs, in front of the scratch that they are found in.
int levels_of(const Costs& costs, Arena& arena, Levels* out) {
  auto* groups = arena.make<uint16_t>(size_t{kMostLevels} * costs.n);
  if (!groups) return -ENOMEM;
  char* const scratch = arena.mark();
  TreeProblem problem;
  int error = make_problem(costs, Direction::kBroadcast, arena, &problem);
  if (!error) error = find_levels(problem, arena, out);
  for (uint32_t i = 0; i < out->count && !error; ++i) {
    std::memcpy(groups + size_t{i} * costs.n, out->level[i].of, costs.n * sizeof *groups);
    out->level[i].of = groups + size_t{i} * costs.n;
  }
  arena.rewind(scratch);
  return error;
}

}  // namespace

int search_barrier(int root, const Costs& costs, const SearchEffort& effort, Arena& arena, Choice* out) {
  Levels levels;
  if (int error = levels_of(costs, arena, &levels)) return error;
  Choice best = *out;
  double least = 0;
  const auto consider = [&](int under, const SearchEffort& by) {
    char* const scratch = arena.mark();
    Choice trial = *out;
    double now = 0;
    const int error = barrier_under(under, levels, costs, by, arena, &trial, &now);
    if (error || (best.tree.n > 0 && now >= least)) {
      arena.rewind(scratch);
      return error;
    }
    best = trial;
    least = now;
    return 0;
  };
  // Greedy trees, or exact ones, say which root is best; only its tree is then annealed.
  SearchEffort quick = effort;
  quick.moves = 0;
  int error = consider(root, quick);
  if (!error && root < 0 && !is_hurried(effort, costs.n) && nearest_to_all(costs) != best.gather.root)
    error = consider(nearest_to_all(costs), quick);
  if (!error && effort.moves > 0 && costs.n > effort.most_exact) error = consider(best.gather.root, effort);
  *out = best;
  return error;
}

int search_fork(const Costs& costs, const SearchEffort& effort, Arena& arena, Choice* out) {
  Levels levels;
  if (int error = levels_of(costs, arena, &levels)) return error;
  Choice best = *out;
  // Takes the place of the best if it is cheaper than that share of it. Every tree tried stays in the arena.
  const auto consider = [&](const Tree& gather, const Tree& release, double share) {
    char* const scratch = arena.mark();
    Choice trial = *out;
    trial.gather = gather;
    trial.tree = release;
    int error = fork_join_schedule(gather, release, arena, &trial.schedule);
    if (!error) error = price_schedule(trial.schedule, costs, arena, &trial.predicted);
    if (!error && (best.tree.n == 0 || trial.predicted < share * best.predicted))
      best = trial;
    else
      arena.rewind(scratch);
    return error;
  };
  // The last level has all together: flat.
  const uint32_t flat = levels.count - 1;
  Tree tree[kMostLevels];
  for (uint32_t way = 1; way <= flat; ++way)
    if (int error = release_tree(costs, levels, way, 0, arena, &tree[way])) return error;
  int error = consider(tree[flat], tree[flat], 1);
  for (uint32_t way = 1; way < flat && !error; ++way) {
    error = consider(tree[way], tree[flat], kLeaders);
    if (!error) error = consider(tree[way], tree[way], kLeaders);
  }
  Tree gather;
  double value;
  SearchEffort quick = effort;
  quick.known = false;  // the flat tree and those of leaders have been priced
  if (!error) error = search_tree(costs, Direction::kReduce, 0, quick, arena, &gather, &value);
  for (uint32_t way = 1; way <= flat && !error; ++way) error = consider(gather, tree[way], kSearched);
  if (!error) *out = best;
  return error;
}

}  // namespace smelt
