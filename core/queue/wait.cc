// Waiting for a slot or a message: spin, yield, sleep, in the proportions of policy/wait.h, until the time is over.
//
// Not wait_slowly() itself, which waits for a number that only grows, and without an end. Sleeping is the same: the
// sleeper says so, fences, makes every thread of the process pass a barrier, and looks again; the other side looks
// whether somebody sleeps after what it stored, without a fence of its own (transport/line.h). That membarrier reaches
// no other process. So between processes a wake-up can be missed, and they sleep in slices, as threads do where the
// kernel refuses it: who was missed finds out when the slice is over.
#include <algorithm>
#include <cerrno>

#include "base/os/os.h"
#include "queue/queue.h"

namespace smelt::queue {
namespace {

constexpr int64_t kBlindSlice = typical(ThresholdId::kBlindSlice);

// Do we run where the other side last waited? Then it cannot run while we spin. Hints, all of it: relaxed.
bool on_one_cpu(Bell& own, const Bell& theirs) {
  const uint32_t here = os::current_cpu();
  // Stored on change only: the line is read by the other side.
  if (own.cpu.load(std::memory_order_relaxed) != here) own.cpu.store(here, std::memory_order_relaxed);
  return here != ~0u && theirs.cpu.load(std::memory_order_relaxed) == here;
}

// `own` is the bell that we ring, `bell` the one that we wait for. `look` is a try of the kind: anything but -EAGAIN
// ends the wait.
template <typename Look>
int wait_until(const End& end, Bell& own, Bell& bell, Look look) {
  const WaitPolicy& policy = end.policy;
  int64_t yield_ns = policy.yield_ns;
  int result;
  for (int i = 0; i < policy.burst; ++i) {
    if ((result = look()) != -EAGAIN) return result;
    if (policy.spin_ns == 0) break;
    cpu_pause();
  }

  int64_t now = os::now_ns();
  const auto after = [&now](int64_t ns) { return ns < 0 || ns > INT64_MAX - now ? INT64_MAX : now + ns; };
  const int64_t deadline = after(end.timeout_ns);
  const int64_t spin_until = std::min(after(policy.spin_ns), deadline);
  while (now < spin_until) {
    if (on_one_cpu(own, bell)) {
      yield_ns = policy.foreign_ns;
      break;
    }
    for (int i = 0; i < policy.look; ++i) {
      if ((result = look()) != -EAGAIN) return result;
      cpu_pause();
    }
    now = os::now_ns();
  }
  const int64_t yield_until = std::min(after(yield_ns), deadline);
  while (yield_ns > 0 && now < yield_until) {
    os::yield_cpu();
    if ((result = look()) != -EAGAIN) return result;
    const int64_t back = os::now_ns();
    const bool lost = back - now > policy.foreign_ns;  // to somebody who is not of ours
    now = back;
    if (lost) break;
  }

  for (;;) {
    const uint32_t word = bell.wake.load(std::memory_order_acquire);
    bell.sleepers.store(1, std::memory_order_relaxed);
    full_fence();  // the store before the look that follows
    const bool ordered = end.threads && os::process_barrier();
    if ((result = look()) != -EAGAIN) return result;
    now = os::now_ns();
    if (now >= deadline) return -ETIMEDOUT;
    const int64_t left = deadline == INT64_MAX ? 0 : deadline - now;  // 0: for ever
    os::futex_wait(&bell.wake, word, ordered ? left : left ? std::min(left, kBlindSlice) : kBlindSlice);
    if ((result = look()) != -EAGAIN) return result;
  }
}

}  // namespace

int wait_to_send(End& end, uint64_t slots) {
  Channel& channel = *end.sender.channel;
  return wait_until(end, channel.sent, channel.read, [&end, slots] { return end.kind->can_send(end, slots); });
}

int wait_to_receive(End& end) {
  Channel& channel = *end.receiver.channel;
  return wait_until(end, channel.read, channel.sent, [&end] { return end.kind->can_receive(end); });
}

}  // namespace smelt::queue
