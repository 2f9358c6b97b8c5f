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

}  // namespace smelt
