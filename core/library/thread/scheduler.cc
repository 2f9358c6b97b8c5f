// Switching, waiting, signalling, spawning and joining; scheduler.h says how it all fits. Workers begin and end in
// scheduler_life.cc.
#include "library/thread/scheduler.h"

#include <cerrno>
#include <new>

#include <dlfcn.h>
#include <sched.h>

#include "base/os/os.h"
#include "library/thread/overflow.h"
#include "library/thread/own_tls.h"
#include "message/lock_bit.h"

namespace smelt::thread {
namespace {

constinit thread_local Worker* worker_here = nullptr;

// A kernel thread that waits for a user-level one.
struct alignas(8) OutsideWait {
  std::atomic<uint32_t> done{0};
};

// In the new place: finishes with the thread that we left, now that its registers are saved.
void arrive(Worker& worker, void* from) {
  Thread* const left = worker.left;
  if (!left) {
    worker.base = from;
    return;
  }
  left->context = from;
  if (worker.after)
    worker.after(worker, *left, worker.after_argument);
  else
    make_runnable(*left);
}

// Thread-local variables of the thread's own hold all this, and then must say where it is.
[[gnu::noinline]] void enter_worker(Worker& worker) { worker_here = &worker; }

void put_down(const Worker& worker, Thread& thread) {
  if (worker.own_tls) return;
  thread.error_number = *worker.error_number;
  if (worker.exceptions) thread.exceptions = *worker.exceptions;
}

void take_up(Worker& worker, const Thread& thread) {
  if (worker.own_tls) {
    enter_worker(worker);
    return;
  }
  *worker.error_number = thread.error_number;
  if (worker.exceptions) *worker.exceptions = thread.exceptions;
}

void after_wait(Worker&, Thread& left, void*) {
  // acq_rel: our registers, for the signaller; all that the signaller did, for us, if it has signalled
  if (left.permits.fetch_sub(1, std::memory_order_acq_rel) > 0) make_runnable(left);
}

void after_join(Worker&, Thread& left, void* argument) {
  auto& target = *static_cast<Thread*>(argument);
  uintptr_t runs = kRuns;
  // release: our registers; acquire: its result
  if (!target.exit.compare_exchange_strong(runs, reinterpret_cast<uintptr_t>(&left), std::memory_order_acq_rel,
                                           std::memory_order_acquire))
    make_runnable(left);
}

void after_end(Worker& worker, Thread& left, void*) {
  left.home->unused.set(left.position);
  if (left.tls != 0 && !worker.forked) end_lender(left);
  destroy_fiber(left.fiber);
  // release: all that it did, for a thread that waits for all of them, and then for this worker. Before a join is told
  // of it.
  worker.ended.store(worker.ended.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  // release: its result, and that nobody is on its stack; acquire: the joiner's registers
  const uintptr_t before = left.exit.exchange(kEnded, std::memory_order_acq_rel);
  if (before == kDetached) {
    worker.scheduler->stacks.give_back(worker.cache, &left);
  } else if (before & kOutside) {
    auto* const outside = reinterpret_cast<OutsideWait*>(before & ~kOutside);
    outside->done.store(1, std::memory_order_release);
    // It may be gone by now; then nobody sleeps at that address, or somebody looks once more.
    os::futex_wake_all(&outside->done);
  } else if (before != kRuns) {
    let_run(*reinterpret_cast<Thread*>(before), &worker);
  }
}

// The first frame of a thread.
void begin(Transfer transfer) {
  {
    Worker& worker = *static_cast<Worker*>(transfer.data);
    enter_fiber(worker.current->fiber, worker.left ? nullptr : &worker.base_fiber);
    arrive(worker, transfer.from);
    Thread& self = *worker.current;
    take_up(worker, self);
    self.argument = self.function(self.argument);
  }
  Worker& worker = *current_worker();
  worker.current->ended = true;
  switch_away(worker, worker.forked ? nullptr : next_own(worker), after_end, nullptr);
  __builtin_unreachable();
}

// The worker itself runs a thread, until one finds nothing to go on with.
void run(Worker& worker, Thread& next) {
  worker.left = nullptr;
  worker.current = &next;
  leave_fiber(worker.base_fiber, next.fiber, false);
  if (worker.own_tls) set_thread_pointer(next.tls);
  const Transfer transfer = jump(next.context, &worker);
  enter_fiber(worker.base_fiber, nullptr);
  arrive(worker, transfer.from);
}

// The state that a C++ runtime in this process keeps per kernel thread, if there is one.
Exceptions* exceptions_here() {
  using Globals = Exceptions* (*)();
  auto globals = reinterpret_cast<Globals>(::dlsym(RTLD_DEFAULT, "__cxa_get_globals"));
  return globals ? globals() : nullptr;
}

// One more, or one less: it was not to be had.
void count_spawned(Scheduler& scheduler, Worker* here, int64_t change) {
  const auto by = static_cast<uint64_t>(change);
  // release: a waiter that finds this number finds the thread, and waits for it. One writer, or the word is everybody's
  if (here)
    here->spawned.store(here->spawned.load(std::memory_order_relaxed) + by, std::memory_order_release);
  else
    scheduler.spawned.fetch_add(by, std::memory_order_release);
}

}  // namespace

[[gnu::noinline]] Worker* current_worker() {
  Worker* const worker = worker_here;
  asm volatile("" ::: "memory");  // or callers might know that two calls give the same
  return worker;
}

[[gnu::noinline]] void leave_worker() { worker_here = nullptr; }

void* worker_main(void* argument) {
  Worker& worker = *static_cast<Worker*>(argument);
  worker_here = &worker;
  worker.error_number = &errno;
  worker.exceptions = exceptions_here();
  worker.tls = thread_pointer();
  adopt_fiber(worker.base_fiber);
  begin_signal_stack(worker);
  while (!worker.forked) {
    Thread* const next = find_work(worker);
    if (!next) break;
    run(worker, *next);
  }
  end_signal_stack(worker);
  worker_here = nullptr;
  return nullptr;
}

// The thread may run on, end, and its scheduler be freed while we still look for a worker to wake: of its own workers a
// scheduler waits for the end anyway, of others by this count.
void let_run(Thread& thread, const Worker* here) {
  Scheduler& scheduler = *thread.scheduler;
  if (here && here->scheduler == &scheduler) {
    make_runnable(thread);
    return;
  }
  // relaxed: the freer has seen that the thread has ended, and so this
  scheduler.visitors.fetch_add(1, std::memory_order_relaxed);
  make_runnable(thread);
  scheduler.visitors.fetch_sub(1, std::memory_order_release);  // all that we have read, before it goes
}

void ask_now_and_then(Worker& worker) {
  constexpr uint64_t kRuns = 64;  // so progress costs a run little (smelt/message.h)
  Polling& polling = worker.scheduler->polling;
  // relaxed: our own
  if (polling.is_there() && worker.runs.load(std::memory_order_relaxed) % kRuns == 0) polling.ask();
}

void switch_away(Worker& worker, Thread* next, After after, void* argument) {
  Thread& self = *worker.current;
  put_down(worker, self);
  worker.left = &self;
  worker.current = next;
  worker.after = after;
  worker.after_argument = argument;
  leave_fiber(self.fiber, next ? next->fiber : worker.base_fiber, self.ended);
  if (worker.own_tls) set_thread_pointer(next ? next->tls : worker.tls);
  const Transfer transfer = jump(next ? next->context : worker.base, &worker);
  Worker& now = *static_cast<Worker*>(transfer.data);
  enter_fiber(self.fiber, now.left ? nullptr : &now.base_fiber);
  arrive(now, transfer.from);
  take_up(now, self);
}

Thread* next_own(Worker& worker) {
  bool hidden = false;
  const uint32_t position = worker.runnable.take(worker.cursor, &hidden);
  if (hidden) [[unlikely]]
    wake_if_needed(worker);
  if (position == kNoBit) return nullptr;
  worker.cursor = (position + 1) % kBits;
  worker.runs.store(worker.runs.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return worker.table[position];
}

uint32_t take_position(Worker& worker) {
  bool hidden;  // nobody waits for a position
  const uint32_t used = worker.unused.take(0, &hidden);
  if (used != kNoBit) return used;
  // relaxed, both: a number that nobody else gets
  if (worker.fresh.load(std::memory_order_relaxed) >= kBits) return kNoBit;
  const uint32_t fresh = worker.fresh.fetch_add(1, std::memory_order_relaxed);
  if (fresh < kBits) return fresh;
  worker.fresh.fetch_sub(1, std::memory_order_relaxed);
  return kNoBit;
}

int spawn(Scheduler& scheduler, Function function, void* argument, int where, bool detached, Thread** out) {
  Worker* here = current_worker();
  if (here && here->scheduler != &scheduler) here = nullptr;
  if (scheduler.worker[0].forked) return -ENOTSUP;
  uint32_t first;
  Thread* thread;
  if (here) {
    first = where >= 0 ? static_cast<uint32_t>(where) : here->number;
    thread = scheduler.stacks.take(here->cache);
  } else {
    lock(scheduler.lock);
    first = where >= 0 ? static_cast<uint32_t>(where) : scheduler.next_home++ % scheduler.workers;
    thread = scheduler.stacks.take(scheduler.cache);
    unlock(scheduler.lock, 0);
  }
  if (!thread) return -ENOMEM;
  // Where it is to be; or, if that worker has no position left, at the next one that has.
  uint32_t position = kNoBit;
  Worker* home = nullptr;
  for (uint32_t i = 0; i < scheduler.workers && position == kNoBit; ++i) {
    home = &scheduler.worker[(first + i) % scheduler.workers];
    position = take_position(*home);
  }
  if (position == kNoBit) {
    give_back(scheduler, here, *thread);
    return -EAGAIN;
  }
  char* const stack = thread->stack;
  thread = new (thread) Thread;
  thread->stack = stack;
  thread->scheduler = &scheduler;
  thread->home = home;
  thread->position = position;
  thread->function = function;
  thread->argument = argument;
  // relaxed: nobody knows of it yet
  if (detached) thread->exit.store(kDetached, std::memory_order_relaxed);
  const size_t room = static_cast<size_t>(reinterpret_cast<char*>(thread) - stack);
  thread->context = make_context(thread, room, begin);
  create_fiber(thread->fiber, stack, room);
  home->table[position] = thread;
  if (out) *out = thread;
  count_spawned(scheduler, here, 1);  // before it may run, or it might have ended without having begun
  if (!scheduler.own_tls) {
    let_run(*thread, here);
    return 0;
  }
  const int error = begin_lender(*thread);
  if (error) {
    count_spawned(scheduler, here, -1);
    home->unused.set(position);
    give_back(scheduler, here, *thread);
  }
  return error;
}

void yield(Worker& worker) {
  constexpr uint32_t kPatience = 16;  // yields in vain before the kernel gets a chance
  ask_now_and_then(worker);
  Thread* const next = next_own(worker);
  if (next) {
    worker.alone = 0;
    switch_away(worker, next, nullptr, nullptr);
  } else if (++worker.alone % kPatience == 0) {
    worker.scheduler->polling.ask();
    os::yield_cpu();
  }
}

void wait(Worker& worker) {
  Thread& self = *worker.current;
  ask_now_and_then(worker);
  // relaxed: a look; nobody else takes our permits
  if (self.permits.load(std::memory_order_relaxed) > 0) {
    self.permits.fetch_sub(1, std::memory_order_acquire);  // all that the signaller did
    return;
  }
  switch_away(worker, next_own(worker), after_wait, nullptr);
}

void signal(Thread& thread) {
  // release: all that we did; acquire: its registers, which the worker that runs it reads
  if (thread.permits.fetch_add(1, std::memory_order_acq_rel) == -1) let_run(thread, current_worker());
}

void give_back(Scheduler& scheduler, Worker* worker, Thread& thread) {
  if (worker) {
    scheduler.stacks.give_back(worker->cache, &thread);
    return;
  }
  lock(scheduler.lock);
  scheduler.stacks.give_back(scheduler.cache, &thread);
  unlock(scheduler.lock, 0);
}

int join(Worker* worker, Thread& thread, void** result) {
  Scheduler& scheduler = *thread.scheduler;
  if (scheduler.worker[0].forked) return -ENOTSUP;
  // acquire: its result
  uintptr_t seen = thread.exit.load(std::memory_order_acquire);
  if (seen == kRuns && worker) {
    switch_away(*worker, next_own(*worker), after_join, &thread);
    worker = current_worker();
    seen = thread.exit.load(std::memory_order_acquire);
  } else if (seen == kRuns) {
    OutsideWait outside;
    // release: the word is there; acquire: its result
    if (thread.exit.compare_exchange_strong(seen, reinterpret_cast<uintptr_t>(&outside) | kOutside,
                                            std::memory_order_acq_rel, std::memory_order_acquire)) {
      while (outside.done.load(std::memory_order_acquire) == 0) os::futex_wait(&outside.done, 0);
      seen = kEnded;
    }
  }
  if (seen != kEnded) return -EBUSY;
  if (result) *result = thread.argument;
  give_back(scheduler, worker && worker->scheduler == &scheduler ? worker : nullptr, thread);
  return 0;
}

}  // namespace smelt::thread
