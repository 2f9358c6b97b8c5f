// The list of all thresholds (policy/thresholds.h) on a machine, for people and for programs.
#pragma once

#include <string>

#include "discover/machine_file.h"
#include "policy/thresholds.h"
#include "report/table.h"

namespace smelt {

// `participants` 0: one on each of the CPUs.
Situation situation_of(size_t cpus, uint32_t participants, bool this_machine);

Document thresholds_document(const MachineFile& machine, const Situation& situation);
std::string thresholds_text(const Document& document);
// Two tables for a page: those that follow from this machine and its use, or those that are the same everywhere.
Table thresholds_table(const Document& document, bool of_machine);

}  // namespace smelt
