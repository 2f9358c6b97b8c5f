// Reduce and allreduce along the tree, as it hangs from the root (of an allreduce: from its own).
//
// Every participant combines its operand with those that come from the edges that lead away from the root, the last
// served first, and sends the result towards it, in pieces, so that all parts of the tree are at work at the same time:
//
//        0          2: sends x2
//       / \         1: receives x3, sends x3 + x1
//      1   2        0: receives x2, has x2 + x0; receives x3 + x1, has (x3 + x1) + (x2 + x0)
//      |
//      3
//
// An allreduce sends each piece down again as soon as the root has it. A participant takes it when it has sent two more
// up: so the way up is never idle, and at most three pieces are on the way down in a queue, which has room for them.
// The root therefore never waits for room on the way down while others wait for it on the way up.
#include <algorithm>
#include <cstring>

#include "library/context/seat.h"

namespace smelt::context {
namespace {

struct ReduceAlongTree {
  using How = Seat;
  static constexpr bool kSynchronises = false;
  static constexpr size_t kAhead = kPiecesInQueue - 1;  // pieces that may be above, beside the one in hand
  int at = 0;
  uint32_t k = 0;
  size_t piece = 0;              // on its way up
  const char* result = nullptr;  // of its combined part

  bool step(Seat& seat, const Call& call) {
    const smelt_fold& fold = call.fold;
    const bool everybody = call.root == kNoRoot;
    const uint32_t up = seat.way_to(everybody ? seat.root : call.root);
    const size_t most = seat.piece_bytes / fold.element_bytes;
    const size_t pieces = (call.elements + most - 1) / most;
    const size_t ahead = up == kNoEdge ? 0 : kAhead;
    const auto count = [&](size_t i) { return std::min(most, call.elements - i * most); };
    const auto bytes = [&](size_t i) { return count(i) * fold.element_bytes; };
    const auto begin = [&](size_t i) { return i * most * fold.element_bytes; };
    switch (at) {
      case 0:
        for (; piece < pieces + (everybody ? ahead : 0); ++piece) {
          if (piece < pieces) {
            result = call.in + begin(piece);
            for (k = seat.edge_count; k-- > 0;) {
              if (k == up) continue;
              SMELT_AWAIT(seat.receive(k, seat.room, bytes(piece)));
              char* const to = up == kNoEdge ? call.out + begin(piece) : seat.partial;
              combine(fold, seat.room, result, to, count(piece));
              result = to;
            }
            if (up != kNoEdge) {
              SMELT_AWAIT(seat.send(up, result, bytes(piece)));
            } else if (result != call.out + begin(piece)) {  // nobody else is there
              std::memcpy(call.out + begin(piece), result, bytes(piece));
            }
          }
          if (!everybody || piece < ahead) continue;
          if (up != kNoEdge) {
            SMELT_AWAIT(seat.receive(up, call.out + begin(piece - ahead), bytes(piece - ahead)));
          }
          for (k = 0; k < seat.edge_count; ++k) {
            if (k == up) continue;
            SMELT_AWAIT(seat.send(k, call.out + begin(piece - ahead), bytes(piece - ahead)));
          }
        }
    }
    return true;
  }
};

}  // namespace

void begin_reduce(Seat& seat, const Call& call) {
  if (is_direct_of_all(seat, call.bytes) && seat.n > 1)
    begin_reduce_direct(seat, call);
  else
    begin<ReduceAlongTree>(seat, call);
}

}  // namespace smelt::context
