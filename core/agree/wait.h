// Waiting for any of several. Every member has one bell: a member that has sent it something, or made room for it,
// rings that. So it can sleep while it waits for its parent and all its children at once.
//
// Spin, yield, sleep, in the proportions of policy/wait.h, until the time is over. Between processes membarrier does
// not reach the ringer, so there, and where the kernel refuses it, sleep is in slices: a sleeper that was missed finds
// out when the slice is over.
#pragma once

#include <algorithm>
#include <cerrno>

#include "agree/place.h"
#include "base/os/os.h"

namespace smelt::agree {

// `look` tries, and serves other members meanwhile: anything but -EAGAIN ends the wait, else it is -ETIMEDOUT.
template <typename Look>
int wait_until(const Member& member, Look look) {
  const WaitPolicy& policy = member.policy;
  int result;
  for (int i = 0; i < policy.burst; ++i) {
    if ((result = look()) != -EAGAIN) return result;
    if (policy.spin_ns == 0) break;
    cpu_pause();
  }

  int64_t now = os::now_ns();
  const auto after = [&now](int64_t ns) { return ns < 0 || ns > INT64_MAX - now ? INT64_MAX : now + ns; };
  const int64_t deadline = after(member.timeout_ns);
  const int64_t spin_until = std::min(after(policy.spin_ns), deadline);
  while (now < spin_until) {
    for (int i = 0; i < policy.look; ++i) {
      if ((result = look()) != -EAGAIN) return result;
      cpu_pause();
    }
    now = os::now_ns();
  }
  const int64_t yield_until = std::min(after(policy.yield_ns), deadline);
  while (policy.yield_ns > 0 && now < yield_until) {
    os::yield_cpu();
    if ((result = look()) != -EAGAIN) return result;
    const int64_t back = os::now_ns();
    const bool lost = back - now > policy.foreign_ns;  // to a thread that is not of ours
    now = back;
    if (lost) break;
  }

  constexpr int64_t kBlindSlice = typical(ThresholdId::kBlindSlice);
  Bell& bell = member.bell(member.index);
  for (;;) {
    const uint32_t word = bell.wake.load(std::memory_order_acquire);
    bell.sleepers.store(1, std::memory_order_relaxed);
    full_fence();  // the store before the look that follows
    const bool ordered = member.threads && os::process_barrier();
    if ((result = look()) != -EAGAIN) return result;
    now = os::now_ns();
    if (now >= deadline) return -ETIMEDOUT;
    const int64_t left = deadline == INT64_MAX ? 0 : deadline - now;  // 0: for ever
    os::futex_wait(&bell.wake, word, ordered ? left : left ? std::min(left, kBlindSlice) : kBlindSlice);
    if ((result = look()) != -EAGAIN) return result;
  }
}

}  // namespace smelt::agree
