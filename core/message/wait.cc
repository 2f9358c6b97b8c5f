// Waiting, of very many threads.
//
// If all that wait polled the inbox, they would fight for its lines, and with more threads than CPUs those that have
// nothing to do would keep the CPU from the one for which something has come (Dang, Snir and Gropp, EuroMPI 2016,
// section 4; MPICH and Open MPI spend most of their time so). Hence
//
//   1. a waiter makes progress itself for a little while: mostly that is enough. Where one thread at a time calls
//      (Endpoint::set_alone) it goes on so, as there is nobody else;
//   2. then one polls, for all;
//   3. the others spin a little on a word of their own, and sleep on it. The completer of the last request that a
//      thread waits for wakes it, and nobody else;
//   4. the poller whose requests are complete calls the one that went to sleep last (its caches are the warmest), which
//      polls from then on.
//
// A request's state names its waiter, so a thread may wait for any number, and for some of them. How a waiter comes and
// goes, and is gone before nobody looks at it any more:
//
//     state of a request:  pending --- waiter: compare-and-swap ---> waiter --- completer: exchange ---> complete
//                             ^------- waiter: compare-and-swap -------|
//
//   A completer takes one off `left`; the one that takes the last says so in `word`, and looks at neither again. A
//   waiter that leaves early takes itself out of the requests that are not complete, and waits for the completers that
//   have found it in the others.
//
// Nobody sleeps while nobody polls: a leaving poller looks at the list of sleepers after it has opened the poll, a
// thread that goes to sleep looks at the poll after it is in the list, and both under the list's lock.
//
// Everybody sleeps for a limited time, then asks whether those live for whom it waits, and makes progress once: should
// the poller be kept where it is, everybody gets on, if slowly. Of all threads together one asks the kernel, now and
// then.
//
// The poller does not sleep. It gives its CPU away only to those for whom it may be waiting, as everywhere in the house
// (policy/wait.h, group/wait.cc): in a crowd; beside another member on the same CPU; and where more threads have waited
// here than there are CPUs for the process. To strangers the kernel gives their share, and a yield would give them the
// slice that is ours.
//
// The poller also calls the host's progress, and the host may come back and wait for something else. It is the poller
// still, so it polls there as well, and does not sleep until somebody calls it.
#include <algorithm>
#include <cerrno>

#include "base/os/os.h"
#include "message/endpoint.h"
#include "message/endpoint_internal.h"
#include "message/far.h"
#include "message/lock_bit.h"
#include "place/seat.h"
#include "policy/wait.h"

namespace smelt::message {

namespace {

constexpr uint32_t kRounds = 100;          // of progress, before anybody is told that we wait
constexpr uint32_t kPolls = 100;           // rounds in vain before others may get the poller's CPU
constexpr uint32_t kInCrowd = 8;           // the same, of both, where the ranks are more than the CPUs
constexpr uint32_t kAround = 64;           // rounds from then on between two looks at who they are
constexpr uint32_t kHost = 16;             // rounds between two calls of the host's progress
constexpr uint32_t kLook = 1024;           // rounds between two looks at the clock
constexpr uint32_t kSpin = 64;             // looks at our word before we sleep
constexpr uint32_t kFew = 64;              // requests that are looked at again and again
constexpr int64_t kPatience = 10'000'000;  // ns, until somebody is asked whether it lives ...
constexpr uint32_t kInTurn = 16;           // ... and as much more for every so many members

// For which this thread polls, as long as it is with the host.
thread_local const Endpoint* with_host_of = nullptr;

bool is_done(const Waiter& waiter) {
  // acquire: the requests that it waited for
  return waiter.word.load(std::memory_order_acquire) == Waiter::kDone;
}

// The endpoint that this thread is counted among the waiters of.
thread_local const Endpoint* counted_by = nullptr;

// The cost of a look at other machines, in looks at this one's inbox.
constexpr uint32_t kFarRounds = 100;

// How many are complete? The first ones are not looked at again.
class Tally {
 public:
  Tally(const Endpoint& endpoint, Request* const* requests, uint32_t count)
      : endpoint_(endpoint), requests_(requests), count_(count) {}
  // 0: there are enough.
  uint32_t lacking(uint32_t needed) {
    while (first_ < count_ && endpoint_.test(requests_[first_])) ++first_;
    complete_ = first_;
    for (uint32_t i = first_; needed != count_ && i < count_; ++i) complete_ += endpoint_.test(requests_[i]);
    return needed - std::min(needed, complete_);
  }
  uint32_t complete() const { return complete_; }  // when it was last asked

