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

#include "generate/patterns.h"

namespace smelt {

namespace {

constexpr uint32_t kMostAllToAll = 64;
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

int build(const Pattern& pattern, Operation op, int root, const Costs& costs, Arena& arena, Choice* out) {
  if (pattern.info->exchange) {
    if (op != Operation::kBarrier || root >= 0) return -EINVAL;  // an exchange has no root
    Exchange exchange;
    if (int error = pattern.info->exchange(costs, pattern.argument, arena, &exchange)) return error;
    return barrier_schedule(exchange, arena, &out->schedule);
  }
  if (int error = pattern.info->tree(costs, pattern.argument, root, arena, &out->tree)) return error;
  switch (op) {
    case Operation::kBroadcast: return broadcast_schedule(out->tree, arena, &out->schedule);
    case Operation::kReduce: return reduce_schedule(out->tree, arena, &out->schedule);
    case Operation::kBarrier: return barrier_schedule(out->tree, out->tree, arena, &out->schedule);
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

int plan(const Pattern& pattern, Operation op, int root, const Costs& costs, Arena& arena, Choice* out) {
  if (!pattern.info) return -EINVAL;
  return price(
      pattern, costs, arena, [&](const Pattern& p, Choice* choice) { return build(p, op, root, costs, arena, choice); }, out);
}

int choose_best(Operation op, int root, const Costs& costs, Arena& arena, Choice* out) {
  return cheapest(
      costs, arena, [&](const PatternInfo& info) { return is_candidate(info, op, costs.n); },
      [&](const Pattern& p, Choice* choice) { return build(p, op, root, costs, arena, choice); }, out);
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
