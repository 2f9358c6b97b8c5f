// Moving and combining payload between two CPUs, by size: DistanceCurves of profile/measured.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/distance.h"
#include "profile/text/image.h"

namespace smelt {

// How much is measured; the defaults take some 0.1 s per distance, on a busy machine 0.2.
struct CopyEffort {
  uint32_t sizes = kCurveSizes;  // the smallest so many; the others stay 0
  uint64_t bytes = 2 << 20;      // as many samples per size and kind as carry this, but
  uint32_t most_samples = 32;    // no more than these, and at least 5
  unsigned limit_s = 30;         // then it is given up
};

// Which CPUs (kernel numbers): per distance that the machine has, the pair whose hop is the median one. kSelf comes
// first: a CPU with itself.
struct CopyPair {
  Distance distance;
  uint32_t reader, writer;
};
std::vector<CopyPair> copy_cpus(const ProfileImage& image);

// One set of curves, by a process on each of the two CPUs; "", or one line that says why there are none. Where the
// kernel does not let one process read the other's memory, `single_copy` stays 0, which is no error. The caller must
// have no other threads.
std::string measure_copies(const CopyPair& pair, const CopyEffort& effort, DistanceCurves* out);

}  // namespace smelt
