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
// unlocks; a thread that has come to a lock with the old n looks at n once more. Nobody else is stopped.
//
// Wildcards: match_ordered.cc, match_index.cc. All functions are safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace smelt {

// The parts of a message that decide which receive gets it. Tags of 0 and more are people's; a wildcard fits no others.
inline constexpr uint64_t match_key(uint16_t context, uint16_t source, int32_t tag) {
  return uint64_t{context} << 48 | uint64_t{source} << 32 | static_cast<uint32_t>(tag);
}
inline constexpr uint64_t kExact = ~uint64_t{0};
inline constexpr uint64_t kAnySource = ~(uint64_t{0xffff} << 32);  // masks: the bits of a key that must agree
inline constexpr uint64_t kAnyTag = ~uint64_t{0x7fffffff};         // the sign must: it is that of a wildcard's key, 0

struct MatchNode;
struct MatchLink {
  MatchNode* next = nullptr;  // in the queue of the key, a ring
  uintptr_t beside = 0;       // the last node of another key's queue (overflow), and its kind
};

// A receive that waits, or a message; the first member of whatever it is. Its memory is the owner's, and the table's
// while it is in there. Aligned so that two bits of its address are free.
struct alignas(8) MatchNode {
  uint64_t key = 0;
  uint64_t mask = kExact;  // of a receive
  // A message's is set by the caller, and messages that came later have a larger one. A receive's is set by the table.
  uint64_t number = 0;
  MatchLink link;  // the table's
};

// The kinds of wildcards: any source, any tag, both. The masks say which is which.
inline constexpr int kWildcards = 3;

struct MatchMessage : MatchNode {
  // The table's: where wildcards of each kind find it.
  struct {
    MatchLink link;
    MatchNode* before = nullptr;
  } in[kWildcards];
  MatchMessage* after = nullptr;  // in the chain that take_messages() gives
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

// A table of queues as the one above, for the words that one kind of wildcard names: receives of that kind that wait,
// or messages that no receive has met. Only the holder of its shard's lock uses it, so it has no locks. All zero:
// empty.
struct MatchIndex {
  static constexpr uint32_t kFirst = 4, kSegments = 24;
  MatchBucket first[kFirst];
  MatchBucket* segments[kSegments];  // every further one has as many buckets as all before it
  uint64_t added;                    // buckets, beyond the first
  uint64_t receives;                 // that wait here
};

// The state that wildcards need, for the contexts that fall together here. All zero: nothing has been asked for.
struct alignas(64) MatchShard {
  std::atomic<uintptr_t> lock;
  std::atomic<uint32_t> ordered;  // bits: the kinds of wildcards that have come, whose indices are kept
  std::atomic<uint64_t> asked;    // wildcards; only the holder of the lock writes it
  uint64_t clock;                 // numbers of receives
  alignas(64) MatchIndex index[kWildcards];
};

class MatchTable {
 public:
  // `first_buckets`: a power of two. 0 or -ENOMEM.
  int create(uint32_t first_buckets = 1024);
  void destroy();                                 // nobody uses it any more; its nodes are left to their owners
  void set_alone(bool alone) { alone_ = alone; }  // lock_bit.h

  // A receive, with key and mask, asks for its message: it gets the one that came first of those that fit, or nullptr:
  // it waits.
  MatchMessage* post(MatchNode* receive);
  // A message, with key and number, has come: it gets the receive that was posted first of those that it fits, or
  // nullptr: it waits. Messages of a key (and all, where there are wildcards) must come one after the other, with
  // ascending numbers: the thread that empties the inbox is alone. `waits` false: nullptr, and it has not come yet.
  MatchNode* arrive(MatchMessage* message, bool waits = true);
  // The same of one of which there is only the key yet: `make` makes it where it must wait, and calls nothing of the
  // table. (match_internal.h)
  template <typename Make>
  MatchNode* arrive(uint64_t key, const Make& make);
  // Takes back a receive that waits. False: it is not here, somebody has got it.
  bool cancel(MatchNode* receive);

  // The messages of a context, out of the table: a chain through `after`.
  MatchMessage* take_messages(uint16_t context);

  // Is there a message that a receive of this key and mask would get? Its own thread may look at it in `look`, which
  // must be short and call nothing of the table.
  bool probe(uint64_t key, uint64_t mask, void (*look)(const MatchNode* message, void* argument), void* argument);

  uint64_t buckets() const;
  // Wildcards have made a context of this key's keep order.
  bool is_ordered(uint64_t key) const;
  uint32_t switches() const;   // how often wildcards have done so
  uint64_t wildcards() const;  // receives and probes that were wildcards

 private:
  struct Held;
  static constexpr uint32_t kSegments = 24, kShards = 64;

  MatchBucket& bucket(uint64_t index) const;
  MatchBucket& later_bucket(uint64_t index) const;
  MatchShard& shard(uint64_t key) { return shards_[key >> 48 & (kShards - 1)]; }
  const MatchShard& shard(uint64_t key) const { return shards_[key >> 48 & (kShards - 1)]; }
  Held hold(uint64_t key);
  void release(Held* held);
  void grow();

  template <uintptr_t kind, typename InOrder, typename Wait>
  MatchNode* access(uint64_t key, const InOrder& in_order, const Wait& wait);
  MatchMessage* post_ordered(MatchNode* receive);
  MatchNode* arrive_ordered(MatchMessage* message, bool waits);
  template <typename Look>
  void pass_through(const Look& look);
  void begin_index(MatchShard* shard, int wildcard);
  void note_wildcard(MatchShard* shard, int wildcard);
  void take_first(MatchMessage* message);

  bool alone_ = false;
  std::atomic<uint64_t> buckets_{0};       // as many as keys are spread over
  std::atomic<uintptr_t> growing_{0};      // the lock of the thread that adds one
  uint64_t first_ = 0;                     // buckets of the first segment
  MatchBucket* segments_[kSegments] = {};  // every further one has as many buckets as all before it
  MatchShard* shards_ = nullptr;           // [kShards] of wildcards
};

}  // namespace smelt
