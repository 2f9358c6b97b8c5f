// Which thread polls and which ones sleep (waiters.h): completion, the poll, the list of sleepers.
#include "message/waiters.h"

#include "base/os/os.h"
#include "message/lock_bit.h"

namespace smelt::message {

namespace {

constexpr uint32_t kSpin = 64;  // looks at our word before we sleep

// The waiters that this thread is counted among.
thread_local const Waiters* counted_by = nullptr;

}  // namespace

// --- how a waiter comes and goes ---

// It is the last thing that is done with a waiter, unless others must still complete.
void signal(Waiter* waiter) {
  // acq_rel: the last of several has all that the others have done
  if (waiter->left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // acq_rel: the requests are complete
  const uint32_t was = waiter->word.exchange(Waiter::kDone, std::memory_order_acq_rel);
  if (was == Waiter::kAsleep) os::futex_wake_all(&waiter->word);
}

uint32_t Waiter::attach(Request* const* requests, uint32_t count, uint32_t needed) {
  // relaxed: the exchanges below carry it to the completers
  left.store(needed, std::memory_order_relaxed);
  const uintptr_t mark = reinterpret_cast<uintptr_t>(this);
  uint32_t attached = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uintptr_t pending = Request::kPending;
    // release: the waiter. acquire: all that the completer did
    if (requests[i]->state.compare_exchange_strong(pending, mark, std::memory_order_acq_rel, std::memory_order_acquire))
      ++attached;
    // acq_rel: as a completer does
    else if (left.fetch_sub(1, std::memory_order_acq_rel) == 1)
      word.store(kDone, std::memory_order_relaxed);  // relaxed: we read it ourselves
  }
  return attached;
}

uint32_t Waiter::detach(Request* const* requests, uint32_t count, uint32_t needed, uint32_t attached) {
  const uintptr_t mark = reinterpret_cast<uintptr_t>(this);
  uint32_t complete = count;
  for (uint32_t i = 0; i < count && attached != 0; ++i) {
    uintptr_t ours = mark;
    // acq_rel: it is the next waiter's; all that the completer did
    if (requests[i]->state.compare_exchange_strong(ours, Request::kPending, std::memory_order_acq_rel,
                                                   std::memory_order_acquire))
      --complete;
  }
  // For completers that have found us in a request, and have not said so yet. acquire: they have done with the waiter
  for (uint32_t i = 0; left.load(std::memory_order_acquire) != int64_t{needed} - complete; ++i)
    i < kSpin ? cpu_pause() : os::yield_cpu();
  return complete;
}

// --- the poll and the sleepers ---

void Waiters::count_thread() {
  if (counted_by == this) return;
  counted_by = this;
  // relaxed: a hint
  threads_.fetch_add(1, std::memory_order_relaxed);
}

bool Waiters::try_to_poll() {
  uintptr_t rest;
  return try_lock(polling_, &rest);  // 2.
}

void Waiters::stop_polling() {
  unlock(polling_, 0);
  call_next();
}

// 3.
Waiters::Woken Waiters::sleep(Waiter* waiter) {
  uint32_t spins = 0;
  // relaxed: a hint
  while (spins < kSpin && !waiter->is_done() && polling_.load(std::memory_order_relaxed) != 0) {
    cpu_pause();
    ++spins;
  }
  if (waiter->is_done()) return Woken::kDone;
  if (spins < kSpin) return Woken::kToPoll;

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
  while (
      word != Waiter::kDone && word != Waiter::kAwake &&
      !waiter->word.compare_exchange_weak(word, Waiter::kAwake, std::memory_order_relaxed, std::memory_order_relaxed)) {
  }
  if (waiter->is_done()) {
    if (is_called) call_next();  // we were to poll
    return Woken::kDone;
  }
  return is_called ? Woken::kToPoll : Woken::kInVain;
}

// Nobody polls any more: 4.
void Waiters::call_next() {
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

}  // namespace smelt::message
