// Receives that do not say from whom, or of which tag: wildcards.
//
// They have no key, so the table does not find them; and a message must go to the receive that was posted first of all
// that it fits, a wildcard or not. That needs an order between keys, which the table does not have, and which only
// programs with wildcards should pay for. So a context (those that share a shard, to be exact) begins without; its
// first wildcard receive switches it, for good:
//
//   1. `ordered` is set;
//   2. every bucket is passed through once under its lock. Who had the lock before has put its message or receive where
//      it is found now; who gets it afterwards sees `ordered` and comes here. The messages that wait are linked in the
//      order in which they came, by their numbers.
//
// From then on whoever posts or brings in something of this context holds the shard's lock, besides the bucket's.
//
//   a message   goes to the first receive of its key or the first wildcard that it fits, whichever is older: receives
//               have numbers here. One from before the switch has 0: it is older than every wildcard there is.
//   a wildcard  gets the first of the messages that it fits, which is also the first of its key; else it waits in a
//               list, which messages look at only when there is something in it.
//
// The idea of counting wildcards is that of Flajslik et al. ("Mitigating MPI message matching misery", ISC 2016), which
// keeps one table per kind of wildcard; here they are walked: as many as wait.
#include "message/match.h"
#include "message/match_internal.h"

namespace smelt {

void MatchList::append(MatchNode* node) {
  node->before = last;
  node->after = nullptr;
  (last ? last->after : first) = node;
  last = node;
}

void MatchList::remove(MatchNode* node) {
  (node->before ? node->before->after : first) = node->after;
  (node->after ? node->after->before : last) = node->before;
}

namespace {

// Merges two chains (through `after`) that ascend by number.
MatchNode* merge(MatchNode* a, MatchNode* b) {
  MatchNode* merged = nullptr;
  MatchNode** end = &merged;
  while (a && b) {
    MatchNode*& less = a->number < b->number ? a : b;
    *end = less;
    end = &less->after;
    less = less->after;
  }
  *end = a ? a : b;
  return merged;
}

// Runs of 1, 2, 4, ... nodes, merged as the bits of a counter carry: no recursion.
MatchNode* sorted(MatchNode* chain) {
  MatchNode* runs[64] = {};
  while (chain) {
    MatchNode* run = chain;
    chain = chain->after;
    run->after = nullptr;
    int i = 0;
    for (; runs[i]; ++i) {
      run = merge(runs[i], run);
      runs[i] = nullptr;
    }
    runs[i] = run;
  }
  MatchNode* all = nullptr;
  for (MatchNode* run : runs) all = merge(run, all);
  return all;
}

MatchNode* first_fitting(const MatchList& messages, const MatchNode& receive) {
  MatchNode* message = messages.first;
  while (message && !fits(message->key, receive)) message = message->after;
  return message;
}

MatchNode* first_wildcard(const MatchList& wildcards, uint64_t key) {
  MatchNode* wildcard = wildcards.first;
  while (wildcard && !fits(key, *wildcard)) wildcard = wildcard->after;
  return wildcard;
}

}  // namespace

bool MatchTable::is_ordered(uint64_t key) const { return shard(key).ordered.load(std::memory_order_relaxed) != 0; }

uint32_t MatchTable::switches() const {
  uint32_t all = 0;
  for (uint32_t i = 0; i < kShards; ++i) all += shards_[i].ordered.load(std::memory_order_relaxed);
  return all;
}

// Every bucket, under its lock.
template <typename Look>
void MatchTable::pass_through(const Look& look) {
  lock(growing_);  // no bucket moves
  // relaxed: whoever changed it had `growing_` before us
  const uint64_t count = buckets_.load(std::memory_order_relaxed);
  for (uint64_t i = 0; i < count; ++i) {
    MatchBucket& there = bucket(i);
    Held held{&there, lock(there.word)};
    look(&held);
    unlock(there.word, held.overflow);
  }
  unlock(growing_, 0);
}

// Under the shard's lock.
void MatchTable::begin_order(MatchShard* ours) {
  // relaxed: the locks of the buckets tell everybody
  ours->ordered.store(1, std::memory_order_relaxed);
  MatchNode* chain = nullptr;
  const auto collect = [&](uintptr_t last) {
    MatchNode* node = node_of(last);
    if (!(last & kMessage) || &shard(node->key) != ours) return;
    do {
      node = node->next;
      node->after = chain;
      chain = node;
    } while (node != node_of(last));
  };
  pass_through([&](Held* held) {
    for (const MatchBucket::Slot& slot : held->bucket->slot)
      if (slot.last) collect(slot.last);
    for (uintptr_t last = held->overflow; last; last = node_of(last)->beside) collect(last);
  });
  for (MatchNode *node = sorted(chain), *after; node; node = after) {
    after = node->after;
    ours->messages.append(node);
  }
}

MatchNode* MatchTable::take_messages(uint16_t context) {
  MatchShard& ours = shard(uint64_t{context} << 48);
  MatchNode* chain = nullptr;
  lock(ours.lock);
  // relaxed: set under this lock
  const bool is_linked = ours.ordered.load(std::memory_order_relaxed) != 0;
  const auto goes = [&](uintptr_t last) {
    return last != 0 && (last & kKind) == kMessage && node_of(last)->key >> 48 == context;
  };
  const auto take = [&](Held* held, const Place& place) {
    MatchNode *const last = node_of(*place.link), *node = last;
    drop(held, place);
    do {
      node = node->next;
      if (is_linked) ours.messages.remove(node);
      node->after = chain;
      chain = node;
    } while (node != last);
  };
  pass_through([&](Held* held) {
    for (MatchBucket::Slot& slot : held->bucket->slot)
      while (goes(slot.last)) take(held, {&slot.last, &slot});  // another one moves up
    for (uintptr_t* link = &held->overflow; *link;)
      if (goes(*link))
        take(held, {link, nullptr});
      else
        link = &node_of(*link)->beside;
  });
  unlock(ours.lock, 0);
  return chain;
}

// A message that is the first of its key, out of the table.
MatchNode* MatchTable::take_first(MatchShard* ours, MatchNode* message) {
  Held held = hold(message->key);
  pop(&held, find(&held, message->key));
  release(&held);
  ours->messages.remove(message);
  return message;
}

MatchNode* MatchTable::post_ordered(MatchNode* receive) {
  MatchShard& ours = shard(receive->key);
  lock(ours.lock);
  // relaxed: set under this lock
  if (!ours.ordered.load(std::memory_order_relaxed)) begin_order(&ours);
  receive->number = ++ours.clock;
  MatchNode* met = nullptr;
  if (receive->mask != kExact) {
    met = first_fitting(ours.messages, *receive);
    if (met)
      take_first(&ours, met);
    else
      ours.wildcards.append(receive);
  } else {
    Held held = hold(receive->key);
    const Place place = find(&held, receive->key);
    if (place.link && (*place.link & kKind) == kMessage) {
      met = pop(&held, place);
      ours.messages.remove(met);
    } else {
      append(&held, place, receive, kReceive);
    }
    release(&held);
  }
  unlock(ours.lock, 0);
  return met;
}

MatchNode* MatchTable::arrive_ordered(MatchNode* message, bool waits) {
  MatchShard& ours = shard(message->key);
  lock(ours.lock);
  MatchNode* wildcard = first_wildcard(ours.wildcards, message->key);
  MatchNode* met = nullptr;
  Held held = hold(message->key);
  const Place place = find(&held, message->key);
  const bool awaited = place.link && (*place.link & kKind) == kReceive;
  if (awaited && (!wildcard || node_of(*place.link)->next->number < wildcard->number)) {
    met = pop(&held, place);
  } else if (wildcard) {
    met = wildcard;
    ours.wildcards.remove(wildcard);
  } else if (waits) {
    append(&held, place, message, kMessage);
    ours.messages.append(message);
  }
  release(&held);
  unlock(ours.lock, 0);
  return met;
}

bool MatchTable::cancel(MatchNode* receive) {
  MatchShard& ours = shard(receive->key);
  if (receive->mask != kExact) {
    lock(ours.lock);
    MatchNode* waiting = ours.wildcards.first;
    while (waiting && waiting != receive) waiting = waiting->after;
    if (waiting) ours.wildcards.remove(waiting);
    unlock(ours.lock, 0);
    return waiting != nullptr;
  }
  Held held = hold(receive->key);
  const Place place = find(&held, receive->key);
  bool found = false;
  if (place.link && (*place.link & kKind) == kReceive) {
    MatchNode* last = node_of(*place.link);
    MatchNode* before = last;
    while (before->next != receive && before->next != last) before = before->next;
    found = before->next == receive;
    if (found && last->next == last) {
      drop(&held, place);
    } else if (found) {
      before->next = receive->next;
      if (receive == last) {
        before->beside = last->beside;
        *place.link = last_of(before, kReceive);
      }
    }
  }
  release(&held);
  return found;
}

bool MatchTable::probe(uint64_t key, uint64_t mask, void (*look)(const MatchNode*, void*), void* argument) {
  if (mask == kExact) {
    Held held = hold(key);
    const Place place = find(&held, key);
    const bool found = place.link && (*place.link & kKind) == kMessage;
    if (found) look(node_of(*place.link)->next, argument);
    release(&held);
    return found;
  }
  MatchNode pattern;
  pattern.key = key;
  pattern.mask = mask;
  MatchShard& ours = shard(key);
  lock(ours.lock);
  // relaxed: set under this lock
  if (!ours.ordered.load(std::memory_order_relaxed)) begin_order(&ours);
  const MatchNode* message = first_fitting(ours.messages, pattern);
  if (message) look(message, argument);
  unlock(ours.lock, 0);
  return message != nullptr;
}

}  // namespace smelt
