// The threads that wait for an endpoint's requests: which of them polls, which sleep, and who wakes whom.
//
// If all that wait polled the inbox, they would fight for its lines, and with more threads than CPUs those that have
// nothing to do would keep the CPU from the one for which something has come (Dang, Snir and Gropp, EuroMPI 2016,
// section 4; MPICH and Open MPI spend most of their time so). Hence
//
//   1. a waiter makes progress itself for a little while: mostly that is enough (wait.cc). Where one thread at a time
//      calls (Endpoint::set_alone) it goes on so, as there is nobody else;
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
// Everybody sleeps for a limited time. What a poller does, and a sleeper that has slept for so long, is the endpoint's
// matter (wait.cc): nothing here knows of messages.
#pragma once

#include <atomic>
#include <cstdint>

#include "message/request.h"

namespace smelt::message {

// A thread that waits for requests, `needed` of them.
struct Waiter {
  enum : uint32_t { kAwake, kAsleep, kCalled, kDone };
  std::atomic<uint32_t> word{kAwake};
  std::atomic<int64_t> left{0};  // how many must still complete
  bool is_called = false;        // to poll, and out of the list
  Waiter *before = nullptr, *after = nullptr;

  bool is_done() const {
    // acquire: the requests that it waited for
    return word.load(std::memory_order_acquire) == kDone;
  }
  // Names itself in the requests. Returns in how many: the others were complete.
  uint32_t attach(Request* const* requests, uint32_t count, uint32_t needed);
  // Takes itself out of them. Returns how many are complete; nobody looks at the waiter any more.
  uint32_t detach(Request* const* requests, uint32_t count, uint32_t needed, uint32_t attached);
};

class Waiters {
 public:
  // How long a sleeper sleeps before sleep() returns all the same; 0: until somebody wakes it. ns
  void set_sleep(int64_t ns) { sleep_ns_ = ns; }

  void count_thread();  // The calling thread has waited here for long
  uint32_t threads() const {
    // relaxed: a hint
    return threads_.load(std::memory_order_relaxed);
  }

  // True: the caller is the one that polls, until it calls stop_polling(), which calls the next one.
  bool try_to_poll();
  void stop_polling();
  // Spins and sleeps as long as another thread polls.
  enum class Woken { kDone, kToPoll, kInVain };  // kToPoll: perhaps nobody polls; kInVain: it has slept its time
  Woken sleep(Waiter* waiter);

  uint64_t sleeps() const { return sleeps_.load(std::memory_order_relaxed); }  // relaxed: a count

 private:
  void call_next();

  int64_t sleep_ns_ = 100'000'000;
  std::atomic<uint64_t> sleeps_{0};
  std::atomic<uint32_t> threads_{0};                     // that have waited here for long
  alignas(64) std::atomic<uintptr_t> polling_{0};        // locked: somebody polls
  alignas(64) std::atomic<uintptr_t> sleepers_lock_{0};  // of the list, and of is_called of those in it
  Waiter* sleepers_ = nullptr;                           // the last to have gone to sleep is the first
};

}  // namespace smelt::message
