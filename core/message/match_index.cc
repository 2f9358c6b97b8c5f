// The index of one kind of wildcard: a table of queues by the words it names, (source, any tag), (any source, tag), or
// nothing but the context.
//
// Flajslik et al. ("Mitigating MPI message matching misery", ISC 2016) keep such a table per kind for the receives that
// wait, so that a message looks at four places, and not at all wildcards. Here the messages that no receive has met are
// in it as well, so that a wildcard does not walk them either. Both share a queue as in the table of keys: if a receive
// of this kind waits, every message that it fits is met by somebody, so under one name only one kind can wait.
//
// A message is in the indices of all kinds that its context has seen, and leaves them from the middle: its links there
// go both ways. With one kind, as in most programs, that is one index, of a few names, in a line or two.
#include "message/match_internal.h"

namespace smelt {

namespace {

struct InIndex {
  int wildcard;
  uint64_t key(uintptr_t word) const { return node_of(word)->key & kWildcardMasks[wildcard]; }
  MatchLink& link(uintptr_t word) const {
    MatchNode* node = node_of(word);
    return word & kMessage ? static_cast<MatchMessage*>(node)->in[wildcard].link : node->link;
  }
  void before(uintptr_t word, MatchNode* node) const {
    if (word & kMessage) static_cast<MatchMessage*>(node_of(word))->in[wildcard].before = node;
  }
};

Queues<InIndex> queues_of(int wildcard) { return {{wildcard}}; }

// No wildcard of any tag fits it: that of a message which is the host's own.
bool is_apart(const MatchMessage& message, int wildcard) {
  return wildcard != 0 && static_cast<int32_t>(static_cast<uint32_t>(message.key)) < 0;
}

}  // namespace

MatchBucket& IndexOf::bucket(uint64_t at) const {
  if (at < MatchIndex::kFirst) return index_->first[at];
  const uint64_t whole = floor_power(at);
  return index_->segments[segment_of(whole, MatchIndex::kFirst)][at - whole];
}

// The word of a bucket is only its overflow here. relaxed, wherever it is used: under the shard's lock.
HeldBucket IndexOf::hold(uint64_t key) const {
  MatchBucket& there = bucket(index_of(hash_of(key), MatchIndex::kFirst + index_->added));
  return {&there, there.word.load(std::memory_order_relaxed)};
}

void IndexOf::release(const HeldBucket& held) const {
  held.bucket->word.store(held.overflow, std::memory_order_relaxed);
  if (held.is_full) grow();
}

void IndexOf::grow() const {
  const uint64_t buckets = MatchIndex::kFirst + index_->added, whole = floor_power(buckets);
  if (buckets == whole) {  // a new segment begins
    const uint32_t at = segment_of(whole, MatchIndex::kFirst);
    if (at >= MatchIndex::kSegments) return;
    if (!index_->segments[at])
      index_->segments[at] = static_cast<MatchBucket*>(os::map_pages(whole * sizeof(MatchBucket)));
    if (!index_->segments[at]) return;  // the queues in the overflow get longer
  }
  MatchBucket& old = bucket(buckets - whole);
  ++index_->added;
  HeldBucket stays{&old, 0}, goes{&bucket(buckets), 0};
  queues_of(wildcard_).split(&old, old.word.load(std::memory_order_relaxed), &stays, &goes,
                             [&](uint64_t key) { return index_of(hash_of(key), buckets + 1) == buckets; });
  old.word.store(stays.overflow, std::memory_order_relaxed);
  goes.bucket->word.store(goes.overflow, std::memory_order_relaxed);
}

MatchNode* IndexOf::first(uint64_t key, uintptr_t kind) const {
  const Queues<InIndex> queues = queues_of(wildcard_);
  HeldBucket held = hold(key);
  const QueuePlace place = queues.find(&held, key);
  return place.link && (*place.link & kKind) == kind ? queues.first(place) : nullptr;
}

void IndexOf::append(MatchNode* node, uintptr_t kind) const {
  const Queues<InIndex> queues = queues_of(wildcard_);
  const uint64_t key = node->key & kWildcardMasks[wildcard_];
  HeldBucket held = hold(key);
  queues.append(&held, queues.find(&held, key), node, kind);
  release(held);
}

void IndexOf::add_receive(MatchNode* receive) const {
  append(receive, kReceive);
  ++index_->receives;
}

void IndexOf::take_receive(MatchNode* receive) const {
  const Queues<InIndex> queues = queues_of(wildcard_);
  HeldBucket held = hold(receive->key);
  queues.pop(&held, queues.find(&held, receive->key));
  release(held);
  --index_->receives;
}

bool IndexOf::cancel(MatchNode* receive) const {
  HeldBucket held = hold(receive->key);
  const bool found = queues_of(wildcard_).cancel(&held, receive);
  release(held);
  index_->receives -= found;
  return found;
}

void IndexOf::add_message(MatchMessage* message) const {
  if (!is_apart(*message, wildcard_)) append(message, kMessage);
}

void IndexOf::take_message(MatchMessage* message) const {
  if (is_apart(*message, wildcard_)) return;
  const Queues<InIndex> queues = queues_of(wildcard_);
  const uint64_t key = message->key & kWildcardMasks[wildcard_];
  HeldBucket held = hold(key);
  queues.remove(&held, queues.find(&held, key), message, message->in[wildcard_].before);
  release(held);
}

void IndexOf::destroy() const {
  for (uint32_t i = 1; i < MatchIndex::kSegments; ++i)
    if (index_->segments[i])
      os::unmap_pages(index_->segments[i], (uint64_t{MatchIndex::kFirst} << (i - 1)) * sizeof(MatchBucket));
}

}  // namespace smelt
