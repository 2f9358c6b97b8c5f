// The poller: a scheduler's workers with nothing to run ask it for threads that something outside is to let run:
// messages (messages.cc). One at a time asks, for all. As long as the poller is needed one worker with nothing to run
// stays awake (the watcher); the others sleep, but look again now and then: the watcher may have found itself something
// that runs for long.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"
#include "message/lock_bit.h"

namespace smelt::thread {

struct Poller {
  bool (*poll)(Poller& poller);             // true: there was something
  bool (*is_needed)(const Poller& poller);  // does a thread wait for it?
  void (*in_vain)(Poller& poller);          // now and then, by a watcher that finds nothing
};

struct Polling {
  alignas(kLineBytes) std::atomic<Poller*> poller{nullptr};
  alignas(kLineBytes) std::atomic<uintptr_t> lock{0};   // of the asker
  alignas(kLineBytes) std::atomic<uintptr_t> watch{0};  // of the worker that stays awake

  // relaxed: a hint
  bool is_there() const { return poller.load(std::memory_order_relaxed) != nullptr; }
  // Asks, unless somebody does just now. True: there was something.
  bool ask() {
    return if_free(false, [](Poller& now) { return now.poll(now); });
  }
  bool is_needed() {  // another worker asks just now: it may find something for us
    return if_free(true, [](Poller& now) { return now.is_needed(now); });
  }
  void in_vain() {
    if_free(false, [](Poller& now) { return now.in_vain(now), false; });
  }
  // False: there is one already.
  bool set(Poller& now) {
    Poller* none = nullptr;
    // release: the poller's words
    return poller.compare_exchange_strong(none, &now, std::memory_order_release, std::memory_order_relaxed);
  }
  // Nobody asks it any more when this returns.
  void clear() {
    smelt::lock(lock);
    poller.store(nullptr, std::memory_order_relaxed);  // relaxed: the lock orders it
    unlock(lock, 0);
  }

 private:
  // The answer of `call` for the poller; false: there is none; `else_`: somebody has the lock.
  template <typename Call>
  bool if_free(bool else_, Call call) {
    uintptr_t rest;
    if (!is_there()) return false;
    if (!try_lock(lock, &rest)) return else_;
    Poller* const now = poller.load(std::memory_order_acquire);  // acquire: the poller's words
    const bool said = now && call(*now);
    unlock(lock, 0);
    return said;
  }
};

}  // namespace smelt::thread
