// The hop matrix in a few lines: what a message costs per class of distance.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

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
std::string hops_text(const std::vector<HopClass>& classes, CostUnit unit);
nlohmann::ordered_json hops_json(const std::vector<HopClass>& classes);

}  // namespace smelt
