// The list of all thresholds (policy/thresholds.h) on a machine, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "discover/machine_file.h"
#include "policy/thresholds.h"

namespace smelt {

// `participants` 0: one on each of the CPUs.
Situation situation_of(size_t cpus, uint32_t participants, bool this_machine);

struct ThresholdRow {
  std::string name, value, origin, setting, decides, reason;  // setting: "" for none
  bool of_machine = false;  // the profile's curves or figures decided, or the situation
};
std::vector<ThresholdRow> threshold_rows(const MachineFile& machine, const Situation& situation);

std::string thresholds_text(const MachineFile& machine, const Situation& situation);
std::string thresholds_json(const MachineFile& machine, const Situation& situation);

}  // namespace smelt
