// Direct copies between threads, for long data: the root's address goes down the tree, everybody copies between its own
// memory and the root's at the same time, and that all below have copied goes up again. Then the root may leave.
#pragma once

#include <cerrno>
#include <cstring>

#include "library/context/seat.h"

namespace smelt::context {

inline void keep(char* to, const char* from, size_t bytes) {
  if (to != from) std::memcpy(to, from, bytes);
}

// A Copy says where the root's memory is, and copies this participant's part: Copy::at_root(call),
// Copy::own_part(seat, call, where the root's is).
template <typename Copy>
struct RootedDirect {
  using How = Seat;
  static constexpr bool kSynchronises = false;
  int at = 0;
  uint32_t k = 0;
  RootBuffer row;

  bool step(Seat& seat, const Call& call) {
    const uint32_t up = seat.way_to(call.root);
    switch (at) {
      case 0:
        row = {Copy::at_root(call), call.bytes};
        if (up != kNoEdge) {
          SMELT_AWAIT(seat.receive(up, &row, sizeof row));
          SMELT_AWAIT(row.bytes == call.bytes || seat.fail(-EMSGSIZE));
        }
        for (k = 0; k < seat.edge_count; ++k) {
          if (k == up) continue;
          SMELT_AWAIT(seat.send(k, &row, sizeof row));
        }
        Copy::own_part(seat, call, row.at);
        for (k = seat.edge_count; k-- > 0;) {
          if (k == up) continue;
          SMELT_AWAIT(seat.receive(k, nullptr, 0));
        }
        if (up != kNoEdge) {
          SMELT_AWAIT(seat.send(up, nullptr, 0));
        }
    }
    return true;
  }
};

}  // namespace smelt::context
