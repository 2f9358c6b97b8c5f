// The layout of the heat map: the order of the CPUs, the blocks in it, and the scale.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "draw/layout.h"

namespace smelt {
namespace {

// Runs of rows whose participants have the same number.
std::vector<Rows::Block> blocks(const std::vector<uint16_t>& order, const uint16_t* number) {
  std::vector<Rows::Block> out;
  for (uint32_t row = 0; row < order.size(); ++row) {
    const uint16_t own = number ? number[order[row]] : 0;
    if (out.empty() || out.back().number != own) out.push_back({row, 0, own});
    ++out.back().count;
  }
  return out;
}

float cost_of(const Costs& costs, CostKind kind, uint16_t from, uint16_t to) {
  switch (kind) {
    case CostKind::kSend: return costs.t_send(from, to);
    case CostKind::kReceive: return costs.t_receive(from, to);
    case CostKind::kHop: break;
  }
  return costs.hop[costs.at(from, to)];
}

Scale scale_of(std::vector<float> costs, uint32_t n) {
  Scale scale;
  if (costs.empty()) return scale;
  std::sort(costs.begin(), costs.end());
  const size_t beyond = n >= 16 ? costs.size() / 200 : 0;
  scale.low = costs[beyond];
  scale.high = costs[costs.size() - 1 - beyond];
  scale.cut_below = costs.front() < scale.low;
  scale.cut_above = costs.back() > scale.high;
  scale.logarithmic = scale.low > 0 && scale.high > 8 * scale.low;
  return scale;
}

}  // namespace

Rows arrange(const Picture& p) {
  Rows rows;
  rows.order.resize(p.cpu.size());
  std::iota(rows.order.begin(), rows.order.end(), uint16_t{0});
  const auto place = [&p](uint16_t i) {
    return std::tuple(p.costs.node ? p.costs.node[i] : 0, p.costs.llc ? p.costs.llc[i] : 0,
                      p.core.empty() ? 0 : p.core[i], p.cpu[i]);
  };
  std::sort(rows.order.begin(), rows.order.end(), [&](uint16_t a, uint16_t b) { return place(a) < place(b); });
  rows.row.resize(rows.order.size());
  for (uint32_t row = 0; row < rows.order.size(); ++row) rows.row[rows.order[row]] = row;
  rows.nodes = blocks(rows.order, p.costs.node);
  rows.llcs = blocks(rows.order, p.costs.llc);
  // Outlines that repeat the nodes' or surround single CPUs say nothing.
  if (rows.llcs.size() == rows.nodes.size() || rows.llcs.size() == rows.order.size()) rows.llcs.clear();
  return rows;
}

double Scale::position(double cost) const {
  if (!(high > low)) return 0;
  const double at =
      logarithmic ? std::log(std::max(cost, low) / low) / std::log(high / low) : (cost - low) / (high - low);
  return std::clamp(at, 0.0, 1.0);
}

double Scale::cost(double position) const {
  return logarithmic ? low * std::pow(high / low, position) : low + position * (high - low);
}

HeatMap lay_out_heat_map(const Picture& p, CostKind kind) {
  HeatMap map;
  map.rows = arrange(p);
  const auto n = static_cast<uint32_t>(p.cpu.size());
  std::vector<float> off_diagonal;
  for (uint32_t row = 0; row < n; ++row)
    for (uint32_t column = 0; column < n; ++column) {
      map.cells.push_back(row == column ? 0 : cost_of(p.costs, kind, map.rows.order[row], map.rows.order[column]));
      if (row != column) off_diagonal.push_back(map.cells.back());
    }
  map.scale = scale_of(std::move(off_diagonal), n);
  return map;
}

}  // namespace smelt
