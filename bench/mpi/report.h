// The comparison as a table for people and as JSON for programs.
#pragma once

#include <string>

#include "bench/mpi/campaign.h"

namespace smelt::bench {

// `machine`: one line, the CPU model in it.
std::string report_text(const Request& request, const Results& results, const std::string& machine);
std::string report_json(const Request& request, const Results& results, const std::string& machine);

// How the figures come about, one line.
std::string method(const Request& request);

// "2 ranks, each bound to a core"
std::string placement(const Request& request);

}  // namespace smelt::bench
