#include "team/team.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/os/os.h"
#include "schedule/choose.h"
#include "schedule/validate.h"
#include "schedule/winner.h"

namespace smelt {
namespace {

// The participants as indices into the profile, and the costs among them; no costs (n 0) of a crowd: one is unknown, or
// two share a CPU.
int find_costs(const TeamRequest& request, Arena& arena, std::span<uint16_t>* members, Costs* costs) {
  if (request.n < 1 || request.n > kMaxParticipants) return -EINVAL;
  *members = {arena.make<uint16_t>(request.n), request.n};
  if (!members->data()) return -ENOMEM;
  if (request.crowded || request.n == 1) return 0;
  for (uint32_t i = 0; i < request.n; ++i)
    (*members)[i] = request.cpus ? profile_index(*request.profile, request.cpus[i]) : static_cast<uint16_t>(i);
  const int error = subset_costs(request.profile->costs, *members, arena, costs);
  return error == -EINVAL ? 0 : error;
}

}  // namespace

int plan_team(const TeamRequest& request, Arena& arena, TeamPlan* out) {
  const bool best = std::strcmp(request.pattern, "best") == 0;
  Pattern pattern;
  if (!best) {
    if (const int error = find_pattern(request.pattern, &pattern)) return error;
  }
  std::span<uint16_t> members;
  Costs costs;
  int error = find_costs(request, arena, &members, &costs);
  if (error) return error;

  TeamPlan made;
  made.n = request.n;
  made.crowd = costs.n == 0;
  if (made.crowd) {
    std::snprintf(made.pattern, sizeof made.pattern, "%s", request.n == 1 ? "alone" : "crowd");
    *out = made;
    return 0;
  }

  Choice choice;
  error = best ? choose_for(request.profile, members, Operation::kBarrier, -1, costs, arena, &choice)
               : build(pattern, Operation::kBarrier, -1, costs, arena, &choice);
  if (!error && !best) error = check_schedule(choice.schedule, arena);
  if (error) return error;
  made.schedule = choice.schedule;
  made.node = costs.node;
  if (!choice.pattern.info->exchange) made.tree = choice.tree;
  made.predicted = choice.predicted;
  choice_text(choice, made.pattern, sizeof made.pattern);
  *out = made;
  return 0;
}

int plan_fork(const TeamRequest& request, Arena& arena, ForkPlan* out) {
  std::span<uint16_t> members;
  Costs costs;
  int error = find_costs(request, arena, &members, &costs);
  if (error) return error;
  ForkPlan made;
  if (costs.n > 0) {
    Choice choice;
    error = choose_fork(costs, arena, &choice);
    if (!error) error = check_schedule(choice.schedule, arena);
    if (error) return error;
    made.tree = choice.tree;
    made.gather = choice.gather;
    made.predicted = choice.predicted;
    pattern_text(choice.pattern, made.pattern, sizeof made.pattern);
  } else {
    error = make_tree(request.n, 0, arena, &made.tree);
    if (error) return error;
    for (uint32_t i = 1; i < request.n; ++i) append_child(made.tree, 0, static_cast<uint16_t>(i));
    made.gather = made.tree;
    std::snprintf(made.pattern, sizeof made.pattern, "sequential");
  }
  *out = made;
  return 0;
}

int make_fork(const ForkPlan& plan, const WaitPolicy& policy, TeamFork* out) {
  const size_t bytes = ForkJoin::bytes(plan.tree.n);
  void* memory = os::map_pages(bytes);
  if (!memory) return -ENOMEM;
  *out = {ForkJoin::create(plan.gather, plan.tree, policy, memory), bytes};
  return 0;
}

void free_fork(TeamFork* fork) {
  if (fork->fork) os::unmap_pages(fork->fork, fork->mapped_bytes);
  *fork = TeamFork{};
}

int make_barrier(const TeamPlan& plan, const WaitPolicy& policy, TeamBarrier* out) {
  const size_t bytes = plan.crowd ? Barrier::crowd_bytes(plan.n) : Barrier::bytes(plan.schedule, plan.node);
  void* memory = os::map_pages(bytes);  // page-aligned, so line-aligned
  if (!memory) return -ENOMEM;
  out->mapped_bytes = bytes;
  out->barrier = plan.crowd ? Barrier::create_crowd(plan.n, policy, memory)
                            : Barrier::create(plan.schedule, policy, memory, plan.node);
  return 0;
}

void free_barrier(TeamBarrier* barrier) {
  if (barrier->barrier) os::unmap_pages(barrier->barrier, barrier->mapped_bytes);
  *barrier = TeamBarrier{};
}

}  // namespace smelt
