// hwloc's topologies, for those that make a Machine of one (discover/machine.h).
#pragma once

#include <hwloc.h>

#include <memory>
#include <string>

#include "discover/machine.h"

namespace smelt {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

Topology new_topology();  // not loaded yet. Throws UserError: out of memory
Machine machine_from(hwloc_topology_t topology);
// `who`: "file.xml: ". Throws UserError.
[[noreturn]] void refuse_size(const std::string& who, size_t pus);

}  // namespace smelt
