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

// Times every pattern on these CPUs of this machine, whose profile must have been measured, and prints both figures,
// each as a multiple of the ping-pong taken in the same breath, too. Throws UserError.
void put_live(const std::vector<uint32_t>& cpus, Operation op, double seconds, bool json);

}  // namespace smelt
