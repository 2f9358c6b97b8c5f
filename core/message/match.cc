#include "message/match.h"

#include <cerrno>
#include <new>

#include "message/match_internal.h"

namespace smelt {

namespace {

// Neighbouring tags and sources are the rule: the product mixes upwards, and its upper half is what is used.
uint64_t hash_of(uint64_t key) { return key * 0x9e3779b97f4a7c15 >> 24; }

uint64_t floor_power(uint64_t n) { return uint64_t{1} << (63 - __builtin_clzll(n)); }

uint64_t index_of(uint64_t hash, uint64_t buckets) {
  const uint64_t whole = floor_power(buckets), index = hash & (2 * whole - 1);
  return index < buckets ? index : index & (whole - 1);
}

}  // namespace

int MatchTable::create(uint32_t first_buckets) {
  void* shards = os::map_pages(kShards * sizeof(MatchShard));
  void* buckets = os::map_pages(first_buckets * sizeof(MatchBucket));
  if (!shards || !buckets) {
    if (shards) os::unmap_pages(shards, kShards * sizeof(MatchShard));
    if (buckets) os::unmap_pages(buckets, first_buckets * sizeof(MatchBucket));
    return -ENOMEM;
  }
  shards_ = static_cast<MatchShard*>(shards);
  for (uint32_t i = 0; i < kShards; ++i) new (shards_ + i) MatchShard;
  segments_[0] = static_cast<MatchBucket*>(buckets);  // zeroed: free and empty
  first_ = first_buckets;
  // relaxed: whoever else uses the table has been given it
  buckets_.store(first_, std::memory_order_relaxed);
  return 0;
}

void MatchTable::destroy() {
  if (!shards_) return;
  os::unmap_pages(shards_, kShards * sizeof(MatchShard));
  shards_ = nullptr;
  for (uint32_t i = 0; i < kSegments; ++i) {
    const uint64_t count = i == 0 ? first_ : first_ << (i - 1);
    if (segments_[i]) os::unmap_pages(segments_[i], count * sizeof(MatchBucket));
    segments_[i] = nullptr;
  }
}

// Segment 0 has the first buckets; every further one as many as all before it.
MatchBucket& MatchTable::bucket(uint64_t index) const {
  if (index < first_) return segments_[0][index];
  const uint64_t whole = floor_power(index);
  return segments_[__builtin_ctzll(whole) - __builtin_ctzll(first_) + 1][index - whole];
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
    if (index_of(hash, buckets_.load(std::memory_order_relaxed)) == index) return {&there, overflow};
    unlock(there.word, overflow);
  }
}

void MatchTable::release(Held* held) {
  unlock(held->bucket->word, held->overflow);
  if (held->is_full) grow();
}

MatchTable::Place MatchTable::find(Held* held, uint64_t key) {
  for (MatchBucket::Slot& slot : held->bucket->slot)
    if (slot.key == key && slot.last) return {&slot.last, &slot};
  for (uintptr_t* link = &held->overflow; *link; link = &node_of(*link)->beside)
    if (node_of(*link)->key == key) return {link, nullptr};
  return {nullptr, nullptr};
}

// A whole queue whose key has none here.
void MatchTable::insert(Held* held, uint64_t key, uintptr_t last) {
  for (MatchBucket::Slot& slot : held->bucket->slot)
    if (!slot.last) {
      slot = {key, last};
      return;
    }
  node_of(last)->beside = held->overflow;
  held->overflow = last;
  held->is_full = true;
}

// Behind those of its own kind.
void MatchTable::append(Held* held, const Place& place, MatchNode* node, uintptr_t kind) {
  if (!place.link) {
    node->next = node;
    insert(held, node->key, last_of(node, kind));
    return;
  }
  MatchNode* last = node_of(*place.link);
  node->next = last->next;
  node->beside = last->beside;
  last->next = node;
  *place.link = last_of(node, kind);
}

MatchNode* MatchTable::pop(Held* held, const Place& place) {
  MatchNode* last = node_of(*place.link);
  MatchNode* first = last->next;
  if (first == last)
    drop(held, place);
  else
    last->next = first->next;
  return first;
}

// A queue that has become empty. Its slot takes one from the overflow: slots are looked at first.
void MatchTable::drop(Held* held, const Place& place) {
  if (!place.slot) {
    *place.link = node_of(*place.link)->beside;
  } else if (held->overflow) {
    MatchNode* moved = node_of(held->overflow);
    *place.slot = {moved->key, held->overflow};
    held->overflow = moved->beside;
  } else {
    place.slot->last = 0;
  }
}

// Without a wildcard about. `ordered` is looked at under the bucket's lock, which is why the one who sets it passes
// through all of them (begin_order).
MatchNode* MatchTable::access(MatchNode* node, uintptr_t kind, bool waits) {
  Held held = hold(node->key);
  // relaxed: who has been through this bucket with `ordered` set has had its lock before us
  if (shard(node->key).ordered.load(std::memory_order_relaxed)) {
    release(&held);
    return kind == kMessage ? arrive_ordered(node, waits) : post_ordered(node);
  }
  const Place place = find(&held, node->key);
  MatchNode* met = nullptr;
  if (place.link && (*place.link & kKind) != kind) {
    met = pop(&held, place);
  } else if (waits) {
    // A receive posted before any wildcard is older than all of them.
    if (kind == kReceive) node->number = 0;
    append(&held, place, node, kind);
  }
  release(&held);
  return met;
}

MatchNode* MatchTable::post(MatchNode* receive) {
  return receive->mask == kExact ? access(receive, kReceive) : post_ordered(receive);
}

MatchNode* MatchTable::arrive(MatchNode* message, bool waits) { return access(message, kMessage, waits); }

// Splits the next bucket in turn, unless somebody is at it.
void MatchTable::grow() {
  uintptr_t rest;
  if (!try_lock(growing_, &rest)) return;
  // relaxed: only the holder of `growing_` changes it
  const uint64_t buckets = buckets_.load(std::memory_order_relaxed), whole = floor_power(buckets);
  bool there_is_room = true;
  if (buckets == whole) {  // a new segment begins
    const uint64_t at = __builtin_ctzll(whole) - __builtin_ctzll(first_) + 1;
    there_is_room = at < kSegments;
    if (there_is_room && !segments_[at]) {
      segments_[at] = static_cast<MatchBucket*>(os::map_pages(whole * sizeof(MatchBucket)));
      there_is_room = segments_[at] != nullptr;  // else the queues in the overflow get longer
    }
  }
  if (there_is_room) {
    MatchBucket& old = bucket(buckets - whole);
    uintptr_t chain = lock(old.word);
    for (MatchBucket::Slot& slot : old.slot) {
      if (!slot.last) continue;
      node_of(slot.last)->beside = chain;
      chain = slot.last;
      slot.last = 0;
    }
    MatchBucket& fresh = bucket(buckets);  // nobody knows of it yet
    Held stays{&old, 0}, goes{&fresh, 0};
    while (chain) {
      const uintptr_t last = chain;
      const uint64_t key = node_of(last)->key;
      chain = node_of(last)->beside;
      insert(index_of(hash_of(key), buckets + 1) == buckets ? &goes : &stays, key, last);
    }
    // relaxed: nobody looks before the number below is stored
    fresh.word.store(goes.overflow, std::memory_order_relaxed);
    // release: the new segment and its bucket. Before the old bucket is unlocked: whoever gets it then must see this.
    buckets_.store(buckets + 1, std::memory_order_release);
    unlock(old.word, stays.overflow);
  }
  unlock(growing_, 0);
}

}  // namespace smelt
