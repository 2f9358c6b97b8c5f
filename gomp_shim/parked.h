// Kept teams between their regions (hot_team.h), and their threads, which stock would not have.
//
// Stock ends the threads of a nested region with that region. We keep them, and no program may fail for it that runs
// with stock. So:
//   - few are kept: 32 or two for each CPU, a sixteenth of what limits of threads and processes allow; none where
//     address space is limited, of which each stack takes megabytes;
//   - if a thread cannot be made, for any reason and any caller, all that are parked are sent home, and it is tried
//     again (thread_calls.cc). From then on the process keeps none;
//   - a team of which a thread has something to do at its end, the destructor of a thread_local object or of a key,
//     ends with the region in which that came up: somebody may wait for it.
//
// The master of such a team is somewhere in the region around then, asleep perhaps. But all that libgomp wants for the
// team's end is the state of the master inside it (thread_state.h), and that is kept with the team: any thread can take
// it on for the moment, and end the team in the master's place. HotTeam::holder names the holder; the holder
// alone reads and writes its state, its fork and its numbers:
//
//   kParked   nobody. The thread that changes that by compare-and-swap has it
//   kMaster   its master, in a region or about to end it
//   kOther    a thread that sends it home
//   kNone     there is no team
//
// tests/model_check/parked.pml is the model.
#pragma once

#include <pthread.h>

#include "hot_team.h"

namespace smelt::gomp {

// May so many threads more be kept?
bool may_park(uint32_t threads);

// A team was made, and its master has it.
void add_parked(HotTeam& hot);

// Its master's: takes the team; false: somebody has sent it home. Lets go of it. Has ended it.
bool take_parked(HotTeam& hot);
void park(HotTeam& hot);
void remove_parked(HotTeam& hot);

// A thread is wanted and cannot be made: sends home all that are parked. False: there were none, not a second ago
// either.
bool send_parked_home();

// thread_calls.cc: finds what it stands in front of, while the loader's lock may be had; and pthread_setspecific(), not
// looked at there.
void resolve_thread_calls();
int set_specific(pthread_key_t key, const void* value);

// The child of a fork calls it, in which there are no teams. The lock is not held around fork: a handler of the
// program's may pause the runtime there, and workers that go home end teams of theirs.
void forget_parked();

}  // namespace smelt::gomp
