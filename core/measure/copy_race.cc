// A writer and a reader, each a process on its CPU, with a ring of pieces between them, as the shelves of a group are
// (transport/desk.h): the writer copies a message into the ring, piece after piece, while the reader copies it out, so
// all lines of the ring change their owner all the time. A copy within one CPU's caches would say nothing of that.
//
// A message is as many bytes whatever its pieces are. The ways take turns, message by message, so that a machine that
// changes meanwhile (another clock, a virtual CPU that is moved) changes for all of them; of each way the median. Both
// ends copy the same way, as a program's do. The two buffers begin 16 bytes behind a page's begin, where malloc puts
// long ones.
#include "measure/copy_race.h"

#include <cstring>
#include <vector>

#include "measure/bench_lines.h"
#include "measure/processes.h"
#include "profile/text/statistics.h"
#include "transport/copy.h"
#include "transport/desk.h"

namespace smelt {
namespace {

constexpr uint64_t kCopyMessage = 256 << 10;  // bytes: of two buffers and a ring, what a second-level cache holds
constexpr uint32_t kCopyRounds = 21;          // of each way and length
constexpr size_t kMallocOffset = 16;          // bytes

// Shared by the two processes.
struct CopyRaceBoard {
  Line filled, freed;  // pieces so far
  Line next;           // messages that the reader has had, all told
  CopyTimes result;
  alignas(kPage) char slot[kPieceRing][kRacedBytes[kRacedPieces - 1]];
};

class CopyRunner {
 public:
  CopyRunner(Rank& rank, CopyRaceBoard& board)
      : writes_(rank.me == 1), board_(board), room_(kPage + kCopyMessage + kMallocOffset) {
    const auto begin = reinterpret_cast<uintptr_t>(room_.data());
    buffer_ = room_.data() + ((begin + kPage - 1) / kPage * kPage - begin) + kMallocOffset;
  }

  int run() {
    for (uint32_t p = 0; p < kRacedPieces; ++p) {
      std::vector<double> taken[kCopyWays];
      for (uint32_t round = 0; round <= kCopyRounds; ++round)
        for (uint32_t w = 0; w < kCopyWays; ++w) {
          const auto way = static_cast<CopyWay>(w);
          if (!can_copy_by(way)) continue;
          const double ns = message(way, kRacedBytes[p]);
          if (round > 0) taken[w].push_back(ns);  // the first one warms up
        }
      if (!writes_)
        for (uint32_t w = 0; w < kCopyWays; ++w) board_.result.ns[w][p] = median(taken[w]);
    }
    return 0;
  }

 private:
  double message(CopyWay way, uint64_t piece_bytes) {
    ++messages_;
    // Both begin together: the writer when the reader has had all of the last one, the reader by its own clock.
    if (writes_) await(board_.next.epoch, messages_);
    const uint64_t start = ticks();
    if (!writes_) post(board_.next, messages_);
    for (uint64_t at = 0; at < kCopyMessage; at += piece_bytes) {
      char* const slot = board_.slot[pieces_ % kPieceRing];
      ++pieces_;
      if (writes_) {
        if (pieces_ > kPieceRing) await(board_.freed.epoch, pieces_ - kPieceRing);
        copy_by(way, slot, buffer_ + at, piece_bytes);
        post(board_.filled, pieces_);
      } else {
        await(board_.filled.epoch, pieces_);
        copy_by(way, buffer_ + at, slot, piece_bytes);
        post(board_.freed, pieces_);
      }
    }
    return ns_between(start, ticks());
  }

  const bool writes_;
  CopyRaceBoard& board_;
  std::vector<char> room_;
  char* buffer_;
  uint64_t messages_ = 0, pieces_ = 0;
};

}  // namespace

uint32_t copy_choice_of(const CopyTimes& times) {
  const auto& libc = times.ns[static_cast<uint32_t>(CopyWay::kLibc)];
  // `rep movsb` need only be as fast: memcpy may be that here, and something else in another C library on this machine.
  constexpr double kAsFast = 1.02;
  const auto gains = [&](uint32_t way, uint32_t piece) {
    const double ns = times.ns[way][piece];
    return ns > 0 && ns <= (way == static_cast<uint32_t>(CopyWay::kMovsb) ? kAsFast : kWorthwhile) * libc[piece];
  };
  constexpr uint32_t kLongest = kRacedPieces - 1;
  uint32_t best = static_cast<uint32_t>(CopyWay::kLibc);
  for (uint32_t way = 1; way < kCopyWays; ++way)
    if (gains(way, kLongest) && (best == 0 || times.ns[way][kLongest] < times.ns[best][kLongest])) best = way;
  uint32_t from = kLongest;
  while (from > 0 && gains(best, from - 1)) --from;
  return copy_choice(static_cast<CopyWay>(best), from);
}

std::string race_copies(const CopyPair& pair, unsigned limit_s, uint32_t* choice) {
  ns_per_tick();
  const SharedLines<CopyRaceBoard> board;
  if (!board.ok()) return "no memory to share";
  const std::string why = run_processes(
      {pair.reader, pair.writer}, [&](Rank& rank) { return CopyRunner(rank, *board).run(); }, limit_s);
  if (why.empty()) *choice = copy_choice_of((*board).result);
  return why;
}

}  // namespace smelt
