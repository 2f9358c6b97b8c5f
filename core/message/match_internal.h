// Inside the tables: a bucket in the hands of the thread that may change it, and its queues. The same for the table of
// keys (match.cc) and for the wildcards' tables (match_index.cc), which differ in where a node has its links.
#pragma once

#include "message/lock_bit.h"
#include "message/match.h"

namespace smelt {

inline constexpr uintptr_t kReceive = 0, kMessage = 2;  // bits of a word, of a queue
inline constexpr uintptr_t kKind = 2, kBits = 3;

inline MatchNode* node_of(uintptr_t last) { return reinterpret_cast<MatchNode*>(last & ~kBits); }
inline uintptr_t last_of(MatchNode* node, uintptr_t kind) { return reinterpret_cast<uintptr_t>(node) | kind; }

// Neighbouring tags and sources are the rule: the product mixes upwards, and only its upper half is used.
inline uint64_t hash_of(uint64_t key) { return key * 0x9e3779b97f4a7c15 >> 24; }
inline uint64_t floor_power(uint64_t n) { return uint64_t{1} << (63 - __builtin_clzll(n)); }
// Linear hashing: which of so many buckets.
inline uint64_t index_of(uint64_t hash, uint64_t buckets) {
  const uint64_t whole = floor_power(buckets), index = hash & (2 * whole - 1);
  return index < buckets ? index : index & (whole - 1);
}
// Segment 0 has the first buckets (a power of two); every further one as many as all before it.
inline uint32_t segment_of(uint64_t whole, uint64_t first) {
  return static_cast<uint32_t>(__builtin_ctzll(whole) - __builtin_ctzll(first) + 1);
}

struct HeldBucket {
  MatchBucket* bucket;
  uintptr_t overflow;    // the bucket's word without its lock
  bool is_full = false;  // a queue has found no slot
};

// The place where a queue hangs, or would. `link` nullptr: there is none of the key.
struct QueuePlace {
  uintptr_t* link;
  MatchBucket::Slot* slot;  // nullptr: in the overflow
};

// Queues by key. `Where` says of a node, as a word with its kind, which key and links it has here.
template <typename Where>
struct Queues : Where {
  using Where::key, Where::link, Where::before;  // before(word, node): the node before it in its ring, should it care

  QueuePlace find(HeldBucket* held, uint64_t wanted) const {
    for (MatchBucket::Slot& slot : held->bucket->slot)
      if (slot.key == wanted && slot.last) return {&slot.last, &slot};
    for (uintptr_t* at = &held->overflow; *at; at = &link(*at).beside)
      if (key(*at) == wanted) return {at, nullptr};
    return {nullptr, nullptr};
  }

  MatchNode* first(const QueuePlace& place) const { return link(*place.link).next; }

  // A whole queue whose key has none here.
  void insert(HeldBucket* held, uint64_t its_key, uintptr_t last) const {
    for (MatchBucket::Slot& slot : held->bucket->slot)
      if (!slot.last) {
        slot = {its_key, last};
        return;
      }
    link(last).beside = held->overflow;
    held->overflow = last;
    held->is_full = true;
  }

  // It comes behind those of its own kind.
  void append(HeldBucket* held, const QueuePlace& place, MatchNode* node, uintptr_t kind) const {
    const uintptr_t word = last_of(node, kind);
    if (!place.link) {
      link(word).next = node;
      before(word, node);
      insert(held, key(word), word);
      return;
    }
    const uintptr_t last = *place.link;
    link(word) = link(last);
    before(last_of(link(last).next, kind), node);
    before(word, node_of(last));
    link(last).next = node;
    *place.link = word;
  }

  MatchNode* pop(HeldBucket* held, const QueuePlace& place) const {
    MatchNode* const out = first(place);
    remove(held, place, out, node_of(*place.link));
    return out;
  }

  // The node behind `ahead`.
  void remove(HeldBucket* held, const QueuePlace& place, MatchNode* node, MatchNode* ahead) const {
    const uintptr_t last = *place.link, kind = last & kKind;
    if (ahead == node) return drop(held, place);
    const uintptr_t to = last_of(ahead, kind), from = last_of(node, kind);
    link(to).next = link(from).next;
    before(last_of(link(from).next, kind), ahead);
    if (from != last) return;
    link(to).beside = link(from).beside;
    *place.link = to;
  }

  // A queue that has become empty. Its slot takes one from the overflow: slots are looked at first.
  void drop(HeldBucket* held, const QueuePlace& place) const {
    if (!place.slot) {
      *place.link = link(*place.link).beside;
    } else if (const uintptr_t moved = held->overflow) {
      *place.slot = {key(moved), moved};
      held->overflow = link(moved).beside;
    } else {
      place.slot->last = 0;
    }
  }

