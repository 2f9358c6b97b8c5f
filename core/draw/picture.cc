// What the pens share.
#include "draw/picture.h"

#include <fmt/format.h>

namespace smelt {

std::string cpu_ranges(const std::vector<uint32_t>& cpus) {
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    const char* comma = text.empty() ? "" : ",";
    // Two neighbours read better as a pair than as a range.
    if (end - i > 2) {
      text += fmt::format("{}{}-{}", comma, cpus[i], cpus[end - 1]);
    } else {
      text += fmt::format("{}{}", comma, cpus[i]);
      end = i + 1;
    }
    i = end;
  }
  return text;
}

std::vector<uint16_t> children(const Tree& tree, uint16_t parent) {
  std::vector<uint16_t> list;
  for (uint16_t c = tree.first[parent]; c != kNobody; c = tree.next[c]) list.push_back(c);
  return list;
}

std::vector<double> arrival_times(const Tree& tree, const Costs& costs) {
  std::vector<double> arrival(tree.n, 0);
  std::vector<uint16_t> order(tree.n);
  order.resize(top_down_order(tree, order.data()));
  for (const uint16_t parent : order) {
    double now = arrival[parent];
    for (uint16_t c = tree.first[parent]; c != kNobody; c = tree.next[c]) {
      arrival[c] = now + costs.hop[costs.at(parent, c)];
      now += costs.send_busy[costs.at(parent, c)];
    }
  }
  return arrival;
}

}  // namespace smelt
