// How a state machine (engine.h) goes on if something is not there yet; nothing else waits.
//
//   Waiting   polls, lets the host progress, and goes on: the blocking form, in which no function is ever called again,
//             so the compiler leaves nothing of the switch. It stops only for good, where the awaited message cannot
//             come
//   Testing   stops: the started form
#pragma once

#include "group/group.h"

namespace smelt {

// Waits until ready() holds. `peer` is the participant that will make it hold, and may change meanwhile. False: it
// never will. wait.cc says how. Inlined, so that all that ready() looks at stays in registers.
template <typename Ready>
[[gnu::always_inline]] inline bool wait_until(Group& group, const uint32_t& peer, Ready ready) {
  if (ready()) [[likely]]
    return true;
  for (int i = 0; i < group.burst_polls; ++i) {
    cpu_pause();
    if (ready()) return true;
  }
  for (uint32_t turn = 0;; ++turn) {
    group.idle(peer, turn);
    for (int i = 0; i < group.turn_polls; ++i) {
      if (ready()) return true;
      cpu_pause();
    }
    if (!group.may_come(peer)) return false;
  }
}

struct Waiting {
  static constexpr bool kStops = false;
  Group& group;

  template <typename Ready>
  bool until(const uint32_t& peer, Ready ready) const {
    return wait_until(group, peer, ready);
  }
};

struct Testing {
  static constexpr bool kStops = true;
  Group& group;

  template <typename Ready>
  bool until(const uint32_t& peer, Ready ready) const {
    if (ready()) return true;
    group.awaited = peer;
    return false;
  }
};

}  // namespace smelt
