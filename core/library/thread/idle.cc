// A worker with nothing to run: it searches, steals, and sleeps.
//
// A wake-up costs a system call, so nobody is woken while somebody searches, and a searcher sleeps only after a look
// at everything. `idle` counts both:
//
//   setter of a bit:  the bit;  fence;  idle: nobody searches, somebody sleeps?  wake one
//   sleeper:          the bell says so;  idle: a searcher less, a sleeper more;  fence;  a look at everything;  sleep
//   waker:            takes the sleeper's bell
//   woken worker, or one that has found something in its last look:
//                     takes its bell, if it still has it;  idle: a sleeper less, a searcher more
//   finder of work:   idle: a searcher less;  fence;  the last one? does somebody sleep, and is there more to do? wake
//                     one
//
// Either the setter of a bit sees that the last searcher has gone, or that searcher's look comes later and sees the
// bit. The last line is for setters that saw a searcher, or woke a sleeper, that then found something else. Counts
// change by the hand of the worker that they count: a waker that counted it in its place might do so when it is gone
// again. The fences order all of this, so nothing else has to; all that comes with a thread comes with its bit.
#include <algorithm>

#include "base/os/os.h"
#include "library/thread/scheduler.h"
#include "policy/thresholds.h"
#include "policy/yield_backoff.h"

