// How a participant waits for a flag: spin, then yield, then sleep, in the proportions that the load asks for.
//
// The facts behind it:
//   - sleep and wake take about 10 µs (measured, 2 CPUs), so a spin limit below that locks a fast loop into the slow
//     mode; the limits are those of policy/thresholds.h, which know what they take on this machine;
//   - it is not settled how far above it the limit should lie beside a foreign busy thread: 50 µs and 5 ms could not be
//     told apart there (2 threads, 2 CPUs, unbound; the spread of the pairs is larger than any difference). 5 ms is
//     chosen because libgomp spins about as long, so a waiter gives up its CPU no earlier than under stock;
//   - yielding beside a foreign busy thread costs a whole time slice: yield_backoff.h says when it is left and when
//     tried again;
//   - when threads share CPUs, spinning keeps the one from running that is waited for, and a yield to a team-mate
//     is the fastest way there is.
// Hence: not crowded - spin `spin_ns`, then sleep. Crowded - spin next to nothing, then yield as long as yields come
// back quickly, then sleep. Two members that find themselves on one CPU behave as crowded, whatever the counts say; and
// so does a team with a CPU for each while others of the process have come to share them (Headcount), a team nested
// inside it, say.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "policy/thresholds.h"
#include "transport/line.h"

namespace smelt {

struct WaitPolicy {
  int64_t spin_ns =
      typical(ThresholdId::kSpin);         // polling time before anything else; kSpinForever: never do anything else
  int64_t yield_ns = 0;                    // after that, yielding time before sleeping; 0: sleep at once
  PostOrder order = PostOrder::kUnfenced;  // how flags waited for under this policy are posted (transport/line.h)
  int32_t burst = typical(ThresholdId::kBurst);  // polls before wait_slowly is called
  int32_t look = typical(ThresholdId::kLook);    // polls between two looks at the clock
  int64_t foreign_ns =
      typical(ThresholdId::kForeignSlice);  // a yield that takes longer has gone to a thread that is not of our team
};

inline constexpr int64_t kSpinForever = INT64_MAX;  // as spin_ns

// How long a thread that has a CPU spins by a setting of the OpenMP runtime's own that only the shim for it knows; -1:
// by none. Relaxed: a number that says all by itself.
extern std::atomic<int64_t> asked_spin_ns;

// Where nothing is set: how long it yields after spinning, before it sleeps. For a runtime whose threads stay awake for
// longer than ours; beside others' threads the first yield that goes to one of them ends it. Relaxed: as above.
extern std::atomic<int64_t> awake_ns;

// The policy for a team of so many threads, of which each has a CPU (`crowded` false) or not, under SMELT_WAIT and
// SMELT_TUNE, OMP_WAIT_POLICY, GOMP_SPINCOUNT and the cgroup's quota. The costs of waiting are the
// profile's; without one they are taken to be typical. Once the kernel has refused membarrier, posts under new policies
// are fenced.
WaitPolicy wait_policy(bool crowded, uint32_t threads, const Profile* profile = nullptr);

// The threads in teams of this process now, and the CPUs for them: kept by the code that knows all teams (the OpenMP
// shim). Relaxed, all of it: the numbers decide how to wait, and order nothing.
struct Headcount {
  std::atomic<uint32_t> threads{0};
  std::atomic<uint32_t> cpus{~0u};
  // A wait has been long, and the CPUs were counted some time ago (os::now_ns()): they are to be counted again. That is
  // never so, unless that code says when.
  std::atomic<bool> stale{false};
  std::atomic<int64_t> fresh_until{INT64_MAX};

  void note_long_wait(int64_t now) {
    if (now >= fresh_until.load(std::memory_order_relaxed) && !stale.load(std::memory_order_relaxed))
      stale.store(true, std::memory_order_relaxed);
  }
  bool crowded() const { return threads.load(std::memory_order_relaxed) > cpus.load(std::memory_order_relaxed); }
};
extern Headcount headcount;

// When CPUs are counted again: a millisecond after they have changed; and while they stay the same, 2, 4, and at last
// 100 ms after the last time.
struct Recount {
  int64_t pause = kFirst;
  static constexpr int64_t kFirst = 1'000'000, kLongest = 100'000'000;

  // They have just been counted. The time (os::now_ns()) of the next count.
  int64_t after(int64_t now, bool changed) { return now + (pause = changed ? kFirst : std::min(2 * pause, kLongest)); }
};

// How often a thread of this process has gone to sleep in a wait.
uint64_t sleeps();

// CPUs that threads of this process may run on at the same time: affinity, SMELT_CPUS. `affinity` is the caller's
// knowledge of the affinity mask (0: ask the kernel). It is at least 1. A quota is no matter of how many, but of how
// long: see wait_policy.
uint32_t usable_cpus(uint32_t affinity = 0);

// Equality, not >=: a thread that is already past this episode may have marked the next one (openmp/episodes.h).
inline bool is_stopped(const std::atomic<uint64_t>& stop, uint64_t epoch) {
  return stop.load(std::memory_order_acquire) == epoch;
}

// The long way: called when a short burst of polling has not sufficed. True when the flag got to `epoch`, false when
// *stop == epoch first (stop may be nullptr).
bool wait_slowly(Flag flag, uint64_t epoch, const std::atomic<uint64_t>* stop, const WaitPolicy& policy);

// Gives the CPU away once, in a wait of one of more threads than CPUs. False: a foreign thread gets the yielded time
// now, and the caller had better sleep.
bool yield_to_team();

// True if the first burst of polls sufficed. If it did not, the caller goes on with wait_slowly: at once if *stop ==
// epoch. That word is looked at with every poll: it stays in the waiter's cache, and a load more is little beside the
// pause.
inline bool wait_briefly(const Epoch& flag, uint64_t epoch, const WaitPolicy& policy,
                         const std::atomic<uint64_t>* stop = nullptr) {
  if (poll(flag, epoch)) return true;
  if (policy.spin_ns > 0) {
    for (int i = 0; i < policy.burst; ++i) {
      cpu_pause();
      if (poll(flag, epoch)) return true;
      if (stop && is_stopped(*stop, epoch)) break;
    }
  }
  return false;
}

}  // namespace smelt
