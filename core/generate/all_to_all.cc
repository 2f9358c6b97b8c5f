// All-to-all: everybody raises one flag and reads everybody else's.
//
// One round, one hop: the n - 1 reads are independent of each other, so the core has them all under way at once,
// and a message costs one store because all readers poll the same line. The price is n * (n - 1) lines moving, which is
// why this is for participants that share a cache. It is dissemination with every other participant as a target.
#include "generate/patterns.h"

namespace smelt {

int all_to_all(const Costs& costs, uint32_t, Arena& arena, Exchange* out) {
  return dissemination(costs, costs.n > 1 ? costs.n - 1 : 1, arena, out);
}

}  // namespace smelt
