// What the processes of a group take the machine for: the profile that all of them see, and whether it still holds.
//
// Every process loads the profile once. The first group that has all of its host's processes on this machine (of MPI's,
// that is MPI_COMM_WORLD's or that of its node) puts the canary's questions to it (policy/canary.h): one pair per class
// of distance, at most 0.15 ms, then one broadcast of the host's. What has drifted is scaled by all these processes
// alike, for this group and all that come later; groups that exist keep the profile that they were planned with, as
// their participants plan the rest of it one by one.
#pragma once

#include "profile/profile.h"

namespace smelt {

struct Group;

struct KnownMachine {
  const Profile* profile;  // nullptr: no memory for one
  uint64_t hash;           // that participants compare
};

// As this process knows it now. Thread-safe; what is returned lives and stays as it is for ever.
const KnownMachine* known_machine();

// Has the canary been asked, or is it not to be?
bool machine_is_checked();

// Where the machine is a virtual one, hops change under a running program.
bool machine_may_be_moved();

// What all participants see, or, where they do not see the same, what the kernel tells all of them. nullptr: nothing.
const Profile* common_profile(const Group& group);

// Asks the canary, if this group is the one to do it; collective. 1: group.machine is another one now, on all
// participants, and the group is to be planned anew; 0: nothing has changed; -EIO: the host's broadcast failed.
int check_machine(Group& group);

}  // namespace smelt
