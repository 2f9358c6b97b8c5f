// The yardstick: the cost of one message between two CPUs right now. A virtual machine may move between two runs, so
// every timing is quoted next to a ping-pong taken in the same breath.
#pragma once

#include <cstdint>

namespace smelt {

struct PingPong {
  double one_way_ns = 0;  // median over 8 batches of 16 round trips, halved
  double iqr = 0;         // inter-quartile range of the batches, relative to the median
};

// Two threads, pinned to the two CPUs for the time of the call (about 0.3 ms). Throws UserError when the CPUs are the
// same or this process may not run on one of them.
PingPong measure_ping_pong(int os_cpu_a, int os_cpu_b);

}  // namespace smelt
