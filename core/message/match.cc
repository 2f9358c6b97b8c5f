#include "message/match.h"

#include <cerrno>

#include "message/match_internal.h"

namespace smelt {

int MatchTable::create(uint32_t first_buckets) {
  void* shards = os::map_pages(kShards * sizeof(MatchShard));
  void* buckets = os::map_pages(first_buckets * sizeof(MatchBucket));
  if (!shards || !buckets) {
    if (shards) os::unmap_pages(shards, kShards * sizeof(MatchShard));
    if (buckets) os::unmap_pages(buckets, first_buckets * sizeof(MatchBucket));
    return -ENOMEM;
  }
  shards_ = static_cast<MatchShard*>(shards);  // zeroed, both: free and empty
  segments_[0] = static_cast<MatchBucket*>(buckets);
  first_ = first_buckets;
  // relaxed: whoever else uses the table has been given it
  buckets_.store(first_, std::memory_order_relaxed);
  return 0;
}

void MatchTable::destroy() {
  if (!shards_) return;
  for (uint32_t i = 0; i < kShards; ++i)
    for (int wildcard = 0; wildcard < kWildcards; ++wildcard) IndexOf(shards_ + i, wildcard).destroy();
  os::unmap_pages(shards_, kShards * sizeof(MatchShard));
  shards_ = nullptr;
  for (uint32_t i = 0; i < kSegments; ++i) {
    const uint64_t count = i == 0 ? first_ : first_ << (i - 1);
    if (segments_[i]) os::unmap_pages(segments_[i], count * sizeof(MatchBucket));
    segments_[i] = nullptr;
  }
}

MatchBucket& MatchTable::bucket(uint64_t index) const {
  if (index < first_) return segments_[0][index];
  const uint64_t whole = floor_power(index);
  return segments_[segment_of(whole, first_)][index - whole];
}

uint64_t MatchTable::buckets() const { return buckets_.load(std::memory_order_relaxed); }

MatchTable::Held MatchTable::hold(uint64_t key) {
  const uint64_t hash = hash_of(key);
  for (;;) {
    // acquire: the segment of the newest bucket
    const uint64_t index = index_of(hash, buckets_.load(std::memory_order_acquire));
    MatchBucket& there = bucket(index);
    const uintptr_t overflow = lock(there.word);
    // relaxed: had the bucket been split, we have the lock from whoever did it, and the number with it
    if (index_of(hash, buckets_.load(std::memory_order_relaxed)) == index) return {{&there, overflow}};
    unlock(there.word, overflow);
  }
}

void MatchTable::release(Held* held) {
  unlock(held->bucket->word, held->overflow);
  if (held->is_full) grow();
}

// Without a wildcard about. `ordered` is looked at under the bucket's lock, which is why the one who sets it passes
// through all of them (begin_index).
MatchNode* MatchTable::access(MatchNode* node, uintptr_t kind, bool waits) {
  const auto in_order = [&] {
    return kind == kMessage ? arrive_ordered(static_cast<MatchMessage*>(node), waits) : post_ordered(node);
  };
  const std::atomic<uint32_t>& ordered = shard(node->key).ordered;
  // relaxed: once and for all. Who does not see it yet does so under the lock.
  if (ordered.load(std::memory_order_relaxed)) return in_order();
  Held held = hold(node->key);
  // relaxed: who has been through this bucket with `ordered` set has had its lock before us
  if (ordered.load(std::memory_order_relaxed)) {
    release(&held);
    return in_order();
  }
  const QueuePlace place = by_key.find(&held, node->key);
  MatchNode* met = nullptr;
  if (place.link && (*place.link & kKind) != kind) {
    met = by_key.pop(&held, place);
  } else if (waits) {
    // A receive posted before any wildcard is older than all of them.
    if (kind == kReceive) node->number = 0;
    by_key.append(&held, place, node, kind);
  }
  release(&held);
  return met;
}

MatchMessage* MatchTable::post(MatchNode* receive) {
  return receive->mask == kExact ? static_cast<MatchMessage*>(access(receive, kReceive)) : post_ordered(receive);
}

MatchNode* MatchTable::arrive(MatchMessage* message, bool waits) { return access(message, kMessage, waits); }

// Splits the next bucket in turn, unless somebody is at it.
void MatchTable::grow() {
  uintptr_t rest;
  if (!try_lock(growing_, &rest)) return;
  // relaxed: only the holder of `growing_` changes it
  const uint64_t buckets = buckets_.load(std::memory_order_relaxed), whole = floor_power(buckets);
  bool there_is_room = true;
  if (buckets == whole) {  // a new segment begins
    const uint32_t at = segment_of(whole, first_);
    there_is_room = at < kSegments;
    if (there_is_room && !segments_[at]) {
      segments_[at] = static_cast<MatchBucket*>(os::map_pages(whole * sizeof(MatchBucket)));
      there_is_room = segments_[at] != nullptr;  // else the queues in the overflow get longer
    }
  }
  if (there_is_room) {
    MatchBucket& old = bucket(buckets - whole);
    const uintptr_t overflow = lock(old.word);
    MatchBucket& fresh = bucket(buckets);  // nobody knows of it yet
    HeldBucket stays{&old, 0}, goes{&fresh, 0};
    by_key.split(&old, overflow, &stays, &goes,
                 [&](uint64_t key) { return index_of(hash_of(key), buckets + 1) == buckets; });
    // relaxed: nobody looks before the number below is stored
    fresh.word.store(goes.overflow, std::memory_order_relaxed);
    // release: the new segment and its bucket. Before the old bucket is unlocked: whoever gets it then must see this.
    buckets_.store(buckets + 1, std::memory_order_release);
    unlock(old.word, stays.overflow);
  }
  unlock(growing_, 0);
}

}  // namespace smelt
