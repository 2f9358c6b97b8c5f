// smelt try, but for running anything: from the times of pairs of runs to a verdict in words.
//
// The measure is the ratio of wall times within a pair, stock / Smelt: a disturbance that moves slowly (another
// placement of virtual CPUs, a neighbour that comes and goes) moves both. The median of these ratios is told, with an
// interval that holds the true median with the said confidence whatever their distribution is: between two order
// statistics that lie alike from both ends, by the binomial distribution (David & Nagaraja, "Order Statistics", 2003,
// section 7.1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt {

struct RunTimes {
  double wall_s = 0, user_s = 0, system_s = 0;  // of the program and of all that it waited for
  double elsewhere_s = 0;                       // of `user_s`: of ranks that a daemon started
  double cpu_s() const { return user_s + system_s; }
};

struct PairOfRuns {
  RunTimes stock, smelt;
  bool stock_first = true;
  bool stopped = false;  // stock had not ended: its time is less than it takes
  double ratio() const { return smelt.wall_s > 0 ? stock.wall_s / smelt.wall_s : 0; }
};

struct MedianInterval {
  double low = 0, high = 0;
  double confidence = 0;  // 0.95 or a little more from 6 values on; of fewer, what lies between all of them has
};
MedianInterval median_interval(std::vector<double> values);

struct RatioFound {
  double median = 0, lower_quartile = 0, upper_quartile = 0;
  MedianInterval interval;
};
RatioFound ratio_of(const std::vector<PairOfRuns>& pairs);

// More pairs would not change what is said.
bool is_settled(const std::vector<PairOfRuns>& pairs);

// The circumstances that were seen while the pairs ran, besides their times.
struct Circumstances {
  uint32_t cpus = 1;                // that the program may use
  uint64_t threads = 0;             // of its largest OpenMP team, all ranks' together
  uint64_t ranks = 0;               // of MPI
  bool told = false;                // all of the program's processes have said what was served
  bool served = false;              // anything
  std::string not_served;           // why not, as served_line() says it
  std::vector<std::string> set_by;  // of the plan: "--fit", "the quota", as far as they have changed this program
  bool guessed = false;             // without a profile
  bool messages = false;            // --messages
  double others_cpus = 0;           // CPUs that other processes kept busy, on average
  double stolen = 0;                // share of the CPUs' time that a hypervisor took away
  int64_t throttled = 0;            // periods in which a quota stopped the program
  double start_s = 0;               // of each run with Smelt: what a start by smelt run takes
};

enum class VerdictKind { kFaster, kSame, kSlower, kUnsettled, kNothingServed };
const char* verdict_name(VerdictKind kind);  // "faster", "same", "slower", "unsettled", "nothing served"

struct Verdict {
  VerdictKind kind = VerdictKind::kUnsettled;
  std::string text;                  // "keep it: 1.21 times as fast (1.18-1.25)"
  std::vector<std::string> reasons;  // "8 threads on 2 CPUs: try OMP_NUM_THREADS=2 ...", the likeliest first
};
Verdict verdict_of(const std::vector<PairOfRuns>& pairs, const Circumstances& seen);

}  // namespace smelt
