// The hot team on LLVM's libomp: openmp/hot_team.h has the way. Off by SMELT_OPENMP=-hot.
//
// The workers are those of libomp's own team, in a real region of the master's: threadprivate values, places, loops,
// singles, tasks and nested regions inside are as ever. Between regions the master is another thread to libomp
// (identity.h).
//
// What libomp does for a region beside forking and joining, and is done here: the master's x87 and SSE control words
// are handed to all threads (KMP_INHERIT_FP_CONTROL), and are as before behind the region.
//
// A region of one thread, by num_threads(1) or an `if` clause, is the stand-in's, and the team stays parked. So are all
// regions inside it.
//
// A hot team ends, and the next region runs as stock (and may start a new one), when
//   - another team size is asked for; the next hot team comes later, so that alternating sizes do not thrash
//   - a setting is changed: in the serial part before that, inside a region behind it. One that came past the shim (by
//     dlsym) is seen at the next region if it is the number of threads, else when the team ends; the master has it then
//   - a task, a dynamic loop or the like begins, goes on or ends in the serial part: BEGINS in symbols.def. It is the
//     master's by its own number, and the team may have begun inside it
//   - regions inside made more threads than CPUs
//   - tasks with dependences were made: libomp keeps their addresses as long as the implicit task lives
//   - something begins that cannot bear a parked team, or asks where the thread is bound: LEAVES in symbols.def
//   - there are more threads in teams than CPUs, another OpenMP runtime comes into the process, the thread ends, or the
//     process
// Not served at all: regions in the body of a task of the serial part (its end would take the thread out of the long
// region), in leagues of teams, beside code that GCC compiled and that runs on libomp; more threads than CPUs, dynamic
// adjustment, limits of threads (libomp counts the stand-in), a proc_bind clause and the newer forms of num_threads,
// more arguments than kArguments; while one thread has a hot team, the regions of all other masters.
//
// libomp counts its threads, and where it has more than CPUs, its own waits (locks, barriers with tasks) yield at every
// look. The stand-in makes one more, though it never runs. Where that is the one too many, a yield of libomp's is left
// out, but for one in so many (thread_calls.cc).
//
// A thread that ends: identity.h, hold_destructor(). A child of fork has no team, and libomp makes all anew.
#pragma once

#include "identity.h"
#include "openmp/hot_team.h"
#include "region.h"

namespace smelt::kmp {

// A league of teams that the stub has noted: those of the thread that opened the process's first. It needs no locked
// operation. The stub reads and writes it, at these offsets. Relaxed: a league's other threads have been told by forks.
// In a line of its own: waiting threads read what would lie beside it (thread_calls.cc).
struct alignas(kLineBytes) League {
  std::atomic<const void*> master{nullptr};  // its HandedOn; a later thread may have the same place, and then it is it
  std::atomic<bool> at_work{false};
};
static_assert(offsetof(League, at_work) == 8 && sizeof(std::atomic<bool>) == 1);

}  // namespace smelt::kmp

extern "C" {
extern constinit smelt::kmp::League smelt_kmp_league __attribute__((visibility("hidden")));
// 1: some thread has a hot team, parked or at work. The stubs call these.
extern uint8_t smelt_kmp_hot __attribute__((visibility("hidden")));
// 1: a task was made that goes on in the background even in a serial part: on the target, or till an event.
extern uint8_t smelt_kmp_background __attribute__((visibility("hidden")));
}

namespace smelt::kmp {

// Most stubs are one jump, by a word of their own: to libomp's function; or, while a team is hot, a second runtime is
// in the process, or nothing is resolved yet, to the way around, which looks at all that. The words lie in one table,
// the two ways of each in another, in the same order (stubs.S).
struct Detour {
  void* around;
  void** slot;
};
void open_shortcuts();
void close_shortcuts();

// A stub's jump. Relaxed: a code address.
#define BY_SHORTCUT(name) \
  (reinterpret_cast<decltype(&::name)>(__atomic_load_n(&smelt_kmp_shortcut_##name, __ATOMIC_RELAXED)))
// In C++ the two are declared by this.
#define SHORTCUT(name)                                                              \
  extern "C" void* smelt_kmp_shortcut_##name __attribute__((visibility("hidden"))); \
  extern "C" [[gnu::visibility("hidden"), gnu::noinline]] decltype(name) smelt_kmp_long_##name

// Is the calling thread's team parked, and the thread in the serial part? (Or in a region of one there.)
inline bool is_parked() { return smelt_kmp_identity.own >= 0; }

// The team of the calling thread is parked: runs the region on it, or, if it is one of one thread, as the stand-in.
// False: it has not run. The team has been ended because it does not fit; or it is parked still, the thread is inside a
// region of one, and libomp is to run it.
bool run_hot(const RegionCall& call);

// An outermost region of the calling thread's, whose team is not parked: could it be served by a hot team, now or when
// it has been repeated?
bool may_become_hot(const Region& region, const RegionCall& call, uint32_t request);

// Starts a hot team if that is worth it, and runs the region on it. False: it has not run.
bool run_newly_hot(Region& region, const RegionCall& call, uint32_t request);

// Ends the calling thread's team if it is parked and the thread in the serial part. In a handler of fork, where libomp
// holds what it would need for that, the team ends before the next region. `why` for SMELT_VERBOSE=2.
void end_hot(const char* why);

// The runtime is about to be paused: it is to find no team of ours, and, where it is to forget all, no thread.
void before_pause(intptr_t kind);

// A thread whose team is parked calls these: it is itself to libomp, inside the region, and again the stand-in.
void wear_own();
void wear_stand_in();

// Something begins in the calling thread that must not go on in the other number's name (a task, whose settings end
// with it; a loop with a state of its own): in the serial part the team ends.
inline void leave_for(KmpThread gtid) {
  if (gtid == smelt_kmp_identity.own) [[unlikely]]
    end_hot("a task, a loop that is dealt out, or the like in the serial part");
}

// The same, for a barrier: it ends what still runs in the background.
inline void leave_for_barrier(KmpThread gtid) {
  if (__atomic_load_n(&smelt_kmp_background, __ATOMIC_RELAXED)) leave_for(gtid);  // the thread's own doing
}

// Around a league of teams: its masters are at level 0 to libomp, and have limits of their own.
void begin_league();
void end_league();
bool league_at_work();

// The calling thread's next region has a clause that no hot team obeys.
void note_clause();

// A thread of the hot team has changed a setting, or made a task with dependences: the team ends behind the region.
void spoil_hot();

// The calling thread ends, and has come to our destructor. False: it ends in the middle of a region (undefined in
// OpenMP), and its workers go on using what the region's threads share.
bool end_hot_with_thread();

// A child calls it after fork: the workers are gone.
void forget_hot();

}  // namespace smelt::kmp
