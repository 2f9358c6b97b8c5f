// The winner among the finalists of an operation. Two races decide:
//
//   1. tight: everybody arrives as soon as it has left: the cost of a loop that does nothing else. All finalists run.
//   2. skewed: everybody stays away for a while of its own before it arrives (skew.h), as programs do.
//
// A tree sends the fewest messages, and a race of these CPUs alone cannot show the cost of the other patterns for the
// rest of the machine. So the tree that is the fastest in the tight loop wins, unless something else
//
//   - is faster than this tree in the tight loop, by more than the two spreads, and
//   - is not slower than this tree when the arrivals are skewed, by more than the two spreads.
//
// Of several such the fastest in the tight loop wins. A finalist that does not hold the first cannot win, so the second
// race is only between those that do and the tree: the time goes to the open question.
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
  Racer timed;   // in the tight loop, ns per episode
  Racer skewed;  // ns per episode beyond its longest delay; no laps: it was not in the second race
};

// The finalists that may still win after the tight race: those that are faster than the best tree by more than the two
// spreads, the fastest first; then this tree. Alone the fastest where that is a tree or no tree has run. Empty: nobody
// has.
std::vector<uint32_t> contenders(const std::vector<Finalist>& finalists);

// By the rule above, after both races. A finalist that ran no skewed lap, or stands against a tree that ran none, does
// not win against it. 0 where nobody has run.
uint32_t choose_winner(const std::vector<Finalist>& finalists);

// How each finalist is timed, in ns per episode.
struct Laps {
  std::function<double(uint32_t finalist)> tight;  // > 0
  // The time beyond the longest delay, >= 0. Delays are 0 .. most_ns; those of one `sequence` the same for all.
  std::function<double(uint32_t finalist, double most_ns, uint32_t sequence)> skewed;
  std::function<double()> reference;  // > 0, the yardstick of the moment (racing.h)
};

struct Decision {
  uint32_t winner = 0;
  bool complete = true;  // Race::complete of both
};

// Runs both races within the time that the settings give, and fills in the finalists' figures. `skew`: the longest
// delay, in episodes of the best tree's tight loop; 0: the tight race alone decides.
Decision race_finalists(const Laps& laps, const RaceSettings& settings, double skew, std::vector<Finalist>* finalists);

}  // namespace smelt
