// The machine as the processes of a group know it: the profile that all of them see, and whether it still holds.
//
// Every process loads the profile once. The first group that has all of its host's processes on this machine (of MPI's,
// that is MPI_COMM_WORLD's or that of its node) puts the canary's questions to it (policy/canary.h): one pair per class
// of distance, at most 0.15 ms, then one broadcast of the host's. All these processes scale the drifted costs alike,
// for this group and all that come later. Groups that exist keep the profile that they were planned with, because their
// participants plan the rest of it one by one.
#pragma once

#include "profile/profile.h"

namespace smelt {

struct Group;

struct KnownMachine {
  const Profile* profile;  // nullptr: no memory for one
  uint64_t hash;           // that participants compare
};

// As this process knows it now. Thread-safe; the returned object lives and stays as it is for ever.
const KnownMachine* known_machine();

// Has the canary been asked, or is it not to be?
bool machine_is_checked();

// Where the machine is a virtual one, hops change under a running program.
bool machine_may_be_moved();

// The profile that all participants see. If they do not see the same, the guess from the kernel's description, which is
// the same for all. nullptr: neither.
const Profile* common_profile(const Group& group);

// Asks the canary, if this group is the one to do it; collective. 1: group.machine is another one now, on all
// participants, and the group is to be planned anew; 0: nothing has changed; -EIO: the host's broadcast failed.
int check_machine(Group& group);

}  // namespace smelt
