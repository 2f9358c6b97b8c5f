// What else runs: the share of every CPU that is busy or stolen over a short time, and whether a quota stopped anybody.
#pragma once

#include <vector>

#include "discover/conditions.h"

namespace smelt {

// Reads /proc/stat, /proc/loadavg and the cgroup's cpu.stat before and after System::wait.
std::vector<Finding> load_conditions(const System& system);

}  // namespace smelt
