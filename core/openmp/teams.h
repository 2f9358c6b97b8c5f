// The barriers, and the forks and joins, of a master's teams: one entry per team size, built for where its threads run,
// kept.
#pragma once

#include "openmp/victims.h"
#include "policy/canary.h"
#include "team/team.h"

namespace smelt::openmp {

struct RegionRecord;

// A barrier for one team size, kept for the next region of that size.
struct Team {
  uint32_t size = 0;
  bool crowded = false;
  bool restless = false;  // a crowd among regions of changing sizes
  TeamBarrier made;
  uint64_t built_for = 0;      // a hash of the inputs that `made` was planned by
  uint64_t seen_as = 0;        // ... and of where its threads had been seen when that was last looked at
  int64_t asked_spin = -1;     // policy/wait.h's at that time
  Victims* victims = nullptr;  // for thieves of tasks or iterations; nullptr: not asked for, or no difference is known
  TeamFork fork;               // by the same inputs, once a hot team of this size was made, or a reduction asked for it
  char pattern[40] = "";
  double predicted = 0;
  char fork_pattern[40] = "";
  double fork_predicted = 0;
};

inline constexpr uint32_t kTeamsKept = 8;  // sizes a master alternates between without rebuilding

// The entry of this size, made or emptied if need be.
Team& team_for(RegionRecord& region, uint32_t size, bool crowded, bool restless);

// May threads have moved since the barriers were built? Looked into after 1, 2, 4, ... 4096 regions: threads settle
// early, and later changes are noise.
inline bool due(uint32_t entered) { return entered <= 4096 && (entered & (entered - 1)) == 0; }

// The barrier of that entry, built if need be; nullptr: no memory.
Barrier* barrier_for(RegionRecord& region, uint32_t size, bool crowded, bool restless);

// Barrier and fork, built anew if threads have been seen elsewhere since. False: no memory.
bool build_for_hot_team(RegionRecord& region, Team& team);

// Its fork alone, which reductions take; it goes with the barrier. nullptr: no memory.
ForkJoin* fork_for(RegionRecord& region, Team& team);

// The process's one canary (policy/canary.h), for a hot team about to start. The first team that asks has it, if there
// is a measured profile and every thread of the team has one of `cpus` CPUs; nullptr for all others. The workers follow
// it.
Canary* take_canary(const Team& team, uint32_t cpus);

// Master of that team: all its threads have been seen. Teams built from now on are chosen by the costs that the canary
// found.
void ask_canary(Canary& canary, const RegionRecord& region, uint32_t size);

void free_team(Team& team);

// The barriers were planned by typical costs, for want of a profile.
bool profile_is_guessed();

// A hot team has started; `how` says for SMELT_VERBOSE=2 how fork and join are served.
void note_start(RegionRecord& region, const Team& team, const char* how);

}  // namespace smelt::openmp
