// The lines that a process writes about itself. At its end it tells people (SMELT_STATS, SMELT_VERBOSE) and the smelt
// run above it (SMELT_STATS). The smelt run is also told of the beginning, because a process that is killed, or
// becomes another program, has no end.
#pragma once

#include <cstdint>

namespace smelt::openmp {

// The program uses the runtime for the first time. `refused`: the reason why the shim takes nothing; nullptr if it
// takes calls.
void note_use(const char* refused);

// It has been found out since that the shim must take nothing.
void note_refused(const char* why);

// A team of so many threads has come by. Hot paths do not call it.
void note_team(uint32_t threads);

// The reason why a team of so many is not forked and joined by us: a string that stays.
void note_not_hot(uint32_t threads, const char* why);

// A child of fork has done nothing yet.
void forget_past();

}  // namespace smelt::openmp
