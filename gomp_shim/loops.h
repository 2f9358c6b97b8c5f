// Loops with schedule(dynamic) or guided, taken unless SMELT_OPENMP=-loops: chunks in order, dynamic ones several at a
// time where the way to the counter is most of their time (openmp/chunks.h).
//
//   GOMP_loop_nonmonotonic_dynamic_start, _next        and their ull forms: GCC's calls for schedule(dynamic) since 9
//   GOMP_loop_nonmonotonic_guided_start, _next         the same of schedule(guided)
//   GOMP_sections_start, _next                         sections, from the same counters
//   GOMP_loop_end, _end_cancel, _end_nowait            libgomp knows nothing of such a loop: only the barrier is left
//   GOMP_sections_end, ...
//   GOMP_parallel_loop_nonmonotonic_dynamic, ...       in a hot team, where every thread begins the loop by itself
//
// All of a team take a loop or none does, for what decides is the same for all: the settings, the team, the loop's own
// numbers. A thread remembers in its Position that it is in such a loop, so a region inside has its own. Everything
// else is libgomp's: loops of other schedules (runtime, monotonic, static, auto), ordered and doacross loops, loops
// with task reductions; teams of one, teams with more threads than CPUs, and combined loops outside hot teams, where
// libgomp deals the loop before the team starts.
#pragma once

#include "openmp/chunks.h"
#include "region.h"

namespace smelt::gomp {

struct LoopCall;

// Begins a loop of ours, in a region that is served. False: it is to be libgomp's.
bool begin_dynamic(Position& position, const DynamicLoop& loop, const void* site);
bool begin_dynamic(Position& position, const LoopCall& loop, GompFunction function);

// Is the calling thread in a loop of ours, and the call for that loop? If so, the loop is over for it.
bool end_dynamic(Position& position, const void* caller);

}  // namespace smelt::gomp
