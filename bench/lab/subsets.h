// How near the search for a tree comes to the optimum, where the optimum can be found: on random sets of a machine's
// CPUs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pictures/machines/machine_file.h"
#include "schedule/choose.h"

namespace smelt {

struct SubsetRequest {
  Operation op = Operation::kBroadcast;  // or kReduce
  bool paper = false;                    // the cost model, as in PictureRequest
  uint32_t count = 0;                    // sets per machine
  uint32_t least = 7, most = 12;         // participants of a set, each number as likely
  SearchEffort effort;                   // of the search; its exact method is left out. The seed also draws the sets
};

// The gaps of one way to make trees, over many sets: (predicted - optimum) / optimum.
struct SubsetGaps {
  double mean = 0, worst = 0;
  std::string worst_machine;  // "" where the worst is 0
  std::vector<uint32_t> worst_cpus;
  uint32_t optimal = 0;  // sets where it is the optimum

  void add(double gap, const MachineFile& machine,
           const std::vector<uint32_t>& cpus);  // `mean` is the sum until divided
};

struct SubsetResult {
  uint32_t sets = 0;
  SubsetGaps search, adaptive;  // pattern "optimised" by annealing alone; the paper's "adaptive-sorted"
};

// Adds the sets of one machine, the `nth` of several, to `out`; none if it has fewer CPUs than request.least. Ends
// early when the effort's limits say so: then the set under way is left out. Throws UserError when memory is out.
void compare_subsets(const MachineFile& machine, uint32_t nth, const SubsetRequest& request, SubsetResult* out);

}  // namespace smelt
