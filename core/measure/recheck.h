// Whether a machine is still as its profile says: one pair per class, measured again.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/meter.h"
#include "profile/text/image.h"

namespace smelt {

inline constexpr double kRecheckLimit = 0.3;  // a share of the hop, as the canary's (policy/canary.h)

struct RecheckedPair {
  ClassFigures figures;  // of its class; where the profile has no classes, distance and median hop of its distance
  uint32_t a, b;         // the kernel's numbers of its CPUs
  double stored;         // hop, one way, in the profile's unit
  double now = 0;
  double ratio() const { return stored > 0 ? now / stored : 0; }
  bool within() const { return now <= stored * (1 + kRecheckLimit) && now * (1 + kRecheckLimit) >= stored; }
};

// A pair for each class, both of whose CPUs are in `allowed` (kernel numbers, ascending): the one whose hop is nearest
// to the class's. Classes without such a pair have none.
std::vector<RecheckedPair> pairs_to_recheck(const ProfileImage& image, const std::vector<uint32_t>& allowed);

// Fills in `now`. The rounds go over all pairs, so that a momentary disturbance of the machine spoils one round of
// each.
void recheck(std::vector<RecheckedPair>& pairs, Meter& meter);

}  // namespace smelt
