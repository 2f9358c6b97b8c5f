#include "transport/line.h"

#include "base/os/os.h"

namespace smelt {

void wake_sleepers(Bell& bell) {
  // Cleared first: a reader that comes to sleep after this sets it again and then sees the new epoch or the new word.
  bell.sleepers.store(0, std::memory_order_relaxed);
  // seq_cst: the clearing, the caller's epoch and this change must not be reordered for a reader between its look at
  // the epoch and its sleep; the kernel compares the word under its own lock.
  bell.wake.fetch_add(1, std::memory_order_seq_cst);
  os::futex_wake_all(&bell.wake);
}

}  // namespace smelt
