// Where a program's threads and ranks are put: smelt run --bind close|spread.
//
// Bound threads keep the caches and the memory that they have filled, and a barrier's pattern stays right for where
// they are. But a bound thread cannot get out of another's way: where somebody else's work runs on the same CPUs, it
// waits for that while other CPUs stand idle. So nothing is bound unless somebody asks, nor then where others work.
//
// The places are whole cores, so that two threads share one only where there are more threads than cores, in an order
// in which neighbours are near: by the levels that the machine's costs show (generate/levels.h), coarse ones first. The
// runtimes do the rest, as OpenMP has it: `close` puts threads side by side, `spread` as far apart as so many can be.
//
// Open MPI's ranks get as many cores as each has threads: `close` one rank beside the other, `spread` over NUMA nodes,
// or last-level caches where there is one node. Within its cores a rank binds its threads. Where the ranks need more
// cores than there are, mpirun would refuse to start them, so they are not bound.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/launch_environment.h"

namespace smelt {

// The cores that may be used, and who else does.
struct Cores {
  std::vector<std::vector<uint32_t>> cpus;  // the kernel's numbers of each core's, neighbours near each other
  uint32_t nodes = 1, caches = 1;           // NUMA nodes and last-level caches among them
  double others_cpus = 0;                   // CPUs' worth of other processes' work
};

// Watches the load for a quarter of a second at most.
Cores look_at_cores();

struct Binding {
  std::vector<EnvironmentChange> changes;  // none: everything stays where it is
  std::string why;                         // one line: what is set, or why nothing is
};

// `policy`: "close" or "spread". `command`: the program and its arguments, or nothing. `threads` of each process, if
// that is known, else 0.
Binding bind_to(const std::string& policy, const Cores& cores, const std::vector<std::string>& command,
                uint32_t threads, const std::function<const char*(const char*)>& environment);

}  // namespace smelt
