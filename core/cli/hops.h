// The hop matrix in a few lines: the cost of a message per class of distance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/table.h"
#include "model/cost_model.h"
#include "model/distance.h"

namespace smelt {

struct HopClass {
  Distance distance;
  uint32_t pairs = 0;  // ordered
  double min = 0, median = 0, max = 0;
};

// Classes that occur, nearest first; empty for one CPU.
std::vector<HopClass> summarise_hops(const Costs& costs, const std::vector<uint16_t>& package,
                                     const std::vector<uint16_t>& core);
Document hops_document(const std::vector<HopClass>& classes);
Table hops_table(const Document& rows, const std::string& unit);  // of that document

}  // namespace smelt
