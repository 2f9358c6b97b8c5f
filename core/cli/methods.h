// The measured curves in a few lines: per set, which method of a group's collectives takes over at which size.
#pragma once

#include <string>
#include <vector>

#include "draw/plot.h"
#include "model/curves.h"
#include "report/table.h"

namespace smelt {

std::string bytes_text(uint64_t bytes);  // "16 KiB", three digits
Document methods_document(const std::vector<CurveSet>& sets);
std::string methods_text(const Document& sets);      // one line per set
std::vector<Plot> curve_plots(const CurveSet& set);  // one per collective, with the sizes at which methods change

}  // namespace smelt
