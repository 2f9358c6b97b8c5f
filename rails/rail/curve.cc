// Curves of times by size: reading them in both directions, and making them such that this can be done.
#include <cmath>

#include "model/curves.h"
#include "rails/rail/rail.h"

namespace smelt {
namespace {

// Of the samples up to `from` the last that took less than the longest one; count: none did.
uint32_t last_below_longest(const RailCurve& curve, uint32_t from) {
  const uint32_t last = curve.count - 1;
  for (uint32_t i = from + 1; i-- > 0;)
    if (curve.us[i] < curve.us[last]) return i;
  return curve.count;
}

// µs per byte between the samples around n; beyond the last, of the last two that differ: none gets to carry anything
// for nothing. Where all took the same, as if it grew from nothing.
double slope(const RailCurve& curve, uint32_t after) {
  uint32_t i = after, before = after - 1;
  if (after == curve.count) {
    i = curve.count - 1, before = last_below_longest(curve, i);
    if (before == curve.count) return curve.us[i] / static_cast<double>(curve.bytes[i]);
  }
  return (curve.us[i] - curve.us[before]) / static_cast<double>(curve.bytes[i] - curve.bytes[before]);
}

}  // namespace

double rail_time(const RailCurve& curve, uint64_t n) {
  if (n <= curve.bytes[0]) return curve.us[0];
  uint32_t after = 1;
  while (after < curve.count && curve.bytes[after] < n) ++after;
  return curve.us[after - 1] + slope(curve, after) * static_cast<double>(n - curve.bytes[after - 1]);
}

uint64_t rail_bytes_within(const RailCurve& curve, double us) {
  if (us < curve.us[0]) return 0;
  uint32_t after = 1;
  while (after < curve.count && curve.us[after] <= us) ++after;
  const double per_byte = slope(curve, after);  // > 0: before the last sample, us[after] > us >= us[after - 1]
  const double more = std::floor((us - curve.us[after - 1]) / per_byte);
  return more < 0x1p62 ? curve.bytes[after - 1] + static_cast<uint64_t>(more) : UINT64_MAX;
}

void make_isotonic(RailCurve* curve) {
  double mean[kRailSizes];
  uint32_t size[kRailSizes], pools = 0;
  for (uint32_t i = 0; i < curve->count; ++i) {
    mean[pools] = curve->us[i], size[pools] = 1, ++pools;
    for (; pools > 1 && mean[pools - 2] > mean[pools - 1]; --pools) {
      const uint32_t both = size[pools - 2] + size[pools - 1];
      mean[pools - 2] = (mean[pools - 2] * size[pools - 2] + mean[pools - 1] * size[pools - 1]) / both;
      size[pools - 2] = both;
    }
  }
  for (uint32_t pool = 0, i = 0; pool < pools; ++pool)
    for (uint32_t k = 0; k < size[pool]; ++k) curve->us[i++] = mean[pool];
}

void make_convex(RailCurve* curve, uint64_t from) {
  uint32_t hull[kRailSizes], corners = 0, first = 0;
  while (first < curve->count && curve->bytes[first] < from) ++first;
  const auto per_byte = [&](uint32_t a, uint32_t b) {
    return (curve->us[b] - curve->us[a]) / static_cast<double>(curve->bytes[b] - curve->bytes[a]);
  };
  for (uint32_t i = first; i < curve->count; ++i) {
    while (corners > 1 && per_byte(hull[corners - 2], hull[corners - 1]) >= per_byte(hull[corners - 1], i)) --corners;
    hull[corners++] = i;
  }
  for (uint32_t corner = 1; corner < corners; ++corner) {
    const uint32_t a = hull[corner - 1], b = hull[corner];
    const double slope = per_byte(a, b), begin = curve->us[a];
    for (uint32_t i = a + 1; i < b; ++i) {
      const double line = begin + slope * static_cast<double>(curve->bytes[i] - curve->bytes[a]);
      const double wrong = curve->spread[i] > 1 - kWorthwhile ? curve->spread[i] : 1 - kWorthwhile;
      const double least = curve->us[i] * (1 - wrong);
      curve->us[i] = line > least ? line : least;
    }
  }
  make_isotonic(curve);
}

uint64_t rail_crossing(const RailCurve& a, const RailCurve& b) {
  if (b.count == 0) return UINT64_MAX;
  if (a.count == 0) return 0;
  // Both are linear between the sizes of either, as far as both were sampled.
  uint64_t sizes[2 * kRailSizes];
  uint32_t count = 0;
  const uint64_t first = a.bytes[0] > b.bytes[0] ? a.bytes[0] : b.bytes[0];
  const uint64_t a_last = a.bytes[a.count - 1], b_last = b.bytes[b.count - 1];
  const uint64_t last = a_last < b_last ? a_last : b_last;
  for (uint32_t i = 0, j = 0; i < a.count || j < b.count;) {
    const bool from_a = j == b.count || (i < a.count && a.bytes[i] <= b.bytes[j]);
    const uint64_t size = from_a ? a.bytes[i++] : b.bytes[j++];
    if (size >= first && size <= last && (count == 0 || sizes[count - 1] != size)) sizes[count++] = size;
  }
  // From the long end down: as long as b gains at all, and beyond that the shortest at which the gain is worthwhile.
  uint32_t from = count;
  for (uint32_t i = count; i-- > 0 && rail_time(b, sizes[i]) < rail_time(a, sizes[i]);)
    if (rail_time(b, sizes[i]) <= kWorthwhile * rail_time(a, sizes[i])) from = i;
  if (from == count) return UINT64_MAX;
  if (from == 0) return 0;
  const auto lack = [&](uint64_t n) { return rail_time(b, n) - kWorthwhile * rail_time(a, n); };
  const double before = lack(sizes[from - 1]), after = lack(sizes[from]);  // > 0, <= 0
  const double width = static_cast<double>(sizes[from] - sizes[from - 1]);
  return sizes[from - 1] + static_cast<uint64_t>(std::ceil(before / (before - after) * width));
}

RailCurve transfer_curve(const Rail& rail) {
  const RailCurve &eager = rail.method[kRailEager], &rendezvous = rail.method[kRailRendezvous];
  if (eager.count == 0) return rendezvous;
  RailCurve best = eager;
  for (uint32_t i = 0; i < rendezvous.count && best.count < kRailSizes; ++i) {  // sizes that eager was not sampled for
    if (rendezvous.bytes[i] <= eager.bytes[eager.count - 1]) continue;
    best.bytes[best.count] = rendezvous.bytes[i];
    best.us[best.count] = rail_time(eager, rendezvous.bytes[i]);
    best.spread[best.count++] = rendezvous.spread[i];
  }
  for (uint32_t i = 0; i < best.count && rendezvous.count > 0; ++i) {
    if (best.bytes[i] < rendezvous.bytes[0]) continue;
    const double asked = rail_time(rendezvous, best.bytes[i]);
    if (asked < best.us[i]) best.us[i] = asked;
  }
  return best;
}

double rail_bandwidth(const RailCurve& curve) {
  if (curve.count < 2) return 0;
  // Over the last factor of four: a single sample's error weighs less than between neighbours.
  const uint32_t last = curve.count - 1, first = last_below_longest(curve, last >= 2 ? last - 2 : 0);
  if (first == curve.count) return 0;
  return static_cast<double>(curve.bytes[last] - curve.bytes[first]) / (curve.us[last] - curve.us[first]);
}

}  // namespace smelt
