// When an answer may leave a replica: as soon as all replicas that serve have applied what it tells.
//
// Gets are answered by the nearest replica out of its own table, with no message to any other. That alone would not be
// linearizable: where a set is applied at replica A and not yet at B, a client could get the new value from A and,
// later, the old one from B. So each replica publishes in a line of its own, which only it writes, how far it has
// applied the agreed order; and
//
//   committed = the least of these, over all members
//
// Every value in a table has the position after which it is there. Answers wait, gets and sets alike, until their
// position is committed: then no member can answer with anything older any more. A key that was not set for a moment is
// below what this replica knows as committed, and its get touches no other replica's line.
//
//   lines     A: 12   B: 11   C: 12        committed: 11. A get of a key set by command 11 (position 12) waits at A and
//                                          C; B, which does not know it yet, still answers what was before
//
// A replica that has stopped would stop all sets. So a member that does not come along while others wait is excluded:
// its bit is set in one word that all share. Nobody needs to be sure: who is excluded looks at the word before each
// answer leaves, and sends none. What was committed without it is younger than its last look, so that all it said was
// right when it said it. When it comes back, it
//   1. clears its bit: what is committed from now on, it has applied;
//   2. reads all lines: whatever was committed before is not beyond their greatest;
//   3. answers again when it has applied as much, and looks again for what it had prepared.
// For 2, view() reads the lines first and the word afterwards, as lines may move while somebody who is excluded itself
// looks. An excluded member excludes nobody, in the same atomic
// step, so one member at least is left.
//
// Others' lines are read only while an answer waits, which is what makes gets cheap: the price is paid by who sets.
//
// Source: Terrace and Freedman, "Object Storage on CRAQ", USENIX ATC 2009 (clean and dirty versions, any replica
// reads); Katsarakis et al., "Hermes", ASPLOS 2020 (a write is over when all live replicas have it). The lines, in the
// place of messages that acknowledge, are like those of Smelt's queues. Returning is our own.
#ifndef KVSTORE_MEMBERS_H
#define KVSTORE_MEMBERS_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>

namespace kvstore {

class Members {
 public:
  explicit Members(unsigned replicas) : replicas_(replicas), lines_(std::make_unique<Line[]>(replicas)) {}

  unsigned size() const { return replicas_; }

  // By replica `me`: all positions up to `position` are in its table.
  void publish(unsigned me, uint64_t position) {
    // seq_cst, as in return_of(): a member that looks at the word after this and sees another one excluded is seen by
    // it to have come so far, when it returns. Each writes one and reads the other; nothing weaker would do.
    lines_[me].applied.store(position, std::memory_order_seq_cst);
  }
  uint64_t applied(unsigned replica) const { return lines_[replica].applied.load(std::memory_order_seq_cst); }

  // What is committed, and who was excluded when that was so.
  struct View {
    uint64_t committed;
    uint64_t excluded;
  };
  View view() const {
    uint64_t lines[64];
    for (unsigned i = 0; i < replicas_; ++i) lines[i] = applied(i);
    View view{std::numeric_limits<uint64_t>::max(), excluded()};  // read after the lines: see 2 above
    for (unsigned i = 0; i < replicas_; ++i)
      if (!(view.excluded >> i & 1)) view.committed = std::min(view.committed, lines[i]);
    return view;
  }

  // seq_cst everywhere on this word: it is changed rarely, and looking at it costs what any load costs.
  uint64_t excluded() const { return excluded_.load(std::memory_order_seq_cst); }
  bool is_excluded(unsigned replica) const { return excluded() >> replica & 1; }

  // False: `me` is excluded itself, or `other` is already.
  bool exclude(unsigned me, unsigned other) {
    const uint64_t mine = uint64_t{1} << me, others = uint64_t{1} << other;
    uint64_t now = excluded();
    do {
      if (now & (mine | others)) return false;
    } while (!excluded_.compare_exchange_weak(now, now | others, std::memory_order_seq_cst));
    return true;
  }

  // Steps 1 and 2: what `me` must have applied before it answers again.
  uint64_t return_of(unsigned me) {
    excluded_.fetch_and(~(uint64_t{1} << me), std::memory_order_seq_cst);
    uint64_t most = 0;
    for (unsigned i = 0; i < replicas_; ++i) most = std::max(most, applied(i));
    return most;
  }

 private:
  struct alignas(128) Line {
    std::atomic<uint64_t> applied{0};
  };
  const unsigned replicas_;
  std::unique_ptr<Line[]> lines_;
  alignas(128) std::atomic<uint64_t> excluded_{0};
};

}  // namespace kvstore

#endif
