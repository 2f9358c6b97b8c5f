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
// pieces' time. Of the first messages kTrial go the usual way and kTrial the other one; later kTrial of every kPeriod
// go the way not chosen. Of several in a row the first half of kTrial do not count: single copy finds in its cache what
// single copy has brought there.
//
// Of each way a mean is kept, of some kOver last messages. Not the least time, for pieces that come while the receiver
// is elsewhere are all there afterwards; and of many messages to and fro at once the last ones are faster. A time
// counts for at most kMost times the mean, as what disturbs a message may take thousands of times as long. Measured as
// above, single copy's share of pieces' time as the receiver sees it: data written each time 0.74 to 1.04, unchanged
// 0.41 to 0.43 (1 MiB 0.76), windows of 64 messages one way or both 0.36 to 0.55.
//
// Any thread may call anything; of two that note at once one may be lost.
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
    const uint32_t in_period = number % kPeriod;
    const bool begins = in_period == kTrial, goes_on = in_period > kTrial && in_period < 2 * kTrial;
    if (goes_on) return row.trial.load(std::memory_order_relaxed);
    const Way chosen = best(row, usual);
    if (!begins) return chosen;
    const Way other = chosen == Way::kPieces ? Way::kSingleCopy : Way::kPieces;
    row.trial.store(other, std::memory_order_relaxed);
    return other;
  }

  // Such a message has taken so long, in a unit of the caller's.
  void note(uint16_t sender, uint64_t bytes, Way way, uint64_t time) {
    Row& row = row_of(sender, bytes);
    const uint32_t in_a_row = row.in_a_row[static_cast<int>(way)].load(std::memory_order_relaxed);
    row.in_a_row[1 - static_cast<int>(way)].store(0, std::memory_order_relaxed);
    row.in_a_row[static_cast<int>(way)].store(std::min(in_a_row + 1, kTrial), std::memory_order_relaxed);
    if (in_a_row < kTrial / 2) return;
    std::atomic<uint32_t>& kept = row.time[static_cast<int>(way)];
    const int64_t old = kept.load(std::memory_order_relaxed);
    const int64_t now = static_cast<int64_t>(std::clamp<uint64_t>(time, 1, kLongest));
    std::atomic<uint32_t>& noted = row.noted[static_cast<int>(way)];
    const int64_t count = std::min<int64_t>(noted.load(std::memory_order_relaxed) + 1, kOver);
    noted.store(static_cast<uint32_t>(count), std::memory_order_relaxed);
    const int64_t mean = old == 0 ? now : old + (std::min(now, kMost * old) - old) / count;
    kept.store(static_cast<uint32_t>(std::max<int64_t>(mean, 1)), std::memory_order_relaxed);
  }

  static constexpr uint32_t kTrial = 8, kPeriod = 1024;

 private:
  // A sender's messages of one power of two.
  struct Row {
    std::atomic<uint32_t> messages;
    std::atomic<Way> trial;             // the way that the trial under way is of
    std::atomic<uint32_t> time[2];      // by way; 0: not known
    std::atomic<uint32_t> noted[2];     // of how many that is the mean, up to kOver
    std::atomic<uint32_t> in_a_row[2];  // up to kTrial
  };
  static constexpr int kLeast = 14, kSizes = 10;    // up to 2^14 bytes, ..., from 2^22 bytes on
  static constexpr uint64_t kLongest = UINT32_MAX;  // a time
  static constexpr int64_t kMost = 4, kOver = 64;
  static constexpr uint64_t kShare = 65;  // percent

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
