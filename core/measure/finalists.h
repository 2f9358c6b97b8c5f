// The model ranks, the machine decides: the patterns that are cheapest by the profile are timed on the CPUs they are
// meant for.
#pragma once

#include <string>
#include <vector>

#include "measure/calibrate.h"
#include "measure/decision.h"
#include "measure/racing.h"
#include "profile/text/image.h"
#include "schedule/schedule.h"

namespace smelt {

struct FinalistSettings {
  // So many race, and the representatives of families (choose_finalists); patterns that give the same schedule are one,
  // under the first name. 0: all patterns race, and none is dropped.
  uint32_t finalists = 10;
  uint32_t episodes = 48;            // of a lap
  RaceSettings race{8, 0.25, true};  // its seconds are for both races, its until_ns also for the search before them
  double skew = 4;                   // race_finalists
};

// Which of the candidates race, by their place in `patterns`: the names of all ("knomial:4"), by rising price. The
// `count` cheapest; and, whatever they are priced at, because a model may be wrong about a whole family, the cheapest
// tree, hierarchical pattern, dissemination of at most 3 partners a round, and the hybrid. Ascending.
std::vector<size_t> choose_finalists(const std::vector<std::string>& patterns, size_t count);

struct TimedSet {
  Operation op = Operation::kBarrier;
  std::vector<uint32_t> cpus;       // kernel numbers; participant i ran on cpus[i]
  std::vector<Finalist> finalists;  // by rising prediction
  uint32_t winner = 0;              // by choose_winner
};

// Lets the finalists of one operation race on these CPUs, at least two, all known to the profile. A barrier is run in a
// loop. A broadcast or a reduction has no end that one clock could see, so it is closed: the broadcast (from cpus[0])
// by everybody's answer straight to the root, the reduction (to it) by one release line; all figures are for the
// whole. With `keep`, the winner goes there. Throws UserError.
TimedSet time_finalists(const ProfileImage& image, const std::vector<uint32_t>& cpus, Operation op,
                        const FinalistSettings& settings, ProfileImage* keep = nullptr);

// Which CPUs programs are likely to use together: one per core for 2, 4, 8 ... cores in the order of the profile, for
// all cores, and every CPU.
std::vector<std::vector<uint32_t>> likely_teams(const ProfileImage& image);

// Races for each of those and each operation, within about `seconds` in all, and none begun or gone on with after
// `until_ns` (os::now_ns(); 0: no such time); the image's winners are replaced. What comes back is one line each for
// races that could not be, and why.
std::vector<std::string> time_all_finalists(ProfileImage& image, double seconds, const Progress& progress = {},
                                            int64_t until_ns = 0);

}  // namespace smelt
