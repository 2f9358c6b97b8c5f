// The patterns that won when they were timed on this machine (profile/measured.h: Winner), as schedules.
//
// A winner is for a set of CPUs, in any order: the participant on a CPU takes over that CPU's part. In the profile's
// pool its words are, with n participants:
//   [n] indices into the profile | root's place, or kNobody | [n] how many steps each has | a word per step: kind in
//   bit 0 (1: wait), shared line in bit 1, the number of peers above | the peers' places, a word each
#pragma once

#include <span>

#include "profile/profile.h"
#include "schedule/choose.h"
#include "schedule/schedule.h"

namespace smelt {

// How many words a schedule takes, and the words. `members` are the participants' indices into the profile.
uint32_t winner_words(const Schedule& schedule);
void write_winner(const Schedule& schedule, const uint16_t* members, uint32_t* words);

struct StoredWinner {
  const Winner* winner = nullptr;  // in the profile
  Pattern pattern;                 // by its name; its partners may have been searched, so it need not give the schedule
  Schedule schedule;               // participant i runs on members[i]; in the arena
};

// The winner for exactly these CPUs (indices into the profile, each once) and, where the operation has a root, for
// participant `root` as such; -1: for the winner's own root. The result is well formed; only validate can say whether
// it is correct. 0; -ENOENT: nobody measured; -EINVAL: the words are nonsense; -ENOMEM. On success scratch stays in the
// arena as well.
int stored_winner(const Profile& profile, Operation op, int root, std::span<const uint16_t> members, Arena& arena,
                  StoredWinner* out);

// The schedule of these participants: the winner on exactly these CPUs if there is one and it is sound, else the
// cheapest (choose_best). Either has been checked. `members` are indices into the profile; none, or no profile: nobody
// knows where the participants run, and `costs` alone decide. If it is a winner, only the pattern, the schedule and the
// price are filled in, the price as it was when the race was run. 0, -EINVAL (as choose_best), -ENOMEM.
int choose_for(const Profile* profile, std::span<const uint16_t> members, Operation op, int root, const Costs& costs,
               Arena& arena, Choice* out);

}  // namespace smelt
