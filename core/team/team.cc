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

// The participants as indices into the profile. False when one is unknown or two share a CPU.
bool members_of(const TeamRequest& request, Arena& arena, uint16_t* members) {
  const Profile& profile = *request.profile;
  auto* taken = arena.make<bool>(profile.header.cpus);
  if (!taken) return false;
  for (uint32_t i = 0; i < request.n; ++i) {
    if (!request.cpus && i >= profile.header.cpus) return false;
    members[i] = request.cpus ? profile_index(profile, request.cpus[i]) : static_cast<uint16_t>(i);
    if (members[i] == kNobody || taken[members[i]]) return false;
    taken[members[i]] = true;
  }
  return true;
}

}  // namespace

int plan_team(const TeamRequest& request, Arena& arena, TeamPlan* out) {
  if (request.n < 1 || request.n > kMaxParticipants) return -EINVAL;
  const bool best = std::strcmp(request.pattern, "best") == 0;
  Pattern pattern;
  if (!best) {
    if (const int error = find_pattern(request.pattern, &pattern)) return error;
  }
  auto* members = arena.make<uint16_t>(request.n);
  if (!members) return -ENOMEM;

  TeamPlan made;
  made.n = request.n;
  made.crowd = request.crowded || request.n == 1 || !members_of(request, arena, members);
  if (made.crowd) {
    std::snprintf(made.pattern, sizeof made.pattern, "%s", request.n == 1 ? "alone" : "crowd");
    *out = made;
    return 0;
  }

  Costs costs;
  Choice choice;
  int error = subset_costs(request.profile->costs, {members, request.n}, arena, &costs);
  if (!error)
    error = best ? choose_for(request.profile, {members, request.n}, Operation::kBarrier, -1, costs, arena, &choice)
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
  if (request.n < 1 || request.n > kMaxParticipants) return -EINVAL;
  auto* members = arena.make<uint16_t>(request.n);
  if (!members) return -ENOMEM;
  ForkPlan made;
  Costs costs;
  if (!request.crowded && members_of(request, arena, members)) {
    Choice choice;
    int error = subset_costs(request.profile->costs, {members, request.n}, arena, &costs);
    if (!error) error = choose_fork(costs, arena, &choice);
    if (!error) error = check_schedule(choice.schedule, arena);
    if (error) return error;
    made.tree = choice.tree;
    made.gather = choice.gather;
    made.predicted = choice.predicted;
    pattern_text(choice.pattern, made.pattern, sizeof made.pattern);
  } else {
    if (int error = make_tree(request.n, 0, arena, &made.tree)) return error;
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
