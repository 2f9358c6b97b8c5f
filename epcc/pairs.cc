#include "epcc/pairs.h"

#include <algorithm>

namespace smelt::epcc {
namespace {

Side medians(const std::vector<const Figures*>& runs) {
  std::vector<double> overhead, noise, time;
  for (const Figures* run : runs) {
    overhead.push_back(run->overhead);
    noise.push_back(run->noise);
    time.push_back(run->time);
  }
  return {median(overhead), median(noise), median(time)};
}

Ratio spread(const std::vector<double>& ratios) {
  return {median(ratios), *std::ranges::min_element(ratios), *std::ranges::max_element(ratios)};
}

// Both of the same length: entry i of each comes from pair i.
Against compare(const std::vector<const Figures*>& other, const std::vector<const Figures*>& smelt, const Side& ours) {
  Against result;
  result.side = medians(other);
  std::vector<double> overhead, time;
  bool positive = true;
  for (size_t i = 0; i < other.size(); i++) {
    positive = positive && other[i]->overhead > 0 && smelt[i]->overhead > 0;
    overhead.push_back(positive ? other[i]->overhead / smelt[i]->overhead : 0);
    time.push_back(smelt[i]->time > 0 ? other[i]->time / smelt[i]->time : 0);
  }
  result.time = spread(time);
  result.overhead_is_clear = positive && ours.overhead > ours.noise && result.side.overhead > result.side.noise;
  if (result.overhead_is_clear) result.overhead = spread(overhead);
  return result;
}

KernelRow row_of(const Construct& construct, Distance distance, const std::vector<const Pair*>& pairs) {
  KernelRow row{construct.suite, construct.kernel, distance, pairs.size(), {}, {}, std::nullopt};
  std::vector<const Figures*> stock, smelt, libomp;
  for (const Pair* pair : pairs) {
    stock.push_back(&pair->stock);
    smelt.push_back(&pair->smelt);
    if (pair->libomp) libomp.push_back(&*pair->libomp);
  }
  row.smelt = medians(smelt);
  row.stock = compare(stock, smelt, row.smelt);
  if (libomp.size() == smelt.size()) row.libomp = compare(libomp, smelt, row.smelt);
  return row;
}

}  // namespace

const char* distance_name(Distance distance) {
  switch (distance) {
    case Distance::kNear: return "near";
    case Distance::kFar: return "far";
    case Distance::kMoved: return "moved";
    case Distance::kUnknown: break;
  }
  return "unknown";
}

Distance classify(const std::vector<double>& hop_ns) {
  if (hop_ns.empty()) return Distance::kUnknown;
  const auto [least, most] = std::ranges::minmax(hop_ns);
  if (most <= kNearHopNs) return Distance::kNear;
  return least > kNearHopNs ? Distance::kFar : Distance::kMoved;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::vector<KernelRow> summarise(const Construct& construct) {
  std::vector<KernelRow> rows;
  const auto add = [&](Distance distance) {
    std::vector<const Pair*> of_this;
    for (const Pair& pair : construct.pairs)
      if (classify(pair.hop_ns) == distance) of_this.push_back(&pair);
    if (!of_this.empty()) rows.push_back(row_of(construct, distance, of_this));
  };
  add(Distance::kNear);
  add(Distance::kFar);
  if (rows.empty()) add(Distance::kMoved);
  if (rows.empty()) add(Distance::kUnknown);
  return rows;
}

}  // namespace smelt::epcc
