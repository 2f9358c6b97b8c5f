#include "openmp/episodes.h"
#include "real.h"
#include "tasks.h"

namespace smelt::kmp {

void mark_next_barrier() {
  resolve();
  Position& at = position;
  if (at.word) take_position(at);
  // Where other runtimes' calls come by, and where the position may yet be taken, every task is looked at.
  at.unmarked = at.word || smelt_openmp_several;
  if (!at.real_epoch || !mark_next(at)) return;
  at.barrier->wake_all();
  if (ForkJoin* const tree = reduction_for(*static_cast<Region*>(at.region), at.epoch + 1)) tree->wake_all();
}

}  // namespace smelt::kmp
