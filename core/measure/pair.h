// The benchmarks between two CPUs: two pinned threads and a set of the transport's own lines.
#pragma once

#include <vector>

namespace smelt {

// One direction of a pair, all ns.
struct DirectionCost {
  double send_busy = 0;
  double recv_busy = 0;
  double ready_read = 0;
};

struct PairCost {
  std::vector<double> hops;  // one-way, per batch of the ping-pongs before and after
  double drift = 0;          // between the medians before and after, relative to the smaller one
  DirectionCost forth;       // a sends to b
  DirectionCost back;        // b sends to a
};

// Both throw UserError when the CPUs are the same or this process may not run on one of them.
PairCost measure_pair(int os_cpu_a, int os_cpu_b);
// The ping-pong alone: one-way ns of 8 batches of 16 round trips, in about 0.3 ms. Its median is the yardstick that
// every timing is quoted beside, taken in the same breath: a virtual machine may move between two runs.
std::vector<double> measure_hops(int os_cpu_a, int os_cpu_b);

}  // namespace smelt
