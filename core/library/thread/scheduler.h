// Workers, kernel threads that run user-level threads, and the dealings of a worker and a thread.
//
// The paper's scheduler (Dang, Snir and Gropp, EuroMPI 2016, section 3.2): each worker has a vector of bits, a bit for
// each of its threads (bits.h). To signal a thread is to set its bit; a worker goes round over its bits, and runs a
// thread until it waits or yields. The paper's threads do not migrate; here they do, so three things are added:
//
// 1. A bit is set only when its thread has stopped running and its registers are saved. So the taker of the bit has the
//    thread alone, with its home and position (which bit it has, and whose), and may move it. A thread cannot set its
//    own bit, for it runs until the very end: the thread that runs next on that worker does it, in arrive().
//
// 2. Signals are counted in the thread (`permits`): a wait takes one, or one less than nothing:
//
//        signal:  permits + 1;  was it -1?  then it waits, and we set its bit
//        wait:    is there one?  take it;  else switch away, and in arrive(): permits - 1;  was there one by now?
//                 then set its bit
//
//    So exactly one of the two sets the bit, and no signal is lost.
//
// 3. A worker with nothing to run looks at its own bits, then at others'. It takes half of a word, and those threads
//    are its own from then on: a thread that is signalled runs where it ran last. A thread that another worker is about
//    to run itself is left to it: a single bit is taken only where that worker has run nothing else since the last
//    look.
//
// A worker that finds nothing goes to sleep (idle.cc); the setter of a bit wakes a sleeper if nobody is looking.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"
#include "base/object.h"
#include "library/thread/bits.h"
#include "library/thread/poll.h"
#include "library/thread/stacks.h"
#include "library/thread/switch.h"
#include "library/thread/thread.h"
#include "policy/wait.h"

#include <pthread.h>

namespace smelt::thread {

inline constexpr uint32_t kMostWorkers = 1024;  // SMELT_MAX_WORKERS

// Finishes with a thread that has just stopped running. nullptr: it may run again.
using After = void (*)(Worker& worker, Thread& left, void* argument);

// The workers that look for work at the same bits: all, or, where nobody steals, each alone.
struct alignas(kLineBytes) Idle {
  std::atomic<uint64_t> count{0};  // searchers in the lower half, sleepers in the upper
};

struct alignas(kLineBytes) Worker {
  // Its own kernel thread's
  Thread* current = nullptr;  // nullptr: the worker itself, which looks for something to run
  Thread* left = nullptr;     // the thread that ran before
  After after = nullptr;
  void* after_argument = nullptr;
  void* base = nullptr;  // where the worker itself goes on
  int* error_number = nullptr;
  Exceptions* exceptions = nullptr;  // nullptr: the program has no C++ runtime
  Scheduler* scheduler = nullptr;
  uint32_t number = 0;
  uint32_t cursor = 0;   // the bit behind the one that was taken last
  uint32_t alone = 0;    // yields in a row for which there was nobody
  bool own_tls = false;  // its scheduler's threads have thread-local variables of their own
  uintptr_t tls = 0;     // ... and where its own are
  bool forked = false;   // this is a copy in a child process, where the workers are not
  StackCache cache;
  Fiber base_fiber;
  uint64_t* looked = nullptr;  // [workers] how much they had run at our last look
  void* signal_stack = nullptr;

  // Written by its kernel thread alone, read by others
  alignas(kLineBytes) std::atomic<uint64_t> runs{0};
  std::atomic<uint64_t> spawned{0}, ended{0}, stolen{0}, slept{0};

  Idle* idle = nullptr;  // its own, or that of all
  Idle own_idle;
  alignas(kLineBytes) std::atomic<uint32_t> bell{0};  // kAsleep: it sleeps, or is about to
  pthread_t kernel_thread{};

