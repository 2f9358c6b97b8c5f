// Decides which size gets which method, for this group: the thresholds of policy/thresholds.h.
//
// All participants must come to the same limits, so only values that the introductions compare may enter here: the
// profile (if they do not see the same one, all use the guess, which has no curves) and the settings.
#include "policy/limits.h"

#include "policy/thresholds.h"

namespace smelt {

namespace {

// Both methods need to know alike how long a call's messages are; nobody knows all of a gatherv's.
bool can_be_tried(smelt_collective which) { return which != SMELT_COLLECTIVE_GATHERV; }

}  // namespace

bool same_limits(const Limits& a, const Limits& b) {
  for (int which = 0; which < SMELT_COLLECTIVES; ++which)
    if (a.of[which].flat != b.of[which].flat || a.of[which].copy != b.of[which].copy) return false;
  return true;
}

Limits group_limits(const Profile* profile, uint32_t n, bool crowded, bool moves, bool strict) {
  const Situation situation{n, crowded, moves, strict};
  Limits limits;
  bool weighed = false, measured = false;
  const auto value = [&](ThresholdId id) {
    const Threshold found = find_threshold(id, profile, situation);
    measured |= found.origin == ThresholdOrigin::kCurves;
    weighed |= found.origin == ThresholdOrigin::kSituation;
    return found.value;
  };
  using enum ThresholdId;
  constexpr auto kNoLimit = static_cast<ThresholdId>(kThresholds);
  const auto limit = [&](ThresholdId id) { return id == kNoLimit ? kNever : value(id); };
  const auto of = [&](smelt_collective which, ThresholdId flat, ThresholdId copy) {
    const bool tried = copy != kNoLimit && can_be_tried(which) && find_threshold(copy, profile, situation).tried;
    limits.of[which] = {limit(flat), tried ? value(kCopyTried) : limit(copy), tried};
  };
#define SMELT_COLLECTIVE(NAME, name, mpi, root, data, arguments, nodes, flat, copy) \
  of(SMELT_COLLECTIVE_##NAME, flat, copy);
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
  limits.origin = crowded    ? "in a crowd"
                  : weighed  ? "measured, on a virtual machine that may be moved"
                  : measured ? "measured"
                             : "typical";
  limits.piece = static_cast<uint32_t>(value(crowded ? ThresholdId::kCrowdPiece : ThresholdId::kPiece));
  limits.read_bytes = value(ThresholdId::kReadBytes);
  return limits;
}

}  // namespace smelt
