// A barrier pattern that is not a tree: messages in rounds.
//
// In each round a participant first sends all its messages of the round, then waits for all that are addressed to
// it. Dissemination, all-to-all, pair exchange and the hybrid are all of this form.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "model/cost_model.h"

namespace smelt {

struct RoundMessage {
  uint16_t round;
  uint16_t from;
  uint16_t to;
};

// Ordered by round. Within a round a sender's messages stand in the order in which it sends them, and a receiver's
// in the order in which it looks for them.
struct Exchange {
  uint32_t n = 0;
  uint32_t rounds = 0;
  uint32_t count = 0;                // messages
  RoundMessage* messages = nullptr;  // [count]
};

}  // namespace smelt
