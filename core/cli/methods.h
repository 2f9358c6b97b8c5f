// The measured curves in a few lines: per set, which method of a group's collectives takes over at which size.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "draw/plot.h"
#include "model/curves.h"

namespace smelt {

std::string bytes_text(uint64_t bytes);                       // "16 KiB", three digits
std::string methods_text(const std::vector<CurveSet>& sets);  // one line per set
nlohmann::ordered_json methods_json(const std::vector<CurveSet>& sets);
std::vector<Plot> curve_plots(const CurveSet& set);  // one per collective, with the sizes at which methods change

}  // namespace smelt
