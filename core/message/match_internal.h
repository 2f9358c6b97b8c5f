// Inside the table: its locks, and one bucket in the hands of who holds its lock.
#pragma once

#include "base/arch/cpu.h"
#include "base/os/os.h"
#include "message/match.h"

namespace smelt {

inline constexpr uintptr_t kLocked = 1, kReceive = 0, kMessage = 2;  // bits of a word, of a queue
inline constexpr uintptr_t kKind = 2, kBits = 3;

inline MatchNode* node_of(uintptr_t last) { return reinterpret_cast<MatchNode*>(last & ~kBits); }
inline uintptr_t last_of(MatchNode* node, uintptr_t kind) { return reinterpret_cast<uintptr_t>(node) | kind; }

// The lock bit of a word; what else the word said. acquire: what the last holder wrote is seen.
inline bool try_lock(std::atomic<uintptr_t>& word, uintptr_t* rest) {
  // relaxed: a hint; the exchange decides
  if (word.load(std::memory_order_relaxed) & kLocked) return false;
  *rest = word.fetch_or(kLocked, std::memory_order_acquire);
  return (*rest & kLocked) == 0;
}
inline uintptr_t lock(std::atomic<uintptr_t>& word) {
  constexpr int kPolls = 200;  // then the holder may need our CPU
  uintptr_t rest;
  for (int i = 0; !try_lock(word, &rest); ++i) {
    if (i < kPolls)
      cpu_pause();
    else
      os::yield_cpu();
  }
  return rest;
}
// ... and says something else from now on. release: what the holder wrote is seen by the next one.
inline void unlock(std::atomic<uintptr_t>& word, uintptr_t rest) { word.store(rest, std::memory_order_release); }

struct MatchTable::Held {
  MatchBucket* bucket;
  uintptr_t overflow;    // what the bucket's word says beside the lock
  bool is_full = false;  // a queue has found no slot
};

// Where a queue hangs, or would. `link` nullptr: there is none of the key.
struct MatchTable::Place {
  uintptr_t* link;
  MatchBucket::Slot* slot;  // nullptr: in the overflow
};

}  // namespace smelt
