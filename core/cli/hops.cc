#include "cli/hops.h"

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

Document hops_document(const std::vector<HopClass>& classes) {
  Document rows = Document::array();
  for (const HopClass& c : classes)
    rows.push_back({{"distance", distance_name(c.distance)},
                    {"pairs", c.pairs},
                    {"min", c.min},
                    {"median", c.median},
                    {"max", c.max}});
  return rows;
}

Table hops_table(const Document& rows, const std::string& unit) {
  return {"one hop, " + unit, columns("distance; pairs|0; min|1; median|1; max|1"), rows};
}

}  // namespace smelt
