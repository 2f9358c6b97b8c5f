// How long the threads stay away before each episode of a skewed lap (track.h).
//
// Threads seldom reach a barrier together: one has more to compute than another. Then the cost of a pattern is the work
// left to do when the last one comes, which is not its cost when all come at once. A tree of large arity has little
// left for a late one near its root; a pattern in rounds has all its rounds left (Eichenberger, Abraham: Impact of load
// imbalance on the design of software barriers, ICPP 1995; that programs do arrive apart: Faraj, Patarasuk, Yuan: A
// study of process arrival patterns for MPI collective operations, ICS 2007).
//
// No clock of one CPU is compared with another's. The delays are drawn by counting, not by state: anybody can tell
// anybody's. So the timer of a lap knows the longest delay of each episode, and the time of an episode beyond that is
// the pattern's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "generate/random.h"

namespace smelt {

// 0 .. most, evenly. The same for the same sequence, episode (< 2^16) and participant (< 2^16).
inline uint32_t skew_delay(uint32_t sequence, uint32_t episode, uint32_t participant, uint32_t most) {
  return SplitMix64(uint64_t{sequence} << 32 | uint64_t{episode} << 16 | participant).below(most + 1);
}

// The sum, over these episodes, of the longest delay of the n participants in each.
inline uint64_t longest_delays(uint32_t sequence, uint32_t begin, uint32_t end, uint32_t n, uint32_t most) {
  uint64_t sum = 0;
  for (uint32_t episode = begin; episode < end; ++episode) {
    uint32_t longest = 0;
    for (uint32_t i = 0; i < n; ++i) longest = std::max(longest, skew_delay(sequence, episode, i, most));
    sum += longest;
  }
  return sum;
}

}  // namespace smelt
