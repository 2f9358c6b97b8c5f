// A lock in a bit of a word that also says something else.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"
#include "base/os/os.h"

namespace smelt {

inline constexpr uintptr_t kLocked = 1;

// Takes the lock; `rest`: the word's other bits. acquire: all that the last holder wrote is seen.
//
// If `alone`, only one thread uses the lock at a time; the caller orders its successive users. Then the lock only keeps
// a thread from taking it twice, and a store will do. An exchange waits for all stores before it: behind a message that
// has just been sent that is a hop.
inline bool try_lock(std::atomic<uintptr_t>& word, uintptr_t* rest, bool alone = false) {
  // relaxed, all: a look, the exchange decides. Only a holder changes the word's other bits.
  *rest = word.load(std::memory_order_relaxed);
  if ((*rest & kLocked) != 0) return false;
  if (!alone)
    return word.compare_exchange_strong(*rest, *rest | kLocked, std::memory_order_acquire, std::memory_order_relaxed);
  word.store(*rest | kLocked, std::memory_order_relaxed);
  return true;
}
inline uintptr_t lock(std::atomic<uintptr_t>& word, bool alone = false) {
  constexpr int kPolls = 200;  // then the holder may need our CPU
  uintptr_t rest;
  for (int i = 0; !try_lock(word, &rest, alone); ++i) {
    if (i < kPolls)
      cpu_pause();
    else
      os::yield_cpu();
  }
  return rest;
}
// ... and sets the word's other bits. release: all that the holder wrote is seen by the next one.
inline void unlock(std::atomic<uintptr_t>& word, uintptr_t rest) { word.store(rest, std::memory_order_release); }

}  // namespace smelt
