// How long a tick is (base/ticks.h).
#pragma once

#include "base/ticks.h"

namespace smelt {

// Length of a tick, against CLOCK_MONOTONIC over a few milliseconds; measured at the first call, thread-safe.
double ns_per_tick();

}  // namespace smelt
