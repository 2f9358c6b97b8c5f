#include "schedule/build.h"

#include <cerrno>
#include <cstdio>

#include "generate/patterns.h"
#include "schedule/barrier_search.h"
#include "schedule/predict.h"

namespace smelt {

namespace {

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
    case Operation::kBarrier: return search_barrier(root, costs, effort, arena, out);
  }
  return -EINVAL;
}

// A tree whose children poll lines, by groups that the pattern's argument names.
int build_by_lines(const Pattern& pattern, Operation op, const Costs& costs, Arena& arena, Choice* out) {
  if (op == Operation::kReduce) return reduce_schedule(out->tree, arena, &out->schedule);
  auto* group = arena.make<uint16_t>(costs.n);
  if (!group) return -ENOMEM;
  number_line_groups(costs, pattern.argument, group);
  if (op == Operation::kBroadcast) return lined_broadcast_schedule(out->tree, group, arena, &out->schedule);
  out->gather = out->tree;
  return lined_barrier_schedule(out->tree, out->tree, group, arena, &out->schedule);
}

// Where there is time: rounds by one line each, if they are cheaper after all.
int try_one_line_a_round(const Costs& costs, Arena& arena, Choice* out) {
  char* const scratch = arena.mark();
  Schedule plain;
  double by_lines = 0, by_one = 0;
  int error = barrier_schedule(out->exchange, arena, &plain);
  if (!error) error = price_schedule(out->schedule, costs, arena, &by_lines);
  if (!error) error = price_schedule(plain, costs, arena, &by_one);
  if (!error && by_one < by_lines)
    out->schedule = plain;
  else
    arena.rewind(scratch);
  return error;
}

int make_schedule(const Pattern& pattern, Operation op, int root, const Costs& costs, const SearchEffort& effort,
                  Arena& arena, Choice* out) {
  if (pattern.info->exchange) {
    if (op != Operation::kBarrier || root >= 0) return -EINVAL;  // an exchange has no root
    if (int error = pattern.info->exchange(costs, pattern.argument, arena, &out->exchange)) return error;
    // Rounds by several lines, but not a pattern of one round: its readers are still at its lines when a loop comes to
    // the next store, so it would look better than it is.
    const bool lined = out->exchange.rounds > 1;
    if (int error = barrier_schedule(out->exchange, arena, &out->schedule, lined ? &costs : nullptr)) return error;
    return lined && effort.moves > 0 ? try_one_line_a_round(costs, arena, out) : 0;
  }
  if (pattern.info->tree == optimised_tree) return build_optimised(op, root, costs, effort, arena, out);
  if (int error = pattern.info->tree(costs, pattern.argument, root, arena, &out->tree)) return error;
  if (is_by_lines(*pattern.info)) return build_by_lines(pattern, op, costs, arena, out);
  switch (op) {
    case Operation::kBroadcast: return broadcast_schedule(out->tree, arena, &out->schedule);
    case Operation::kReduce: return reduce_schedule(out->tree, arena, &out->schedule);
    case Operation::kBarrier:
      out->gather = out->tree;
      return barrier_schedule(out->tree, out->tree, arena, &out->schedule);
  }
  return -EINVAL;
}

}  // namespace

int choice_text(const Choice& choice, char* text, size_t room) {
  char name[40];
  pattern_text(choice.pattern, name, sizeof name);
  return std::snprintf(text, room, "%s%s", name, choice.partners ? ", partners searched" : "");
}

int build(const Pattern& pattern, Operation op, int root, const Costs& costs, Arena& arena, Choice* out,
          const SearchEffort& effort) {
  if (!pattern.info) return -EINVAL;
  char* const start = arena.mark();
  Choice choice;
  choice.pattern = pattern;
  int error = make_schedule(pattern, op, root, costs, effort, arena, &choice);
  Trace trace{.order = choice.schedule.peers};
  if (!error) error = price_schedule(choice.schedule, costs, arena, &choice.predicted, &trace);
  if (error) {
    arena.rewind(start);
    return error;
  }
  *out = choice;
  return 0;
}

int answered_broadcast(const Choice& broadcast, const Costs& costs, Arena& arena, Schedule* out) {
  Tree star;
  if (int error = sequential_tree(costs, 0, broadcast.tree.root, arena, &star)) return error;
  if (!is_by_lines(*broadcast.pattern.info)) return barrier_schedule(star, broadcast.tree, arena, out);
  auto* group = arena.make<uint16_t>(costs.n);
  if (!group) return -ENOMEM;
  number_line_groups(costs, broadcast.pattern.argument, group);
  return lined_barrier_schedule(star, broadcast.tree, group, arena, out);
}

}  // namespace smelt
