// Dissemination: in round r everybody tells the W participants at the distances j * (W + 1)^r, j = 1..W.
//
//   W = 1, n = 5       round 0: i -> i + 1     round 1: i -> i + 2     round 2: i -> i + 4
//
// After round r everybody has heard of the (W + 1)^(r + 1) participants before itself, so ceil(log(n) to the base
// W + 1) rounds are enough, for any n. Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988
// (W = 1); Hoefler et al., "Fast barrier synchronization for InfiniBand", IPDPS 2006 (n-way). In the last round a
// distance of n or more would lead round the circle to participants heard of already: those messages are left out.
#include "generate/patterns.h"

namespace smelt {

uint32_t dissemination_rounds(uint32_t n, uint32_t width) {
  uint32_t rounds = 0;
  for (uint64_t heard = 1; heard < n; heard *= width + 1) ++rounds;
  return rounds;
}

uint32_t disseminate(const uint16_t* member, uint32_t n, uint32_t width, uint32_t first_round, RoundMessage* out) {
  uint32_t count = 0, round = first_round;
  for (uint64_t step = 1; step < n; step *= width + 1, ++round) {
    for (uint32_t i = 0; i < n; ++i) {
      for (uint64_t j = 1; j <= width && j * step < n; ++j, ++count) {
        if (!out) continue;
        const uint32_t to = static_cast<uint32_t>((i + j * step) % n);
        out[count].round = static_cast<uint16_t>(round);
        out[count].from = member ? member[i] : static_cast<uint16_t>(i);
        out[count].to = member ? member[to] : static_cast<uint16_t>(to);
      }
    }
  }
  return count;
}

int dissemination(const Costs& costs, uint32_t arg, Arena& arena, Exchange* out) {
  const uint32_t n = costs.n;
  if (arg == 0 || n == 0 || n > kMaxParticipants) return -EINVAL;
  Exchange exchange{n, dissemination_rounds(n, arg), disseminate(nullptr, n, arg, 0, nullptr), nullptr};
  exchange.messages = arena.make<RoundMessage>(exchange.count);
  if (!exchange.messages) return -ENOMEM;
  disseminate(nullptr, n, arg, 0, exchange.messages);
  *out = exchange;
  return 0;
}

}  // namespace smelt