namespace smelt::thread {
namespace {

constexpr int kPauses = 32;             // between two looks: a microsecond or so
constexpr int kFewPauses = 4;           // ... where a message may come
constexpr int64_t kAgain = 20'000'000;  // ns: a sleeper beside a watcher looks after it so often

constinit YieldBackoff backoff({typical(ThresholdId::kYieldPause), typical(ThresholdId::kLongestYieldPause),
                                typical(ThresholdId::kYieldRun)});

// Is there perhaps something to run, for the worker or one that looks at the same bits?
bool maybe_any(const Worker& worker) {
  const Scheduler& scheduler = *worker.scheduler;
  if (!scheduler.stealing) return worker.runnable.maybe_any();
  for (uint32_t i = 0; i < scheduler.workers; ++i)
    if (scheduler.worker[i].runnable.maybe_any()) return true;
  return false;
}

// Positions of its own for threads that it has taken from another. False: all are taken.
bool adopt(Worker& worker, Worker& victim, Thread& thread) {
  const uint32_t position = take_position(worker);
  if (position == kNoBit) return false;
  victim.unused.set(thread.position);
  thread.home = &worker;
  thread.position = position;
  worker.table[position] = &thread;
  return true;
}

// Half of the runnable threads in one word of the victim's. A single one is left to it, unless it has run nothing since
// we looked before, or this is our last look: it may be about to run for long, and nobody would wake us for a thread
// that is there already. One of them is returned.
Thread* steal_from(Worker& worker, Worker& victim, bool last_look) {
  // relaxed: it only has to move while the victim is at work
  const uint64_t runs = victim.runs.load(std::memory_order_relaxed);
  const bool stuck = worker.looked[victim.number] == runs;
  worker.looked[victim.number] = runs;
  if (!victim.runnable.maybe_any()) return nullptr;
  uint32_t word;
  // Now here, now there: not where it is just taking its own.
  const uint32_t used = victim.fresh.load(std::memory_order_relaxed);
  const uint32_t from = static_cast<uint32_t>(runs * 61 % (used + 1));
  uint64_t bits = victim.runnable.take_half(from, stuck || last_look ? 1 : 2, &word);
  Thread* first = nullptr;
  for (; bits != 0; bits &= bits - 1) {
    Thread& thread = *victim.table[word * 64 + static_cast<uint32_t>(__builtin_ctzll(bits))];
    const bool ours = adopt(worker, victim, thread);
    if (!first)
      first = &thread;
    else if (ours)
      worker.runnable.set(thread.position);
    else
      victim.runnable.set(thread.position);
    // relaxed: a figure, and it is ours alone
    worker.stolen.store(worker.stolen.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  return first;
}

// Neighbours first: workers that are bound are so in the order of CPUs.
Thread* steal(Worker& worker, bool last_look) {
  const Scheduler& scheduler = *worker.scheduler;
  const uint32_t n = scheduler.workers;
  for (uint32_t distance = 1; distance <= n / 2; ++distance) {
    Worker& up = scheduler.worker[(worker.number + distance) % n];
    if (Thread* thread = steal_from(worker, up, last_look)) return thread;
    Worker& down = scheduler.worker[(worker.number + n - distance) % n];
    if (&down == &up) break;
    if (Thread* thread = steal_from(worker, down, last_look)) return thread;
  }
  return nullptr;
}

Thread* look(Worker& worker, bool last_look = false) {
  if (Thread* thread = next_own(worker)) return thread;
  return worker.scheduler->stealing ? steal(worker, last_look) : nullptr;
}

// A searcher has found something.
void leave_search(Worker& worker) {
  const uint64_t before = worker.idle->count.fetch_sub(kOneSearcher, std::memory_order_relaxed);
  fence_after_update();  // before the look at the others' bits
  if (searchers(before) == 1 && sleepers(before) != 0 && maybe_any(worker)) wake(worker);
}

bool stopped(const Scheduler& scheduler) { return scheduler.stop.load(std::memory_order_acquire) != 0; }

// Spins, then yields, as the policy says; yields that cost a foreigner's time slice are given up (yield_backoff.h).
Thread* search(Worker& worker) {
  Scheduler& scheduler = *worker.scheduler;
  const WaitPolicy& policy = scheduler.policy;
  int64_t now = os::now_ns();
  const int64_t spin_until = policy.spin_ns == kSpinForever ? INT64_MAX : now + policy.spin_ns;
  for (;; now = os::now_ns()) {
    if (Thread* thread = look(worker)) return thread;
    if (stopped(scheduler)) return nullptr;
    if (scheduler.polling.ask()) continue;
    if (now >= spin_until) break;
    for (int i = scheduler.polling.is_there() ? kFewPauses : kPauses; i > 0; --i) cpu_pause();
  }
  if (policy.yield_ns == 0 || !backoff.may_yield(now)) return nullptr;
  const int64_t began = now, yield_until = now + policy.yield_ns;
  while (now < yield_until) {
    os::yield_cpu();
    scheduler.polling.ask();
    Thread* const thread = look(worker);
    const int64_t back = os::now_ns();
    const bool lost = back - now > policy.foreign_ns;
    now = back;
    if (lost)
      backoff.lost(began, now);
    else if (thread)
      backoff.kept();
    if (thread) return thread;
    if (lost || stopped(scheduler)) break;
  }
  return nullptr;
}

// As long as a thread waits for something that the poller finds, one worker with nothing to run stays awake. nullptr:
// nobody does, or another worker watches, or the end.
Thread* watch(Worker& worker) {
  constexpr uint32_t kPolls = 100;           // in vain, before others get the CPU
  constexpr int64_t kPatience = 10'000'000;  // ns, until it is asked whether those live for whom somebody waits
  Polling& polling = worker.scheduler->polling;
  uintptr_t rest;
  if (!polling.is_there() || !try_lock(polling.watch, &rest)) return nullptr;
  Thread* thread = nullptr;
  int64_t asked = 0;
  for (uint32_t vain = 0; !thread && !stopped(*worker.scheduler); thread = look(worker)) {
    vain = polling.ask() ? 0 : vain + 1;
    if (vain < kPolls) {
      cpu_pause();
      continue;
    }
    if (!polling.is_needed()) break;
    os::yield_cpu();
    const int64_t now = os::now_ns();
    if (asked == 0) asked = now;
    if (now - asked < kPatience) continue;
    asked = now;
    polling.in_vain();
  }
  unlock(polling.watch, 0);
  return thread;
}

}  // namespace

Thread* find_work(Worker& worker) {
  const Scheduler& scheduler = *worker.scheduler;
  std::atomic<uint64_t>& idle = worker.idle->count;
  if (Thread* thread = next_own(worker)) return thread;
  idle.fetch_add(kOneSearcher, std::memory_order_relaxed);
  for (;;) {
    Thread* thread = search(worker);
    if (!thread) thread = watch(worker);
    if (!thread) {
      worker.bell.store(kAsleep, std::memory_order_relaxed);
      idle.fetch_add(kOneSleeper - kOneSearcher, std::memory_order_relaxed);
      fence_after_update();  // before the last look; pairs with make_runnable()
      if (!stopped(scheduler)) thread = look(worker, true);
      if (!thread && !stopped(scheduler)) {
        worker.slept.store(worker.slept.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (scheduler.polling.is_there())
          os::futex_wait(&worker.bell, kAsleep, kAgain);
        else
          while (worker.bell.load(std::memory_order_relaxed) == kAsleep) os::futex_wait(&worker.bell, kAsleep);
      }
      uint32_t asleep = kAsleep;
      worker.bell.compare_exchange_strong(asleep, kAwake, std::memory_order_relaxed);  // or we are just being woken
      idle.fetch_sub(kOneSleeper - kOneSearcher, std::memory_order_relaxed);
    }
    if (thread || stopped(scheduler)) {
      leave_search(worker);
      return thread;
    }
  }
}

void wake(Worker& home) {
  const Scheduler& scheduler = *home.scheduler;
  const uint32_t able = scheduler.stealing ? scheduler.workers : 1;
  for (uint32_t i = 0; i < able; ++i) {
    Worker& worker = scheduler.worker[(home.number + i) % scheduler.workers];
    uint32_t asleep = kAsleep;
    if (worker.bell.load(std::memory_order_relaxed) != kAsleep ||
        !worker.bell.compare_exchange_strong(asleep, kAwake, std::memory_order_relaxed))
      continue;
    os::futex_wake_all(&worker.bell);
    return;
  }
}

void wake_all(Scheduler& scheduler) {
  // Each wakes one, or nobody sleeps.
  for (uint32_t i = 0; i < scheduler.workers; ++i) wake(scheduler.worker[i]);
}

}  // namespace smelt::thread
