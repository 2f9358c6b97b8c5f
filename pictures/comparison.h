// All patterns side by side on one machine: the predicted cost of each, against the cheapest.
#pragma once

#include <string>
#include <vector>

#include "cli/table.h"
#include "pictures/picture.h"
#include "pictures/picture_request.h"
#include "schedule/choose.h"

namespace smelt {

struct ComparedPattern {
  std::string name;  // "knomial:4"
  bool is_tree = false;
  double predicted = 0;  // in the machine's unit
  double steady = 0;     // of a barrier: per episode of a loop
};

struct Comparison {
  std::string machine, cost_model, unit;
  Operation op = Operation::kBarrier;
  uint32_t n = 0;
  bool exact = false;                     // the optimised tree is the optimum
  std::vector<ComparedPattern> patterns;  // in the registry's order

  double best() const;
};

// The picture of the cheapest pattern, and the comparison of all, by one search: each alone would make the same one.
// `request` names no pattern. Throws as make_picture does.
Picture picture_and_comparison(const MachineFile& machine, const PictureRequest& request, Comparison* out);

Document comparison_document(const Comparison& comparison);

}  // namespace smelt
