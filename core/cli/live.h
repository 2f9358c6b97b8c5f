// smelt compare --live: what the model says against what this machine takes, pattern by pattern.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace smelt {

// How well predictions order and hit measurements.
struct Agreement {
  double spearman = 0;    // rank correlation; measurements nearer to each other than `tie` count as equal
  double mean_error = 0;  // of |predicted - measured| / measured
  double worst_error = 0;
};
Agreement agreement(const std::vector<double>& predicted, const std::vector<double>& measured, double tie);

// Every pattern on these CPUs: by the model and timed, in ns and as a multiple of a ping-pong's hop, that of the
// profile and that taken in the same breath.
struct LiveComparison {
  struct Row {
    std::string pattern;
    double predicted = 0, measured = 0, predicted_hops = 0, measured_hops = 0, spread = 0;
    uint64_t laps = 0;
  };
  std::vector<Row> rows;
  double hop = 0, hop_now = 0;
  double tie = 0;  // measurements so near to each other count as equal
  uint64_t episodes = 0;
  Agreement agrees;
};
// The profile of this machine must have been measured. Throws UserError.
LiveComparison time_live(const std::vector<uint32_t>& cpus, Operation op, double seconds);

// Times every pattern on these CPUs of this machine, whose profile must have been measured, and prints both figures,
// each as a multiple of the ping-pong taken in the same breath, too. Throws UserError.
void put_live(const std::vector<uint32_t>& cpus, Operation op, double seconds, bool json);

}  // namespace smelt
