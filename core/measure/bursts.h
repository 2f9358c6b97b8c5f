// Many pairs of CPUs that tell each other lines at the same time, which shows where messages queue.
#pragma once

#include <span>

#include "measure/meter.h"

namespace smelt {

inline constexpr int kBurstRounds = 16;                     // of a batch
inline constexpr int kBurstBatches = 8, kWarmUpBursts = 2;  // the median is over the first; the second do not count

// Both CPUs of every pair store `lines` lines for the other and wait for the other's, again and again, each CPU with
// all its partners at once. Returns ns of one such round: per CPU the median over batches, of these the median.
// Throws UserError when a CPU may not be used.
double measure_bursts(std::span<const CpuPair> pairs, int lines);

}  // namespace smelt
