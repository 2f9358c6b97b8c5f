// Which receive gets which message: the matching table (Dang, Snir and Gropp, "Towards millions of communicating
// threads", EuroMPI 2016, section 2.3 and 3.1).
//
// MPI's receives are usually matched by walking two lists, of receives that wait and of messages that nobody has asked
// for yet. Without wildcards a message fits a receive when context, source and tag are the same, so both belong under
// one key, and one operation serves both sides:
//
//   access(key, mine):  does somebody of the other kind wait here?  take the one that waits longest
//                       else                                        wait here, behind those of my own kind
//
// It is atomic, so of two that fit each other the second finds the first: each meets its peer exactly once. Under a key
// only one kind can wait at a time.
//
//        bucket, one line of 64 bytes
//        | lock bit, overflow | key, last | key, last | key, last |
//                 |                   |
//                 v                   v
//        queues of further keys    c -> a -> b -> c      the queue of a key: a ring, held by its last node
//
// The lock is a bit of the bucket's first word, so an access costs one miss for the bucket and one for the partner.
// Different from the paper: a slot holds a queue, not one value (two receives of the same key are usual in MPI); nodes
// are their owners' memory and overflow hangs on them, so nothing is ever allocated and no access can fail; and the
// table grows.
//
// Growth is linear hashing (Litwin, 1980): when a queue finds no slot, one bucket is split, the next in turn, not the
// one that was full. With n buckets, 2^L <= n < 2^(L+1), a key is in bucket h mod 2^(L+1), or in h mod 2^L if that one
// is not there yet. Splitting moves keys from bucket n - 2^L to bucket n under both locks and stores n + 1 before it
// unlocks; who has come to a lock with the old n looks at n once more. Nobody else is stopped.
//
// Wildcards: match_ordered.cc. All functions are safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace smelt {

// What of a message decides who gets it. Tags of 0 and more are people's; a wildcard fits no others.
inline constexpr uint64_t match_key(uint16_t context, uint16_t source, int32_t tag) {
  return uint64_t{context} << 48 | uint64_t{source} << 32 | static_cast<uint32_t>(tag);
}
inline constexpr uint64_t kExact = ~uint64_t{0};
inline constexpr uint64_t kAnySource = ~(uint64_t{0xffff} << 32);  // masks: the bits of a key that must agree
inline constexpr uint64_t kAnyTag = ~uint64_t{0x7fffffff};         // the sign must: it is that of a wildcard's key, 0

// A receive that waits, or a message; the first member of whatever it is. Its memory is the owner's, and the table's
// while it is in there. Aligned so that two bits of its address are free.
struct alignas(8) MatchNode {
  uint64_t key = 0;
  uint64_t mask = kExact;  // of a receive
  // Of a message, set by the caller: messages that came later have a larger one. Of a receive, set by the table.
  uint64_t number = 0;

  // The table's
  MatchNode* next = nullptr;    // in the queue of the key
  uintptr_t beside = 0;         // the last node of another key's queue (overflow), and its kind
  MatchNode* before = nullptr;  // in the lists of match_ordered.cc
  MatchNode* after = nullptr;
};

inline bool fits(uint64_t message_key, const MatchNode& receive) {
  return ((message_key ^ receive.key) & receive.mask) == 0;
}

struct alignas(64) MatchBucket {
  // Bit 0: locked. The rest: the first queue that has no slot, as in `last`.
  std::atomic<uintptr_t> word{0};
  struct Slot {
    uint64_t key = 0;
    uintptr_t last = 0;  // the last node of the queue; bit 1: of messages. 0: an empty slot
  } slot[3];
};
static_assert(sizeof(MatchBucket) == 64);

// A list with both ends, through before and after.
struct MatchList {
  MatchNode *first = nullptr, *last = nullptr;
  void append(MatchNode* node);
  void remove(MatchNode* node);
};

// What wildcards need, for the contexts that fall together here.
struct alignas(64) MatchShard {
  std::atomic<uintptr_t> lock{0};
  std::atomic<uint32_t> ordered{0};  // 1 from the first wildcard on
  uint64_t clock = 0;                // numbers of receives
  MatchList wildcards;               // receives, as they were posted
  MatchList messages;                // nobody's yet, as they came
};

class MatchTable {
 public:
  // `first_buckets`: a power of two. 0 or -ENOMEM.
  int create(uint32_t first_buckets = 1024);
  void destroy();  // nobody uses it any more; what is in there is left to the owners

  // A receive, with key and mask, asks for its message: it gets the one that came first of those that fit, or nullptr:
  // it waits.
  MatchNode* post(MatchNode* receive);
  // A message, with key and number, has come: it gets the receive that was posted first of those that it fits, or
  // nullptr: it waits. Messages of a key (and all, where there are wildcards) must come one after the other, with
  // ascending numbers: whoever empties the inbox is alone. `waits` false: nullptr, and it has not come yet.
  MatchNode* arrive(MatchNode* message, bool waits = true);
  // Takes back a receive that waits. False: it is not here, somebody has got it.
  bool cancel(MatchNode* receive);

  // The messages of a context, out of the table: a chain through `after`.
  MatchNode* take_messages(uint16_t context);

  // Is there a message that a receive of this key and mask would get? Its own thread may look at it in `look`, which
  // must be short and call nothing of the table.
  bool probe(uint64_t key, uint64_t mask, void (*look)(const MatchNode* message, void* argument), void* argument);

  uint64_t buckets() const;
  // Wildcards have made a context of this key's keep order.
  bool is_ordered(uint64_t key) const;
  uint32_t switches() const;  // how often wildcards have done so

 private:
  struct Held;
  struct Place;
  static constexpr uint32_t kSegments = 24, kShards = 64;

  MatchBucket& bucket(uint64_t index) const;
  MatchShard& shard(uint64_t key) { return shards_[key >> 48 & (kShards - 1)]; }
  const MatchShard& shard(uint64_t key) const { return shards_[key >> 48 & (kShards - 1)]; }
  Held hold(uint64_t key);
  void release(Held* held);
  static Place find(Held* held, uint64_t key);
  static void insert(Held* held, uint64_t key, uintptr_t last);
  static void append(Held* held, const Place& place, MatchNode* node, uintptr_t kind);
  static MatchNode* pop(Held* held, const Place& place);
  static void drop(Held* held, const Place& place);
  void grow();

  MatchNode* access(MatchNode* node, uintptr_t kind, bool waits = true);
  MatchNode* post_ordered(MatchNode* receive);
  MatchNode* arrive_ordered(MatchNode* message, bool waits);
  template <typename Look>
  void pass_through(const Look& look);
  void begin_order(MatchShard* shard);
  MatchNode* take_first(MatchShard* shard, MatchNode* message);

  std::atomic<uint64_t> buckets_{0};
  std::atomic<uintptr_t> growing_{0};
  uint64_t first_ = 0;
  MatchBucket* segments_[kSegments] = {};
  MatchShard* shards_ = nullptr;
};

}  // namespace smelt
