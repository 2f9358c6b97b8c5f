// Kept teams for regions inside a region: fork and join there without libomp's barriers. SMELT_KMP_HOT_TEAM and
// SMELT_NESTED.
//
// The hot team's way (hot_team.h) takes two numbers for its master: one inside, one in the serial part. A thread that
// opens inner regions is in a team between them, as its thread number so and so, and no thread of ours can be that
// beside it. So the inner regions are the double's. libomp is asked for a team that is like the one around in all that
// a program can see, by a thread of ours: as many threads, at the same level, of the same settings, at the same places.
// These are the doubles, one for each thread of the team around; they sleep. A double makes an inner team when its
// thread wants one (GOMP_parallel_start, and comes back with the workers in their dock), and sleeps inside that. To run
// an inner region, the thread puts on the double's thread-local storage of libomp's: it is thread 0 of an inner team,
// and its ancestors are what they ought to be. Behind the region it puts on its own again. The team around knows
// nothing of it, and is hot, or libomp's own.
//
//   thread i:    ... its part of the region around ... | the double's number: inner region | its own number ...
//   double i:    sleeps inside a region of libomp's
//   workers:     in the dock, between the inner regions of thread i
//
// Inside, the thread has the double's number to the program, too: what a compiled function has asked for, it keeps.
// What goes by the thread's own number there: threadprivate values and nest locks.
//
// Served if and only if
//   - the thread is in an outermost region that the shim serves, itself, and in no task: none was made since the last
//     barrier (openmp/episodes.h)
//   - its settings and its place are the double's; they are compared at every region
//   - no clause came by that libomp has been told of, or that says where threads are bound
//   - what keeps hot teams away (why_not_kept) is not there
//   - it is the first team around that wanted inner teams, of that size, in this process; where threads are bound, from
//     the first region on that its master opens
// All else is libomp's as before. An inner team ends, and may be started anew, when another size is asked for, when a
// setting is changed inside or differs, or when a task there has had dependences. The doubles go when their process or
// the master of the team around ends, and before libomp is paused.
#pragma once

#include "region.h"

namespace smelt::kmp {

// The calling thread's numbers inside an inner region of a kept team: the double's, and its own; else -1.
struct Doubled {
  KmpThread inside = -1, own = -1;
};

}  // namespace smelt::kmp

extern "C" constinit thread_local smelt::kmp::Doubled smelt_kmp_doubled
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

namespace smelt::kmp {

// The thread's own number for the one that the program has.
inline KmpThread undoubled(KmpThread gtid) {
  const Doubled& here = smelt_kmp_doubled;
  return gtid == here.inside ? here.own : gtid;
}

inline bool is_doubled() { return smelt_kmp_doubled.inside >= 0; }

// An inner region of so many threads: could a kept team serve it, now or when it has been repeated? `around` is the
// thread's position.
bool may_be_kept(const Region& region, const RegionCall& call, uint32_t request);

// Runs it on its kept team, which is started if that is worth it. False: it has not run.
bool run_kept(Region& region, const RegionCall& call, uint32_t request);

// A thread inside an inner region has changed a setting, or made a task with dependences.
void spoil_kept();

// The program has said how long threads wait: teams are made anew.
void renew_kept();

// Is the calling thread the master of the team around?
bool owns_doubles();
// If so: all inner teams and the doubles go. False: it is inside that team. Asks libomp nothing, which may have
// forgotten the thread.
bool end_doubles();

// A kept team of the calling thread's may have threads in its regions, which cannot be freed then.
bool has_kept();

// In a child after fork: all of them are gone.
void forget_doubles();

// For the time of a nest lock's call: the calling thread is itself to libomp, inside an inner region.
void wear_undoubled();
void wear_doubled();

}  // namespace smelt::kmp
