// The hot team on libgomp: openmp/hot_team.h has the way.
//
// Between regions the master is in the serial part, and must look so to libgomp: every omp_ query, every orphaned
// construct. Its state in libgomp is therefore changed back and forth with the regions (states.h): the state around
// outside, the team's inside.
//
// A combined loop (`parallel for schedule(dynamic)`) begins in libgomp with the loop set up before the team starts;
// here every thread calls GOMP_loop_start first, which sets up the same.
//
// A hot team ends, and the next region runs as stock (and may start a new one), when
//   - another team size is asked for; the next hot team comes later, so that alternating sizes do not thrash. (Regions
//     of one thread have a team of their own, beside the parked one: solo.h);
//   - a setting was changed, inside a region or between two: the ICVs that a region inherits were copied when the team
//     was started;
//   - the serial state is not, byte for byte, what the last region left (a task around it, omp teams, OpenACC, ...);
//   - something begins that cannot bear parked workers: omp_pause, the old ABI's start, teams, a target region,
//     the thread's end.
// These are not served at all: dynamic adjustment, a proc_bind clause that asks for another binding than is set, task
// reductions on the parallel construct, programs with target regions that are tasks (nowait), OMP_MAX_TASK_PRIORITY,
// SMELT_OPENMP=-hot.
//
// Nested regions, unless SMELT_OPENMP=-nested. A thread of a team that opens regions inside keeps a team of its own for
// them, in the same way. In place of the serial part above it has its state in the team around. That state is saved at
// every fork, because loops and singles change it. Such a team lives in one team around, for libgomp's inner team
// remembers that one and the task that made it: it ends before that team does, be it hot (dock) or libgomp's own
// (run_region). Served if and only if
//   - the thread is where the team was made: position and level say so
//   - it runs its implicit task: no task was made between the last barrier and the next (episodes.h), or this might be
//     one, and its settings and its place in the ancestry be others
//   - no setting of the thread was changed, no limit of threads is set: libgomp counts those that exist
// All else is libgomp's as before; the kept team ends first, since its region's episodes are numbered on. Where threads
// are short, others may end it: parked.h.
//
// A thread that ends. libgomp's destructor of a thread (of its thread-specific key) waits for workers where ours are
// not, and nothing says that it comes after ours: pthread_exit in main runs the destructors of keys and none of C++'s
// thread_local objects, and keys are served in the order of their making. So while a team is parked, libgomp's key has
// no value (thread_state.h); our own key's destructor ends the team and gives the value back, which brings libgomp's
// another round.
//
// More threads than CPUs make no difference but in how they wait: a parked crowd yields for a moment and sleeps.
#pragma once

#include "libgomp.h"
#include "openmp/hot_team.h"
#include "region.h"
#include "states.h"

namespace smelt::gomp {

// The loop or the sections of a combined construct, as GOMP_loop_start wants it.
struct LoopCall {
  long start, end, step, schedule, chunk;
  bool nonmonotonic = false;
  bool sections = false;
  bool operator==(const LoopCall&) const = default;
};
// GFS_ values of libgomp.h; ABI, compiled into programs.
inline constexpr long kScheduleRuntime = 0, kScheduleStatic = 1, kScheduleDynamic = 2, kScheduleGuided = 3;

// A program's request by one of the GOMP_parallel_ functions.
struct RegionCall {
  GompFunction function;
  void* data;
  unsigned threads;          // 0: as the ICV says
  unsigned flags;            // low bits: proc_bind clause
  const LoopCall* loop;      // nullptr: none
  unsigned* reduction_size;  // of GOMP_parallel_reductions: where its result goes
};

// The holder of a kept team: parked.h.
enum Holder : uint32_t { kNone, kParked, kMaster, kOther };

struct HotTeam : HotRecord {
  // Only the master uses it.
  KeptState state;
  Region* region;
  Icvs icvs;                   // of the serial part, when they were last compared
  Icvs taken;                  // that the regions inherit
  uint32_t settings;           // ThreadsOwn::settings when `icvs` was compared
  bool stale;                  // `icvs` and `taken` differ
  int32_t size_around;         // nested: of the team around
  const RegionRecord* around;  // and its region; nullptr: none, the serial part
  HotTeam* next_kept;          // nested: parked.cc
  std::atomic<uint32_t> holder;

  // Written by the master before a fork, read by the workers after it.
  alignas(kLineBytes) LoopCall loop;

  // Set by anybody inside a region: the team, kept for a nested region, is to end with this one.
  alignas(kLineBytes) std::atomic<bool> threads_end;
};

// Is a team kept for a nested region? And has its place a team to be ended, that one or one of one thread (solo.h)?
inline bool kept_for(const Region* region) { return region && region->nested && region->hot && region->hot->active; }
inline bool keeps_team(const Region* region) {
  return kept_for(region) || (region && region->one && region->one->solo.active);
}

// Runs a region on the hot team. False: there is none, or it has just been ended because it does not fit; call libgomp.
bool run_hot(const RegionCall& call);

// Would this region, the master's outermost, be served by a hot team if one were there? nullptr: yes; else why not.
const char* why_not_hot(const Region& region, uint32_t threads, unsigned flags);

// The same of any team whose master's state is changed back and forth, of one thread or of more.
const char* why_not_swapped(const Region& region, unsigned flags);

// Counts regions of the same size, and starts a hot team when it is worth it. True: parked, run_hot will serve.
bool start_hot(Region& region, uint32_t threads, unsigned flags);

// A nested region: runs it on the team that the calling thread keeps for it, or makes one if that is worth it. False:
// none is kept any more; libgomp must run it.
bool run_kept(Region& region, const RegionCall& call, uint32_t threads, RealEntry real);

// Wakes the threads that wait at the join, to look at the region's marks.
void wake_joining(HotTeam& hot);

// Ends the teams that the calling thread keeps for regions inside the one it is in.
void end_kept();

// A worker's life between the team's start and its end; `word` is the HotTeam.
void dock(void* word);

// It is true once a program has used target regions with nowait: states.h.
extern std::atomic<bool> targets_seen __attribute__((visibility("hidden")));

// solo.cc needs it.
void end_teams_at(Region& region);  // that the calling thread keeps there; it is around them
void begin_loop(Position& position, const LoopCall& loop, GompFunction function);

// In a child after fork: the team kept for that nested region has no threads.
void forget_kept(Region& region);

// Ends the calling thread's hot team, if it has one and is not inside a region. `why` for SMELT_VERBOSE=2.
void cool(const char* why);

// The calling thread ends, and has come to our destructor: its hot team is ended, and there will be no other. False: it
// ends in the middle of a region (undefined in OpenMP), and its workers go on using what the region's threads share.
bool end_hot_with_thread();

// In a child after fork: the workers are gone.
void forget_hot();

// The calling thread has something to do at its end: if stock would end it with its region, so do we.
void note_thread_end();

// Ends a team whose master is around it; by the master, or by another thread in its place. False: that could not be
// done.
bool send_home(HotTeam& hot, bool as_another);

// The thread ends: the memory that a region holds for its hot team, which must be cool, is left to the next thread; and
// freed.
void leave_hot(Region& region);
void free_hot(Region& region);

}  // namespace smelt::gomp
