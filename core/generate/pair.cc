// Pair exchange: two participants tell each other, each on its own line. One hop; no barrier of two can have less.
#include "generate/patterns.h"

namespace smelt {

int pair_exchange(const Costs& costs, uint32_t, Arena& arena, Exchange* out) {
  if (costs.n != 2) return -EINVAL;
  return dissemination(costs, 1, arena, out);
}

}  // namespace smelt
