#include "message/inbox.h"

namespace smelt {

namespace {

constexpr int kPositionShift = 18, kSenderShift = 2;
enum State : uint64_t { kFree = 0, kClaimed = 1, kFull = 2, kStates = 3 };

constexpr uint64_t word_of(uint64_t position, uint64_t sender, State state) {
  return position << kPositionShift | sender << kSenderShift | state;
}
uint64_t position_of(uint64_t word) { return word >> kPositionShift; }
int32_t sender_of(uint64_t word) { return static_cast<uint16_t>(word >> kSenderShift); }

}  // namespace

void Inbox::write_empty() const {
  // relaxed, both: whoever looks has been told of the inbox
  front->tail.store(0, std::memory_order_relaxed);
  for (uint64_t i = 0; i < size; ++i) cells[i].word.store(word_of(i, 0, kFree), std::memory_order_relaxed);
}

InboxCell* Inbox::claim(uint16_t sender, uint64_t* position) const {
  for (;;) {
    // relaxed: a hint. It is never beyond the first position that is free.
    uint64_t at = front->tail.load(std::memory_order_relaxed);
    InboxCell& cell = cells[at & (size - 1)];
    const uint64_t free = word_of(at, 0, kFree);
    // relaxed: the exchange decides
    uint64_t seen = cell.word.load(std::memory_order_relaxed);
    // acquire: the reader has read what we overwrite
    const bool ours =
        seen == free && cell.word.compare_exchange_strong(seen, word_of(at, sender, kClaimed),
                                                          std::memory_order_acquire, std::memory_order_relaxed);
    if (!ours && position_of(seen) < at) return nullptr;
    *position = at;
    // Ours, another's, or used and passed already: who claimed it may have died before this. relaxed: whoever moves it,
    // it has got further.
    if (ours || seen != free)
      front->tail.compare_exchange_strong(at, at + 1, std::memory_order_relaxed, std::memory_order_relaxed);
    if (ours) return &cell;
  }
}

void Inbox::publish(InboxCell* cell, uint64_t position, uint16_t sender) const {
  // release: the payload
  cell->word.store(word_of(position, sender, kFull), std::memory_order_release);
}

const InboxCell* InboxReader::peek(int32_t* sender, int32_t* claimed_by) const {
  const InboxCell& cell = inbox.cells[head & (inbox.size - 1)];
  // acquire: the payload
  const uint64_t word = cell.word.load(std::memory_order_acquire);
  const uint64_t state = word & kStates;
  *claimed_by = state == kClaimed ? sender_of(word) : -1;
  if (state != kFull) return nullptr;
  *sender = sender_of(word);
  return &cell;
}

void InboxReader::pass() {
  // release: the payload has been read
  inbox.cells[head & (inbox.size - 1)].word.store(word_of(head + inbox.size, 0, kFree), std::memory_order_release);
  ++head;
}

void InboxReader::pass_dead(int32_t claimed_by) {
  int32_t sender, still;
  if (!peek(&sender, &still) && still == claimed_by) pass();
}

}  // namespace smelt
