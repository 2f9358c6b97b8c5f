// The machine: its processing units (PUs) and the levels that they share, as hwloc finds them.
//
// From the running machine, or from hwloc's synthetic notation. No costs here:
// those are measured (measure/calibrate.h) or guessed from the shape (guess_image below).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/distance.h"
#include "profile/text/image.h"

namespace smelt {

// The smallest thing a thread can be pinned to. Numbers other than os_index are dense, machine-wide and mean only
// "equal = shared".
struct Pu {
  uint32_t os_index = 0;  // the kernel's number
  uint16_t core = 0;      // equal = SMT siblings
  uint16_t l1 = 0;        // data caches; where a level is absent, the core's own number
  uint16_t l2 = 0;
  uint16_t llc =
      0;  // the last level that this PU has, whichever it is; where no two cores share any, the cluster or package
  uint16_t node = 0;  // NUMA node
  uint16_t package = 0;
  bool allowed = true;  // by the cpuset and the affinity of this process; all true for a machine described by a file
};

inline Distance distance_between(const Pu& a, const Pu& b) {
  return distance_between(Location{a.core, a.llc, a.node, a.package}, Location{b.core, b.llc, b.node, b.package});
}

struct Machine {
  std::string cpu_model;      // "AMD EPYC 7742 64-Core Processor", "" when unknown
  std::string shape;          // "2 packages, 4 NUMA nodes, 64 cores, 2 threads each"
  std::vector<Pu> pus;        // ascending os_index, never empty
  uint32_t cpu_quota = 0;     // CPUs that the cgroup's quota pays for, 0: no quota
  bool this_machine = false;  // false: from a file or a description; nothing can be measured there
  bool virtualised = false;   // under a hypervisor: placement may change at any moment

  std::string name() const;                    // cpu_model and shape in one line
  std::vector<uint32_t> allowed_cpus() const;  // os indices, ascending
};

// Each throws UserError. HWLOC_XMLFILE and HWLOC_SYNTHETIC are honoured by hwloc itself: then this_machine is false.
Machine discover_machine();
Machine machine_from_synthetic(const std::string& description);  // "pack:2 numa:1 l3:2 core:4 pu:2"

// A profile of all PUs with the typical cost per class of distance (model/distance.h), marked as a guess.
ProfileImage guess_image(const Machine& machine);

}  // namespace smelt
