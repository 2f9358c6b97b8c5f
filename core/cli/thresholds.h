// The list of all thresholds (policy/thresholds.h) on a machine, for people and for programs.
#pragma once

#include <string>

#include "discover/machine_file.h"
#include "policy/thresholds.h"

namespace smelt {

// `participants` 0: one on each of the CPUs.
Situation situation_of(size_t cpus, uint32_t participants, bool this_machine);

std::string thresholds_text(const MachineFile& machine, const Situation& situation);
std::string thresholds_json(const MachineFile& machine, const Situation& situation);

}  // namespace smelt
