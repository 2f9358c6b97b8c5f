// A collective planned as a command line names it: a validated schedule and its price. Beside it, the CPUs that it is
// planned for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/arena.h"
#include "schedule/choose.h"

namespace smelt {

struct PlanRequest {
  Operation op = Operation::kBarrier;
  std::string pattern = "best";
  int root = -1;  // the participant that is to be the root; -1: the pattern's choice
  SearchEffort effort = kPatientEffort;
  std::string working;                        // told of a long search (progress_line.h); "": what is planned
  const CandidateVisitor* visitor = nullptr;  // shown what the search for "best" looks at
};

struct PlannedCollective {
  std::string pattern;  // the one built: "adaptive-sorted"
  Costs costs;          // among the participants
  Schedule schedule;
  double predicted = 0;      // makespan, in costs.unit
  double steady = 0;         // of a barrier: per episode of a loop that does nothing else
  std::vector<double> done;  // when participant i is done, in costs.unit
  bool is_tree = false;
  Tree tree;                       // of trees; of a barrier by trees the one that releases
  Tree gather;                     // of barriers by trees: the one that gathers, often the same
  Exchange exchange;               // of exchanges
  std::shared_ptr<Arena> storage;  // costs, schedule, tree and exchange point into it
};

// `members` are the participants' indices into the costs of the whole machine. Throws UserError: unknown pattern, a
// pattern that cannot do the operation.
PlannedCollective plan_collective(const Costs& machine, const std::vector<uint16_t>& members,
                                  const PlanRequest& request);

// Those of this machine's CPUs that the process may run on. Throws UserError: none.
std::vector<uint32_t> allowed_cpus_of(const std::vector<uint32_t>& known);

}  // namespace smelt
