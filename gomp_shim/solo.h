// Regions of one thread: num_threads(1), an if clause that says no, and regions inside others where no further level
// may be active.
//
// libgomp makes a team for each of them and frees it at the end, with a system call that wakes nobody. But nothing of
// such a team is shared: all that libgomp does to enter it and to leave it is to change what it knows of the calling
// thread. So the thread keeps a team of one for each place where it opens such regions, as the hot team is kept
// (hot_team.h), without workers and without a fork:
//
//   start   GOMP_parallel_start for one thread; the thread's state inside that team is copied, and changed back
//   region  the state inside the team - the program's function - the state around
//   end     the state inside, GOMP_parallel_end, the state around
//
// Inside, the region is one that we serve, with a barrier for one: libgomp's own barrier serves it, and its end, where
// tasks were made (openmp/episodes.h). A region of several threads may be opened inside, which no team of libgomp's
// pool can serve; a kept one does.
//
// Such regions have a record of their own (Region::one): a hot team may be parked at the same place, and the numbers
// of its episodes are its own. The hot team stays parked meanwhile.
//
// A team of one ends, and the next region is libgomp's, when
//   - a setting was changed: the settings that a region inherits were copied when the team was started
//   - the state around is not what it was: in the serial part byte for byte, inside other regions outside the range
//   - the region around ends, or something begins that cannot bear kept teams (end_kept())
// Regions are not served (a) if no hot team serves them either (why_not_hot()), (b) inside explicit tasks and after
// tasks were made since the last barrier (hot_team.h: nested regions), (c) inside regions that are libgomp's alone.
#pragma once

#include <cstdint>

namespace smelt::gomp {

struct Region;
struct RegionCall;

// Runs a region that is to have one thread, at the place of `region`. False: it has not run; libgomp must serve it.
bool run_solo(Region& region, const RegionCall& call);

// Ends the team of one kept at the place of `region`, if there is one. The calling thread is around it.
void end_solo(Region& region);

// Is the calling thread inside the team of one kept there? Then it cannot be ended.
bool in_solo(const Region& region);

}  // namespace smelt::gomp
