// Which split a message gets: the one of equal finish, the one by bandwidth, or none.
//
// A split that believes wrong samples is worse than none: with curves taken on a busy machine, equal finish was seen to
// lose to shares by bandwidth below 4 MiB (1 MiB: 233 Mbit/s against 264). A curve's figure for a long message is an
// average over all of it, and seldom wrong; its figure for a middle one may be one sample's bad luck. So the spread
// that the samples had decides how much of a gain is believed.
#include <cerrno>
#include <cmath>

#include "model/curves.h"
#include "rails/rail/rail.h"

namespace smelt {
namespace {

void finish(const RailNow* rails, uint32_t count, RailSplit* split) {
  split->finish_us = 0, split->used = 0;
  for (uint32_t r = 0; r < count; ++r) {
    if (split->bytes[r] == 0) continue;
    const double us = rail_finish(rails[r], split->bytes[r]);
    if (us > split->finish_us) split->finish_us = us;
    ++split->used;
  }
}

// The rail on which all of it would be there first.
uint32_t first_alone(const RailNow* rails, uint32_t count, uint64_t n) {
  uint32_t first = 0;
  for (uint32_t r = 1; r < count; ++r)
    if (rail_finish(rails[r], n) < rail_finish(rails[first], n)) first = r;
  return first;
}

// A cold rail gains little, and gets warm only by carrying.
bool are_worth_warming(const RailNow* rails, uint32_t count, uint64_t n) {
  RailNow warm[kMaxRails];
  bool cold = false;
  for (uint32_t r = 0; r < count; ++r) {
    cold = cold || rails[r].window < HUGE_VAL;
    warm[r] = rails[r], warm[r].window = HUGE_VAL;
  }
  if (!cold) return false;  // they were found not to be worth it as they are
  RailSplit split;
  return split_message(warm, count, n, &split) == 0 &&
         split.finish_us <= kWorthwhile * rail_finish(warm[first_alone(warm, count, n)], n);
}

}  // namespace

double rail_spread(const RailCurve& curve, uint64_t n) {
  uint32_t i = 0;
  while (i + 1 < curve.count && curve.bytes[i] < n) ++i;
  const double at = curve.spread[i], before = i > 0 ? curve.spread[i - 1] : at;
  return at > before ? at : before;
}

int split_by_bandwidth(const RailNow* rails, uint32_t count, uint64_t n, RailSplit* out) {
  if (count == 0 || count > kMaxRails || n == 0) return -EINVAL;
  *out = {};
  double width[kMaxRails], sum = 0;
  bool known = true;
  for (uint32_t r = 0; r < count; ++r) {
    if (!is_sane(rails[r]) || !std::isfinite(rail_finish(rails[r], n))) return -EINVAL;
    width[r] = rail_bandwidth(*rails[r].curve) / rails[r].slow;
    known = known && width[r] > 0;
  }
  for (uint32_t r = 0; r < count; ++r) sum += width[r] = known ? width[r] : 1;
  uint64_t left = n;
  uint32_t widest = 0;
  for (uint32_t r = 0; r < count; ++r) {
    if (width[r] > width[widest]) widest = r;
    const double part = std::floor(static_cast<double>(n) * (width[r] / sum));
    const uint64_t bytes = part < static_cast<double>(left) ? static_cast<uint64_t>(part) : left;
    out->bytes[r] = bytes, left -= bytes;
  }
  out->bytes[widest] += left;  // the rest from rounding
  finish(rails, count, out);
  return 0;
}

int choose_split(const RailNow* rails, uint32_t count, uint64_t n, RailSplit* out) {
  if (const int error = split_message(rails, count, n, out)) return error;
  if (out->used < 2) return 0;
  const uint32_t alone = first_alone(rails, count, n);
  const double worthwhile_us = kWorthwhile * rail_finish(rails[alone], n);
  if (out->finish_us > worthwhile_us && !are_worth_warming(rails, count, n)) {
    *out = {};
    out->bytes[alone] = n;
    finish(rails, count, out);
    return 0;
  }
  double spread = 0;
  for (uint32_t r = 0; r < count; ++r)
    if (out->bytes[r] > 0 && rail_spread(*rails[r].curve, n) > spread) spread = rail_spread(*rails[r].curve, n);
  RailSplit plain;
  split_by_bandwidth(rails, count, n, &plain);
  if (plain.finish_us - out->finish_us < spread * out->finish_us && plain.finish_us <= worthwhile_us) *out = plain;
  return 0;
}

uint64_t split_from(const RailNow* rails, uint32_t count) {
  for (uint64_t bytes = 2; bytes <= kLongestRailSample; bytes += 1 + bytes / 64) {
    RailSplit split;
    if (choose_split(rails, count, bytes, &split) == 0 && split.used > 1) return bytes;
  }
  return UINT64_MAX;
}

}  // namespace smelt
