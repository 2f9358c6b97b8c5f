// What a process says of itself: at its end, to people (SMELT_STATS, SMELT_VERBOSE), and to the smelt run above it
// (SMELT_STATS_FILE), which is also told of the beginning: a process that is killed, or becomes another program, has no
// end.
#pragma once

#include <cstdint>

namespace smelt::openmp {

// The program uses the runtime for the first time. `refused`: why the shim takes nothing, nullptr where it does.
void note_use(const char* refused);

// A team of so many threads has come by. Not for hot paths.
void note_team(uint32_t threads);

// Why a team is not forked and joined by us; a string that stays.
void note_not_hot(const char* why);

// A child of fork has done nothing yet.
void forget_past();

}  // namespace smelt::openmp
