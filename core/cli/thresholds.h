// The list of all thresholds (policy/thresholds.h) on a machine, for people and for programs.
#pragma once

#include <string>

#include "cli/table.h"
#include "policy/thresholds.h"
#include "profile/profile.h"

namespace smelt {

// `participants` 0: one on each of the CPUs.
Situation situation_of(size_t cpus, uint32_t participants, bool this_machine);

Document thresholds_document(const std::string& machine, const Profile& profile, const Situation& situation);
std::string thresholds_text(const Document& document);

}  // namespace smelt
