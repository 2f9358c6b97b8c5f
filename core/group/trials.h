// Through the shelf or by single copy: which method a long collective of two takes where nobody has measured, found out
// by trying both.
//
// No table knows it. One processor passes lines between its cores in a tenth of the time of another's. And it depends
// on the data: of those that are sent again unchanged the receiver's cache still has a copy, so single copy moves
// nothing but what it writes, while pieces move every line; of those that are written before each call single copy
// moves every line as well, and pays a system call. Measured, two processes of a virtual machine (Emerald Rapids, hop
// 120 ns), a barrier after each call, us, shelf / single copy:
//
//                  broadcast 64 KiB   reduce 64 KiB   allreduce 64 KiB   alltoall 1 MiB
//   unchanged          9.1 / 2.8         9.1 / 5.9        13.3 / 6.1        331 / 171
//   written each time  8.9 / 5.0         9.3 / 11.3       13.6 / 8.0        321 / 199
//
// So of each collective and size (a power of two) the first kEach calls take single copy, as most MPI libraries do, and
// the next kEach the shelf; then both once more, for what disturbs one call mostly disturbs its neighbours, and the
// shelf's pages are new at first. The first of each kEach does not count: it finds the caches as the other method has
// left them. The second least time of the others counts, and the method that it chooses has the next kPeriod calls.
// Then all begins anew, for the data may be others now, or the trial may have been disturbed.
//
// A call's time is from when the last participant has begun it to when the last one is done. After a tried call the
// participants wait for each other and compare their notes of these times (single_copy.h, Trial), so both know the same
// times, and choose alike without another word. They also choose in the same call, since all begin the group's
// collectives in the same order.
//
// Where not everybody waits for everybody, a sender may be a few pieces ahead of its receiver, and single copy makes it
// wait; that is no part of the time of one call. In a loop one of them puts while the other takes: a call of one piece
// costs half of its time, or more where hops are much of it (0.54 to 0.7), and one of n pieces, of which all but one
// are put while others are taken, n/(n + 1). So where the ring of pieces has room for all of such a message, single
// copy must take no more than that share (share_ahead) of the shelf's time. But not where a barrier follows each call
// (strict, Watch): then the sender waits as well. Both have rows of their own, and what is known of calls of the one
// kind says nothing of the other's. Measured as above, shelf / single copy, in a loop, with a barrier: scatter of 4 KiB
// unchanged 0.7 / 1.0, 1.3 / 1.05; broadcast of 16 KiB written 2.0 / 3.2, 3.4 / 2.6; in a loop, reduce of 64 KiB
// unchanged 6.4 / 5.7.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <smelt/group.h>

#include "transport/desk.h"

namespace smelt {

class MethodTrials {
 public:
  enum class Method : uint8_t { kShelf, kSingleCopy };
  static constexpr int kMethods = 2;

  // A row is one collective and size. Zeros: nothing has been tried.
  struct Row {
    uint16_t served;  // calls since it is over
    uint8_t calls;    // tried so far
    bool over;
    Method chosen;                             // where it is over
    uint8_t counted[kMethods];                 // times
    uint32_t least[kMethods], next[kMethods];  // the two least of them, ns
  };
  static constexpr int kLeast = 11, kSizes = 12;                       // up to 2^12 bytes, ..., up to 2^22, longer
  static constexpr size_t kRows = size_t{kSizes} * SMELT_COLLECTIVES;  // loose; as many strict
  static constexpr size_t kBytes = 2 * sizeof(Row) * kRows;
  static constexpr uint8_t kEach = 8, kCalls = 2 * kMethods * kEach;
  static constexpr uint16_t kPeriod = 4096;

  // `rows`: kBytes of zeros.
  void open(void* rows) { rows_ = static_cast<Row*>(rows); }
  // All participants between the same calls.
  void set_strict(bool strict) { strict_ = strict; }
  // They do not agree on what is tried: nothing is, from here on.
  void close() { rows_ = nullptr; }
  bool are_open() const { return rows_ != nullptr; }

