// Other load: the share of every CPU that is busy or stolen over a short time, and whether a quota stopped anybody.
#pragma once

#include <vector>

#include "discover/conditions.h"

namespace smelt {

inline constexpr const char* kOtherLoad = "other load";

// Reads /proc/stat, /proc/loadavg and the cgroup's cpu.stat before and after System::wait.
std::vector<Finding> load_conditions(const System& system);

// The counts since the machine or the group began, of the CPUs that this process may use.
struct LoadSoFar {
  double busy_s = 0, stolen_s = 0;  // CPU time in which they ran something, or were taken away by a hypervisor
  int64_t throttled = 0;            // periods in which a quota stopped somebody
  bool told = false;                // the kernel says so
};
LoadSoFar load_so_far(const System& system);

}  // namespace smelt
