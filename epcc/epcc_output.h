// Reads what an EPCC-style benchmark prints: the original suite's versions 3.1 and 4.0, and ours.
//
//   Sample_size       Average     Min         Max          S.D.          Outliers      (read by column name)
//    20                0.391055   0.334771   0.421030    0.025241      0
//   BARRIER time     = 0.391055 microseconds +/- 0.049472
//   BARRIER overhead = 0.282231 microseconds +/- 0.059329
//   BARRIER median_ovrhd = 0.280012 microseconds +/- 0.010200                          4.0 (without +/-) and ours
//   Ping-pong one-way hop = 56.8 ns                                                    ours
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt::epcc {

// Which statistic over the samples of a run. Median (where the program prints it, else the mean): one sample that lost
// its CPU for a time slice moves a mean, not a median. Mean: where such losses are to be compared, beside hogs.
enum class Statistic { kMedian, kMean };

// One construct in one run, microseconds.
struct Figures {
  std::string kernel;   // "PARALLEL FOR"
  double time = 0;      // per repetition, delay included
  double overhead = 0;  // time - reference time; may be negative
  double noise = 0;     // the +/- of the overhead: 1.96 standard deviations of sample plus reference; with the
                        // median of ours a robust estimate of them
};

struct Output {
  std::vector<Figures> kernels;  // in the order of the report; only those with time and overhead
  std::vector<double> hop_ns;    // all ping-pong readings
};

Output parse_output(std::string_view text, Statistic statistic = Statistic::kMedian);

}  // namespace smelt::epcc
