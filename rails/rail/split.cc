// A long message over several rails, so that its last part arrives as early as can be.
//
// The paper (section III-D) splits by equal finish: each rail gets so much that all are done at the same time, as the
// sampled curves predict it. Halves wait for the slower rail, and shares by bandwidth forget latency and the bytes that
// a rail still carries. Where it looks for the two shares by bisection over the bytes, we look for the time:
//
//   time                 rail 0   rail 1   rail 2        Poured like water: until t, rail r can carry
//    t  - - - - - - - - -|####|- -|####|- -|    |- -       c_r(t) = most bytes with idle_r + T_r(bytes) <= t
//                        |####|   |####|   |    |        and the least t with c_0 + c_1 + ... >= n is the answer.
//                        |####|   |busy|   |busy|
//
// No curve needs to be convex for this: where T_r never decreases, a message that is done by t has at most c_r(t) bytes
// on rail r, so no split can end before that t. A rail whose first byte comes after t has c_r = 0 and is left out, and
// n rails are no harder than two.
#include <cerrno>
#include <cmath>

#include "rails/rail/rail.h"

namespace smelt {
namespace {

bool enough(const RailNow* rails, uint32_t count, double until_us, uint64_t n) {
  uint64_t left = n;
  for (uint32_t r = 0; r < count; ++r) left -= rail_capacity(rails[r], until_us, left);
  return left == 0;
}

}  // namespace

int split_message(const RailNow* rails, uint32_t count, uint64_t n, RailSplit* out) {
  if (count == 0 || count > kMaxRails || n == 0) return -EINVAL;
  *out = {};
  uint32_t alone = 0;  // the rail that would be first with all of it
  double early = 0, late = INFINITY;
  for (uint32_t r = 0; r < count; ++r) {
    if (!is_sane(rails[r])) return -EINVAL;
    const double finish = rail_finish(rails[r], n);
    if (!std::isfinite(finish)) return -EINVAL;
    if (finish < late) late = finish, alone = r;
  }
  const double alone_us = late;
  // Invariant: by `late` all can be there, by `early` not. It ends when no number is left between them.
  for (double middle; middle = early + (late - early) / 2, middle > early && middle < late;)
    (enough(rails, count, middle, n) ? late : early) = middle;

  // The bytes beyond n that the rails could carry in this time are taken from those that carry least: they may be
  // spared.
  uint64_t could = 0, share[kMaxRails];
  for (uint32_t r = 0; r < count; ++r) {
    share[r] = rail_capacity(rails[r], late, n);
    could += share[r];  // at most kMaxRails * n
  }
  if (could < n || n > UINT64_MAX / kMaxRails) {  // rounding where a single rail is best, or beyond all messages
    out->bytes[alone] = n, out->finish_us = alone_us, out->used = 1;
    return 0;
  }
  for (uint64_t surplus = could - n; surplus > 0;) {
    uint32_t least = count;
    for (uint32_t r = 0; r < count; ++r)
      if (share[r] > 0 && (least == count || share[r] < share[least])) least = r;
    const uint64_t cut = share[least] < surplus ? share[least] : surplus;
    share[least] -= cut, surplus -= cut;
  }
  for (uint32_t r = 0; r < count; ++r) {
    if (share[r] == 0) continue;
    const double finish = rail_finish(rails[r], share[r]);
    if (finish > out->finish_us) out->finish_us = finish;
    out->bytes[r] = share[r];
    ++out->used;
  }
  return 0;
}

}  // namespace smelt
