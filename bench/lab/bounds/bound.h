// How low the value of a tree can possibly be: see bound.cc.
#pragma once

#include <cmath>

#include "generate/problem.h"
#include "generate/search_limits.h"

namespace smelt {

// Proven: no spanning tree with this root (-1: with any root) has a lower value. >= 0. The arena lends the scratch, up
// to 25 MB, and is as before on return; with less, or when the limits end it, the bound is weaker, and still one. Up to
// a second for 256; less where a bound of `enough` is found soon, with which it is content.
double lower_bound(const TreeProblem& problem, int root, Arena& arena, const SearchLimits& limits = {},
                   double enough = HUGE_VAL);

// Lowers most[i], i = 0 .. count, to the most participants that any one has heard of, as the costs of a gather say, by
// the time range * i / count, itself included. When the limits end it, or memory is short, less is lowered.
void lower_heard(const TreeProblem& problem, double range, uint32_t count, float* most, Arena& arena,
                 const SearchLimits& limits = {});

}  // namespace smelt
