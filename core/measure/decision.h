// The winner among the finalists of an operation. Two races decide:
//
//   1. skewed: everybody stays away for a while of its own before it arrives (skew.h), as programs do. All finalists
//      run, and this race is the judge.
//   2. tight: everybody arrives as soon as it has left: the cost of a loop that does nothing else. It is between those
//      that the first race cannot tell apart: the fastest, and those not slower than it by more than the two spreads.
//
// The fastest of the second race wins. A tree sends the fewest messages, and a race of these CPUs alone cannot show the
// cost of the other patterns for the rest of the machine. So where a tree is among them, the tree that is the fastest
// there wins, unless something else is faster than it, by more than the two spreads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/racing.h"

namespace smelt {

struct Finalist {
  std::string pattern;   // "hybrid"; with ", partners searched" where the name alone does not give the schedule
  double predicted = 0;  // ns per episode of the loop, under the profile
  bool is_tree = false;
  Racer timed;   // in the tight loop, ns per episode; no laps: it was not in the second race
  Racer skewed;  // ns per episode beyond its longest delay
};

// Those that the skewed race cannot tell from its fastest, which comes first. Empty: nobody has run.
std::vector<uint32_t> contenders(const std::vector<Finalist>& finalists);

// By the rule above, after both races; where none of the contenders has run a tight lap, the first of them; where
// nobody has run a skewed lap, by the tight race alone. 0 where nobody has run.
uint32_t choose_winner(const std::vector<Finalist>& finalists);

// How each finalist is timed, in ns per episode.
struct Laps {
  std::function<double(uint32_t finalist)> tight;  // > 0
  // The time beyond the longest delay, >= 0. Delays are 0 .. most_ns; those of one `sequence` the same for all.
  std::function<double(uint32_t finalist, double most_ns, uint32_t sequence)> skewed;
  std::function<double()> reference;  // > 0, the yardstick of the moment (racing.h)
};

// Runs both races within the time that the settings give. Fills in the finalists' figures, and returns the index of the
// winner. `skew`: the longest delay, in episodes of the fastest tight loop, of which everybody runs a lap before; 0:
// the tight race alone decides.
uint32_t race_finalists(const Laps& laps, const RaceSettings& settings, double skew, std::vector<Finalist>* finalists);

}  // namespace smelt
