// Surplus threads: of a team with more threads than CPUs, those that have no CPU are run by those that have, as
// user-level threads. Opt-in: SMELT_SURPLUS=1.
//
// With 64 OpenMP threads on 2 CPUs, a barrier costs the kernel 62 switches, and a wait for a message as many as there
// are threads in vain. A switch between user-level threads takes some ten nanoseconds. But libgomp, the C library and
// the program keep things per thread, in thread-local storage, and know threads by it. So the threads stay those of
// libgomp; only the kernel thread that runs them changes. Each of them is two things from now on:
//
//   a lent thread    its stack, its registers (Boost.Context's fcontext), its block of thread-local storage: all that
//                    a program takes for a thread. omp_get_thread_num(), threadprivate variables, errno, pthread_self()
//                    are right wherever it runs, for they are found by the thread pointer, a register that programs may
//                    write themselves (core/thread/own_tls.h)
//   a kernel thread  which runs one of them at a time, or sleeps on a small stack of its own, with its signals blocked,
//                    in system calls that use no thread-local storage (base/os/bare.h): somebody else has it
//
// The threads of a hot team (hot_team.h) are dealt in blocks, one per CPU; the kernel thread of a block's first, its
// carrier, runs all of the block by turns. The others sleep. A thread is left only in our own waits: a barrier, the
// join, the wait for the next fork, sched_yield(), a critical section or a lock that another one has.
//
//   barrier    those of a block count their arrivals; each but the last goes over to the next of the block. The last
//              one passes the barrier proper, between the blocks, and then says so to its own (Block::released)
//   join       the last of a block says so (joined); then the first goes on, on its own kernel thread: it arrives for
//              the block (team/fork_join.h), waits for the next fork, and says so (released). The first of block 0 is
//              the team's master, for which the serial part comes between the two
//   tasks      run at once, by the thread that makes them, as OpenMP allows; so libgomp's barriers have none to wait
//              for. Tasks
//              with detach cannot: their barrier is marked and is libgomp's (openmp/episodes.h)
//
// A thread may also get a kernel thread to itself, which is why nothing that worked before stops: one of the block's
// that sleep is told to run it. That is done
//   - by the thread itself, before it enters what libgomp would block it in (ordered, doacross, nested regions, target,
//     barriers with tasks): alone();
//   - by the watchdog, one of the kernel threads that sleep: where a carrier has not left its thread for 10 to 20 ms
//     while others of the block could run, it takes those from it (evict); it looks less often while there are none.
//     So a program that spins on a flag which another thread of the block sets, that holds a mutex across
//     sched_yield(), or that reads from a pipe gets on as ever, if later. A team for which this has to be done again
//     and again is not made so again.
// At its next barrier it is lent again, and the kernel thread sleeps.
//
// Which kernel thread has a thread? `state` says that the thread is saved and may be run. A kernel thread that changes
// `state` to kRunning by compare-and-swap has the thread alone. `state` is written only when the registers are saved,
// so not by the thread itself but by the one that runs next on that kernel thread (settle). A kernel thread is had by
// `order`: kFree, then changed by the one that gives it a thread, or by itself when it has found one.
// tests/model_check/lent.pml is the model.
//
// docs/openmp.md lists the things that break, or may.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/arch/cpu.h"
#include "region.h"
#include "team/fork_join.h"

