// From rounds of runs to one line per kernel and size.
//
// 1. A cell is one round of one kernel and size: every side's reading, taken directly one after the other, with all
//    their ping-pongs. The cell is near (all hops <= 80 ns), far (all above) or moved (some of each), as in
//    epcc/pairs.h.
// 2. Near and far cells never share a figure. Moved cells are left out as long as there are others.
// 3. A ratio is made within a cell: side / reference, and fastest other side / reference. The line shows the median
//    over the cells, the least and the greatest. Which side is the fastest may differ from cell to cell; named is the
//    one with the least median.
// 4. A side of which a run failed takes no part in the ratios of that kernel: its cells are not all there.
// 5. Per kernel: the geometric mean of the fastest-other ratios over the sizes up to 1 MiB, and the least ratio of any
//    size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/mpi/sweep_output.h"
#include "epcc/pairs.h"

namespace smelt::bench {

using epcc::Distance;

struct Cell {
  int round = 0;
  std::vector<std::optional<Reading>> sides;  // as the sides are numbered; empty: failed, or left out

  std::vector<double> hop_ns() const;
};

struct Series {
  std::string kernel;
  long size = 0;
  std::vector<Cell> cells;
};

struct Spread {
  double median = 0, min = 0, max = 0;
};

struct SideFigures {
  std::optional<Spread> us;     // empty: no reading
  std::optional<Spread> ratio;  // this side / reference
};

struct SweepRow {
  std::string kernel;
  long size = 0;
  Distance distance = Distance::kUnknown;
  size_t rounds = 0;
  std::vector<SideFigures> sides;
  std::optional<Spread> against_fastest;  // fastest other side / reference
  int fastest = -1;                       // side, -1: there is no other
};

struct Summary {
  std::string kernel;
  Distance distance = Distance::kUnknown;
  double geometric_mean = 0;  // over the rows up to 1 MiB
  size_t sizes = 0;           // how many those are
  double least = 0;           // of any size
  long least_size = 0;
};

inline constexpr long kSummaryLimit = 1 << 20;

// One row per distance that has cells: near, far; moved or unknown only when there is nothing else. `failed`: by side.
std::vector<SweepRow> rows_of(const Series& series, size_t reference, const std::vector<bool>& failed);

// One per kernel and distance, in the rows' order; kernels without ratios and moved rows have none.
std::vector<Summary> summarise(const std::vector<SweepRow>& rows);

}  // namespace smelt::bench
