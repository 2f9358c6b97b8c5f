// A machine that hwloc has described in XML ('lstopo file.xml' on that machine).
#pragma once

#include <string>

#include "discover/machine.h"

namespace smelt {

// Throws UserError.
Machine machine_from_xml(const std::string& path);

}  // namespace smelt
