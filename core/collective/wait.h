// How a participant waits for a flag: spin, then yield, then sleep, in the proportions that the load asks for.
//
// Three facts decide (measured, 2 CPUs):
//   - sleep and wake take about 10 µs, so a spin limit below that locks a fast loop into the slow mode for ever;
//   - when every thread has a CPU of its own, yielding helps nobody, and beside a foreign busy thread it costs a whole
//     time slice (1-2 ms);
//   - when threads share CPUs, spinning keeps the one from running that is waited for, and a yield to a team-mate
//     is the fastest way there is.
// Hence: not crowded - spin `spin_ns`, then sleep. Crowded - spin next to nothing, then yield as long as yields come
// back quickly, then sleep. Two members that find themselves on one CPU behave as crowded, whatever the counts say.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/line.h"

namespace smelt {

struct WaitPolicy {
  int64_t spin_ns = 50'000;   // polling time before anything else; kSpinForever: never do anything else
  int64_t yield_ns = 0;       // after that, yielding time before sleeping; 0: sleep at once
};

inline constexpr int64_t kSpinForever = INT64_MAX;

// The policy for a team of which every thread has a CPU (`crowded` false) or not, under SMELT_WAIT, SMELT_SPIN_US and
// OMP_WAIT_POLICY.
WaitPolicy wait_policy(bool crowded);

// CPUs that this process may use: affinity, cgroup quota, SMELT_CPUS. `affinity` is what the caller knows of the
// affinity mask (0: ask the kernel). At least 1.
uint32_t usable_cpus(uint32_t affinity = 0);

// The long way: called when a short burst of polling has not sufficed. True when the flag got to `epoch`, false when
// *stop == epoch first (stop may be nullptr).
bool wait_slowly(Flag& flag, uint64_t epoch, const std::atomic<uint64_t>* stop, const WaitPolicy& policy);

// Polls of the first burst: about 2 µs, longer than any hop, shorter than any system call is worth.
inline constexpr int kBurst = 128;

inline bool wait_for(Flag& flag, uint64_t epoch, const std::atomic<uint64_t>* stop, const WaitPolicy& policy) {
  if (poll(flag, epoch)) return true;
  if (policy.spin_ns > 0) {
    for (int i = 0; i < kBurst; ++i) {
      cpu_pause();
      if (poll(flag, epoch)) return true;
    }
  }
  return wait_slowly(flag, epoch, stop, policy);
}

}  // namespace smelt
