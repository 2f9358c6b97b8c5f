// From "these threads, on these CPUs, on this machine" to a barrier: the one place where the rooms meet.
// The C API's contexts and the OpenMP shim's teams are both made here, once per team, never on a hot path.
#pragma once

#include "base/arena.h"
#include "profile/profile.h"
#include "team/barrier.h"
#include "team/fork_join.h"

namespace smelt {

// The inputs of a team. Everything is only read.
struct TeamRequest {
  const Profile* profile = nullptr;
  uint32_t n = 0;                  // 1 .. kMaxParticipants
  const uint32_t* cpus = nullptr;  // [n] kernel CPU of each participant, may repeat; nullptr: the profile's first n
  const char* pattern = "best";
  bool crowded = false;  // more threads than CPUs: a counter and yielding waits, whatever the pattern
};

struct TeamPlan {
  uint32_t n = 0;
  bool crowd = false;              // no schedule: a counter (or nothing at all, for one participant)
  Schedule schedule;               // validated; in the arena that the plan was made in
  const uint16_t* node = nullptr;  // [n], of each participant, in the arena; nullptr: not known
  Tree tree;                       // where the pattern is a tree, in the arena; n 0: it is an exchange, or nothing
  double predicted = 0;            // ns per barrier; 0 without a schedule
  char pattern[40] = "";           // "pair", "hybrid", ..., "crowd", "alone"
};

// Chooses, builds and validates. 0; -ENOENT, -ERANGE, -EINVAL for the pattern; -ENOMEM. Participants that share a CPU,
// or run on CPUs that the profile does not know, are a crowd. `arena` needs generation_bytes(n) (generate/registry.h).
int plan_team(const TeamRequest& request, Arena& arena, TeamPlan* out);

// How the team's master starts the others and gathers them: the cheapest trees for where they run; flat ones where that
// is not known. 0 or -ENOMEM.
struct ForkPlan {
  Tree tree, gather;      // down and up, root 0; in the arena that the plan was made in
  double predicted = 0;   // ns per join and fork; 0: not known where the threads run
  char pattern[40] = "";  // "sequential": flat
};
int plan_fork(const TeamRequest& request, Arena& arena, ForkPlan* out);

struct TeamFork {
  ForkJoin* fork = nullptr;
  size_t mapped_bytes = 0;
};
int make_fork(const ForkPlan& plan, const WaitPolicy& policy, TeamFork* out);  // 0 or -ENOMEM
void free_fork(TeamFork* fork);

// A barrier with its memory, made from a plan and then independent of it.
struct TeamBarrier {
  Barrier* barrier = nullptr;
  size_t mapped_bytes = 0;
};
int make_barrier(const TeamPlan& plan, const WaitPolicy& policy, TeamBarrier* out);  // 0 or -ENOMEM
void free_barrier(TeamBarrier* barrier);

}  // namespace smelt
