// How many threads fit where a program is started: smelt run --fit.
//
// A container with a quota of 2.5 CPUs on a node of 64 starts 64 threads: libgomp sees the CPUs of the affinity mask,
// LLVM's runtime and OpenBLAS do, too, and none of them sees the quota. The threads then use up the period's time in a
// few milliseconds, and all of them stand still for the rest of it, in the middle of whatever they were at.
//
// So the size of a team is what the affinity mask and the quota pay for, rounded to whole CPUs (policy/team_size.h).
// The shims do the same where nobody names a number.
//
// If there is a quota, the CPUs that other processes of the same group want come off. The ranks of an MPI job share the
// rest. The user's own settings are only ever lowered. Programs that ask for a number of threads in a call or a clause
// get it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/launch_environment.h"

namespace smelt {

// CPUs. Others that want less are a container's shell and agents, and a machine's daemons.
inline constexpr double kNoticedLoad = 0.3;

// The CPUs, quota and load that were seen.
struct Room {
  uint32_t cpus = 1;               // of the affinity mask
  uint32_t quota_thousandths = 0;  // of the tightest group above, in thousandths of a CPU; 0: none
  double others_cpus = 0;          // that other processes of the group want, where there is a quota
  uint32_t ranks = 1;              // of the job on this node
};

// Watches the group for some milliseconds where there is a quota. `command`: the program and its arguments, or nothing.
Room look_at_room(const std::vector<std::string>& command, const std::string& root = "");

// The ranks that an mpirun command starts; 1 for any other command, 0: it does not say.
uint32_t ranks_of(const std::vector<std::string>& command);

struct Fit {
  uint32_t threads = 1;                    // of each process
  std::vector<EnvironmentChange> changes;  // none where nothing has to be set
  std::string why;                         // one line: "2 threads: the group's quota pays for 2.5 CPUs of 64"
};
Fit fit_into(const Room& room, const std::function<const char*(const char*)>& environment);

}  // namespace smelt
