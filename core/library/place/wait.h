// How a participant waits for another one: the one wait of all rooms in which it ends by sleeping on a bell. Three wait
// otherwise:
//
//   team       on the barrier's own lines (policy/wait.h)
//   message    its poller never sleeps, and counts rounds of progress where a time would cost it a look at the clock
//              (message/wait.cc)
//   thread     its workers sleep by counts of searchers and sleepers, so that a signal costs no system call while
//              somebody searches (thread/idle.cc)
//
//   1. a burst of looks
//   2. looks as long as the policy lets it spin. If one that it waits for was last seen on its CPU, that one cannot run
//      meanwhile, so the waiter goes on to 3.
//   3. yields, in a crowd or beside such a neighbour; no longer than the CPU comes back quickly. A participant with a
//      CPU of its own never yields it: the kernel gives strangers their share, and a yield would give them ours, too
//   4. sleeps on the bell of those that it waits for
//
// Sleeping is that of line.h: the sleeper says so, fences, makes every thread of the process pass a barrier, and looks
// again; the other side looks for a sleeper after its store, without a fence of its own. That membarrier reaches no
// other process. So between processes a wake-up can be missed, and they sleep in slices, as threads do where the kernel
// refuses it: a sleeper that was missed finds out when the slice is over.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "base/arch/cpu.h"
#include "base/os/os.h"
#include "policy/wait.h"
#include "transport/line.h"

namespace smelt::place {

// The terms of a wait.
struct Terms {
  const WaitPolicy& policy;
  int64_t timeout_ns;            // below 0: none
  bool threads;                  // those that ring are threads of this process: membarrier reaches all of them
  int64_t slice_ns = INT64_MAX;  // a sleeper looks about so often at least
};

// The parts of a waiter besides `int look()`, which tries and ends the wait by anything but -EAGAIN. A room's waiter
// derives from this and hides the parts that differ.
struct WaiterDefaults {
  static constexpr bool kGlances = false;
  static bool glance() { return true; }           // cheaper than look(): is that worth while?
  static bool beside_another() { return false; }  // was one that we wait for last seen on our CPU?
  static void yielded(int) {}                     // so often by now, in vain
  static void watch(int64_t) {}                   // now and then, with the time: other things to look after
};
template <typename Look>
struct Looking : WaiterDefaults {
  Look look;
  explicit Looking(Look look) : look(look) {}
};

// A burst, as often as the policy says; once where nobody spins. The last look's result.
template <typename Look>
[[gnu::always_inline]] inline int wait_briefly(const WaitPolicy& policy, Look&& look) {
  int result = -EAGAIN;
  for (int i = 0; i < policy.burst; ++i) {
    if ((result = look()) != -EAGAIN) return result;
    if (policy.spin_ns == 0) break;
    cpu_pause();
  }
  return result;
}

// Steps 2 to 4: what look() said, or -ETIMEDOUT. Apart, and given copies: so the burst has all it needs in registers.
template <typename Waits>
[[gnu::noinline]] int wait_long(Terms terms, Bell& bell, Waits waiter) {
  const WaitPolicy& policy = terms.policy;
  int64_t now = os::now_ns(), yield_ns = policy.yield_ns;
  const auto after = [&now](int64_t ns) { return ns < 0 || ns > INT64_MAX - now ? INT64_MAX : now + ns; };
  const int64_t deadline = after(terms.timeout_ns);
  const int64_t spin_until = std::min(after(policy.spin_ns), deadline);
  int result;
  while (now < spin_until) {
    if (waiter.beside_another()) {
      yield_ns = policy.foreign_ns;
      break;
    }
    for (int i = 0; i < policy.look; ++i) {
      if (waiter.glance() && (result = waiter.look()) != -EAGAIN) return result;
      cpu_pause();
    }
    if (Waits::kGlances && (result = waiter.look()) != -EAGAIN) return result;
    now = os::now_ns();
    waiter.watch(now);
  }

  const int64_t yield_until = std::min(after(yield_ns), deadline);
  for (int yields = 1; yield_ns > 0 && now < yield_until; ++yields) {
    os::yield_cpu();
    if ((result = waiter.look()) != -EAGAIN) return result;
    waiter.yielded(yields);
    const int64_t back = os::now_ns();
    const bool lost = back - now > policy.foreign_ns;  // to a thread that is not of ours
    now = back;
    waiter.watch(now);
    if (lost) break;
  }

  constexpr int64_t kBlindSlice = typical(ThresholdId::kBlindSlice);
  for (;;) {
    const uint32_t word = bell.wake.load(std::memory_order_acquire);
    bell.sleepers.store(1, std::memory_order_relaxed);
    full_fence();  // the store before the look that follows
    const bool ordered = terms.threads && os::process_barrier();
    if ((result = waiter.look()) != -EAGAIN) return result;
    now = os::now_ns();
    if (now >= deadline) return -ETIMEDOUT;
    const int64_t left = deadline == INT64_MAX ? INT64_MAX : deadline - now;
    const int64_t slice = ordered ? terms.slice_ns : std::min(terms.slice_ns, kBlindSlice);
    os::futex_wait(&bell.wake, word, left == INT64_MAX && slice == INT64_MAX ? 0 : std::min(left, slice));
    if ((result = waiter.look()) != -EAGAIN) return result;
    waiter.watch(os::now_ns());
  }
}

// All of them.
template <typename Waits>
int wait(Terms terms, Bell& bell, Waits waiter) {
  const int result = wait_briefly(terms.policy, [&] { return waiter.glance() ? waiter.look() : -EAGAIN; });
  return result == -EAGAIN ? wait_long(terms, bell, waiter) : result;
}

}  // namespace smelt::place
