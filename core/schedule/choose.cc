// Building a named pattern for an operation, and trying all of them.
//
// A candidate is built, priced and thrown away; only the winner is built again and kept, so the arena holds one
// candidate at a time. What is tried is bounded, because this runs when a team starts:
//   - knomial with K = 2, 3, 4, 8 and dissemination with W = 1, 2, 3, 4, 7: the number of levels or rounds only
//     changes at the roots of n, and for up to 1024 participants these give every depth worth having;
//   - all-to-all up to 64 participants: n^2 reads a barrier, more lines than the caches' links pass in the time of
//     the two further rounds it saves, and n^2 messages to price.
#include "schedule/choose.h"

#include <cerrno>

#include "generate/exact.h"
#include "generate/optimise.h"
#include "generate/patterns.h"
#include "generate/problem.h"

namespace smelt {

namespace {

constexpr uint32_t kMostAllToAll = 64;
constexpr uint32_t kMostStarts = 32;  // trees that the registry can offer, arguments included
constexpr uint32_t kMostRoots = 8;    // of a barrier by trees, when not all are tried
constexpr uint32_t kRadixes[] = {2, 3, 4, 8};
constexpr uint32_t kWidths[] = {1, 2, 3, 4, 7};

std::span<const uint32_t> candidate_arguments(const PatternInfo& info) {
  if (info.tree == knomial_tree) return kRadixes;
  if (info.exchange == dissemination) return kWidths;
  return {&info.default_argument, 1};
}

bool is_candidate(const PatternInfo& info, Operation op, uint32_t n) {
  if (info.tree) return true;
  return op == Operation::kBarrier && !(info.exchange == all_to_all && n > kMostAllToAll);
}

// The tree of least value for one direction. Every other tree of the registry is a start, so none is better.
int search_tree(const Costs& costs, Direction direction, int root, const SearchEffort& effort, Arena& arena, Tree* out,
                double* value) {
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
    uint32_t count = 0;
    for (const PatternInfo& info : pattern_registry()) {
      if (!info.tree || info.tree == optimised_tree || effort.moves == 0) continue;
      for (uint32_t argument : candidate_arguments(info)) {
        auto* tree = arena.make<Tree>(1);
        if (!tree || count == kMostStarts) break;
        if (info.tree(costs, argument, root, arena, tree) == 0) starts[count++] = tree;
      }
    }
    OptimiseSettings settings;
    settings.moves = effort.moves;
    settings.seed = effort.seed;
    settings.limits = effort.limits;
    settings.starts = {starts, count};
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

// The roots under which both trees of a barrier are tried: all where that is quick, else where one tree alone would begin, and where
// the registry's trees begin.
uint32_t barrier_roots(const Costs& costs, const SearchEffort& effort, Arena& arena, uint16_t* out) {
  uint32_t count = 0;
  if (costs.n <= effort.most_exact) {
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
  for (Direction direction : {Direction::kBroadcast, Direction::kReduce})
    if (search_tree(costs, direction, -1, effort, arena, &tree, &value) == 0) add(tree.root);
  if (effort.moves > 0) {
    for (const PatternInfo& info : pattern_registry())
      if (info.tree && info.tree != optimised_tree && info.tree(costs, info.default_argument, -1, arena, &tree) == 0) add(tree.root);
  }
  arena.rewind(scratch);
  return count;
}

// "optimised": for a barrier one tree each to gather and to release, under the root that makes the least of both.
int build_optimised(Operation op, int root, const Costs& costs, const SearchEffort& effort, Arena& arena, Choice* out) {
  double value = 0;
  if (op != Operation::kBarrier) {
    const Direction direction = op == Operation::kBroadcast ? Direction::kBroadcast : Direction::kReduce;
    if (int error = search_tree(costs, direction, root, effort, arena, &out->tree, &value)) return error;
    return op == Operation::kBroadcast ? broadcast_schedule(out->tree, arena, &out->schedule)
                                       : reduce_schedule(out->tree, arena, &out->schedule);
  }
  auto* roots = arena.make<uint16_t>(costs.n > kMostRoots ? costs.n : kMostRoots);
  if (!roots) return -ENOMEM;
  uint32_t count = 1;
  if (root >= 0) roots[0] = static_cast<uint16_t>(root);
  else count = barrier_roots(costs, effort, arena, roots);
  double least = 0;
  int at = -1;
  for (uint32_t i = 0; i < count; ++i) {
    char* const scratch = arena.mark();
    Tree release, gather;
    double down = 0, up = 0;
    int error = search_tree(costs, Direction::kBroadcast, roots[i], effort, arena, &release, &down);
    if (!error) error = search_tree(costs, Direction::kReduce, roots[i], effort, arena, &gather, &up);
    arena.rewind(scratch);
    if (error) return error;
    if (at < 0 || down + up < least) {
      least = down + up;
      at = static_cast<int>(i);
    }
  }
  if (at < 0) return -ENOMEM;
  if (int error = search_tree(costs, Direction::kBroadcast, roots[at], effort, arena, &out->tree, &value)) return error;
  if (int error = search_tree(costs, Direction::kReduce, roots[at], effort, arena, &out->gather, &value)) return error;
  return barrier_schedule(out->gather, out->tree, arena, &out->schedule);
}

int build(const Pattern& pattern, Operation op, int root, const Costs& costs, const SearchEffort& effort, Arena& arena,
          Choice* out) {
  if (pattern.info->exchange) {
    if (op != Operation::kBarrier || root >= 0) return -EINVAL;  // an exchange has no root
    Exchange exchange;
    if (int error = pattern.info->exchange(costs, pattern.argument, arena, &exchange)) return error;
    return barrier_schedule(exchange, arena, &out->schedule);
  }
  if (pattern.info->tree == optimised_tree) return build_optimised(op, root, costs, effort, arena, out);
  if (int error = pattern.info->tree(costs, pattern.argument, root, arena, &out->tree)) return error;
  switch (op) {
    case Operation::kBroadcast: return broadcast_schedule(out->tree, arena, &out->schedule);
    case Operation::kReduce: return reduce_schedule(out->tree, arena, &out->schedule);
    case Operation::kBarrier: out->gather = out->tree; return barrier_schedule(out->tree, out->tree, arena, &out->schedule);
  }
  return -EINVAL;
}

// Builds by `make(pattern, &choice)` and prices.
template <typename Make>
int price(const Pattern& pattern, const Costs& costs, Arena& arena, Make make, Choice* out) {
  char* const start = arena.mark();
  Choice choice;
  choice.pattern = pattern;
  Prediction prediction;
  int error = make(pattern, &choice);
  if (error == 0) {
    char* const scratch = arena.mark();
    error = predict(choice.schedule, costs, arena, &prediction);
    arena.rewind(scratch);
  }
  if (error != 0) {
    arena.rewind(start);
    return error;
  }
  choice.predicted = prediction.makespan;
  *out = choice;
  return 0;
}

// The cheapest of the rows that `wanted` lets through.
template <typename Wanted, typename Make>
int cheapest(const Costs& costs, Arena& arena, Wanted wanted, Make make, Choice* out) {
  Pattern best;
  double least = 0;
  for (const PatternInfo& info : pattern_registry()) {
    if (!wanted(info)) continue;
    for (uint32_t argument : candidate_arguments(info)) {
      char* const scratch = arena.mark();
      Choice candidate;
      const int error = price({&info, argument}, costs, arena, make, &candidate);
      arena.rewind(scratch);
      if (error == -EINVAL) continue;  // not for this many participants, or no such root: then nothing is left over
      if (error != 0) return error;
      if (best.info && candidate.predicted >= least) continue;
      best = candidate.pattern;
      least = candidate.predicted;
    }
  }
  return best.info ? price(best, costs, arena, make, out) : -EINVAL;
}

}  // namespace

int plan(const Pattern& pattern, Operation op, int root, const Costs& costs, Arena& arena, Choice* out,
         const SearchEffort& effort) {
  if (!pattern.info) return -EINVAL;
  return price(
      pattern, costs, arena,
      [&](const Pattern& p, Choice* choice) { return build(p, op, root, costs, effort, arena, choice); }, out);
}

uint32_t candidate_patterns(Operation op, uint32_t n, Pattern* out, uint32_t room) {
  uint32_t count = 0;
  for (const PatternInfo& info : pattern_registry()) {
    if (!is_candidate(info, op, n)) continue;
    for (uint32_t argument : candidate_arguments(info)) {
      if (count < room) out[count] = {&info, argument};
      ++count;
    }
  }
  return count;
}

int choose_best(Operation op, int root, const Costs& costs, Arena& arena, Choice* out, const SearchEffort& effort) {
  return cheapest(
      costs, arena,
      [&](const PatternInfo& info) {
        // Two trees for each of several roots: too long while a program starts, for a barrier that an exchange serves better.
        const bool too_long = op == Operation::kBarrier && costs.n > effort.most_exact && effort.moves == 0;
        return is_candidate(info, op, costs.n) && !(info.tree == optimised_tree && too_long);
      },
      [&](const Pattern& p, Choice* choice) { return build(p, op, root, costs, effort, arena, choice); }, out);
}

int choose_fork(const Costs& costs, Arena& arena, Choice* out) {
  return cheapest(
      costs, arena, [](const PatternInfo& info) { return info.tree != nullptr; },
      [&](const Pattern& p, Choice* choice) {
        if (int error = p.info->tree(costs, p.argument, 0, arena, &choice->tree)) return error;
        return fork_join_schedule(choice->tree, arena, &choice->schedule);
      },
      out);
}

}  // namespace smelt
