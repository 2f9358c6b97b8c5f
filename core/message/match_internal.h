// Inside the table: one bucket in the hands of who holds its lock.
#pragma once

#include "message/lock_bit.h"
#include "message/match.h"

namespace smelt {

inline constexpr uintptr_t kReceive = 0, kMessage = 2;  // bits of a word, of a queue
inline constexpr uintptr_t kKind = 2, kBits = 3;

inline MatchNode* node_of(uintptr_t last) { return reinterpret_cast<MatchNode*>(last & ~kBits); }
inline uintptr_t last_of(MatchNode* node, uintptr_t kind) { return reinterpret_cast<uintptr_t>(node) | kind; }

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
