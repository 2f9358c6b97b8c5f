#include "openmp/region.h"

#include "base/os/os.h"
#include "policy/wait.h"

namespace smelt::openmp {

void note_cpu(RegionRecord& region, uint32_t thread) {
  // Relaxed: a hint for the plans of later regions.
  std::atomic<uint32_t>& cpu = region.cpus[thread];
  if (const uint32_t now = os::current_cpu(); cpu.load(std::memory_order_relaxed) != now)
    cpu.store(now, std::memory_order_relaxed);
}

// An outermost team counts from its first region until its master ends, like libgomp's own gomp_managed_threads: its
// threads stay, and counting them in and out would cost every region two locked operations.
void count_team(RegionRecord& region, uint32_t threads) {
  if (region.counted == threads) return;
  // Modulo 2^32 the difference is right whichever is larger.
  headcount.threads.fetch_add(threads - region.counted, std::memory_order_relaxed);
  region.counted = threads;
}

}  // namespace smelt::openmp
