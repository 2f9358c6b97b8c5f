// Whether pairs may be measured at the same time: a short test, since machines differ in the parts that their pairs
// share.
#pragma once

#include <functional>
#include <vector>

#include "measure/meter.h"
#include "measure/sampler.h"

namespace smelt {

struct Company {
  uint32_t most = 1;       // pairs at once
  bool share_llc = false;  // pairs at once may have a last-level cache in common

  // As many of `pending` as may run together, from its front; taken out of it. There is at least one.
  std::vector<Spot> take(std::vector<Spot>& pending, const std::vector<Pu>& pus) const;
};

// Compares a few of the pairs alone and together, in the worst company that the rule would allow: as many as `most`,
// fewer as long as they disturb each other. `hops`: the hop of each, all at once.
using HopsTogether = std::function<std::vector<double>(const std::vector<Spot>&)>;
Company find_company(const std::vector<Spot>& pairs, const std::vector<Pu>& pus, uint32_t most,
                     const HopsTogether& hops);

}  // namespace smelt
