// How large a machine in hwloc's synthetic notation is, before hwloc builds it: that takes minutes and gigabytes for a
// slip of the pen.
#pragma once

#include <string>

namespace smelt {

// Throws UserError, one line that begins with "synthetic:", where `description` multiplies to more than kMaxProfileCpus
// of anything or numbers a processing unit beyond what a kernel has. All other errors in it are left for hwloc to
// refuse.
void check_synthetic_size(const std::string& description);

}  // namespace smelt
