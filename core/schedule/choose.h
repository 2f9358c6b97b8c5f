// Which pattern for these participants? Build the candidates, price them, keep the cheapest.
#pragma once

#include "schedule/build.h"

namespace smelt {

// Shown every candidate that choose_best has built and priced, in the order of the registry, before it is kept or
// dropped. The arena may be used behind the candidate, and must be given back. With a visitor no pattern that could
// serve is left out.
struct CandidateVisitor {
  void (*call)(void* context, const Choice& candidate);
  void* context;
};

// The cheapest of the registry for this operation; ties go to the earlier row. Patterns that exist for comparison
// only (bad) take part: they simply never win. While a program starts (no moves) with more than 64 participants only
// the families that win there are tried, so that it takes a few ms for 256. With a root, that is the cheapest tree.
// With moves, the best exchanges for a barrier are tried with other partners, too (partners.h). 0; -EINVAL when nothing
// serves (no such root); -ENOMEM.
int choose_best(Operation op, int root, const Costs& costs, Arena& arena, Choice* out,
                const SearchEffort& effort = kStartEffort, const CandidateVisitor* visitor = nullptr);

// The cheapest trees under participant 0 for fork and join (team/fork_join.h): priced as join and then fork, the way
// that a loop of regions goes; the join may go up another tree, `gather` (search_fork). It takes 0.03 ms for 16
// participants, 10 ms for 512. 0 or -ENOMEM.
int choose_fork(const Costs& costs, Arena& arena, Choice* out);

}  // namespace smelt
