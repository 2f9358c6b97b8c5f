// What the tests of planning share: a pattern by its name, and is a schedule correct?
#pragma once

#include <gtest/gtest.h>

#include "generate/registry.h"
#include "machines.h"
#include "schedule/validate.h"

namespace smelt::test {

inline Pattern pattern(const char* name) {
  Pattern found;
  EXPECT_EQ(find_pattern(name, &found), 0) << name;
  return found;
}

inline bool is_correct(const Schedule& schedule) {
  MappedArena arena(kBlockBytes);
  Validation verdict;
  return validate(schedule, arena, &verdict) == 0 && verdict.flaw == Flaw::kNone;
}

}  // namespace smelt::test
