// The result of a campaign for people (a table) and for programs (JSON).
#pragma once

#include <string>

#include "epcc/campaign.h"

namespace smelt::epcc {

std::string report_text(const Request& request, const Results& results, const std::string& machine);
std::string report_json(const Request& request, const Results& results, const std::string& machine);

}  // namespace smelt::epcc
