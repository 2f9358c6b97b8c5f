// The layout of the heat map: the order of the CPUs, the blocks in it, and the scale.
#include <fmt/format.h>

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

// Of `size` rows, or what is left of a part of the machine.
std::vector<Rows::Block> equal_blocks(const std::vector<Rows::Block>& parts, uint32_t size) {
  std::vector<Rows::Block> out;
  for (const Rows::Block& part : parts)
    for (uint32_t row = 0; row < part.count; row += size)
      out.push_back({part.first + row, std::min(size, part.count - row), part.number});
  return out;
}

// One row for each group.
void fold(Rows& rows, const std::vector<Rows::Block>& groups, Rows::Kind kind, const uint16_t* node) {
  std::vector<uint16_t> firsts;
  for (uint32_t g = 0; g < groups.size(); ++g) {
    firsts.push_back(rows.order[groups[g].first]);
    for (uint32_t row = groups[g].first; row < groups[g].first + groups[g].count; ++row) rows.row[rows.order[row]] = g;
  }
  rows.order = std::move(firsts);
  rows.nodes = blocks(rows.order, node);
  rows.llcs.clear();
  rows.kind = kind;
}

}  // namespace

uint32_t Rows::number(const Picture& p, uint32_t row) const {
  const uint16_t who = order[row];
  switch (kind) {
    case Kind::kCpu:
    case Kind::kBlock: return p.cpu[who];
    case Kind::kCore: return p.core[who];
    case Kind::kCache: return p.costs.llc[who];
    case Kind::kNode: return p.costs.node[who];
  }
  return 0;
}

const char* Rows::what() const {
  constexpr const char* kWhat[] = {"CPU", "core", "last-level cache", "NUMA node", "block of neighbours"};
  return kWhat[static_cast<int>(kind)];
}

std::string Rows::name(const Picture& p, uint32_t row) const {
  if (kind == Kind::kBlock) {
    std::vector<uint32_t> cpus;
    for (uint32_t i = 0; i < p.cpu.size(); ++i)
      if (this->row[i] == row) cpus.push_back(p.cpu[i]);
    std::sort(cpus.begin(), cpus.end());
    return (cpus.size() == 1 ? "CPU " : "CPUs ") + cpu_ranges(cpus);
  }
  constexpr const char* kWord[] = {"CPU", "core", "cache", "node"};
  return fmt::format("{} {}", kWord[static_cast<int>(kind)], number(p, row));
}

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
  if (rows.order.size() <= p.most_rows) return rows;
  // Two rows for 128 CPUs would show nothing.
  constexpr size_t kCoarse = 8;
  const auto few = [&p](const std::vector<Rows::Block>& groups) {
    return groups.size() > 1 && groups.size() <= p.most_rows && groups.size() * kCoarse >= p.most_rows;
  };
  if (!p.core.empty())
    if (const auto cores = blocks(rows.order, p.core.data()); few(cores)) {
      fold(rows, cores, Rows::Kind::kCore, p.costs.node);
      return rows;
    }
  const std::vector<Rows::Block> caches = rows.llcs, nodes = rows.nodes;
  if (few(caches)) {
    fold(rows, caches, Rows::Kind::kCache, p.costs.node);
  } else if (few(nodes)) {
    fold(rows, nodes, Rows::Kind::kNode, p.costs.node);
  } else {
    const auto n = static_cast<uint32_t>(rows.order.size());
    for (uint32_t size = 2; size < n && !rows.folded(); size *= 2)
      if (const auto equal = equal_blocks(caches.empty() ? nodes : caches, size); equal.size() <= p.most_rows)
        fold(rows, equal, Rows::Kind::kBlock, p.costs.node);
  }
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
  const auto n = static_cast<uint16_t>(p.cpu.size());
  const auto rows = static_cast<uint32_t>(map.rows.order.size());
  std::vector<double> sums(size_t{rows} * rows);
  std::vector<uint32_t> counts(sums.size());
  for (uint16_t from = 0; from < n; ++from)
    for (uint16_t to = 0; to < n; ++to) {
      if (from == to) continue;
      const size_t cell = size_t{map.rows.row[from]} * rows + map.rows.row[to];
      sums[cell] += cost_of(p.costs, kind, from, to);
      ++counts[cell];
    }
  std::vector<float> sent;
  for (size_t cell = 0; cell < sums.size(); ++cell) {
    map.cells.push_back(counts[cell] ? static_cast<float>(sums[cell] / counts[cell]) : 0);
    if (counts[cell]) sent.push_back(map.cells.back());
  }
  map.scale = scale_of(std::move(sent), rows);
  return map;
}

}  // namespace smelt
