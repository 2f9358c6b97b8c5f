// Other load: the share of every CPU that is busy or stolen over a short time, and whether a quota stopped anybody.
#pragma once

#include <vector>

#include "discover/conditions.h"

namespace smelt {

inline constexpr const char* kOtherLoad = "other load";

// Reads /proc/stat, /proc/loadavg and the cgroup's cpu.stat before and after System::wait.
std::vector<Finding> load_conditions(const System& system);

// The load of others on the CPUs that this process may use, while it did something itself.
struct LoadSeen {
  double others_cpus = 0;  // CPUs' worth of their work; 0 also where the kernel did not tell, or the time was too short
  double stolen = 0;       // part of the CPU time that a hypervisor took away
  int64_t throttled = 0;   // periods in which a quota stopped somebody
  double seconds = 0;
};

class LoadWatch {
 public:
  explicit LoadWatch(System system);
  LoadSeen so_far() const;
  LoadSeen in_time() const;  // waits before that till enough time has passed, a quarter of a second at most

 private:
  // The counts since the machine, the group or this process began.
  struct Counts {
    double at_s = 0;
    double busy_s = 0, stolen_s = 0;  // CPU time in which they ran something, or were taken away
    double own_s = 0;                 // of this process and those of its children that it has waited for
    int64_t throttled = 0;
    bool told = false;  // the kernel says so
  };
  Counts count() const;

  System system_;
  Counts begin_;
};

}  // namespace smelt
