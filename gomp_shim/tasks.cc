#include "tasks.h"

#include "base/options.h"
#include "hot_team.h"
#include "openmp/callers.h"
#include "openmp/episodes.h"
#include "own_tasks.h"
#include "real.h"
#include "region.h"

// The stubs find them there.
static_assert(offsetof(smelt::openmp::Position, unmarked) == 0);
static_assert(offsetof(smelt::openmp::Position, unseen) == 54);
static_assert(offsetof(smelt::openmp::Position, deque) == 72);

extern "C" void smelt_gomp_mark(void) {
  using namespace smelt::gomp;
  resolve();
  Position& position = smelt_gomp_position;
  if (position.word) take_position(position);
  // Where other runtimes' calls come by, and where the position may yet be taken, every task is looked at.
  position.unmarked = position.word || smelt_openmp_several;
  if (!position.real_epoch) return;
  // A region inside this one that we do not see ends its own tasks, and they are in none of our groups.
  if (REAL(omp_get_level)() == position.level) {
    leave_tasks_to_libgomp(position);
    mark_for_libgomp(position);  // first: a thread that sees the mark below asks for this one
    position.unmarked |= needs_look(position);
  } else {
    position.unmarked |= smelt_gomp_own_tasks;
  }
  if (!mark_next(position) || position.barrier->participants() == 1) return;
  position.barrier->wake_all();
  if (HotTeam* hot = static_cast<Region*>(position.region)->hot; hot && hot->active) wake_joining(*hot);
}