  alignas(kLineBytes) std::atomic<uint32_t> fresh{0};  // positions from here on were never used
  BitVector runnable;
  BitVector unused;  // positions before `fresh`
  Thread* table[kBits];
};

struct Scheduler : Object {
  uint32_t workers = 0;
  bool stealing = true;
  bool own_tls = false;
  bool bound = false;
  WaitPolicy policy;
  Worker* worker = nullptr;  // [workers]
  Stacks stacks;
  Idle idle;
  std::atomic<uint32_t> stop{0};
  // For kernel threads that are no workers
  alignas(kLineBytes) std::atomic<uintptr_t> lock{0};
  StackCache cache;
  uint32_t next_home = 0;
  std::atomic<uint64_t> spawned{0};
  std::atomic<uint32_t> visitors{0};  // that let threads of ours run just now, and are none of our workers
  Scheduler* after_this = nullptr;    // in the list of all
  Polling polling;
};

inline constexpr uint32_t kAwake = 0, kAsleep = 1;
inline constexpr uint64_t kOneSearcher = 1, kOneSleeper = uint64_t{1} << 32;
inline constexpr uint32_t searchers(uint64_t idle) { return static_cast<uint32_t>(idle); }
inline constexpr uint32_t sleepers(uint64_t idle) { return static_cast<uint32_t>(idle >> 32); }

// The worker that we are on; nullptr: none. A thread may be on another one after each switch, and compilers take the
// address of thread-local variables for constant, so this is no inline function.
Worker* current_worker();
void leave_worker();  // this kernel thread is on none any more

// --- scheduler_life.cc

int create(uint32_t workers, const unsigned* cpus, size_t stack_bytes, bool stealing, bool own_tls,
           Scheduler** scheduler);
void destroy(Scheduler* scheduler);  // waits until all threads have ended
bool all_ended(const Scheduler& scheduler);

// --- scheduler.cc

void* worker_main(void* worker);  // a worker's kernel thread, from its beginning to its end
// `worker` negative: that of the caller, or now this one, now that one.
int spawn(Scheduler& scheduler, Function function, void* argument, int worker, bool detached, Thread** thread);
void yield(Worker& worker);
void wait(Worker& worker);
void signal(Thread& thread);
int join(Worker* worker, Thread& thread, void** result);
// Its memory, for the next one. nullptr: we are on no worker of its scheduler.
void give_back(Scheduler& scheduler, Worker* worker, Thread& thread);

// Goes on as `next`, nullptr: the worker itself; returns when the caller's thread is gone on with, perhaps on another
// worker. `after` is called when its registers are saved, by the thread that runs next.
void switch_away(Worker& worker, Thread* next, After after, void* argument);
// make_runnable() by the worker `here`, or, nullptr, by a kernel thread that is none.
void let_run(Thread& thread, const Worker* here);
// Where there is always something to run nobody is idle, and nobody would ask: before a switch.
void ask_now_and_then(Worker& worker);
// A position in a worker's table; kNoBit: all are taken.
uint32_t take_position(Worker& worker);
// The next of its own threads, taken; nullptr: none may run.
Thread* next_own(Worker& worker);

// --- idle.cc

// Something to run, waited for; nullptr: the end.
Thread* find_work(Worker& worker);
// Somebody must look: the worker `home`, if it sleeps, or another that may take its threads.
void wake(Worker& home);
void wake_all(Scheduler& scheduler);

// A bit of this worker's is set, and after that came a fence: does somebody have to look?
inline void wake_if_needed(Worker& home) {
  // relaxed: the fence orders it
  const uint64_t idle = home.idle->count.load(std::memory_order_relaxed);
  if (sleepers(idle) != 0 && searchers(idle) == 0) [[unlikely]]
    wake(home);
}

// Its registers are saved, nobody runs it, and it has a bit that is not set. It may be gone when this returns.
inline void make_runnable(Thread& thread) {
  Worker& home = *thread.home;
  home.runnable.set(thread.position);  // with a fence at its end: bit and hint before the look for idle workers
  wake_if_needed(home);
}

}  // namespace smelt::thread

struct smelt_scheduler : smelt::thread::Scheduler {};
struct smelt_thread : smelt::thread::Thread {};
