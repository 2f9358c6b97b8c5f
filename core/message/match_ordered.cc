// Receives that do not say from whom, or of which tag: wildcards.
//
// They have no key, so the table does not find them; and a message must go to the receive that was posted first of all
// that it fits, a wildcard or not. That needs an order between keys, which the table does not have, and which only
// programs with wildcards should pay for. So a context (those that share a shard, to be exact) begins without; its
// first wildcard receive of a kind (any source, any tag, both) switches it, for good:
//
//   1. the kind's bit in `ordered` is set;
//   2. every bucket is passed through once under its lock. The lock's holder before has put its message or receive
//      where it is found now; the holder afterwards sees `ordered` and comes here. The messages that wait are put into
//      the kind's index (match_index.cc) in the order in which they came, by their numbers.
//
// From then on a thread that posts or brings in something of this context holds the shard's lock, besides the bucket's.
//
//   a message   goes to the first receive of its key or the first wildcard of each kind that it fits, whichever is
//               oldest: receives have numbers here. One from before the switch has 0: it is older than every wildcard.
//               If there is none it waits, in its key's queue and in the index of every kind that has been seen.
//   a wildcard  gets the first of the messages that its index has for it, which is also the first of its key; else it
//               waits in the index.
//
// So neither costs more where many others wait. That wildcards are counted, and served by a table per kind, is the idea
// of Flajslik et al. ("Mitigating MPI message matching misery", ISC 2016).
#include "message/match.h"
#include "message/match_internal.h"

