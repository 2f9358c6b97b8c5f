#include "model/curves.h"

#include <cstring>

namespace smelt {
namespace {

bool measured(const float* curve) {
  for (uint32_t i = 0; i < kCurveSizes; ++i)
    if (curve[i] > 0) return true;
  return false;
}

// Where a margin that is linear between two sizes is 0: below at the first, not below at the second.
uint64_t zero_between(uint64_t first, double below, uint64_t second, double above) {
  const double share = below / (below - above);
  return first + static_cast<uint64_t>(share * static_cast<double>(second - first));
}

void lower_of(const float* a, const float* b, float* out) {
  for (uint32_t i = 0; i < kCurveSizes; ++i) out[i] = a[i] > 0 && (b[i] <= 0 || a[i] <= b[i]) ? a[i] : b[i];
}

}  // namespace

uint64_t crossing(const float* a, const float* b) {
  SampledRange range;
  return crossing(a, b, &range);
}

uint64_t crossing(const float* a, const float* b, SampledRange* range) {
  *range = {};
  if (!measured(b)) return UINT64_MAX;
  if (!measured(a)) return 0;
  // Goes down from the largest size, as long as b is cheaper. `from`: the smallest of those sizes at which that is
  // worthwhile; `below`: the next smaller one, where it is not.
  int from = -1, below = -1;
  for (int i = kCurveSizes - 1; i >= 0; --i) {
    if (a[i] <= 0 || b[i] <= 0) continue;
    const bool worthwhile = b[i] <= kWorthwhile * a[i];
    if (worthwhile)
      from = i, below = -1;
    else if (from >= 0 && below < 0)
      below = i;
    if (kWorthwhile * b[i] >= a[i]) break;
  }
  *range = {below, from};
  if (from < 0) return UINT64_MAX;
  if (below < 0) return 0;
  return zero_between(kSampledBytes[below], kWorthwhile * a[below] - b[below], kSampledBytes[from],
                      kWorthwhile * a[from] - b[from]);
}

LimitSides sides_of(const CurveSet& set, MethodLimit limit) {
  const auto& ns = set.ns;
  LimitSides out;
  const auto take = [&out](const float* handing_over, const float* taking_over) {
    std::memcpy(out.handing_over, handing_over, sizeof out.handing_over);
    std::memcpy(out.taking_over, taking_over, sizeof out.taking_over);
  };
  float shared[kCurveSizes];
  switch (limit) {
    case MethodLimit::kFlatReduce: take(ns[kReduceFlat], ns[kReduceSliced]); break;
    case MethodLimit::kFlatAllreduce: take(ns[kAllreduceFlat], ns[kAllreduceSliced]); break;
    case MethodLimit::kCopyBroadcast: take(ns[kBroadcastShelf], ns[kBroadcastSingle]); break;
    case MethodLimit::kCopyReduce:
      lower_of(ns[kReduceFlat], ns[kReduceSliced], shared);
      take(shared, ns[kReduceSingle]);
      break;
    case MethodLimit::kCopyAllreduce:
      lower_of(ns[kAllreduceFlat], ns[kAllreduceSliced], shared);
      take(shared, ns[kAllreduceSingle]);
      break;
  }
  return out;
}

Crossings crossings_of(const CurveSet& set) {
  const auto at = [&set](MethodLimit limit) {
    const LimitSides sides = sides_of(set, limit);
    return crossing(sides.handing_over, sides.taking_over);
  };
  return {at(MethodLimit::kFlatReduce), at(MethodLimit::kFlatAllreduce), at(MethodLimit::kCopyBroadcast),
          at(MethodLimit::kCopyReduce), at(MethodLimit::kCopyAllreduce)};
}

const CurveSet* nearest_curves(const CurveSet* sets, uint32_t count, uint32_t n, Sync sync, uint32_t least) {
  const auto is = [](const CurveSet& set, Sync wanted) { return set.sync == static_cast<uint32_t>(wanted); };
  const CurveSet* best = nullptr;
  double best_ratio = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!is(sets[i], Sync::kLoose) || sets[i].participants < least) continue;
    const double measured = sets[i].participants, wanted = n;
    const double ratio = measured > wanted ? measured / wanted : wanted / measured;
    if (!best || ratio < best_ratio) best = &sets[i], best_ratio = ratio;
  }
  for (uint32_t i = 0; i < count && best && sync == Sync::kStrict; ++i)
    if (is(sets[i], sync) && sets[i].participants == best->participants) return &sets[i];
  return best;
}

}  // namespace smelt
