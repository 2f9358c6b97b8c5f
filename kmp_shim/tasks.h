// Before a task is made, the maker's next barrier is marked as real: openmp/episodes.h.
#pragma once

#include "region.h"

namespace smelt::kmp {

// The slow way: marks the calling thread's next barrier. It lies in marking.cc, which the tests' negative control
// replaces.
void mark_next_barrier();

inline void before_task() {
  if (position.unmarked) mark_next_barrier();
}

}  // namespace smelt::kmp
