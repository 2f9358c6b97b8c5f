#include "cli/hops.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "profile/text/statistics.h"

namespace smelt {

std::vector<HopClass> summarise_hops(const Costs& costs, const std::vector<uint16_t>& package,
                                     const std::vector<uint16_t>& core) {
  std::vector<double> hops[kDistances];
  const auto place = [&](uint32_t i) {
    return Location{core[i], costs.llc ? costs.llc[i] : uint16_t{0}, costs.node ? costs.node[i] : uint16_t{0},
                    package[i]};
  };
  for (uint32_t a = 0; a < costs.n; ++a)
    for (uint32_t b = 0; b < costs.n; ++b)
      if (a != b)
        hops[static_cast<uint32_t>(distance_between(place(a), place(b)))].push_back(costs.hop[costs.at(a, b)]);

  std::vector<HopClass> classes;
  for (uint32_t d = 0; d < kDistances; ++d) {
    const std::vector<double>& list = hops[d];
    if (list.empty()) continue;
    const auto [least, most] = std::minmax_element(list.begin(), list.end());
    classes.push_back({static_cast<Distance>(d), static_cast<uint32_t>(list.size()), *least, median(list), *most});
  }
  return classes;
}

std::string hops_text(const std::vector<HopClass>& classes, CostUnit unit) {
  if (classes.empty()) return "";
  std::string out =
      fmt::format("one hop, {:<14} {:>8} {:>9} {:>9} {:>9}\n", cost_unit_name(unit), "pairs", "min", "median", "max");
  for (const HopClass& c : classes)
    out += fmt::format("  {:<21} {:>8} {:>9.1f} {:>9.1f} {:>9.1f}\n", distance_name(c.distance), c.pairs, c.min,
                       c.median, c.max);
  return out;
}

nlohmann::ordered_json hops_json(const std::vector<HopClass>& classes) {
  auto out = nlohmann::ordered_json::array();
  for (const HopClass& c : classes)
    out.push_back({{"distance", distance_name(c.distance)},
                   {"pairs", c.pairs},
                   {"min", c.min},
                   {"median", c.median},
                   {"max", c.max}});
  return out;
}

}  // namespace smelt
