#include "openmp/episodes.h"

#include "base/arch/cpu.h"

namespace smelt::openmp {

bool mark(std::atomic<uint64_t>& real_epoch, uint64_t epoch, uint64_t guess) {
  // Release: pairs with the acquire in is_real(). Relaxed on failure: only the number matters.
  uint64_t marked = guess != 0 ? guess : real_epoch.load(std::memory_order_relaxed);
  do {
    if (marked >= epoch) return false;
  } while (!real_epoch.compare_exchange_weak(marked, epoch, std::memory_order_release, std::memory_order_relaxed));
  // The mark before the look at sleepers: a sleeper looks at the mark after it has said that it sleeps.
  fence_after_update();
  return true;
}

}  // namespace smelt::openmp
