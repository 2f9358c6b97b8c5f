// Threads that meet: everybody tells everybody, by a notice of its own that all others poll.
//
//   participant   its epoch        meaning of the epoch
//       0         1  ...  2  ...   1: my data are there and there; 2: I have done with yours
//       1           1 ... 2        nobody goes on from 1 before all are at 1, nor from 2 before all are at 2
//       2          1  ...  2
//
// A notice is a line (transport/line.h) with the data's places in it: hearing of them and knowing them is one transfer.
// It is written anew only when all are at the even epoch, when nobody looks at it any more.
//
// Waiting is that of queues (queue/wait.cc): spin, yield, sleep, until the time is over. A sleeper sleeps in slices:
// the ring of a writer that did not see it is missed for so long at most.
#include <algorithm>
#include <cerrno>

#include "base/os/os.h"
#include "context/seat.h"

namespace smelt::context {
namespace {

constexpr int64_t kSlice = typical(ThresholdId::kBlindSlice);

void post_next(Seat& seat) {
  ++seat.epoch;
  post(seat.notices[seat.me], seat.epoch, seat.policy.order);
}

// Do we run where the other last waited? Then it cannot run while we spin. Hints, all of it: relaxed.
bool on_one_cpu(Bell& own, const Bell& theirs) {
  const uint32_t here = os::current_cpu();
  // Stored on change only: the line is read by others.
  if (own.cpu.load(std::memory_order_relaxed) != here) own.cpu.store(here, std::memory_order_relaxed);
  return here != ~0u && theirs.cpu.load(std::memory_order_relaxed) == here;
}

}  // namespace

void Meeting::tell(Seat& seat, const Call& call) {
  Notice& own = seat.notices[seat.me];
  own.in = call.in;
  own.out = call.out;
  own.bytes = call.bytes;
  post_next(seat);
}

void Meeting::tell_done(Seat& seat) { post_next(seat); }

void leave(Seat& seat) {
  Bell& bell = seat.notices[seat.me].bell;
  // release: as every epoch. The bell is rung whether somebody is seen to sleep or not.
  seat.notices[seat.me].epoch.store(seat.epoch | kGone, std::memory_order_release);
  wake_sleepers(bell);
}

int wait_for_notice(Seat& seat) {
  const WaitPolicy& policy = seat.policy;
  Notice& notice = seat.notices[seat.awaited];
  Bell& bell = notice.bell;
  int64_t yield_ns = policy.yield_ns;
  int result;
  for (int i = 0; i < policy.burst; ++i) {
    if ((result = seat.look_at(seat.awaited)) != -EAGAIN) return result;
    if (policy.spin_ns == 0) break;
    cpu_pause();
  }
  int64_t now = os::now_ns();
  const auto after = [&now](int64_t ns) { return ns < 0 || ns > INT64_MAX - now ? INT64_MAX : now + ns; };
  const int64_t deadline = after(seat.timeout_ns);
  const int64_t spin_until = std::min(after(policy.spin_ns), deadline);
  while (now < spin_until) {
    if (on_one_cpu(seat.notices[seat.me].bell, bell)) {
      yield_ns = policy.foreign_ns;
      break;
    }
    for (int i = 0; i < policy.look; ++i) {
      if ((result = seat.look_at(seat.awaited)) != -EAGAIN) return result;
      cpu_pause();
    }
    now = os::now_ns();
  }
  const int64_t yield_until = std::min(after(yield_ns), deadline);
  while (yield_ns > 0 && now < yield_until) {
    os::yield_cpu();
    if ((result = seat.look_at(seat.awaited)) != -EAGAIN) return result;
    const int64_t back = os::now_ns();
    const bool lost = back - now > policy.foreign_ns;  // to a thread that is not of ours
    now = back;
    if (lost) break;
  }
  for (;;) {
    const uint32_t word = bell.wake.load(std::memory_order_acquire);
    bell.sleepers.store(1, std::memory_order_relaxed);
    full_fence();  // the store before the look that follows
    if ((result = seat.look_at(seat.awaited)) != -EAGAIN) return result;
    now = os::now_ns();
    if (now >= deadline) return -ETIMEDOUT;
    os::futex_wait(&bell.wake, word, deadline == INT64_MAX ? kSlice : std::min(deadline - now, kSlice));
    if ((result = seat.look_at(seat.awaited)) != -EAGAIN) return result;
  }
}

}  // namespace smelt::context
