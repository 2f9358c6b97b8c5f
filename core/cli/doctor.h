// What smelt doctor finds, for its own verb and for smelt report.
#pragma once

#include <vector>

#include "discover/conditions.h"

namespace smelt {

// All of it: conditions of measuring, of programs, the profile. Watches the machine for 100 ms.
std::vector<Finding> examine_this_machine();

}  // namespace smelt
