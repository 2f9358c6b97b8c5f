// How low the value of a tree can possibly be: see bound.cc.
#pragma once

#include "generate/problem.h"

namespace smelt {

// Proven: no spanning tree with this root (-1: with any root) has a lower value. >= 0. The arena lends the scratch, up to 25
// MB, and is as before on return; with less the bound is weaker, and still one.
double lower_bound(const TreeProblem& problem, int root, Arena& arena);

}  // namespace smelt
