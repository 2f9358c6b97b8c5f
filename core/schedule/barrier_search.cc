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

constexpr uint32_t kMostRoots = 8;      // of a barrier by trees, when not all are tried
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

// The cheapest barrier by a gather and a release tree under this root.
int barrier_under(uint16_t root, const Levels& levels, const Costs& costs, const SearchEffort& effort, Arena& arena,
                  Choice* out, double* predicted) {
  double value;
  Choice made = *out;
  if (int error = search_tree(costs, Direction::kReduce, root, effort, arena, &made.gather, &value)) return error;
  if (int error = search_tree(costs, Direction::kBroadcast, root, effort, arena, &made.tree, &value)) return error;
  uint32_t best = 0;
  for (uint32_t way = 0;; ++way) {
    char* const scratch = arena.mark();
    Choice trial = made;
    double now = 0;
    int error = release_barrier(way, levels, costs, arena, &trial);
    if (!error) error = price_schedule(trial.schedule, costs, arena, &now);
    arena.rewind(scratch);
    if (error == -ENOENT) break;
    if (error) return error;
    if (way > 0 && now >= *predicted) continue;
    best = way;
    *predicted = now;
  }
  if (int error = release_barrier(best, levels, costs, arena, &made)) return error;
  *out = made;
  return 0;
}

}  // namespace

int search_barrier(int root, const Costs& costs, const SearchEffort& effort, Arena& arena, Choice* out) {
  auto* roots = arena.make<uint16_t>(costs.n > kMostRoots ? costs.n : kMostRoots);
  auto* groups = arena.make<uint16_t>(size_t{kMostLevels} * costs.n);
  if (!roots || !groups) return -ENOMEM;
  Levels levels;
  {
    char* const scratch = arena.mark();
    TreeProblem problem;
    int error = make_problem(costs, Direction::kBroadcast, arena, &problem);
    if (!error) error = find_levels(problem, arena, &levels);
    for (uint32_t i = 0; i < levels.count && !error; ++i) {  // kept in front of the scratch they were found in
      std::memcpy(groups + size_t{i} * costs.n, levels.level[i].of, costs.n * sizeof *groups);
      levels.level[i].of = groups + size_t{i} * costs.n;
    }
    arena.rewind(scratch);
    if (error) return error;
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
    if (int error = barrier_under(roots[i], levels, costs, quick, arena, &trial, &now)) return error;
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
    if (int error = barrier_under(best.gather.root, levels, costs, half, arena, &annealed, &now)) return error;
    if (now < least) best = annealed;
  }
  *out = best;
  return 0;
}

}  // namespace smelt
