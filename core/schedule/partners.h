// The participants' places in a pattern: see partners.cc.
#pragma once

#include "generate/optimised.h"
#include "schedule/schedule.h"

namespace smelt {

// Looks for the permutation of participants under which the schedule's predicted makespan is least, starting from
// everybody in its own place: participant place[i] plays the part of i in the schedule. The root of an operation that
// has one stays. The result is never worse than the start. Deterministic but for the effort's limits; without moves
// nothing is tried. `place` has room for n; the arena is as before on return. 0, or predict's error.
int search_partners(const Schedule& schedule, const Costs& costs, const SearchEffort& effort, Arena& arena,
                    uint16_t* place, double* makespan);

}  // namespace smelt