 private:
  const Endpoint& endpoint_;
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
  Tally tally(*this, requests, count);
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
  // relaxed: the exchanges below carry it to the completers
  waiter.left.store(needed, std::memory_order_relaxed);
  const uintptr_t mark = reinterpret_cast<uintptr_t>(&waiter);
  uint32_t attached = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uintptr_t pending = Request::kPending;
    // release: the waiter. acquire: all that the completer did
    if (requests[i]->state.compare_exchange_strong(pending, mark, std::memory_order_acq_rel, std::memory_order_acquire))
      ++attached;
    // acq_rel: as a completer does
    else if (waiter.left.fetch_sub(1, std::memory_order_acq_rel) == 1)
      waiter.word.store(Waiter::kDone, std::memory_order_relaxed);  // relaxed: we read it ourselves
  }
  if (!is_done(waiter)) wait_on(&waiter, requests, count);
  uint32_t complete = count;
  for (uint32_t i = 0; i < count && attached != 0; ++i) {
    uintptr_t ours = mark;
    // acq_rel: it is the next waiter's; all that the completer did
    if (requests[i]->state.compare_exchange_strong(ours, Request::kPending, std::memory_order_acq_rel,
                                                   std::memory_order_acquire))
      --complete;
  }
  // For completers that have found us in a request, and have not said so yet. acquire: they have done with the waiter
  for (uint32_t i = 0; waiter.left.load(std::memory_order_acquire) != int64_t{needed} - complete; ++i)
    i < kSpin ? cpu_pause() : os::yield_cpu();
  return complete;
}

// Until the waiter is told that it is over.
void Endpoint::wait_on(Waiter* waiter, Request* const* requests, uint32_t count) {
  const auto lacking = [&] { return is_done(*waiter) ? 0u : 1u; };
  if (counted_by != this) {
    counted_by = this;
    threads_.fetch_add(1, std::memory_order_relaxed);
  }
  if (with_host_of == this) return poll_while(lacking, requests, count);
  for (;;) {
    uintptr_t rest;
    if (try_lock(polling_, &rest)) {  // 2.
      poll_while(lacking, requests, count);
      unlock(polling_, 0);
      return hand_over();
    }
    uint32_t spins = 0;  // 3.
    // relaxed: a hint
    while (spins < kSpin && !is_done(*waiter) && polling_.load(std::memory_order_relaxed) != 0) {
      cpu_pause();
      ++spins;
    }
    if (is_done(*waiter)) return;
    if (spins < kSpin) continue;

    lock(sleepers_lock_);
    waiter->is_called = false;
    waiter->before = nullptr;
    waiter->after = sleepers_;
    if (sleepers_) sleepers_->before = waiter;
    sleepers_ = waiter;
    unlock(sleepers_lock_, 0);
    uint32_t awake = Waiter::kAwake;
    // relaxed: had the poller been here before us we had its lock from it, and this with it; else it finds us. relaxed,
    // both: the word says no more than that
    if (polling_.load(std::memory_order_relaxed) != 0 &&
        waiter->word.compare_exchange_strong(awake, Waiter::kAsleep, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
      sleeps_.fetch_add(1, std::memory_order_relaxed);
      os::futex_wait(&waiter->word, Waiter::kAsleep, sleep_ns_);
    }
    lock(sleepers_lock_);
    const bool is_called = waiter->is_called;
    if (!is_called) {
      (waiter->before ? waiter->before->after : sleepers_) = waiter->after;
      if (waiter->after) waiter->after->before = waiter->before;
    }
    unlock(sleepers_lock_, 0);
    uint32_t word = waiter->word.load(std::memory_order_relaxed);
    // relaxed, all: only we make it awake again, and it is looked at with acquire
    while (word != Waiter::kDone && word != Waiter::kAwake &&
           !waiter->word.compare_exchange_weak(word, Waiter::kAwake, std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
    }
    if (is_done(*waiter)) {
      if (is_called) hand_over();  // we were to poll
      return;
    }
    if (is_called) continue;
    look_for_dead(requests, count);
    // The poller may be with the host, in something that waits for this thread's next step.
    progress();
  }
}

bool Endpoint::should_make_room() {
  const uint32_t here = place::note_cpu(member(me_).cpu, 1);
  bool is_shared = crowded_;
  // relaxed, all: hints
  for (uint16_t i = 0; i < shape_.members && !is_shared; ++i)
    is_shared = i != me_ && member(i).cpu.load(std::memory_order_relaxed) == here && !is_gone(i);
  const uint32_t threads = threads_.load(std::memory_order_relaxed);
  return is_shared || (threads > 1 && threads > usable_cpus());
}

// `lacking`: how many that we wait for are not complete.
template <typename Lacking>
void Endpoint::poll_while(const Lacking& lacking, Request* const* requests, uint32_t count) {
  const uint32_t polls = crowded_ ? kInCrowd : kPolls;
  uint32_t idle = 0;
  int64_t asked = 0;
  bool makes_room = crowded_;
  // relaxed: a hint. They do not die twice.
  if (somebody_gone_.load(std::memory_order_relaxed)) look_for_dead(requests, count);
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
    if (now - asked <= kPatience) continue;
    asked = now;
    look_for_dead(requests, count);
  }
}

// Nobody polls any more: 4.
void Endpoint::hand_over() {
  lock(sleepers_lock_);
  Waiter* waiter = sleepers_;
  bool is_asleep = false;
  if (waiter) {
    sleepers_ = waiter->after;
    if (sleepers_) sleepers_->before = nullptr;
    waiter->is_called = true;
    uint32_t word = waiter->word.load(std::memory_order_relaxed);
    // relaxed, all: the message to it is under the lock
    while (word != Waiter::kDone && !waiter->word.compare_exchange_weak(
                                        word, Waiter::kCalled, std::memory_order_relaxed, std::memory_order_relaxed)) {
    }
    is_asleep = word == Waiter::kAsleep;
  }
  unlock(sleepers_lock_, 0);
  if (is_asleep) os::futex_wake_all(&waiter->word);  // it may be gone: then nobody sleeps there
}

// --- the dead ---

bool Endpoint::is_gone(uint16_t member) const {
  // relaxed: it is said once and for all; the kernel has seen to all that it wrote while it lived
  return member < shape_.members ? gone_[member].load(std::memory_order_relaxed) != 0 : far_->is_gone(member);
}

// Below 0: all others.
bool Endpoint::are_gone(int32_t source) const {
  if (source >= 0) return is_gone(static_cast<uint16_t>(source));
  bool somebody = members_ == 1;
  for (uint32_t i = 0; i < members_; ++i) somebody |= i != me_ && !is_gone(static_cast<uint16_t>(i));
  return !somebody;
}

bool Endpoint::is_lost(int32_t source) {
  if (source >= static_cast<int32_t>(members_)) return false;
  look_for_dead(nullptr, 0);
  return are_gone(source) && drain_all();
}

// The member that has claimed the cell that comes next holds everybody up, so all are asked for.
void Endpoint::look_for_dead(Request* const* requests, uint32_t count) {
  // With a thousand threads asleep, and a hundred members, the kernel would have nothing else to do.
  const int64_t now = os::now_ns(), patience = kPatience * (1 + shape_.members / kInTurn);
  // relaxed, both: the time, and no more
  int64_t asked = asked_.load(std::memory_order_relaxed);
  if (now - asked >= patience && asked_.compare_exchange_strong(asked, now, std::memory_order_relaxed)) {
    for (uint16_t i = 0; i < shape_.members; ++i) {
      const MemberLine& other = *area(i).member;
      if (is_gone(i) || !place::is_gone(other.process, other.started)) continue;
      gone_[i].store(1, std::memory_order_relaxed);
      somebody_gone_.store(true, std::memory_order_relaxed);
    }
  }
  if (!somebody_gone_.load(std::memory_order_relaxed)) return;
  // Takes back the packets that they had. Again and again: others may just have been about to give them more.
  for (uint16_t i = 0; i < shape_.members; ++i) {
    if (!is_gone(i)) continue;
    lock(queues_[i].lock, alone_);  // no piece is on its way there
    pool_.reclaim(i);
    pieces_.reclaim(i);
    unlock(queues_[i].lock, 0);
  }
  for (uint32_t i = 0; i < count; ++i)
    if (!test(requests[i])) abandon(requests[i]);
}

// If whom it waits for has died, it is over.
void Endpoint::abandon(Request* request) {
  if (request->is_send) {
    if (request->peer < shape_.members && is_gone(request->peer)) abandon_send(request);
    return;
  }
  // acquire: of whom
  const bool in_pieces = request->stage.load(std::memory_order_acquire) == Request::kInPieces;
  const bool says_from_whom = (request->node.mask & ~kAnySource) != 0;
  if (in_pieces && request->peer >= shape_.members) return;  // the holder of the carrier sees to it
  const int32_t source = in_pieces        ? request->peer
                         : says_from_whom ? static_cast<uint16_t>(request->node.key >> 32)
                                          : -1;
  if (!are_gone(source) || !drain_all()) return;  // all that it had sent
  if (!in_pieces) {
    if (!table_.cancel(&request->node)) return;  // it has a message after all
    request->error = -EPIPE;
    finish(request);
    return;
  }
  lock(draining_, alone_);
  if (!test(request)) {
    request->error = -EPIPE;
    finish(request);
  }
  unlock(draining_, 0);
}

// A send is completed by the thread that empties the inbox (it was received), or that launches it: neither can, while
// we look.
void Endpoint::abandon_send(Request* send) {
  if (!drain_all()) return;
  Queue& queue = queues_[send->peer];
  lock(draining_, alone_);
  lock(queue.lock, alone_);
  // relaxed: under the locks
  const auto stage = send->stage.load(std::memory_order_relaxed);
  const bool is_ours = !test(send) && stage != Request::kEnded;
  if (is_ours) {
    remove_from(&queue.first, &queue.last, send);
    remove_from(&queue.first_granted, &queue.last_granted, send);
    note(&queue);
    if (send->packet != kNoPacket) (stage == Request::kInPieces ? pieces_ : pool_).give_back(send->packet);
    send->stage.store(Request::kEnded, std::memory_order_relaxed);
  }
  unlock(queue.lock, 0);
  if (is_ours) {
    send->error = -EPIPE;
    finish(send);
  }
  unlock(draining_, 0);
}

}  // namespace smelt::message
