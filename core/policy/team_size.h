// How many threads a team has where nobody names a number.
//
// The OpenMP runtimes take the CPUs of the affinity mask. A container with a quota of 2 CPUs on a node of 64 sees 64 of
// them, and 64 threads use up the period's CPU time in a few milliseconds; then all of them stand still for the rest of
// it. So where neither the user nor the program says how many, teams have as many threads as the quota pays for. It is
// settled when the runtime starts, for good: a program may have asked how many threads there will be, and a quota that
// grows must not give it more.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/options.h"

namespace smelt {

// A thread more than the quota pays for stands still for a part of each period, and all others wait for it; a thread
// less leaves a part of the quota. docs/containers.md has both under 1.5 CPUs.
inline uint32_t whole_cpus(double cpus) { return static_cast<uint32_t>(std::max(1.0, cpus + 0.5 + 1e-9)); }

// 0 threads: as many as there are CPUs, because the quota pays for them, or OMP_NUM_THREADS or OMP_THREAD_LIMIT names a
// number. The ranks of a job that are on this host share the quota.
struct QuotaTeam {
  uint32_t threads = 0, quota_thousandths = 0, cpus = 0;
  void text(char* out, uint64_t bytes) const;  // "teams of 2 threads: the quota pays for 2.40 CPUs of 64"
};
QuotaTeam team_by_quota();

// The size for this process, whose runtime begins: that, or 0 if its shim is not `served` or SMELT_FIT=0. It is found
// out once; a verbose line says it.
uint32_t settle_team_size(bool Options::*served);
bool is_team_size_settled();
uint32_t settled_team_size();  // 0: not yet, too

}  // namespace smelt
