// The matching table (match.h): beginning and end, growing by a bucket, and where receives and messages meet while no
// wildcard is about.
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
  // relaxed: every other user of the table has been given it
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

MatchBucket& MatchTable::later_bucket(uint64_t index) const {
  const uint64_t whole = floor_power(index);
  return segments_[segment_of(whole, first_)][index - whole];
}

uint64_t MatchTable::buckets() const { return buckets_.load(std::memory_order_relaxed); }

void MatchTable::release(Held* held) {
  unlock(held->bucket->word, held->overflow);
  if (held->is_full) grow();
}

MatchMessage* MatchTable::post(MatchNode* receive) {
  if (receive->mask != kExact) return post_ordered(receive);
  return static_cast<MatchMessage*>(access<kReceive>(
      receive->key, [&] { return post_ordered(receive); },
      [&](Held* held, const QueuePlace& place) {
        receive->number = 0;  // posted before any wildcard, it is older than all of them
        by_key.append(held, place, receive, kReceive);
      }));
}

MatchNode* MatchTable::arrive(MatchMessage* message, bool waits) {
  return access<kMessage>(
      message->key, [&] { return arrive_ordered(message, waits); },
      [&](Held* held, const QueuePlace& place) {
        if (waits) by_key.append(held, place, message, kMessage);
      });
}

// Splits the next bucket in turn, unless somebody is at it.
void MatchTable::grow() {
  uintptr_t rest;
  if (!try_lock(growing_, &rest, alone_)) return;
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
    const uintptr_t overflow = lock(old.word, alone_);
    MatchBucket& fresh = bucket(buckets);  // nobody knows of it yet
    HeldBucket stays{&old, 0}, goes{&fresh, 0};
    by_key.split(&old, overflow, &stays, &goes,
                 [&](uint64_t key) { return index_of(hash_of(key), buckets + 1) == buckets; });
    // relaxed: nobody looks before the number below is stored
    fresh.word.store(goes.overflow, std::memory_order_relaxed);
    // release: the new segment and its bucket. This comes before the old bucket is unlocked: its next holder must see
    // this.
    buckets_.store(buckets + 1, std::memory_order_release);
    unlock(old.word, stays.overflow);
  }
  unlock(growing_, 0);
}

}  // namespace smelt
