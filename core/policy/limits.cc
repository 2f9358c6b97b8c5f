// Which size gets which method, for this group: the thresholds of policy/thresholds.h.
//
// All participants must come to the same limits, so only what the introductions compare may enter here: the profile (if
// they do not see the same one, all use the guess, which has no curves) and the settings.
#include "policy/limits.h"

#include "policy/thresholds.h"

namespace smelt {

Limits group_limits(const Profile* profile, uint32_t n, bool crowded, bool moves) {
  const Situation situation{n, crowded, moves};
  Limits limits;
  bool lowered = false, measured = false;
  const auto value = [&](ThresholdId id) {
    const Threshold found = find_threshold(id, profile, situation);
    measured |= found.origin == ThresholdOrigin::kCurves;
    lowered |= found.origin == ThresholdOrigin::kSituation && found.value != kNever;
    return found.value;
  };
  using enum ThresholdId;
  constexpr auto kNoLimit = static_cast<ThresholdId>(kThresholds);
  const auto limit = [&](ThresholdId id) { return id == kNoLimit ? kNever : value(id); };
#define SMELT_COLLECTIVE(NAME, name, mpi, root, data, flat, copy) \
  limits.of[SMELT_COLLECTIVE_##NAME] = {limit(flat), limit(copy)};
#include <smelt/collectives.def>
#undef SMELT_COLLECTIVE
  limits.origin = lowered ? "lowered: a virtual machine may be moved" : measured ? "measured" : "typical";
  limits.piece = static_cast<uint32_t>(value(crowded ? ThresholdId::kCrowdPiece : ThresholdId::kPiece));
  limits.read_bytes = value(ThresholdId::kReadBytes);
  return limits;
}

}  // namespace smelt
