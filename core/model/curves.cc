#include "model/curves.h"

namespace smelt {
namespace {

constexpr double kWorthwhile = 0.97;  // of the other's cost: less gain, or less loss, is within the noise of the samples

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
  if (!measured(b)) return UINT64_MAX;
  if (!measured(a)) return 0;
  // From the largest size down, as long as b is cheaper. `from`: the smallest of those sizes at which that is worthwhile;
  // `before`: the next smaller one, where it is not.
  int from = -1, before = -1;
  for (int i = kCurveSizes - 1; i >= 0; --i) {
    if (a[i] <= 0 || b[i] <= 0) continue;
    const bool worthwhile = b[i] <= kWorthwhile * a[i];
    if (worthwhile)
      from = i, before = -1;
    else if (from >= 0 && before < 0)
      before = i;
    if (kWorthwhile * b[i] >= a[i]) break;
  }
  if (from < 0) return UINT64_MAX;
  if (before < 0) return 0;
  return zero_between(kSampledBytes[before], kWorthwhile * a[before] - b[before], kSampledBytes[from],
                      kWorthwhile * a[from] - b[from]);
}

Crossings crossings_of(const CurveSet& set) {
  const auto& ns = set.ns;
  float shared[kCurveSizes];
  Crossings out;
  out.flat_reduce = crossing(ns[kReduceFlat], ns[kReduceSliced]);
  out.flat_allreduce = crossing(ns[kAllreduceFlat], ns[kAllreduceSliced]);
  out.copy_broadcast = crossing(ns[kBroadcastShelf], ns[kBroadcastSingle]);
  lower_of(ns[kReduceFlat], ns[kReduceSliced], shared);
  out.copy_reduce = crossing(shared, ns[kReduceSingle]);
  lower_of(ns[kAllreduceFlat], ns[kAllreduceSliced], shared);
  out.copy_allreduce = crossing(shared, ns[kAllreduceSingle]);
  return out;
}

const CurveSet* nearest_curves(const CurveSet* sets, uint32_t count, uint32_t n) {
  const CurveSet* best = nullptr;
  double best_ratio = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const double measured = sets[i].participants, wanted = n;
    const double ratio = measured > wanted ? measured / wanted : wanted / measured;
    if (!best || ratio < best_ratio) best = &sets[i], best_ratio = ratio;
  }
  return best;
}

}  // namespace smelt