  // A receive that may not be here any more.
  bool cancel(HeldBucket* held, MatchNode* receive) const {
    const QueuePlace place = find(held, receive->key);
    if (!place.link || (*place.link & kKind) != kReceive) return false;
    MatchNode *const last = node_of(*place.link), *ahead = last;
    while (link(last_of(ahead, kReceive)).next != receive && link(last_of(ahead, kReceive)).next != last)
      ahead = link(last_of(ahead, kReceive)).next;
    if (link(last_of(ahead, kReceive)).next != receive) return false;
    remove(held, place, receive, ahead);
    return true;
  }

  // All queues of a bucket that is split, into the two that it becomes.
  template <typename Goes>
  void split(MatchBucket* old, uintptr_t chain, HeldBucket* stays, HeldBucket* goes, const Goes& does_go) const {
    for (MatchBucket::Slot& slot : old->slot) {
      if (!slot.last) continue;
      link(slot.last).beside = chain;
      chain = slot.last;
      slot.last = 0;
    }
    while (chain) {
      const uintptr_t last = chain;
      chain = link(last).beside;
      insert(does_go(key(last)) ? goes : stays, key(last), last);
    }
  }
};

// Every node by its whole key.
struct ByKey {
  static uint64_t key(uintptr_t word) { return node_of(word)->key; }
  static MatchLink& link(uintptr_t word) { return node_of(word)->link; }
  static void before(uintptr_t, MatchNode*) {}
};
inline constexpr Queues<ByKey> by_key{};

struct MatchTable::Held : HeldBucket {};

inline MatchBucket& MatchTable::bucket(uint64_t index) const {
  return index < first_ ? segments_[0][index] : later_bucket(index);
}

inline MatchTable::Held MatchTable::hold(uint64_t key) {
  const uint64_t hash = hash_of(key);
  for (;;) {
    // acquire: the segment of the newest bucket
    const uint64_t buckets = buckets_.load(std::memory_order_acquire), index = index_of(hash, buckets);
    MatchBucket& there = bucket(index);
    const uintptr_t overflow = lock(there.word, alone_);
    // relaxed: had the bucket been split, we have the lock from the splitter, and the number with it
    const uint64_t now = buckets_.load(std::memory_order_relaxed);
    if (now == buckets || index_of(hash, now) == index) return {{&there, overflow}};
    unlock(there.word, overflow);
  }
}

// Without a wildcard about: the node of the other kind that waits here, or else wait(bucket, where its queue hangs or
// would). `ordered` is looked at under the bucket's lock, which is why the thread that sets it passes through all of
// them (begin_index). Inlined by force, as arrive() below: of a short message it is most of the receiver's cost, and
// whether GCC would inline it depends on what else is in the file.
template <uintptr_t kind, typename InOrder, typename Wait>
[[gnu::always_inline]] inline MatchNode* MatchTable::access(uint64_t key, const InOrder& in_order, const Wait& wait) {
  const std::atomic<uint32_t>& ordered = shard(key).ordered;
  // relaxed: once and for all. A thread that does not see it yet does so under the lock.
  if (ordered.load(std::memory_order_relaxed)) [[unlikely]]
    return in_order();
  Held held = hold(key);
  // relaxed: the thread that went through this bucket with `ordered` set has had its lock before us
  if (ordered.load(std::memory_order_relaxed)) [[unlikely]] {
    release(&held);
    return in_order();
  }
  const QueuePlace place = by_key.find(&held, key);
  MatchNode* met = nullptr;
  if (place.link && (*place.link & kKind) != kind)
    met = by_key.pop(&held, place);
  else
    wait(&held, place);
  release(&held);
  return met;
}

template <typename Make>
[[gnu::always_inline]] inline MatchNode* MatchTable::arrive(uint64_t key, const Make& make) {
  return access<kMessage>(
      key, [&] { return arrive_ordered(make(), true); },
      [&](Held* held, const QueuePlace& place) { by_key.append(held, place, make(), kMessage); });
}

// --- match_index.cc ---

inline constexpr uint64_t kWildcardMasks[kWildcards] = {kAnySource, kAnyTag, kAnySource& kAnyTag};
inline int wildcard_of(uint64_t mask) { return mask == kAnySource ? 0 : mask == kAnyTag ? 1 : 2; }

// Under the lock of the shard whose index it is, of wildcards of kind `wildcard`.
class IndexOf {
 public:
  IndexOf(MatchShard* shard, int wildcard) : index_(&shard->index[wildcard]), wildcard_(wildcard) {}
  bool has_receives() const { return index_->receives != 0; }
  // The first waiter under the name that such wildcards give this key, if it is of that kind; nullptr: none is.
  MatchNode* first(uint64_t key, uintptr_t kind) const;
  void add_receive(MatchNode* receive) const;
  void take_receive(MatchNode* receive) const;  // which is the first
  bool cancel(MatchNode* receive) const;
  void add_message(MatchMessage* message) const;
  void take_message(MatchMessage* message) const;
  void destroy() const;

 private:
  HeldBucket hold(uint64_t key) const;
  void release(const HeldBucket& held) const;
  MatchBucket& bucket(uint64_t at) const;
  void append(MatchNode* node, uintptr_t kind) const;
  void grow() const;

  MatchIndex* index_;
  int wildcard_;
};

}  // namespace smelt
