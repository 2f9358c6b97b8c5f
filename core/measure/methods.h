// Measures the costs of each method of a group's collectives by size: the curves of model/curves.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/calibrate.h"
#include "profile/text/image.h"

namespace smelt {

// How much is measured. The defaults take 0.2 to 0.4 s for two participants on a machine of today.
struct MethodEffort {
  uint32_t sizes = kCurveSizes;    // the smallest so many; the others stay 0
  uint32_t batches = 9;            // per method and size
  uint64_t batch_bytes = 1 << 20;  // a batch has so many calls that they carry this, but
  uint32_t most_calls = 128;       // no more than these, and at least one
  // When no further batches are begun, as os::now_ns() counts; 0: a minute after its processes were started. The sizes
  // that have three batches by then are kept, the others stay 0.
  int64_t until_ns = 0;
};

// Two sets, loose and strict, by a process on each of the CPUs (kernel numbers). "", or one line that says why sizes
// are missing, or all. The estimator: per batch the time at the slowest participant over the number of calls, and of
// the batches the median. Sum of doubles; the broadcast's root goes round, the reduction's is participant 0.
std::string measure_sets(const std::vector<uint32_t>& cpus, const MethodEffort& effort, CurveSet (&out)[kSyncs]);

struct MeasuredMethods {
  std::vector<CurveSet> sets;  // of each group the loose one, then the strict one
  std::string remark;          // the figures that could not be measured and why; "" for none
};

// For 2 participants (the CPUs of different cores that are nearest by the measured hop) and, from 4 cores on, for
// min(16, cores), one on each core. A machine of one core has no sets. Each group gets its share of the time until
// `until_ns`. The caller must have no other threads.
MeasuredMethods measure_methods(const ProfileImage& image, const Progress& progress = {},
                                const MethodEffort& effort = {});

// The CPUs that measure_methods takes, a list per set.
std::vector<std::vector<uint32_t>> method_cpus(const ProfileImage& image);

}  // namespace smelt
