// Waiting: what a thread does until its requests are complete.
//
// It makes progress for a little while; then it polls for all waiting threads, or sleeps while another one does
// (waiters.h). A sleeper that has slept its time asks whether those live for whom it waits, and makes progress once:
// should the poller be kept where it is, everybody gets on, if slowly.
//
// The poller does not sleep. It gives its CPU away only to those for whom it may be waiting, as everywhere in the house
// (policy/wait.h, group/wait.cc): in a crowd; beside another member on the same CPU; and where more threads have waited
// here than there are CPUs for the process. To strangers the kernel gives their share, and a yield would give them the
// slice that is ours.
//
// The poller also calls the host's progress, and the host may come back and wait for something else. It is the poller
// still, so it polls there as well, and does not sleep until somebody calls it.
#include <algorithm>

#include "base/os/os.h"
#include "base/seat.h"
#include "message/carrier.h"
#include "message/endpoint.h"
#include "policy/wait.h"

namespace smelt::message {

namespace {

constexpr uint32_t kRounds = 100;  // of progress, before anybody is told that we wait
constexpr uint32_t kPolls = 100;   // rounds in vain before others may get the poller's CPU
constexpr uint32_t kInCrowd = 8;   // the same, of both, where the ranks are more than the CPUs
constexpr uint32_t kAround = 64;   // rounds from then on between two looks at who they are
constexpr uint32_t kHost = 16;     // rounds between two calls of the host's progress
constexpr uint32_t kLook = 1024;   // rounds between two looks at the clock
constexpr uint32_t kFew = 64;      // requests that are looked at again and again

// For which this thread polls, as long as it is with the host.
thread_local const Endpoint* with_host_of = nullptr;

// The cost of a look at other machines, in looks at this one's inbox.
constexpr uint32_t kFarRounds = 100;

// How many are complete? The first ones are not looked at again.
class Tally {
 public:
  Tally(Request* const* requests, uint32_t count) : requests_(requests), count_(count) {}
  // 0: there are enough.
  uint32_t lacking(uint32_t needed) {
    while (first_ < count_ && requests_[first_]->is_complete()) ++first_;
    complete_ = first_;
    for (uint32_t i = first_; needed != count_ && i < count_; ++i) complete_ += requests_[i]->is_complete();
    return needed - std::min(needed, complete_);
  }
  uint32_t complete() const { return complete_; }  // when it was last asked

 private:
  Request* const* requests_;
  const uint32_t count_;
  uint32_t first_ = 0, complete_ = 0;
};

}  // namespace

// How long a round was.
uint32_t Endpoint::rounds() const { return far_ && far_->is_awake() ? kFarRounds : 1; }

int Endpoint::wait(Request* request) {
  for (uint32_t round = 0; round < kRounds; round += rounds()) {
    if (test(request)) return request->error;
    if (!progress()) cpu_pause();
  }
  wait_for(&request, 1, 1);
  return request->error;
}

uint32_t Endpoint::wait_for(Request* const* requests, uint32_t count, uint32_t needed) {
  needed = std::min(needed, count);
  Tally tally(requests, count);
  for (uint32_t round = 0; round < (count > kFew ? 1 : crowded_ ? kInCrowd : kRounds); round += rounds()) {
    const uint32_t lacking = tally.lacking(needed);
    if (lacking == 0) return tally.complete();
    if (!progress(lacking)) cpu_pause();
  }
  if (alone_) {
    poll_while([&] { return tally.lacking(needed); }, requests, count);
    return tally.complete();
  }
  Waiter waiter;
  const uint32_t attached = waiter.attach(requests, count, needed);
  if (!waiter.is_done()) wait_on(&waiter, requests, count);
  return waiter.detach(requests, count, needed, attached);
}

// Waits until the waiter is told that it is over.
void Endpoint::wait_on(Waiter* waiter, Request* const* requests, uint32_t count) {
  const auto lacking = [&] { return waiter->is_done() ? 0u : 1u; };
  waiters_.count_thread();
  if (with_host_of == this) return poll_while(lacking, requests, count);
  while (!waiters_.try_to_poll()) {
    const Waiters::Woken woken = waiters_.sleep(waiter);
    if (woken == Waiters::Woken::kDone) return;
    if (woken == Waiters::Woken::kToPoll) continue;
    look_for_dead(requests, count);
    // The poller may be with the host, in something that waits for this thread's next step.
    progress();
  }
  poll_while(lacking, requests, count);
  waiters_.stop_polling();
}

bool Endpoint::should_make_room() {
  const uint32_t here = place::note_cpu(areas_.line_of(areas_.me).cpu, 1);
  bool is_shared = crowded_;
  // relaxed, all: hints
  for (uint16_t i = 0; i < areas_.shape.members && !is_shared; ++i)
    is_shared =
        i != areas_.me && areas_.line_of(i).cpu.load(std::memory_order_relaxed) == here && !liveness_.is_gone(i);
  const uint32_t threads = waiters_.threads();
  return is_shared || (threads > 1 && threads > usable_cpus());
}

// `lacking`: how many that we wait for are not complete.
template <typename Lacking>
void Endpoint::poll_while(const Lacking& lacking, Request* const* requests, uint32_t count) {
  const uint32_t polls = crowded_ ? kInCrowd : kPolls;
  uint32_t idle = 0;
  int64_t asked = 0;
  bool makes_room = crowded_;
  if (liveness_.is_somebody_gone()) look_for_dead(requests, count);
  uint32_t wanted = lacking();
  for (uint32_t round = 1; wanted != 0; ++round, wanted = lacking()) {
    idle = progress(wanted) || (far_ && idle >= polls && far_->progress(true, false)) ? 0 : idle + rounds();
    if (host_ && round % kHost == 0) {
      const Endpoint* const outside = with_host_of;
      with_host_of = this;
      host_(host_argument_);
      with_host_of = outside;
    }
    if (idle >= polls && makes_room)
      os::yield_cpu();
    else
      cpu_pause();
    // Others' messages may keep us busy for as long as they like: the dead are asked for all the same.
    if (round % (idle < polls ? kLook : makes_room ? 1 : kAround) != 0) continue;
    if (idle >= polls) makes_room = should_make_room();
    const int64_t now = os::now_ns();
    if (asked == 0) asked = now;
    if (now - asked <= Liveness::kTimeout) continue;
    asked = now;
    look_for_dead(requests, count);
  }
}

}  // namespace smelt::message
