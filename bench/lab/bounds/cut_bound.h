// How low a barrier by an exchange can possibly be where its messages queue for links: see cut_bound.cc.
#pragma once

#include "generate/problem.h"
#include "generate/search_limits.h"
#include "model/cost_model.h"

namespace smelt {

// A gather in which a read takes its price alone or among others, whichever is less: what bounds exchanges too. Its
// arrays lie in the arena. 0 or -ENOMEM.
int make_gather_problem(const Costs& costs, Arena& arena, TreeProblem* out);

// Proven: no exchange that is a barrier is priced lower. `way`: the shortest ways, [n * n]; `known`: a bound that is
// known already, below which nobody looks. 0 where no cut has links of which each is kept by its messages, where none
// of them says more than what is known, when the arena is used up, or when the limits end it.
double cut_bound(const Costs& costs, const float* way, double known, Arena& arena, const SearchLimits& limits);

}  // namespace smelt
