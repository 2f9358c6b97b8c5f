// From samples to the cost of a pair: the batches and the statistics, the same for the hardware and for simulated
// machines.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "measure/bench_lines.h"
#include "measure/pair.h"
#include "profile/text/statistics.h"

namespace smelt {

inline constexpr int kBatches = 8;         // of a ping-pong, after one that does not count
inline constexpr int kRoundTrips = 16;     // of a batch
inline constexpr int kWarmUpTrips = 512;   // before the first batch
inline constexpr int kSamples = 128;       // of each kind of episode, after
inline constexpr int kWarmUpSamples = 16;  //   these
inline constexpr int kMany = 8;            // lines of the larger episodes

// One direction: how long the sender, the receiver took for one line and for many. `clock`: a reading of the clock
// itself.
struct DirectionSamples {
  std::vector<double> send_one, send_many, clock, read_one, read_many;

  DirectionCost cost() const {
    const double one = midmean(read_one);
    return {std::max(0.0, (midmean(send_many) - midmean(send_one)) / (kMany - 1)),
            std::max(0.0, (midmean(read_many) - one) / (kMany - 1)), std::max(0.0, one - midmean(clock))};
  }
};

// How long that takes, by the hop of the pair: an episode settles first, then goes forth, back, and forth again with
// the fence, and reads the clock a few times. Set from a Zen 5 virtual machine at a hop of 49 ns: 145 us for the hops
// alone, 1,080 us for all of it.
inline constexpr double kThreadStartNs = 40'000, kClockReadingsNs = 150;
inline double episode_ns(double hop) { return kSettleNs + kClockReadingsNs + 3 * hop; }
inline double hops_ns(double hop) {
  return 2 * kThreadStartNs + 2 * (kWarmUpTrips + (1 + kBatches) * kRoundTrips) * hop;
}
inline double pair_ns(double hop) {
  return hops_ns(hop) + 2 * (1 + kBatches) * kRoundTrips * hop +
         2 * 2 * 2 * (kWarmUpSamples + kSamples) * episode_ns(hop);
}

// The ping-pongs before and after everything else, one-way cost per batch.
inline PairCost pair_cost(std::vector<double> before, const std::vector<double>& after, const DirectionSamples& forth,
                          const DirectionSamples& back) {
  PairCost cost;
  const double first = median(before), second = median(after);
  const double low = std::min(first, second);
  cost.drift = low > 0 ? std::max(first, second) / low - 1 : 0;
  cost.hops = std::move(before);
  cost.hops.insert(cost.hops.end(), after.begin(), after.end());
  cost.forth = forth.cost();
  cost.back = back.cost();
  return cost;
}

}  // namespace smelt
