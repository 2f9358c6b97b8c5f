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
// Waiting is that of queues (place/wait.h).
#include "base/seat.h"
#include "library/context/seat.h"
#include "library/place/wait.h"

namespace smelt::context {
namespace {

void post_next(Seat& seat) {
  ++seat.epoch;
  post(seat.notices[seat.me], seat.epoch, seat.policy.order);
}

struct NoticeOf : place::WaiterDefaults {
  Seat& seat;
  const uint32_t whose;
  NoticeOf(Seat& seat, uint32_t whose) : seat(seat), whose(whose) {}

  int look() { return seat.look_at(whose); }
  // relaxed: a hint
  bool beside_another() {
    const uint32_t here = place::note_cpu(seat.notices[seat.me].bell.cpu, 1);
    return here != 0 && seat.notices[whose].bell.cpu.load(std::memory_order_relaxed) == here;
  }
};

}  // namespace

void AllNotices::tell(Seat& seat, const Call& call) {
  SeatNotice& own = seat.notices[seat.me];
  own.in = call.in;
  own.out = call.out;
  own.bytes = call.bytes;
  post_next(seat);
}

void AllNotices::tell_done(Seat& seat) { post_next(seat); }

void leave(Seat& seat) {
  Bell& bell = seat.notices[seat.me].bell;
  // release: as every epoch. The bell is rung whether somebody is seen to sleep or not.
  seat.notices[seat.me].epoch.store(seat.epoch | kGone, std::memory_order_release);
  wake_sleepers(bell);
}

// Sleeps in slices, as if the writers were in other processes: for a slice at most the ring of a writer is missed that
// did not see it.
int wait_for_notice(Seat& seat) {
  return place::wait({seat.policy, seat.timeout_ns, false}, seat.notices[seat.awaited].bell,
                     NoticeOf(seat, seat.awaited));
}

}  // namespace smelt::context
