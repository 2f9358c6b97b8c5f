// Where all others put what they have for one participant: a bounded ring of cells in shared memory, many senders, one
// reader at a time.
//
// After Vyukov's bounded queue: each cell has a word that says whose turn it is, so a sender and the reader meet in the
// cell alone. His senders claim a position by moving the tail; who dies then before the cell says anything stops the
// ring for ever, and nobody knows whom to blame. Processes do die here, so the cell itself is claimed, in its word:
//
//   word of a cell:  position | sender | state         tail:  a hint, the first position that may be free
//
//     free(p)  --- compare-and-swap: mine --->  claimed(p, me)  --- store --->  full(p, me)
//        ^                                                                          |
//        +--- p + size ----------------- the reader has done with it ---------------+
//
// Whoever has claimed, or finds a cell claimed, moves the tail on; positions are claimed without gaps, in order. So
// what one thread sends is in the order of its calls, and what it sends after it has heard from another thread comes
// behind what that one had sent. A full ring is seen before anything is claimed. The reader goes on over a cell that
// is claimed by somebody who has died.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"

namespace smelt {

// Twice what is put into one (endpoint.h): in cells of 256 bytes a message of 8 took 152 ns in place of 141, one of 32
// bytes 194 in place of 146.
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

  // The next message and who sent it. nullptr: there is none yet; `*claimed_by` is whoever is writing it, or negative.
  const InboxCell* peek(int32_t* sender, int32_t* claimed_by) const;
  void pass();  // its cell is free again
  // `claimed_by` has died: its cell is passed over, unless it was finished before. (It cannot be writing any more.)
  void pass_dead(int32_t claimed_by);
};

}  // namespace smelt
