// Which size gets which method: where the profile's measured curves cross, for the number of participants nearest to the
// group's; typical figures where nobody measured; and over both what the user has set.
//
// All participants must come to the same limits, so only what the introductions compare may enter here: the profile (if
// they do not see the same one, all use the guess, which has no curves) and the settings.
#include "base/options.h"
#include "collective/group_plan.h"
#include "model/curves.h"

namespace smelt {
namespace {

constexpr uint32_t kTypicalPiece = 2048;  // see Limits::piece

Limits typical_limits(uint32_t n) {
  return {n == 2 ? UINT64_MAX : 4096, 4096, 524288, 32768, 65536, kTypicalPiece, "typical"};
}

// What two participants do says little about many: there is more to combine, and there are more to share the work.
bool is_comparable(const CurveSet& curves, uint32_t n) { return curves.participants > 2 || n <= 4; }

Limits measured_limits(const CurveSet& curves) {
  const Crossings at = crossings_of(curves);
  return {at.flat_reduce, at.flat_allreduce, at.copy_broadcast, at.copy_reduce, at.copy_allreduce, kTypicalPiece, "measured"};
}

// The shelves cost by distance, single copy hardly does. On a machine that may be moved the limits are set so that neither
// placement is bad: measured here, 2 processes, 64 to 256 KiB, the fastest other library's time over ours. Broadcast from a fixed
// root with the limits measured near: near 1.2-1.6, far 0.3-0.5; with these: near 1.9-2.1, far 1.4-2.2. Reduce: near 1.7-1.9,
// far 0.4-0.6; with these: near 1.3-1.6.
constexpr uint64_t kMovingCopy = 24 << 10;

void allow_for_moves(Limits* limits) {
  for (uint64_t* limit : {&limits->copy_broadcast, &limits->copy_reduce}) {
    if (*limit <= kMovingCopy) continue;
    *limit = kMovingCopy;
    limits->origin = "lowered: a virtual machine may be moved";
  }
}

}  // namespace

Limits group_limits(const Profile* profile, uint32_t n, bool crowded, bool moves) {
  const CurveSet* curves = profile ? nearest_curves(profile->curves, profile->curve_sets, n) : nullptr;
  if (curves && !is_comparable(*curves, n)) curves = nullptr;
  Limits limits = curves ? measured_limits(*curves) : typical_limits(n);
  if (moves) allow_for_moves(&limits);
  if (crowded) {
    // Nobody runs when we do: few long pieces, and no single copy, for which all must be there at the same time (measured, 8
    // processes on 2 CPUs, 1 MiB: shelf / single copy, broadcast 263 / 429 µs, allreduce 631 / 1097, reduce 567 / 542).
    limits.copy_broadcast = limits.copy_reduce = limits.copy_allreduce = UINT64_MAX;
    limits.piece = kPieceBytes;
  }
  const Options& settings = options();
  if (settings.flat_limit >= 0) limits.flat_reduce = limits.flat_allreduce = static_cast<uint64_t>(settings.flat_limit);
  if (settings.copy_limit >= 0)
    limits.copy_broadcast = limits.copy_reduce = limits.copy_allreduce = static_cast<uint64_t>(settings.copy_limit);
  if (settings.chunk > 0) limits.piece = static_cast<uint32_t>(settings.chunk);
  return limits;
}

}  // namespace smelt
