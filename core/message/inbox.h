// All others put their messages for one participant here: a bounded ring of cells in shared memory, many senders, one
// reader at a time.
//
// A message costs one transfer: the reader polls the cell that comes next, and its sender stores into that line and
// does nothing else there (transport/line.h). So whatever senders settle among themselves lies elsewhere:
//
//   claims   a word for each cell: the position that it was claimed for last, and by whom. Eight in a line, which stays
//            with a single sender
//   tail     a hint, the first position that may be free
//   passed   the positions before it are free again. The reader's, which stores to it every quarter of a ring
//   cell     the message, and a word: its position and its sender, stored last
//   body     of each cell, for a message that is longer than a cell. The reader knows where it lies before it has seen
//            the cell, so it has the body's lines on their way while the cell comes; a packet's address is in the cell,
//            and reading that is a transfer more (1 KiB there and back: far 317 ns a way in place of 455, near 94
//            in place of 107)
//
// Vyukov's bounded queue claims a position by moving the tail. A sender that dies then, before the cell says anything,
// stops the ring for ever, and nobody knows which one to blame. Processes do die here, so a position is claimed by its
// word, with a compare-and-swap, which leaves the name; the tail is moved on by a store. That may come late, or go
// back, and a sender that finds a position claimed goes on to the next. Positions are claimed without gaps, in order.
// So one thread's messages are in the order of its calls, and those that it sends after it has heard from another
// thread come behind that one's. A full ring is seen before anything is claimed. The reader goes on over a cell claimed
// by a sender that has died; only then, and before it says that nothing is there, does it look at the claims.
//
// Before, the claim lay in the cell, whose line its sender so touched three times: a look, an exchange, the message.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arch/cpu.h"

namespace smelt {

// A word of a claim, and of a cell. 0: nobody's yet.
namespace inbox {
inline constexpr int kPositionShift = 16;
inline constexpr uint64_t word_of(uint64_t position, uint16_t sender) {
  return (position + 1) << kPositionShift | sender;
}
inline uint64_t end_of(uint64_t word) { return word >> kPositionShift; }  // the position behind
inline int32_t sender_of(uint64_t word) { return static_cast<uint16_t>(word); }
}  // namespace inbox

// Twice the bytes that are put into one (endpoint.h): in cells of 256 bytes a message of 8 took 152 ns in place of 141,
// one of 32 bytes 194 in place of 146.
inline constexpr uint32_t kCellBytes = 512, kCellPayload = kCellBytes - 8;

struct alignas(64) InboxCell {
  std::atomic<uint64_t> word;
  char payload[kCellPayload];
};
static_assert(sizeof(InboxCell) == kCellBytes);

// A reader's processor fetches on beyond the end of a body, so the next one begins further on. (In cells with room for
// 1 KiB, far: 457 ns a way if they touch, 354 if they do not.)
inline constexpr uint32_t kBodyBytes = 1024, kBodySpacing = 1536;

struct InboxFront {
  alignas(kLineBytes) std::atomic<uint64_t> tail;
  alignas(kLineBytes) std::atomic<uint64_t> passed;
};

// The shared part, wherever it is mapped.
struct Inbox {
  InboxFront* front = nullptr;
  std::atomic<uint64_t>* claims = nullptr;  // [size]
  InboxCell* cells = nullptr;               // [size]
  char* bodies = nullptr;                   // [size], kBodySpacing apart
  uint32_t size = 0;                        // a power of two

  void write_empty() const;  // before anybody else looks

  // A cell to write into, and its position; nullptr: the ring is full. Then publish() it, soon: everybody's messages
  // behind it wait.
  InboxCell* claim(uint16_t sender, uint64_t* position) const;
  void publish(InboxCell* cell, uint64_t position, uint16_t sender) const;

  InboxCell* cell_at(uint64_t position) const { return &cells[position & (size - 1)]; }
  char* body_at(uint64_t position) const { return bodies + (position & (size - 1)) * kBodySpacing; }
  // ... with all lines for so many bytes asked for at once, while stores alone would wait for a few at a time. (1 KiB
  // there and back, two processes, far: 366 ns a way in place of 529.)
  char* body_to_write(uint64_t position, uint64_t bytes) const;
  // Was the cell before this one of ours ours, too? Then the next one may be.
  bool is_in_row(uint64_t position, uint16_t sender) const;
};

// The reader's end. One thread at a time (the callers see to it).
struct InboxReader {
  Inbox inbox;
  uint64_t head = 0;

  // The next message and its sender. nullptr: there is none yet.
  const InboxCell* peek(int32_t* sender) const;
  // The member that is writing it; negative: nobody.
  int32_t claimed_by() const;
  void pass();  // its cell is free again
  // `sender` has died: the cell that it has claimed is passed over, unless it was finished before. (It cannot be
  // writing any more.)
  void pass_dead(int32_t sender);
};

inline InboxCell* Inbox::claim(uint16_t sender, uint64_t* position) const {
  // relaxed: a hint. It is never beyond the first position that is free.
  for (uint64_t at = front->tail.load(std::memory_order_relaxed);;) {
    std::atomic<uint64_t>& claimed = claims[at & (size - 1)];
    // relaxed: the exchange decides
    uint64_t seen = claimed.load(std::memory_order_relaxed);
    if (inbox::end_of(seen) > at) {  // another's, and so are all before it
      at = inbox::end_of(seen);
      continue;
    }
    // acquire: the reader has read the bytes that we overwrite
    if (at >= front->passed.load(std::memory_order_acquire) + size) return nullptr;
    // relaxed, both: it says no more than that
    if (!claimed.compare_exchange_strong(seen, inbox::word_of(at, sender), std::memory_order_relaxed,
                                         std::memory_order_relaxed))
      continue;
    // relaxed: others step over claimed positions themselves, should this come late, or never
    front->tail.store(at + 1, std::memory_order_relaxed);
    *position = at;
    return cell_at(at);
  }
}

inline void Inbox::publish(InboxCell* cell, uint64_t position, uint16_t sender) const {
  // release: the payload
  cell->word.store(inbox::word_of(position, sender), std::memory_order_release);
}

inline char* Inbox::body_to_write(uint64_t position, uint64_t bytes) const {
  char* const body = body_at(position);
  for (uint64_t at = 0; at < bytes; at += 64) prefetch_to_write(body + at);
  return body;
}

inline bool Inbox::is_in_row(uint64_t position, uint16_t sender) const {
  // relaxed: a guess
  return claims[(position - 1) & (size - 1)].load(std::memory_order_relaxed) == inbox::word_of(position - 1, sender);
}

inline const InboxCell* InboxReader::peek(int32_t* sender) const {
  const InboxCell& cell = *inbox.cell_at(head);
  // acquire: the payload
  const uint64_t word = cell.word.load(std::memory_order_acquire);
  if (inbox::end_of(word) != head + 1) return nullptr;
  *sender = inbox::sender_of(word);
  return &cell;
}

inline void InboxReader::pass() {
  ++head;
  const uint32_t quarter = inbox.size < 4 ? 1 : inbox.size / 4;
  // release: the payloads have been read
  if ((head & (quarter - 1)) == 0) inbox.front->passed.store(head, std::memory_order_release);
}

}  // namespace smelt
