#include "bench/mpi/rounds.h"

#include <algorithm>
#include <cmath>

namespace smelt::bench {
namespace {

using Cells = std::vector<const Cell*>;

std::optional<Spread> spread(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const auto [min, max] = std::ranges::minmax(values);
  return Spread{epcc::median(values), min, max};
}

SideFigures figures_of(const Cells& cells, size_t side, size_t reference, bool ratios) {
  std::vector<double> us, ratio;
  for (const Cell* cell : cells) {
    if (!cell->sides[side]) continue;
    us.push_back(cell->sides[side]->us);
    if (ratios && cell->sides[reference]) ratio.push_back(cell->sides[side]->us / cell->sides[reference]->us);
  }
  return {spread(us), spread(ratio)};
}

std::optional<Spread> against_fastest(const Cells& cells, size_t reference, const std::vector<bool>& failed) {
  std::vector<double> ratios;
  for (const Cell* cell : cells) {
    std::optional<double> fastest;
    for (size_t side = 0; side < cell->sides.size(); side++) {
      if (side == reference || failed[side] || !cell->sides[side]) continue;
      fastest = std::min(fastest.value_or(INFINITY), cell->sides[side]->us);
    }
    if (fastest && cell->sides[reference]) ratios.push_back(*fastest / cell->sides[reference]->us);
  }
  return spread(ratios);
}

SweepRow row_of(const Series& series, Distance distance, const Cells& cells, size_t reference,
                const std::vector<bool>& failed) {
  SweepRow row{series.kernel, series.size, distance, cells.size(), {}, std::nullopt, -1};
  for (size_t side = 0; side < failed.size(); side++) {
    const bool compared = side != reference && !failed[side] && !failed[reference];
    row.sides.push_back(figures_of(cells, side, reference, compared));
    const auto median = [&](int which) { return row.sides[static_cast<size_t>(which)].us->median; };
    if (compared && row.sides[side].us && (row.fastest < 0 || row.sides[side].us->median < median(row.fastest)))
      row.fastest = static_cast<int>(side);
  }
  if (!failed[reference]) row.against_fastest = against_fastest(cells, reference, failed);
  return row;
}

}  // namespace

std::vector<double> Cell::hop_ns() const {
  std::vector<double> hops;
  for (const auto& reading : sides)
    if (reading) hops.insert(hops.end(), reading->hop_ns.begin(), reading->hop_ns.end());
  return hops;
}

std::vector<SweepRow> rows_of(const Series& series, size_t reference, const std::vector<bool>& failed) {
  std::vector<SweepRow> rows;
  const auto add = [&](Distance distance) {
    Cells cells;
    for (const Cell& cell : series.cells)
      if (epcc::classify(cell.hop_ns()) == distance) cells.push_back(&cell);
    if (!cells.empty()) rows.push_back(row_of(series, distance, cells, reference, failed));
  };
  add(Distance::kNear);
  add(Distance::kFar);
  if (rows.empty()) add(Distance::kMoved);
  if (rows.empty()) add(Distance::kUnknown);
  return rows;
}

std::vector<Summary> summarise(const std::vector<SweepRow>& rows) {
  std::vector<Summary> result;
  std::vector<double> logarithms;  // their sums, beside the result
  for (const SweepRow& row : rows) {
    if (!row.against_fastest || row.distance == Distance::kMoved) continue;
    const double ratio = row.against_fastest->median;
    auto it = std::ranges::find_if(
        result, [&](const Summary& s) { return s.kernel == row.kernel && s.distance == row.distance; });
    if (it == result.end()) {
      it = result.insert(result.end(), Summary{row.kernel, row.distance, 0, 0, ratio, row.size});
      logarithms.push_back(0);
    }
    if (ratio < it->least) it->least = ratio, it->least_size = row.size;
    if (row.size > kSummaryLimit) continue;
    it->sizes++;
    logarithms[static_cast<size_t>(it - result.begin())] += std::log(ratio);
  }
  for (size_t i = 0; i < result.size(); i++)
    if (result[i].sizes > 0) result[i].geometric_mean = std::exp(logarithms[i] / static_cast<double>(result[i].sizes));
  return result;
}

}  // namespace smelt::bench
