// A parent and its children, round trips by number of children: FanCurves of profile/measured.h.
#pragma once

#include <cstdint>
#include <vector>

#include "model/distance.h"
#include "profile/text/image.h"

namespace smelt {

// How much is measured; the defaults take about half a millisecond per fan on an idle machine.
struct FanEffort {
  uint32_t batches = 8;
  uint32_t round_trips = 16;      // in each
  int64_t limit_ns = 20'000'000;  // per fan and direction: then fewer batches, but at least 3
};

// Which CPUs (kernel numbers): the profile's first is the parent; per distance from it, the children in ascending
// order, one on each core. The parent's own core does not count, and distances without CPUs do not appear.
struct Fan {
  Distance distance;
  uint32_t parent;
  std::vector<uint32_t> children;
};
std::vector<Fan> fan_cpus(const ProfileImage& image);

// A further child may cost its parent more in company than the pairs showed, one at a time: where the fans say so,
// send_busy (by scatter) and recv_busy (by gather, less the poller) of all pairs of their distance are raised to it. It
// shows only from four children on: with fewer the round trip's other parts hide it.
void raise_by_fans(ProfileImage& image);

// One curve: every number of kFanChildren that there are children for; the others stay 0. Throws UserError when a CPU
// may not be used.
FanCurves measure_fan(const Fan& fan, const FanEffort& effort = {});

}  // namespace smelt
