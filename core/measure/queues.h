// Where messages queue when many are under way at once: Costs::service, measured.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "measure/meter.h"
#include "model/distance.h"
#include "profile/text/image.h"

namespace smelt {

// Disjoint pairs, one on each core, that all cross the same thing; of same core: as many threads of two cores.
struct QueuePairs {
  Distance distance;
  std::vector<CpuPair> pairs;
};
// The busiest of each distance, at most `most` pairs. Nothing of a distance where no two pairs find a place.
std::vector<QueuePairs> queue_pairs(const ProfileImage& image, uint32_t most = kQueuePairs[kQueueSizes - 1]);

// From the time of a further line on each CPU to the service time; `line` by number of pairs, 0: not measured.
QueueCurves fit_queue(Distance distance, std::span<const double, kQueueSizes> line);

QueueCurves measure_queue(const QueuePairs& pairs, Meter& meter);

// The small all-to-all that shows whether the figures add up: one thread on each of up to eight cores, as far apart as
// the machine's numbers go; everybody tells everybody, in a loop, ns per round. Fewer than three cores: nothing.
inline constexpr uint32_t kAllToAllCores = 8;
struct AllToAll {
  std::vector<uint16_t> members;  // indices into the profile
  double measured = 0, predicted = 0;
};
AllToAll measure_all_to_all(const ProfileImage& image, Meter& meter);

}  // namespace smelt
