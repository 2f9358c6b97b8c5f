// A named pattern as the schedule of an operation.
#pragma once

#include "generate/optimised.h"
#include "schedule/schedule.h"

namespace smelt {

struct Choice {
  Pattern pattern;        // the chosen one
  Tree tree;              // trees only; of a barrier the one that releases
  Tree gather;            // barriers by trees only: the one that gathers; the same root
  Exchange exchange;      // exchanges only
  bool partners = false;  // of an exchange: searched, so that the pattern's name alone does not give this schedule
  Schedule schedule;
  double predicted = 0;  // makespan under the costs it was chosen with
};

// "hybrid"; "hierarchical:2, partners searched" where the name alone does not give the schedule. Returns its length.
int choice_text(const Choice& choice, char* text, size_t room);

// Builds the schedule of one named pattern for one operation, and prices it. 0; -EINVAL when the pattern cannot serve
// the operation (dissemination cannot broadcast and has no root to choose, pair is for two); -ENOMEM. On failure the
// arena is as before.
int build(const Pattern& pattern, Operation op, int root, const Costs& costs, Arena& arena, Choice* out,
          const SearchEffort& effort = kStartEffort);

// A built broadcast as a loop can hold it: a barrier in which everybody answers the root, which then broadcasts. 0 or
// -ENOMEM.
int answered_broadcast(const Choice& broadcast, const Costs& costs, Arena& arena, Schedule* out);

}  // namespace smelt
