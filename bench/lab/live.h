// smelt compare --live: the model's predictions against this machine's times, pattern by pattern.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/table.h"
#include "schedule/schedule.h"

namespace smelt {

// How well predictions order and hit measurements.
struct Agreement {
  double spearman = 0;    // rank correlation; measurements nearer to each other than `tie` count as equal
  double mean_error = 0;  // of |predicted - measured| / measured
  double worst_error = 0;
};
Agreement agreement(const std::vector<double>& predicted, const std::vector<double>& measured, double tie);

// Times every pattern on these CPUs of this machine, whose profile must have been measured: by the model and timed, in
// ns and as a multiple of a ping-pong's hop, that of the profile and that taken in the same breath. Throws UserError.
Document time_live(const std::vector<uint32_t>& cpus, Operation op, double seconds);
Table live_table(const Document& document);  // in hops
std::string live_text(const Document& document);

}  // namespace smelt
