// All patterns side by side on one machine: the predicted cost of each, against the cheapest and against the lower
// bound.
#pragma once

#include <string>
#include <vector>

#include "cli/picture_request.h"
#include "draw/picture.h"
#include "report/table.h"
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
  double bound =
      0;  // nothing can be cheaper; of trees for broadcast and reduction, of anything for barriers; 0: not known
  bool exact = false;                     // the optimised tree is the optimum
  std::vector<ComparedPattern> patterns;  // in the registry's order

  double best() const;
  bool has_bound() const { return bound > 0 || best() <= 0; }
  const ComparedPattern* find(const std::string& name) const;  // nullptr: not compared
};

// `costs` as picture_costs makes it; root < 0: every pattern's own choice. Throws UserError when memory is out.
Comparison compare_patterns(const Picture& costs, Operation op, int root, const SearchEffort& effort);

// The picture of the cheapest pattern, and the comparison of all, by one search: each alone would make the same one.
// `request` names no root and no pattern. Throws as make_picture does.
Picture picture_and_comparison(const MachineFile& machine, const PictureRequest& request, Comparison* out);

double gap_of(double predicted, double bound);  // how far above the bound, relative
Document comparison_document(const Comparison& comparison);
// Of that document, by rising price.
Table comparison_table(const Document& document);

// Over many machines: for each pattern that served all of them.
struct ComparedOverAll {
  std::string name;
  double mean = 0;  // geometric mean of predicted / best
  double worst = 0;
  std::string worst_on;          // machine
  uint32_t best_on = 0;          // machines where nothing is cheaper
  uint32_t beats_optimised = 0;  // machines where it is cheaper than "optimised": none, or the search has failed
};
std::vector<ComparedOverAll> summarise(const std::vector<Comparison>& comparisons);

}  // namespace smelt
