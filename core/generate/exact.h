// The best tree there is, for few participants: exact.cc says how and why.
#pragma once

#include <cstddef>
#include <cstdint>

#include "generate/problem.h"
#include "generate/search_limits.h"

namespace smelt {

inline constexpr uint32_t kMostExact = 16;  // one more takes three times as long, and twice the memory

// The most that exact_tree takes from its arena, for any root: 8.4 MB for 16 participants, half of it for one less, 66
// KB for 9. Only the tree stays there. 0 for more than kMostExact.
size_t exact_bytes(uint32_t n);

// A tree of least value(root), from `root`, or for -1 from the participant that makes the least of it (of several the
// lowest). `value` is that of sort_and_value, which has also put the children in order. No tree has a lower one, but
// for the search's rounding to float: by two millionths at most. On one core of a Zen 4, from the best root: 9
// participants 0.1 ms, 12 2 to 4 ms, 14 15 to 36 ms, 16 0.2 to 0.4 s, the more the costs differ the longer; from a
// given root a third. 0; -ERANGE for more than kMostExact participants; -EINVAL for none, or no such root; -EINTR when
// the limits were exceeded; -ENOMEM. With any error the arena is left as it was.
int exact_tree(const TreeProblem& problem, int root, const SearchLimits& limits, Arena& arena, Tree* out,
               double* value);

}  // namespace smelt