namespace smelt {

namespace {

// Merges two chains (through `after`) that ascend by number.
MatchMessage* merge(MatchMessage* a, MatchMessage* b) {
  MatchMessage* merged = nullptr;
  MatchMessage** end = &merged;
  while (a && b) {
    MatchMessage*& less = a->number < b->number ? a : b;
    *end = less;
    end = &less->after;
    less = less->after;
  }
  *end = a ? a : b;
  return merged;
}

// Runs of 1, 2, 4, ... nodes, merged as the bits of a counter carry: no recursion.
MatchMessage* sorted(MatchMessage* chain) {
  MatchMessage* runs[64] = {};
  while (chain) {
    MatchMessage* run = chain;
    chain = chain->after;
    run->after = nullptr;
    int i = 0;
    for (; runs[i]; ++i) {
      run = merge(runs[i], run);
      runs[i] = nullptr;
    }
    runs[i] = run;
  }
  MatchMessage* all = nullptr;
  for (MatchMessage* run : runs) all = merge(run, all);
  return all;
}

// The kinds of wildcards that this shard has seen. The caller holds its lock.
uint32_t seen_by(const MatchShard& shard) {
  // relaxed: set under this lock
  return shard.ordered.load(std::memory_order_relaxed);
}
bool has(uint32_t seen, int wildcard) { return (seen >> wildcard & 1) != 0; }

void leave_indices(MatchShard* shard, MatchMessage* message) {
  for (int i = 0; i < kWildcards; ++i)
    if (has(seen_by(*shard), i)) IndexOf(shard, i).take_message(message);
}

}  // namespace

bool MatchTable::is_ordered(uint64_t key) const { return shard(key).ordered.load(std::memory_order_relaxed) != 0; }

uint32_t MatchTable::switches() const {
  uint32_t all = 0;
  for (uint32_t i = 0; i < kShards; ++i) all += shards_[i].ordered.load(std::memory_order_relaxed) != 0;
  return all;
}

// Every bucket, under its lock.
template <typename Look>
void MatchTable::pass_through(const Look& look) {
  lock(growing_);  // no bucket moves
  // relaxed: the thread that changed it had `growing_` before us
  const uint64_t count = buckets_.load(std::memory_order_relaxed);
  for (uint64_t i = 0; i < count; ++i) {
    MatchBucket& there = bucket(i);
    Held held{&there, lock(there.word)};
    look(&held);
    unlock(there.word, held.overflow);
  }
  unlock(growing_, 0);
}

uint64_t MatchTable::wildcards() const {
  uint64_t all = 0;
  for (uint32_t i = 0; i < kShards; ++i) all += shards_[i].asked.load(std::memory_order_relaxed);
  return all;
}

// The caller holds the shard's lock.
void MatchTable::note_wildcard(MatchShard* ours, int wildcard) {
  // relaxed, both: a count
  ours->asked.store(ours->asked.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (!has(seen_by(*ours), wildcard)) begin_index(ours, wildcard);
}

// The first wildcard of a kind. The caller holds the shard's lock.
void MatchTable::begin_index(MatchShard* ours, int wildcard) {
  // relaxed: the locks of the buckets tell everybody
  ours->ordered.store(seen_by(*ours) | 1u << wildcard, std::memory_order_relaxed);
  MatchMessage* chain = nullptr;
  const auto collect = [&](uintptr_t last) {
    MatchNode* node = node_of(last);
    if (!(last & kMessage) || &shard(node->key) != ours) return;
    do {
      node = node->link.next;
      static_cast<MatchMessage*>(node)->after = chain;
      chain = static_cast<MatchMessage*>(node);
    } while (node != node_of(last));
  };
  pass_through([&](Held* held) {
    for (const MatchBucket::Slot& slot : held->bucket->slot)
      if (slot.last) collect(slot.last);
    for (uintptr_t last = held->overflow; last; last = node_of(last)->link.beside) collect(last);
  });
  for (MatchMessage* message = sorted(chain); message; message = message->after)
    IndexOf(ours, wildcard).add_message(message);
}

MatchMessage* MatchTable::take_messages(uint16_t context) {
  MatchShard& ours = shard(uint64_t{context} << 48);
  MatchMessage* chain = nullptr;
  lock(ours.lock, alone_);
  const auto goes = [&](uintptr_t last) {
    return last != 0 && (last & kKind) == kMessage && node_of(last)->key >> 48 == context;
  };
  const auto take = [&](Held* held, const QueuePlace& place) {
    MatchNode *const last = node_of(*place.link), *node = last;
    by_key.drop(held, place);
    do {
      node = node->link.next;
      auto* message = static_cast<MatchMessage*>(node);
      leave_indices(&ours, message);
      message->after = chain;
      chain = message;
    } while (node != last);
  };
  pass_through([&](Held* held) {
    for (MatchBucket::Slot& slot : held->bucket->slot)
      while (goes(slot.last)) take(held, {&slot.last, &slot});  // another one moves up
    for (uintptr_t* link = &held->overflow; *link;)
      if (goes(*link))
        take(held, {link, nullptr});
      else
        link = &node_of(*link)->link.beside;
  });
  unlock(ours.lock, 0);
  return chain;
}

// The first of its key, out of the table of keys.
void MatchTable::take_first(MatchMessage* message) {
  Held held = hold(message->key);
  by_key.pop(&held, by_key.find(&held, message->key));
  release(&held);
}

MatchMessage* MatchTable::post_ordered(MatchNode* receive) {
  MatchShard& ours = shard(receive->key);
  lock(ours.lock, alone_);
  receive->number = ++ours.clock;
  MatchMessage* met = nullptr;
  if (receive->mask != kExact) {
    const int wildcard = wildcard_of(receive->mask);
    note_wildcard(&ours, wildcard);
    const IndexOf index(&ours, wildcard);
    met = static_cast<MatchMessage*>(index.first(receive->key, kMessage));
    if (met)
      take_first(met);
    else
      index.add_receive(receive);
  } else {
    Held held = hold(receive->key);
    const QueuePlace place = by_key.find(&held, receive->key);
    if (place.link && (*place.link & kKind) == kMessage)
      met = static_cast<MatchMessage*>(by_key.pop(&held, place));
    else
      by_key.append(&held, place, receive, kReceive);
    release(&held);
  }
  if (met) leave_indices(&ours, met);
  unlock(ours.lock, 0);
  return met;
}

MatchNode* MatchTable::arrive_ordered(MatchMessage* message, bool waits) {
  MatchShard& ours = shard(message->key);
  lock(ours.lock, alone_);
  MatchNode* oldest = nullptr;  // of the wildcards
  for (int i = 0; i < kWildcards; ++i) {
    const IndexOf index(&ours, i);
    if (!index.has_receives()) continue;
    MatchNode* wildcard = index.first(message->key & kWildcardMasks[i], kReceive);
    if (wildcard && (!oldest || wildcard->number < oldest->number)) oldest = wildcard;
  }
  MatchNode* met = nullptr;
  Held held = hold(message->key);
  const QueuePlace place = by_key.find(&held, message->key);
  const bool awaited = place.link && (*place.link & kKind) == kReceive;
  if (awaited && (!oldest || by_key.first(place)->number < oldest->number)) {
    met = by_key.pop(&held, place);
  } else if (oldest) {
    met = oldest;
    IndexOf(&ours, wildcard_of(oldest->mask)).take_receive(oldest);
  } else if (waits) {
    by_key.append(&held, place, message, kMessage);
    for (int i = 0; i < kWildcards; ++i)
      if (has(seen_by(ours), i)) IndexOf(&ours, i).add_message(message);
  }
  release(&held);
  unlock(ours.lock, 0);
  return met;
}

bool MatchTable::cancel(MatchNode* receive) {
  if (receive->mask != kExact) {
    MatchShard& ours = shard(receive->key);
    lock(ours.lock, alone_);
    const bool found = IndexOf(&ours, wildcard_of(receive->mask)).cancel(receive);
    unlock(ours.lock, 0);
    return found;
  }
  Held held = hold(receive->key);
  const bool found = by_key.cancel(&held, receive);
  release(&held);
  return found;
}

bool MatchTable::probe(uint64_t key, uint64_t mask, void (*look)(const MatchNode*, void*), void* argument) {
  if (mask == kExact) {
    Held held = hold(key);
    const QueuePlace place = by_key.find(&held, key);
    const bool found = place.link && (*place.link & kKind) == kMessage;
    if (found) look(by_key.first(place), argument);
    release(&held);
    return found;
  }
  MatchShard& ours = shard(key);
  const int wildcard = wildcard_of(mask);
  lock(ours.lock, alone_);
  note_wildcard(&ours, wildcard);
  const MatchNode* message = IndexOf(&ours, wildcard).first(key, kMessage);
  if (message) look(message, argument);
  unlock(ours.lock, 0);
  return message != nullptr;
}

}  // namespace smelt
