// Broadcast: the root's data along the tree, as it hangs from the root.
//
//   pieces  each participant hands on what it has received, piece after piece, so the pieces are in all parts of the
//           tree at the same time
//   direct  (threads, long) only the address goes down the tree, and everybody copies from the root's memory at the
//           same time; that all below have copied goes up again, and then the root may leave
#include <algorithm>

#include "library/context/direct.h"

namespace smelt::context {
namespace {

struct BroadcastPieces {
  using How = Seat;
  static constexpr bool kSynchronises = false;
  int at = 0;
  uint32_t k = 0;
  size_t done = 0;

  bool step(Seat& seat, const Call& call) {
    const uint32_t up = seat.way_to(call.root);
    const auto length = [&] { return std::min(call.bytes - done, seat.piece_bytes); };
    switch (at) {
      case 0:
        for (; done < call.bytes; done += length()) {
          if (up != kNoEdge) {
            SMELT_AWAIT(seat.receive(up, call.out + done, length()));
          }
          for (k = 0; k < seat.edge_count; ++k) {
            if (k == up) continue;
            SMELT_AWAIT(seat.send(k, call.out + done, length()));
          }
        }
    }
    return true;
  }
};

struct BroadcastCopy {
  static char* at_root(const Call& call) { return call.out; }
  static void own_part(const Seat&, const Call& call, const char* root) { keep(call.out, root, call.bytes); }
};

}  // namespace

void begin_broadcast(Seat& seat, const Call& call) {
  if (is_direct(seat, call.bytes) && seat.n > 1)
    begin<RootedDirect<BroadcastCopy>>(seat, call);
  else
    begin<BroadcastPieces>(seat, call);
}

}  // namespace smelt::context
