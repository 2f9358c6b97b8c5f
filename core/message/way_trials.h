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
// are there. That does not tell what the reading costs the sender later on. So it also looks at the period, from one
// message's being there to the next one's.
//
//   single copy takes far less time (kFarLess)      single copy
//   messages follow one another, in less than       the way of the shorter period; where they are alike (kAlike),
//   kBusy times their time                          single copy if it takes less time (kLess)
//   else                                            pieces
//
// Measured as above, single copy's share of pieces' time as the receiver sees it: unchanged 0.5 to 0.55, 1 MiB 0.83;
// windows of 64 messages 0.65 to 0.8; written 0.72 to 0.9.
//
// Of the first messages kTrial go the usual way and kTrial the other one; later kTrial of every kPeriod go the way not
// chosen. Of several in a row the first half of kTrial do not count: single copy finds in its cache what single copy
// has brought there.
//
// Of each way means are kept, of some kOver last messages. Not the least time, for pieces that come while the receiver
// is elsewhere are all there afterwards; and of many messages to and fro at once the last ones are faster. A time
// counts for at most kMost times the mean, as what disturbs a message may take thousands of times as long.
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

  // Such a message is there `now`, and has taken so long, in a unit of the caller's.
  void note(uint16_t sender, uint64_t bytes, Way way, uint64_t now, uint64_t time) {
    Row& row = row_of(sender, bytes);
    Row::OfWay& of = row.way[static_cast<int>(way)];
    const uint64_t period = now - row.last.load(std::memory_order_relaxed);
    row.last.store(now, std::memory_order_relaxed);
    const uint32_t in_a_row = of.in_a_row.load(std::memory_order_relaxed);
    row.way[1 - static_cast<int>(way)].in_a_row.store(0, std::memory_order_relaxed);
    of.in_a_row.store(std::min(in_a_row + 1, kTrial), std::memory_order_relaxed);
    if (in_a_row < kTrial / 2) return;
    const uint32_t count = std::min(of.noted.load(std::memory_order_relaxed) + 1, kOver);
    of.noted.store(count, std::memory_order_relaxed);
    add_to_mean(&of.time, time, count);
    add_to_mean(&of.period, period, count);
  }

  static constexpr uint32_t kTrial = 8, kPeriod = 1024;

 private:
  // A sender's messages of one power of two.
  struct Row {
    struct OfWay {
      std::atomic<uint32_t> time, period;  // means; 0: not known
      std::atomic<uint32_t> noted;         // of how many, up to kOver
      std::atomic<uint32_t> in_a_row;      // up to kTrial
    };
    std::atomic<uint64_t> last;  // when the last one was there
    std::atomic<uint32_t> messages;
    std::atomic<Way> trial;  // the way that the trial under way is of
    OfWay way[2];
  };
  static constexpr int kLeast = 14, kSizes = 10;    // up to 2^14 bytes, ..., from 2^22 bytes on
  static constexpr uint64_t kLongest = UINT32_MAX;  // a time
  static constexpr uint32_t kOver = 64;
  static constexpr int64_t kMost = 4;
  static constexpr uint64_t kFarLess = 65, kLess = 83, kAlike = 95;  // percent
  static constexpr uint64_t kBusy = 8;                               // times

  Row& row_of(uint16_t sender, uint64_t bytes) const {
    const int size = std::clamp(static_cast<int>(std::bit_width(bytes)) - kLeast, 0, kSizes - 1);
    return rows_[sender * kSizes + size];
  }

  // The mean of `count` with this one.
  static void add_to_mean(std::atomic<uint32_t>* mean, uint64_t value, uint32_t count) {
    const int64_t old = mean->load(std::memory_order_relaxed);
    const auto now = static_cast<int64_t>(std::clamp<uint64_t>(value, 1, kLongest));
    const int64_t moved = old == 0 ? now : old + (std::min(now, kMost * old) - old) / static_cast<int64_t>(count);
    mean->store(static_cast<uint32_t>(std::clamp<int64_t>(moved, 1, kLongest)), std::memory_order_relaxed);
  }

  static Way best(const Row& row, Way usual) {
    const auto is_less = [](uint64_t one, uint64_t other, uint64_t percent) { return one * 100 < other * percent; };
    struct {
      uint64_t time, period;
    } of[2];
    for (int way = 0; way < 2; ++way) {
      of[way] = {row.way[way].time.load(std::memory_order_relaxed),
                 row.way[way].period.load(std::memory_order_relaxed)};
      if (of[way].time == 0) return usual;
    }
    const auto &pieces = of[static_cast<int>(Way::kPieces)], &single = of[static_cast<int>(Way::kSingleCopy)];
    if (is_less(single.time, pieces.time, kFarLess)) return Way::kSingleCopy;
    const bool follow = std::max(pieces.period, single.period) < kBusy * std::max(pieces.time, single.time);
    if (follow && is_less(single.period, pieces.period, kAlike)) return Way::kSingleCopy;
    if (!follow || is_less(pieces.period, single.period, kAlike)) return Way::kPieces;
    return is_less(single.time, pieces.time, kLess) ? Way::kSingleCopy : Way::kPieces;
  }

  Row* rows_ = nullptr;
  bool on_ = false;
};

}  // namespace smelt::message
