// Which pattern for these participants? Build the candidates, price them, keep the cheapest.
#pragma once

#include "generate/optimise.h"
#include "generate/search_limits.h"
#include "schedule/predict.h"
#include "schedule/schedule.h"

namespace smelt {

// How hard the search for a tree may try (pattern "optimised").
struct SearchEffort {
  uint32_t most_exact = 9;  // up to so many participants the optimum itself is found (generate/exact.h)
  uint32_t moves = 0;       // of annealing above that; 0: greedy construction alone
  uint64_t seed = 1;
  SearchLimits limits;      // with limits, what is found depends on the time there was
};
// While a program starts: about a millisecond, and the same for everybody who computes it.
inline constexpr SearchEffort kStartEffort{};
// When a person waits: the optimum up to 12 participants, annealing by the default number of moves above; a tenth of a second.
inline constexpr SearchEffort kPatientEffort{12, kDefaultMoves, 1, {}};

struct Choice {
  Pattern pattern;       // what was chosen
  Tree tree;             // trees only; of a barrier the one that releases
  Tree gather;           // barriers by trees only: the one that gathers; the same root
  Schedule schedule;
  double predicted = 0;  // makespan under the costs it was chosen with
};

// Builds the schedule of one named pattern for one operation. 0; -EINVAL when the pattern cannot serve the operation
// (dissemination cannot broadcast and has no root to choose, pair is for two); -ENOMEM.
int plan(const Pattern& pattern, Operation op, int root, const Costs& costs, Arena& arena, Choice* out,
         const SearchEffort& effort = kStartEffort);

// The patterns that choose_best tries, with their arguments, in the order of the registry: at most `room` are written, returns
// how many there are.
uint32_t candidate_patterns(Operation op, uint32_t n, Pattern* out, uint32_t room);

// The cheapest of the registry for this operation; ties go to the earlier row. Patterns that exist for comparison
// only (bad) take part: they simply never win. About 0.06 ms for 16 participants, 10 ms for 256, beside what "optimised" takes.
// While a program starts, "optimised" is left out for barriers of many: an exchange serves nearly all machines better.
// With a root, that is the cheapest tree. 0; -EINVAL when nothing serves (no such root); -ENOMEM.
int choose_best(Operation op, int root, const Costs& costs, Arena& arena, Choice* out,
                const SearchEffort& effort = kStartEffort);

// The cheapest tree under participant 0 for fork and join (collective/fork_join.h): priced as join and then fork, the
// way that a loop of regions goes. 0 or -ENOMEM.
int choose_fork(const Costs& costs, Arena& arena, Choice* out);

}  // namespace smelt
