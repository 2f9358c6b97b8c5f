// Pieces or single copy: which way a long message comes sooner, found out by trying both.
//
// It depends on what no table knows. If the sender has just written the data, their lines are in its cache alone.
// Single copy reads them from there, and when the sender writes the data again it must have them back, line by line.
// Pieces go through the endpoint's lines, and the sender's own stay where they are. If data are sent again unchanged,
// as most benchmarks do, the receiver's cache still has a copy: single copy takes a system call, and pieces move every
// line all the same. Measured, two CPUs of a Xeon (hop 120 ns), one way, us, pieces / single copy: 64 KiB written each
// time 9.6 / 14.6, unchanged 9.7 / 3.8; 1 MiB unchanged 195 / 61. And a sender that computes sends no pieces meanwhile.
//
// So the receiver tries both, for each sender and size (a power of two). Messages that come while long ones of our own
// are under way are kept apart (below). For the others it takes the time from the meeting of message and receive to the
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
// Both ways at once. Where each side has messages for the other, pieces cost both their CPUs a copy of each, and single
// copy one of them one: two that take 150 us through pieces one way, where sender and receiver copy at the same time,
// take 300 both ways, and 195 by single copy. But a receiver's time does not tell: in it is what its own sending costs.
// And the period tells only where both sides take the same way; else each finds that pieces are better as long as the
// other one takes pieces, for then the other one does half of the work. So pieces cost here what both sides work on
// them (the sender tells its part with each piece), or the period where that is longer, since there is more to pieces
// than the copying; where one side's all come before the other's the period is too short. If single copy takes less
// (kPromising), it is taken until its period is known from messages (kTrial) whose neighbours of ours went the same
// way. From then on the lesser of that and of pieces' cost decides, as above. Where ours have gone the other way beside
// kUnlike messages in a row the other side stays with pieces, and so do we: one way each is the worst. Measured, two
// with windows of 64 messages, us, pieces / single copy: 2 MiB unchanged 320 / 190, 16 KiB 3.1 / 1.6; MPI_Sendrecv of 1
// MiB written each time 166 / 234, 4 MiB 890 / 620.
//
// Among the first messages kTrial go the usual way and kTrial the other one. Then, after kLonger times as many, kTrial
// go the way not chosen again, and so on, until it is kTrial of every kPeriod. One way a trial begins where no pieces
// are on their way: the sender would copy them meanwhile, and single copy would take longer. After kAwaitQuiet messages
// it begins all the same. The first half of kTrial in a row do not count: single copy finds in its cache what single
// copy has brought there. A way that has not been tried for long remembers little of it.
//
// The receiver keeps means of each way, of some kOver last messages. The least time would not do: pieces that come
// while the receiver is elsewhere are all there afterwards, and the last ones of many messages to and fro at once are
// faster. A time counts for at most kMost times the mean (a period both ways kMostPeriod: data may be written between
// windows of messages), as what disturbs a message may take thousands of times as long.
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

  // What is kept apart: a sender's messages of one power of two, and by whether long messages of ours are under way
  // meanwhile, which makes both of us copy at the same time.
  struct Traffic {
    uint16_t sender;
    bool both_ways;
    uint64_t bytes;
  };

  static uint64_t arena_bytes(uint32_t members) { return uint64_t{members} * 2 * kSizes * sizeof(Row); }
  bool open(Arena* arena, uint32_t members) {  // false: no memory
    rows_ = arena->make<Row>(uint64_t{members} * 2 * kSizes);
    return rows_ != nullptr;
  }
  void set_on(bool on) { on_ = on; }  // at first not. Before the first message
  bool is_on() const { return on_; }

  // The way by which the next message is to come. `usual`: where nothing is known. `is_quiet`: no pieces are on their
  // way.
  Way next(const Traffic& traffic, Way usual, bool is_quiet = true) {
    Row& row = row_of(traffic);
    // relaxed, here and below: each value stands for itself
    const uint32_t number = row.messages.load(std::memory_order_relaxed);
    row.messages.store(number + 1, std::memory_order_relaxed);
    if (const uint32_t left = row.left.load(std::memory_order_relaxed); left != 0) {
      row.left.store(left - 1, std::memory_order_relaxed);
      return row.trial.load(std::memory_order_relaxed);
    }
    const uint32_t since = number - row.tried.load(std::memory_order_relaxed);
    const Way chosen = traffic.both_ways ? best_both_ways(row, usual) : best(row, usual);
    const uint32_t due = std::clamp(row.tried.load(std::memory_order_relaxed) * kLonger, kTrial, kPeriod);
    if (since < due || (!traffic.both_ways && !is_quiet && since < due + kAwaitQuiet)) return chosen;
    const Way other = chosen == Way::kPieces ? Way::kSingleCopy : Way::kPieces;
    Row::OfWay& of = row.way[static_cast<int>(other)];
    of.noted.store(std::min(of.noted.load(std::memory_order_relaxed), kTrial / 2), std::memory_order_relaxed);
    of.unlike.store(0, std::memory_order_relaxed);
    if (other == Way::kSingleCopy) of.periods.store(0, std::memory_order_relaxed);
    row.tried.store(number, std::memory_order_relaxed);
    row.left.store(kTrial - 1, std::memory_order_relaxed);
    row.trial.store(other, std::memory_order_relaxed);
    return other;
  }

  // Such a message is there `now`, and has taken so long, in a unit of the caller's; both ways: so much work of both.
  // `alike`: ours go the same way; it matters where they do go.
  void note(const Traffic& traffic, Way way, uint64_t now, uint64_t time, bool alike = true) {
    Row& row = row_of(traffic);
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
    if (traffic.both_ways) {
      const uint32_t unlike = of.unlike.load(std::memory_order_relaxed);
      of.unlike.store(alike ? 0 : std::min(unlike + 1, kUnlike), std::memory_order_relaxed);
      // In the first one's period is what came before.
      if (!alike || unlike != 0) return;
    }
    const uint32_t periods = std::min(of.periods.load(std::memory_order_relaxed) + 1, kOver);
    of.periods.store(periods, std::memory_order_relaxed);
    if (periods == 1) of.period.store(0, std::memory_order_relaxed);
    add_to_mean(&of.period, period, periods, traffic.both_ways ? kMostPeriod : kMost);
  }

  static constexpr uint32_t kTrial = 8, kLonger = 7, kPeriod = 1024, kAwaitQuiet = 256, kUnlike = 160;

 private:
  struct Row {
    struct OfWay {
      std::atomic<uint32_t> time, period;    // means; 0: not known
      std::atomic<uint32_t> noted, periods;  // of how many, up to kOver
      std::atomic<uint32_t> in_a_row;        // up to kTrial
      std::atomic<uint32_t> unlike;          // in a row, up to kUnlike, while ours went the other way
    };
    std::atomic<uint64_t> last;  // when the last one was there
    std::atomic<uint32_t> messages;
    std::atomic<uint32_t> tried;  // the number of the last trial's first message
    std::atomic<uint32_t> left;   // of the trial under way
    std::atomic<Way> trial;       // the way that it is of
    OfWay way[2];
  };
  static constexpr int kLeast = 14, kSizes = 10;    // up to 2^14 bytes, ..., from 2^22 bytes on
  static constexpr uint64_t kLongest = UINT32_MAX;  // a time
  static constexpr uint32_t kOver = 64;
  static constexpr int64_t kMost = 4, kMostPeriod = 16;
  static constexpr uint64_t kFarLess = 65, kLess = 83, kAlike = 95, kPromising = 110;  // percent
  static constexpr uint64_t kBusy = 8;                                                 // times

  Row& row_of(const Traffic& traffic) const {
    const int size = std::clamp(static_cast<int>(std::bit_width(traffic.bytes)) - kLeast, 0, kSizes - 1);
    return rows_[(traffic.sender * 2 + traffic.both_ways) * kSizes + size];
  }

  // The mean of `count` with this one.
  static void add_to_mean(std::atomic<uint32_t>* mean, uint64_t value, uint32_t count, int64_t most = kMost) {
    const int64_t old = mean->load(std::memory_order_relaxed);
    const auto now = static_cast<int64_t>(std::clamp<uint64_t>(value, 1, kLongest));
    const int64_t moved = old == 0 ? now : old + (std::min(now, most * old) - old) / static_cast<int64_t>(count);
    mean->store(static_cast<uint32_t>(std::clamp<int64_t>(moved, 1, kLongest)), std::memory_order_relaxed);
  }

  struct Known {
    explicit Known(const Row::OfWay& of)
        : time(of.time.load(std::memory_order_relaxed)),
          period(of.period.load(std::memory_order_relaxed)),
          periods(of.periods.load(std::memory_order_relaxed)) {}
    uint64_t time, period;
    uint32_t periods;
  };
  static bool is_less(uint64_t one, uint64_t other, uint64_t percent) { return one * 100 < other * percent; }
  // Is there little else between the messages?
  static bool follow(const Known& one, const Known& other) {
    return std::max(one.period, other.period) < kBusy * std::max(one.time, other.time);
  }

  static Way best(const Row& row, Way usual) {
    const Known pieces(row.way[0]), single(row.way[1]);
    if (pieces.time == 0 || single.time == 0) return usual;
    if (is_less(single.time, pieces.time, kFarLess)) return Way::kSingleCopy;
    if (!follow(pieces, single)) return Way::kPieces;
    if (is_less(single.period, pieces.period, kAlike)) return Way::kSingleCopy;
    if (is_less(pieces.period, single.period, kAlike)) return Way::kPieces;
    return is_less(single.time, pieces.time, kLess) ? Way::kSingleCopy : Way::kPieces;
  }

  static Way best_both_ways(const Row& row, Way usual) {
    const Known pieces(row.way[0]), single(row.way[1]);
    if (pieces.time == 0 || single.time == 0) return usual;
    if (pieces.period >= kBusy * std::max(pieces.time, single.time)) return Way::kPieces;
    // The other side stays with pieces.
    if (row.way[1].unlike.load(std::memory_order_relaxed) == kUnlike) return Way::kPieces;
    const uint64_t cost = std::max(pieces.time, pieces.period);
    if (single.periods < kTrial) return is_less(single.time, cost, kPromising) ? Way::kSingleCopy : Way::kPieces;
    if (is_less(single.period, cost, kAlike)) return Way::kSingleCopy;
    if (is_less(cost, single.period, kAlike)) return Way::kPieces;
    return is_less(single.time, pieces.time, kLess) ? Way::kSingleCopy : Way::kPieces;
  }

  Row* rows_ = nullptr;
  bool on_ = false;
};

}  // namespace smelt::message