namespace smelt::gomp {

struct Surplus;

// The threads of one carrier.
struct alignas(kLineBytes) LentBlock {
  uint32_t first, end;             // thread numbers
  std::atomic<uint64_t> arrived;   // (episode << 16) | arrivals; as in a crowd (team/barrier.h), nothing needs a reset
  std::atomic<uint64_t> released;  // the last barrier that was passed, or fork
  std::atomic<uint64_t> joined;    // the last join at which all have arrived
  ForkMessage message;             // of that fork
  std::atomic<uint32_t> gone;      // of its threads, when the team ends
  alignas(kLineBytes) std::atomic<uint64_t> switches;  // by the carrier; it only grows
  std::atomic<uint64_t> seen;                          // of them, by the watchdog
};

struct alignas(kLineBytes) Lent {
  // The lent thread.
  std::atomic<uint32_t> state;
  // It may go on once *word >= target, or real_epoch == target if `stops`; at once if there is no word.
  std::atomic<const std::atomic<uint64_t>*> word;
  std::atomic<uint64_t> target;
  std::atomic<bool> stops;
  void* context;  // where it goes on; written before the state
  uintptr_t tls;
  uint32_t on;  // whose kernel thread runs it; written by that one before it does
  uint32_t number;
  bool defers;  // it has made tasks that libgomp may have yet to run
  LentBlock* block;
  Surplus* team;
  // The kernel thread.
  alignas(kLineBytes) std::atomic<uint32_t> order;
  std::atomic<uint32_t> bell;  // rung when there may be something to run
  void* idle;                  // where it goes on when it runs nobody
  uint64_t signals;            // its mask, while it sleeps
};

struct Surplus {
  RegionRecord* region;
  Barrier* barrier;  // between the blocks
  ForkJoin* fork;
  uint32_t threads, blocks;
  std::atomic<uint32_t> watchman;   // whose kernel thread is the watchdog
  std::atomic<uint64_t> evictions;  // times that it had to take threads from a carrier
  Lent* lent;                       // [threads]
  LentBlock* block;                 // [blocks]
  char* stacks;
  size_t bytes, stack_bytes;  // of the mappings
};

// The calling thread's, inside a region; nullptr: it is none.
extern "C" constinit thread_local Lent* smelt_gomp_lent
    __attribute__((visibility("hidden"), tls_model("initial-exec")));

// Why a team of so many threads is not run so; nullptr: it is.
const char* why_not_surplus(const Region& region, uint32_t threads);

// Memory for a team, zeroed or as the last one of this shape left it. False: there is none.
bool make_surplus(Surplus*& surplus, uint32_t threads, uint32_t blocks);
void free_surplus(Surplus*& surplus);
// A new team: nobody is there yet. The last episode that anybody has seen is before `epoch`.
void begin_surplus(Surplus& surplus, RegionRecord& region);

// Thread number `me` is here, on its own kernel thread.
Lent& lend(Surplus& surplus, uint32_t me);

// The first thread's, at the team's fork: block 0 may go on.
void release_block(Lent& self, uint64_t epoch, const ForkMessage& message);
// The join. False: it is libgomp's.
bool gather_lent(Lent& master, uint64_t epoch);
// The others'. It arrives at the join, and waits for the fork of that number. False: stopped. Without `stops` it has
// been joined already.
void arrive_lent(Lent& self, uint64_t epoch);
bool await_lent(Lent& self, uint64_t epoch, bool stops, ForkMessage* message);
// Back to its own kernel thread, where the master goes on in the serial part; which comes to leave whom it runs.
void come_home(Lent& self);
// The team ends: back on its own kernel thread, and the first of a block waits for its others.
void leave_lent(Lent& self);

// Passes a barrier. False: it is libgomp's, and the caller has its kernel thread to itself.
bool pass_lent(Lent& self, uint64_t epoch);

// Lets others of the block run. False: there was nobody, or the thread has its kernel thread to itself.
bool give_way(Lent& self);

// It is about to block in the kernel: from now on it has a kernel thread to itself, until its next barrier.
void alone(Lent& self);

// Does its block's carrier run it, and not a kernel thread that it has to itself?
inline bool is_on_carrier(const Lent& self) { return self.on == self.block->first; }

// A thread has marked a barrier: all sleepers look.
void ring_all(Surplus& surplus);

// Has the watchdog had so much to do that the team is better off without?
bool is_too_much(const Surplus& surplus, uint64_t regions);

// The lent thread that calls from the region of its team itself; nullptr: it is none, or in a region inside.
inline Lent* lent_in(const Position& position) {
  Lent* const self = smelt_gomp_lent;
  return self && self->team->region == position.region ? self : nullptr;
}

}  // namespace smelt::gomp
