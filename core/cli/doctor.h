// The findings of smelt doctor, for its own verb and for smelt report.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/table.h"
#include "discover/conditions.h"

namespace smelt {

// All of it: conditions of measuring, of programs, the profile. Watches the machine for 100 ms.
Document examine_this_machine();

// That document has "running" and "measuring", each with a sentence and whether it is a good one.
using Conclusion = std::pair<std::string, bool>;
std::vector<std::pair<std::string, Conclusion>> doctor_conclusions(const Document& document);

}  // namespace smelt
