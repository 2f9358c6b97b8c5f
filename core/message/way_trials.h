// Pieces or single copy: which way a long message comes sooner, found out by trying both.
//
// It depends on what no table knows. Of data that their sender has just written the lines are in its cache alone:
// single copy reads them from there, and when the sender writes the data again it must have them back, line by line;
// the lines that pieces go through are the endpoint's, and the sender's own stay where they are. Of data that are sent
// again unchanged, as most benchmarks do, the receiver's cache still has a copy: single copy takes a system call, and
// pieces move every line all the same. Measured, two CPUs of a Xeon (hop 120 ns), one way, us, pieces / single copy:
// 64 KiB written each time 9.6 / 14.6, unchanged 9.7 / 3.8; 1 MiB unchanged 195 / 61. And a sender that computes sends
// no pieces meanwhile.
//
// So the receiver times both, for each sender and size (a power of two), from the meeting of message and receive to the
// data's being there. What comes through pieces waits for the pieces asked for before, so its time begins when those
// are there. It cannot see what its reading costs the sender later on: hence single copy must take less than kShare of
// pieces' time. The first kBegin messages go both ways in turns, later two of every kPeriod go the way not chosen.
//
// Of each way the least time is kept, which rises slowly towards what is seen now: what disturbs a message only makes
// it take longer. Any thread may call anything; of two that note at once one may be lost.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/arena.h"

namespace smelt::message {

class WayTrials {
 public:
  enum class Way : uint8_t { kPieces, kSingleCopy };

  static uint64_t arena_bytes(uint32_t members) { return uint64_t{members} * kSizes * sizeof(Row); }
  bool open(Arena* arena, uint32_t members) {  // false: no memory
    rows_ = arena->make<Row>(uint64_t{members} * kSizes);
    return rows_ != nullptr;
  }
  void set_on(bool on) { on_ = on; }  // at first not. Before the first message
  bool is_on() const { return on_; }

  // By which the next message of so many bytes from there is to come. `usual`: where nothing is known.
  Way next(uint16_t sender, uint64_t bytes, Way usual) {
    Row& row = row_of(sender, bytes);
    // relaxed, here and below: each value stands for itself
    const uint32_t number = row.messages.load(std::memory_order_relaxed);
    row.messages.store(number + 1, std::memory_order_relaxed);
    const Way chosen = best(row, usual), other = chosen == Way::kPieces ? Way::kSingleCopy : Way::kPieces;
    if (number < kBegin) return (number % 2 != 0) == (usual == Way::kPieces) ? Way::kSingleCopy : Way::kPieces;
    const uint32_t in_period = number % kPeriod;
    return in_period == 1 || in_period == 3 ? other : chosen;
  }

  // Such a message has taken so long, in a unit of the caller's.
  void note(uint16_t sender, uint64_t bytes, Way way, uint64_t time) {
    std::atomic<uint32_t>& kept = row_of(sender, bytes).time[static_cast<int>(way)];
    const uint32_t old = kept.load(std::memory_order_relaxed);
    const auto now = static_cast<uint32_t>(std::clamp<uint64_t>(time, 1, kMost));
    const bool rises = old != 0 && now > old;
    kept.store(rises ? old + std::max(1u, std::min(now - old, kRise * old) / 16) : now, std::memory_order_relaxed);
  }

  static constexpr uint32_t kBegin = 8, kPeriod = 512;

 private:
  // A sender's messages of one power of two.
  struct Row {
    std::atomic<uint32_t> messages;
    std::atomic<uint32_t> time[2];  // by way; 0: not known
  };
  static constexpr int kLeast = 14, kSizes = 8;       // up to 2^14 bytes, ..., from 2^20 bytes on
  static constexpr uint64_t kMost = UINT32_MAX / 16;  // a time; leaves room to count with
  static constexpr uint32_t kRise = 3;                // times as much again is the most that a time counts for
  static constexpr uint64_t kShare = 60;              // percent

  Row& row_of(uint16_t sender, uint64_t bytes) const {
    const int size = std::clamp(static_cast<int>(std::bit_width(bytes)) - kLeast, 0, kSizes - 1);
    return rows_[sender * kSizes + size];
  }

  static Way best(const Row& row, Way usual) {
    const uint64_t pieces = row.time[static_cast<int>(Way::kPieces)].load(std::memory_order_relaxed);
    const uint64_t single = row.time[static_cast<int>(Way::kSingleCopy)].load(std::memory_order_relaxed);
    if (pieces == 0 || single == 0) return usual;
    return single * 100 < pieces * kShare ? Way::kSingleCopy : Way::kPieces;
  }

  Row* rows_ = nullptr;
  bool on_ = false;
};

}  // namespace smelt::message
