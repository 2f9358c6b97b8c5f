// Which pattern for these participants? Build the candidates, price them, keep the cheapest.
#pragma once

#include "generate/optimised.h"
#include "schedule/predict.h"
#include "schedule/schedule.h"

namespace smelt {

struct Choice {
  Pattern pattern;        // what was chosen
  Tree tree;              // trees only; of a barrier the one that releases
  Tree gather;            // barriers by trees only: the one that gathers; the same root
  Exchange exchange;      // exchanges only
  bool partners = false;  // of an exchange: searched, so that the pattern's name alone does not give this schedule
  Schedule schedule;
  double predicted = 0;  // makespan under the costs it was chosen with
};

// "hybrid"; "hierarchical:2, partners searched" where the name alone does not give the schedule. Returns its length.
int choice_text(const Choice& choice, char* text, size_t room);

// Builds the schedule of one named pattern for one operation. 0; -EINVAL when the pattern cannot serve the operation
// (dissemination cannot broadcast and has no root to choose, pair is for two); -ENOMEM.
int plan(const Pattern& pattern, Operation op, int root, const Costs& costs, Arena& arena, Choice* out,
         const SearchEffort& effort = kStartEffort);

// The patterns that choose_best tries, with their arguments, in the order of the registry: at most `room` are written,
// returns how many there are.
uint32_t candidate_patterns(Operation op, uint32_t n, Pattern* out, uint32_t room);

// The cheapest of the registry for this operation; ties go to the earlier row. Patterns that exist for comparison
// only (bad) take part: they simply never win. While a program starts (no moves) with more than 64 participants only
// the families that win there are tried, so that it takes a few ms for 256. With a root, that is the cheapest tree.
// With moves, the best exchanges for a barrier are tried with other partners, too (partners.h). 0; -EINVAL when nothing
// serves (no such root); -ENOMEM.
int choose_best(Operation op, int root, const Costs& costs, Arena& arena, Choice* out,
                const SearchEffort& effort = kStartEffort);

// The cheapest tree under participant 0 for fork and join (team/fork_join.h): priced as join and then fork, the
// way that a loop of regions goes. 0 or -ENOMEM.
int choose_fork(const Costs& costs, Arena& arena, Choice* out);

}  // namespace smelt
