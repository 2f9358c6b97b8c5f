// All others put their messages for one participant here: a bounded ring of cells in shared memory, many senders, one
// reader at a time.
//
// After Vyukov's bounded queue: each cell has a word that says whose turn it is, so a sender and the reader meet in the
// cell alone. There senders claim a position by moving the tail; a sender that dies then, before the cell says
// anything, stops the ring for ever, and nobody knows which one to blame. Processes do die here, so the cell itself is
// claimed, in its word:
//
//   word of a cell:  position | sender | state         tail:  a hint, the first position that may be free
//
//     free(p)  --- compare-and-swap: mine --->  claimed(p, me)  --- store --->  full(p, me)
//        ^                                                                          |
//        +--- p + size ----------------- the reader has done with it ---------------+
//
// The sender that has claimed moves the tail on, by a store: it may come late, or go back, and a sender that finds a
// cell claimed goes on to the next. Positions are claimed without gaps, in order. So one thread's messages are in the
// order of its calls, and those that it sends after it has heard from another thread come behind that one's. A full
// ring is seen before anything is claimed. The reader goes on over a cell claimed by a sender that has died.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"

namespace smelt {

// The word of a cell.
namespace inbox {
inline constexpr int kPositionShift = 18, kSenderShift = 2;
enum State : uint64_t { kFree = 0, kClaimed = 1, kFull = 2, kStates = 3 };

inline constexpr uint64_t word_of(uint64_t position, uint64_t sender, State state) {
  return position << kPositionShift | sender << kSenderShift | state;
}
inline uint64_t position_of(uint64_t word) { return word >> kPositionShift; }
inline int32_t sender_of(uint64_t word) { return static_cast<uint16_t>(word >> kSenderShift); }
}  // namespace inbox

// Twice the bytes that are put into one (endpoint.h): in cells of 256 bytes a message of 8 took 152 ns in place of 141,
// one of 32 bytes 194 in place of 146.
inline constexpr uint32_t kCellBytes = 512, kCellPayload = kCellBytes - 8;

struct alignas(64) InboxCell {
  std::atomic<uint64_t> word;
  char payload[kCellPayload];
};
static_assert(sizeof(InboxCell) == kCellBytes);

struct InboxFront {
  alignas(kLineBytes) std::atomic<uint64_t> tail;
};

// The shared part, wherever it is mapped.
struct Inbox {
  InboxFront* front = nullptr;
  InboxCell* cells = nullptr;
  uint32_t size = 0;  // a power of two

  void write_empty() const;  // before anybody else looks

  // A cell to write into, and its position; nullptr: the ring is full. Then publish() it, soon: everybody's messages
  // behind it wait. `sender`: below 2^16.
  InboxCell* claim(uint16_t sender, uint64_t* position) const;
  void publish(InboxCell* cell, uint64_t position, uint16_t sender) const;
};

// The reader's end. One thread at a time (the callers see to it).
struct InboxReader {
  Inbox inbox;
  uint64_t head = 0;

  // The next message and its sender. nullptr: there is none yet; `*claimed_by` is the member that is writing it, or
  // negative.
  const InboxCell* peek(int32_t* sender, int32_t* claimed_by) const;
  void pass();  // its cell is free again
  // `claimed_by` has died: its cell is passed over, unless it was finished before. (It cannot be writing any more.)
  void pass_dead(int32_t claimed_by);
};

inline InboxCell* Inbox::claim(uint16_t sender, uint64_t* position) const {
  // relaxed: a hint. It is never beyond the first position that is free.
  for (uint64_t at = front->tail.load(std::memory_order_relaxed);;) {
    InboxCell& cell = cells[at & (size - 1)];
    const uint64_t free = inbox::word_of(at, 0, inbox::kFree);
    // relaxed: the exchange decides
    uint64_t seen = cell.word.load(std::memory_order_relaxed);
    // acquire: the reader has read the bytes that we overwrite
    if (seen == free && cell.word.compare_exchange_strong(seen, inbox::word_of(at, sender, inbox::kClaimed),
                                                          std::memory_order_acquire, std::memory_order_relaxed)) {
      // relaxed: others step over claimed cells themselves, should this come late, or never
      front->tail.store(at + 1, std::memory_order_relaxed);
      *position = at;
      return &cell;
    }
    const uint64_t there = inbox::position_of(seen);
    if (there < at) return nullptr;
    // Another's, or used and passed already: then so is all that lies a ring before the position there now.
    at = there == at ? at + 1 : there - size + 1;
  }
}

inline void Inbox::publish(InboxCell* cell, uint64_t position, uint16_t sender) const {
  // release: the payload
  cell->word.store(inbox::word_of(position, sender, inbox::kFull), std::memory_order_release);
}

inline const InboxCell* InboxReader::peek(int32_t* sender, int32_t* claimed_by) const {
  const InboxCell& cell = inbox.cells[head & (inbox.size - 1)];
  // acquire: the payload
  const uint64_t word = cell.word.load(std::memory_order_acquire);
  const uint64_t state = word & inbox::kStates;
  *claimed_by = state == inbox::kClaimed ? inbox::sender_of(word) : -1;
  if (state != inbox::kFull) return nullptr;
  *sender = inbox::sender_of(word);
  return &cell;
}

inline void InboxReader::pass() {
  // release: the payload has been read
  inbox.cells[head & (inbox.size - 1)].word.store(inbox::word_of(head + inbox.size, 0, inbox::kFree),
                                                  std::memory_order_release);
  ++head;
}

}  // namespace smelt
