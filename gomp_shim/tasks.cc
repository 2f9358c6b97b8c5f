#include "tasks.h"

#include "callers.h"
#include "hot_team.h"
#include "real.h"
#include "region.h"

// The stubs find it there.
static_assert(offsetof(smelt::gomp::Position, unmarked) == 0);

extern "C" void smelt_gomp_mark(void) {
  using namespace smelt::gomp;
  resolve();
  Position& position = smelt_gomp_position;
  if (position.word) take_position(position);
  // Where other runtimes' calls come by, and where the position may yet be taken, every task is looked at.
  position.unmarked = position.word || smelt_gomp_several;
  if (!position.real_epoch) return;
  const uint64_t epoch = position.epoch + 1;
  // Release: pairs with the acquire in front of a real barrier. relaxed on failure: only the number matters.
  uint64_t marked = position.real_epoch->load(std::memory_order_relaxed);
  do {
    if (marked >= epoch) return;
  } while (
      !position.real_epoch->compare_exchange_weak(marked, epoch, std::memory_order_release, std::memory_order_relaxed));
  // The mark before the look at sleepers: a sleeper looks at the mark after it has said that it sleeps.
  smelt::full_fence();
  position.barrier->wake_all();
  if (HotTeam* hot = position.region->hot; hot && hot->active) hot->fork->wake_all();  // those who wait at the join
}
