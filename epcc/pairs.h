// From pairs of runs to one honest line per construct.
//
// 1. A pair is one run of each side, directly one after the other, with all ping-pongs taken around them.
// 2. The pair is near (all hops <= 80 ns), far (all above), or moved (some of each: the machine changed under it).
//    Near and far pairs are never mixed in one figure; moved pairs are left out as long as there are others.
// 3. The ratio of a pair is stock / Smelt of the overheads. The line shows the median of the pair ratios and their
//    minimum and maximum. The microseconds beside it are medians over the same pairs.
// 4. An overhead that is not larger than its own +/- makes no ratio. When that holds for the medians of either side, or
//    a single pair has an overhead <= 0, the whole line falls back to the ratio of the times, delay included. That is
//    nearer to 1 than the truth, and marked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "epcc/epcc_output.h"

namespace smelt::epcc {

inline constexpr double kNearHopNs = 80;  // cores of one last-level cache: 20..60; of different dies: from about 120

enum class Distance { kNear, kFar, kMoved, kUnknown };  // unknown: no ping-pong, one CPU only
const char* distance_name(Distance distance);
Distance classify(const std::vector<double>& hop_ns);

struct Pair {
  Figures stock, smelt;
  std::optional<Figures> libomp;
  std::vector<double> hop_ns;
};

struct Construct {
  std::string suite;   // "syncbench"
  std::string kernel;  // "BARRIER"
  std::vector<Pair> pairs;
};

// Medians over the pairs of a line, microseconds.
struct Side {
  double overhead = 0, noise = 0, time = 0;
};

struct Ratio {
  double median = 0, min = 0, max = 0;
};

// One side against Smelt.
struct Against {
  Side side;
  Ratio overhead;  // meaningless unless overhead_is_clear
  Ratio time;
  bool overhead_is_clear = false;  // rule 4
  const Ratio& shown() const { return overhead_is_clear ? overhead : time; }
};

struct KernelRow {
  std::string suite, kernel;
  Distance distance = Distance::kUnknown;
  size_t pairs = 0;
  Side smelt;
  Against stock;
  std::optional<Against> libomp;
};

double median(std::vector<double> values);  // not empty

// One row per distance that has pairs: near, far; moved or unknown only when there is nothing else.
std::vector<KernelRow> summarise(const Construct& construct);

}  // namespace smelt::epcc
