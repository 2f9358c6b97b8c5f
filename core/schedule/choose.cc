// Building a named pattern for an operation, and trying all of them.
//
// A candidate is built, priced and thrown away unless it is cheaper than all before it; so the arena holds those that
// once were the cheapest. (Building the winner again would save that room, but a search that ran out of time would not
// find it again.) What is tried is bounded, because this runs when a team starts:
//   - the arguments that the registry thinks worth trying;
//   - all-to-all up to 64 participants: n^2 reads a barrier, more lines than the caches' links pass in the time of
//     the two further rounds it saves, and n^2 messages to price;
//   - while a program starts with more participants than that, only the families that win on large machines.
#include "schedule/choose.h"

#include <cerrno>
#include <cstdio>

#include "generate/patterns.h"
#include "generate/release.h"
#include "schedule/partners.h"

namespace smelt {

namespace {

constexpr uint32_t kMostAllToAll = typical(ThresholdId::kAllToAll);
constexpr uint32_t kMostAtLeisure = 64;  // up to so many every pattern is tried while a program starts
constexpr uint32_t kMostRoots = 8;       // of a barrier by trees, when not all are tried
constexpr uint32_t kMostAllRoots = 12;   // with so many participants all are: two exact trees for each, 0.1 s
constexpr uint32_t kMostPartnered = 3;   // exchanges whose partners are searched for

bool is_candidate(const PatternInfo& info, Operation op, uint32_t n) {
  if (info.tree) return true;
  return op == Operation::kBarrier && !(info.exchange == all_to_all && n > kMostAllToAll);
}

bool is_tried(const PatternInfo& info, Operation op, int root, uint32_t n, const SearchEffort& effort) {
  if (!is_candidate(info, op, n)) return false;
  if (effort.moves > 0 || n <= kMostAtLeisure) return true;
  if (op == Operation::kBarrier && root < 0)
    return info.exchange == hierarchical_exchange || info.exchange == spread_exchange;
  return info.tree == optimised_tree;
}

int price_schedule(const Schedule& schedule, const Costs& costs, Arena& arena, double* makespan) {
  char* const scratch = arena.mark();
  Prediction prediction;
  const int error = predict(schedule, costs, arena, &prediction);
  arena.rewind(scratch);
  *makespan = prediction.makespan;
  return error;
}

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

int optimised_barrier(int root, const Costs& costs, const SearchEffort& effort, Arena& arena, Choice* out) {
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

// "optimised": searched for this operation; for a barrier one tree to gather and one to release.
int build_optimised(Operation op, int root, const Costs& costs, const SearchEffort& effort, Arena& arena, Choice* out) {
  double value = 0;
  switch (op) {
    case Operation::kBroadcast:
      if (int error = search_tree(costs, Direction::kBroadcast, root, effort, arena, &out->tree, &value)) return error;
      return broadcast_schedule(out->tree, arena, &out->schedule);
    case Operation::kReduce:
      if (int error = search_tree(costs, Direction::kReduce, root, effort, arena, &out->tree, &value)) return error;
      return reduce_schedule(out->tree, arena, &out->schedule);
    case Operation::kBarrier: return optimised_barrier(root, costs, effort, arena, out);
  }
  return -EINVAL;
}

int build(const Pattern& pattern, Operation op, int root, const Costs& costs, const SearchEffort& effort, Arena& arena,
          Choice* out) {
  if (pattern.info->exchange) {
    if (op != Operation::kBarrier || root >= 0) return -EINVAL;  // an exchange has no root
    if (int error = pattern.info->exchange(costs, pattern.argument, arena, &out->exchange)) return error;
    return barrier_schedule(out->exchange, arena, &out->schedule);
  }
  if (pattern.info->tree == optimised_tree) return build_optimised(op, root, costs, effort, arena, out);
  if (int error = pattern.info->tree(costs, pattern.argument, root, arena, &out->tree)) return error;
  switch (op) {
    case Operation::kBroadcast: return broadcast_schedule(out->tree, arena, &out->schedule);
    case Operation::kReduce: return reduce_schedule(out->tree, arena, &out->schedule);
    case Operation::kBarrier:
      out->gather = out->tree;
      return barrier_schedule(out->tree, out->tree, arena, &out->schedule);
  }
  return -EINVAL;
}

// Builds by `make(pattern, &choice)` and prices.
template <typename Make>
int price(const Pattern& pattern, const Costs& costs, Arena& arena, Make make, Choice* out) {
  char* const start = arena.mark();
  Choice choice;
  choice.pattern = pattern;
  int error = make(pattern, &choice);
  if (error == 0) error = price_schedule(choice.schedule, costs, arena, &choice.predicted);
  if (error != 0) {
    arena.rewind(start);
    return error;
  }
  *out = choice;
  return 0;
}

// The cheapest few exchanges, the cheapest first.
struct Exchanges {
  Pattern pattern[kMostPartnered];
  double predicted[kMostPartnered];
  uint32_t count = 0;

  void consider(const Choice& candidate) {
    if (!candidate.pattern.info->exchange) return;
    uint32_t at = count;
    while (at > 0 && candidate.predicted < predicted[at - 1]) --at;
    if (at == kMostPartnered) return;
    if (count < kMostPartnered) ++count;
    for (uint32_t i = count - 1; i > at; --i) {
      pattern[i] = pattern[i - 1];
      predicted[i] = predicted[i - 1];
    }
    pattern[at] = candidate.pattern;
    predicted[at] = candidate.predicted;
  }
};

// The cheapest of the rows that `wanted` lets through.
template <typename Wanted, typename Make>
int cheapest(const Costs& costs, Arena& arena, Wanted wanted, Make make, Choice* out, Exchanges* exchanges = nullptr) {
  Choice best;
  for (const PatternInfo& info : pattern_registry()) {
    if (!wanted(info)) continue;
    for (uint32_t argument : candidate_arguments(info)) {
      char* const scratch = arena.mark();
      Choice candidate;
      const int error = price({&info, argument}, costs, arena, make, &candidate);
      if (error == -EINVAL) continue;  // not for this many participants, or no such root: then nothing is left over
      if (error != 0) return error;
      if (exchanges) exchanges->consider(candidate);
      if (best.pattern.info && candidate.predicted >= best.predicted) {
        arena.rewind(scratch);
        continue;
      }
      best = candidate;
    }
  }
  if (!best.pattern.info) return -EINVAL;
  *out = best;
  return 0;
}

// Takes the place of *best if the exchange with other partners is cheaper.
int try_partners(const Pattern& pattern, const Costs& costs, const SearchEffort& effort, Arena& arena, Choice* best) {
  char* const start = arena.mark();
  auto* place = arena.make<uint16_t>(costs.n);
  Choice plain, moved;
  plain.pattern = pattern;
  int error = place ? build(pattern, Operation::kBarrier, -1, costs, effort, arena, &plain) : -ENOMEM;
  if (!error) error = search_partners(plain.schedule, costs, effort, arena, place, &moved.predicted);
  if (error || moved.predicted >= best->predicted) {
    arena.rewind(start);
    return error;
  }
  if (int failed = move_participants(plain.schedule, place, arena, &moved.schedule)) {
    arena.rewind(start);
    return failed;
  }
  moved.pattern = pattern;
  moved.partners = true;
  moved.exchange = plain.exchange;
  for (uint32_t m = 0; m < moved.exchange.count; ++m) {
    Message& message = moved.exchange.messages[m];
    message = {message.round, place[message.from], place[message.to]};
  }
  *best = moved;
  return 0;
}

}  // namespace

int choice_text(const Choice& choice, char* text, size_t room) {
  char name[40];
  pattern_text(choice.pattern, name, sizeof name);
  return std::snprintf(text, room, "%s%s", name, choice.partners ? ", partners searched" : "");
}

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
  char* const start = arena.mark();
  Exchanges exchanges;
  Choice best;
  int error = cheapest(
      costs, arena, [&](const PatternInfo& info) { return is_tried(info, op, root, costs.n, effort); },
      [&](const Pattern& p, Choice* choice) { return build(p, op, root, costs, effort, arena, choice); }, &best,
      &exchanges);
  for (uint32_t i = 0; i < exchanges.count && !error && effort.moves > 0; ++i)
    error = try_partners(exchanges.pattern[i], costs, effort, arena, &best);
  if (error)
    arena.rewind(start);
  else
    *out = best;
  return error;
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
