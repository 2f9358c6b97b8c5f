// From which size one way to send takes over from another: where their sampled curves cross. No size that holds on one
// network holds on the next: the paper finds 17 KB and 64 KB for the same limit (section IV).
#include "rails/rail/rail.h"

namespace smelt {
namespace {

// At the samples of `times`: the same after a copy of as much.
RailCurve with_copy(const RailCurve& times, const RailCurve& copy) {
  RailCurve sum = times;
  for (uint32_t i = 0; i < sum.count && copy.count > 0; ++i) sum.us[i] += rail_time(copy, sum.bytes[i]);
  return sum;
}

// Two packets of each size in one: copied together, sent, by the size of each.
RailCurve as_one(const RailCurve& eager, const RailCurve& copy) {
  const RailCurve copied = with_copy(eager, copy);
  RailCurve one;
  for (uint32_t i = 0; i < copied.count; ++i) {
    if (2 * copied.bytes[i] > copied.bytes[copied.count - 1]) break;  // nothing was sampled as long as both
    one.bytes[one.count] = copied.bytes[i];
    one.us[one.count++] = rail_time(copied, 2 * copied.bytes[i]);
  }
  return one;
}

}  // namespace

RailLimits limits_of(const Rail& rail, const RailCurve& copy) {
  const RailCurve& eager = rail.method[kRailEager];
  return {.gathered = rail_crossing(with_copy(eager, copy), rail.method[kRailGathered]),
          .rendezvous = rail_crossing(eager, rail.method[kRailRendezvous]),
          .apart = rail_crossing(as_one(eager, copy), rail.method[kRailPair])};
}

void settle_curves(Rail* rail, const RailCurve& copy) {
  for (RailCurve& curve : rail->method) make_isotonic(&curve);
  const RailLimits limits = limits_of(*rail, copy);
  uint64_t last = kConvexFrom;
  const uint64_t all[] = {limits.gathered, limits.rendezvous, limits.apart};
  for (const uint64_t limit : all)
    if (limit != UINT64_MAX && limit > last) last = limit;
  for (RailCurve& curve : rail->method) make_convex(&curve, last);
}

}  // namespace smelt
