#include "tasks.h"

#include "callers.h"
#include "hot_team.h"
#include "real.h"
#include "region.h"

// The stubs find it there.
static_assert(offsetof(smelt::gomp::Place, unmarked) == 0);

extern "C" void smelt_gomp_mark(void) {
  using namespace smelt::gomp;
  resolve();
  Place& place = smelt_gomp_place;
  if (place.word) take_place(place);
  // Where other runtimes' calls come by, and where the place may yet be taken, every task is looked at.
  place.unmarked = place.word || smelt_gomp_several;
  if (!place.real_epoch) return;
  const uint64_t epoch = place.epoch + 1;
  // Release: pairs with the acquire in front of a real barrier. relaxed on failure: only the number matters.
  uint64_t marked = place.real_epoch->load(std::memory_order_relaxed);
  do {
    if (marked >= epoch) return;
  } while (
      !place.real_epoch->compare_exchange_weak(marked, epoch, std::memory_order_release, std::memory_order_relaxed));
  // The mark before the look at sleepers: a sleeper looks at the mark after it has said that it sleeps.
  smelt::full_fence();
  place.barrier->wake_all();
  if (HotTeam* hot = place.region->hot; hot && hot->active) hot->fork->wake_all();  // those who wait at the join
}
