// Memory for generating patterns, one for all groups of the process: it is needed when a group is made and when a root
// is first used, and takes megabytes of address space (generate/registry.h).
//
// Reserved when a group is made: to run out of it later, where others do not, would send us into another tree.
#pragma once

#include "base/arena.h"

namespace smelt {

// For groups of n from here on, until release_planning. 0 or -ENOMEM.
int reserve_planning(uint32_t n);
void release_planning();

// The memory, for as long as this lives; others wait for it. Only a thread that has a group makes one.
class PlanningRoom {
 public:
  PlanningRoom();
  ~PlanningRoom();
  PlanningRoom(const PlanningRoom&) = delete;
  PlanningRoom& operator=(const PlanningRoom&) = delete;
  Arena arena() const;
};

}  // namespace smelt
