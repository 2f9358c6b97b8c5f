// The figures that bursts.h would measure on a machine with given costs.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "model/cost_model.h"

namespace smelt {

// ns, or the costs' unit, of one round; `pairs` are indices.
double simulate_bursts(const Costs& costs, std::span<const std::pair<uint32_t, uint32_t>> pairs, int lines);

}  // namespace smelt
