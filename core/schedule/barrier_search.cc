// The search for a barrier by trees. The best barrier is neither the best tree to reduce nor the best to broadcast
// under some root: both share the root, and the release has two ways (messages down a tree, or lines that many poll).
// So roots are tried, under each the best two trees are searched (generate/optimised.h), every way of releasing is
// priced as a schedule, and the cheapest root's trees are annealed. It stands here and not beside the trees' search,
// because only schedules have a price that knows both halves.
#include "schedule/barrier_search.h"

#include <cerrno>
#include <cstring>

#include "generate/patterns.h"
#include "generate/release.h"
#include "schedule/predict.h"

namespace smelt {

namespace {

constexpr uint32_t kMostRoots = 8;  // of a barrier by trees, when not all are tried
// What a fork and join may cost, as a share of a simpler one's price: the model prices a tree within a cache too low.
// On the 16 CPUs of results/2026-11-22-xeon-vm-16cpu.txt a flat gather and one line took 4.6 hops, a searched tree to
// gather 5.5; the model says 5.1 and 4.2.
constexpr double kLeaders = 0.95, kSearched = 0.75;
constexpr uint32_t kMostAllRoots = 12;  // with so many participants all are: two exact trees for each, 0.1 s

// The roots under which a barrier by trees is tried: all where that is quick; while a program starts, where gathering
// would end; else also where releasing alone would begin, and where the registry's trees begin.
uint32_t barrier_roots(const Costs& costs, const SearchEffort& effort, Arena& arena, uint16_t* out) {
  uint32_t count = 0;
  if (costs.n <= effort.most_exact && costs.n <= kMostAllRoots) {
    for (uint16_t i = 0; i < costs.n; ++i) out[count++] = i;
    return count;
  }
  const auto add = [&](uint16_t root) {
    for (uint32_t i = 0; i < count; ++i)
      if (out[i] == root) return;
    if (count < kMostRoots) out[count++] = root;
  };
  char* const scratch = arena.mark();
  Tree tree;
  double value;
  SearchEffort quick = effort;
  quick.moves = 0;
  if (search_tree(costs, Direction::kReduce, -1, quick, arena, &tree, &value) == 0) add(tree.root);
  if (effort.moves > 0) {
    if (search_tree(costs, Direction::kBroadcast, -1, quick, arena, &tree, &value) == 0) add(tree.root);
    for (const PatternInfo& info : pattern_registry())
      if (info.tree && info.tree != optimised_tree && info.tree(costs, info.default_argument, -1, arena, &tree) == 0)
        add(tree.root);
  }
  arena.rewind(scratch);
  return count;
}

// The ways to release: by messages down the searched tree, or by shared lines, straight or through leaders of some
// level. `way` 0 is the first; -ENOENT when there are no more ways.
int release_barrier(uint32_t way, const Levels& levels, const Costs& costs, Arena& arena, Choice* choice) {
  if (way == 0) return barrier_schedule(choice->gather, choice->tree, arena, &choice->schedule);
  if (way >= levels.count) return -ENOENT;
  if (int error = release_tree(costs, levels, way, choice->gather.root, arena, &choice->tree)) return error;
  return lined_barrier_schedule(choice->gather, choice->tree, costs, arena, &choice->schedule);
}

// The cheapest barrier by a gather and a release tree under this root; -1: under that of the best gather tree. `first`:
// the first way to release that is tried.
int barrier_under(int root, uint32_t first, const Levels& levels, const Costs& costs, const SearchEffort& effort,
                  Arena& arena, Choice* out, double* predicted) {
  double value;
  Choice made = *out;
  if (int error = search_tree(costs, Direction::kReduce, root, effort, arena, &made.gather, &value)) return error;
  if (first == 0)
    if (int error = search_tree(costs, Direction::kBroadcast, made.gather.root, effort, arena, &made.tree, &value))
      return error;
  uint32_t best = first;
  for (uint32_t way = first;; ++way) {
    char* const scratch = arena.mark();
    Choice trial = made;
    double now = 0;
    int error = release_barrier(way, levels, costs, arena, &trial);
    if (!error) error = price_schedule(trial.schedule, costs, arena, &now);
    arena.rewind(scratch);
    if (error == -ENOENT) break;
    if (error) return error;
    if (way > first && now >= *predicted) continue;
    best = way;
    *predicted = now;
  }
  if (int error = release_barrier(best, levels, costs, arena, &made)) return error;
  *out = made;
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
  auto* roots = arena.make<uint16_t>(costs.n > kMostRoots ? costs.n : kMostRoots);
  Levels levels;
  if (!roots) return -ENOMEM;
  if (int error = levels_of(costs, arena, &levels)) return error;
  if (is_hurried(effort, costs.n)) {  // lines release so many sooner than messages
    double predicted;
    return barrier_under(root, 1, levels, costs, effort, arena, out, &predicted);
  }
  uint32_t count = 1;
  if (root >= 0)
    roots[0] = static_cast<uint16_t>(root);
  else
    count = barrier_roots(costs, effort, arena, roots);
  if (count == 0) return -ENOMEM;
  // Greedy trees, or exact ones, say which root is best; only its trees are then annealed.
  SearchEffort quick = effort;
  quick.moves = 0;
  Choice best = *out;
  double least = 0;
  for (uint32_t i = 0; i < count; ++i) {
    char* const scratch = arena.mark();
    Choice trial = *out;
    double now = 0;
    if (int error = barrier_under(roots[i], 0, levels, costs, quick, arena, &trial, &now)) return error;
    if (i > 0 && now >= least) {
      arena.rewind(scratch);
      continue;
    }
    best = trial;
    least = now;
  }
  if (effort.moves > 0 && costs.n > effort.most_exact) {
    SearchEffort half = effort;  // two trees share the budget
    half.moves = (effort.moves == kDefaultMoves ? default_moves(costs.n) : effort.moves) / 2;
    double now = 0;
    Choice annealed = *out;
    if (int error = barrier_under(best.gather.root, 0, levels, costs, half, arena, &annealed, &now)) return error;
    if (now < least) best = annealed;
  }
  *out = best;
  return 0;
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
  if (!error) error = search_tree(costs, Direction::kReduce, 0, effort, arena, &gather, &value);
  for (uint32_t way = 1; way <= flat && !error; ++way) error = consider(gather, tree[way], kSearched);
  if (!error) *out = best;
  return error;
}

}  // namespace smelt
