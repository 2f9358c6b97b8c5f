// The exchange of spread.cc, with more time for its shares.
#pragma once

#include "generate/exchange.h"
#include "generate/shares.h"

namespace smelt {

// Works as spread_exchange (patterns.h), which has a few tries for who deals with whom (shares.h). A try takes some 3
// microseconds. The same messages for everybody. 0, -EINVAL, -ENOMEM.
int spread_with(const Costs& costs, uint32_t arg, const ShareSearch& search, Arena& arena, Exchange* out);

}  // namespace smelt