  static int size_of(uint64_t bytes) {
    return std::clamp(static_cast<int>(std::bit_width(bytes - 1)) - kLeast - 1, 0, kSizes - 1);
  }
  static uint64_t longest(size_t size) { return size + 1 < kSizes ? uint64_t{1} << (kLeast + 1 + size) : UINT64_MAX; }
  Row& row(smelt_collective which, int size) const { return rows_[number_of(which, size)]; }
  size_t number_of(smelt_collective which, int size) const {
    return strict_ * kRows + static_cast<size_t>(which) * kSizes + static_cast<size_t>(size);
  }

  // Which method has the next call?
  static Method next(const Row& row) {
    return row.over ? row.chosen : row.calls / kEach % kMethods == 0 ? Method::kSingleCopy : Method::kShelf;
  }
  Method next(smelt_collective which, uint64_t bytes) const {
    return are_open() ? next(row(which, size_of(bytes))) : Method::kShelf;
  }
  // Is it known that single copy does not have it?
  bool is_shelf(smelt_collective which, uint64_t bytes) const {
    if (!are_open()) return true;
    const Row& of = row(which, size_of(bytes));
    return of.over && of.chosen == Method::kShelf;
  }

  // The call that next() was for, of the row of that number, has gone this way, and taken so long; ns <= 0: nobody can
  // tell. True: that was the last of them.
  bool note(size_t number, Method ran, int64_t ns) {
    Row& row = rows_[number];
    ++tried_;
    const bool counts = row.calls % kEach != 0;
    if (counts && ns > 0) count(row, static_cast<int>(ran), static_cast<uint32_t>(std::min(ns, kLongest)));
    if (++row.calls < kCalls) return false;
    const uint64_t shelf = time(row, Method::kShelf), single = time(row, Method::kSingleCopy);
    const auto which = static_cast<smelt_collective>(number % kRows / kSizes);
    const uint64_t bytes = longest(number % kSizes);
    const bool ahead = number < kRows && can_run_ahead(which) && bytes <= kAhead;
    const uint64_t share = ahead ? share_ahead(std::max<uint64_t>(bytes / kPiece, 1)) : kShare;
    row.chosen = single > 0 && single * 100 <= shelf * share ? Method::kSingleCopy : Method::kShelf;
    return row.over = true;
  }
  // A call has gone as chosen.
  static void count_as_chosen(Row& row) {
    if (++row.served == kPeriod) row = Row{};
  }
  // The second least of its times, or the only one; 0: there is none.
  static uint32_t time(const Row& row, Method method) {
    const int i = static_cast<int>(method);
    return row.counted[i] > 1 ? row.next[i] : row.least[i];
  }
  // Calls tried in all, the same for all participants.
  uint64_t tried() const { return tried_; }

 private:
  static bool can_run_ahead(smelt_collective which) {
    return which == SMELT_COLLECTIVE_BROADCAST || which == SMELT_COLLECTIVE_REDUCE ||
           which == SMELT_COLLECTIVE_GATHER || which == SMELT_COLLECTIVE_SCATTER ||
           which == SMELT_COLLECTIVE_SCATTERV || which == SMELT_COLLECTIVE_SCAN || which == SMELT_COLLECTIVE_EXSCAN;
  }

  static constexpr int64_t kLongest = UINT32_MAX;
  static constexpr uint64_t kPiece = 16 << 10, kAhead = kPieceRing * kPiece;  // of the usual length
  static constexpr uint64_t kLeastShare = 60, kShare = 97;                    // percent
  // The percentage for a call of so many pieces.
  static constexpr uint64_t share_ahead(uint64_t pieces) { return std::max(kLeastShare, 100 * pieces / (pieces + 1)); }

  static void count(Row& row, int i, uint32_t ns) {
    const bool first = row.counted[i]++ == 0;
    if (first || ns < row.least[i]) {
      row.next[i] = first ? ns : row.least[i];
      row.least[i] = ns;
    } else if (ns < row.next[i] || row.counted[i] == 2) {
      row.next[i] = ns;
    }
  }

  Row* rows_ = nullptr;
  bool strict_ = false;
  uint64_t tried_ = 0;
};

// When a participant has begun a call and was done with it, ns, and which row that was of.
struct CallTimes {
  int64_t begun, done;
  uint64_t row;
};
// From when the last one has begun it to when the last one was done.
inline int64_t time_together(const CallTimes& a, const CallTimes& b) {
  return std::max(a.done, b.done) - std::max(a.begun, b.begun);
}

}  // namespace smelt
