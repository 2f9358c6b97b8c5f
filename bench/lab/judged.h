// A comparison of all patterns (pictures/comparison.h) beside the lower bound: how much a better pattern could gain at
// most.
#pragma once

#include <string>
#include <vector>

#include "pictures/comparison.h"

namespace smelt {

struct JudgedComparison : Comparison {
  // Nothing can be cheaper: no tree of a broadcast or a reduction, nothing at all of a barrier. 0: not known.
  double bound = 0;

  bool has_bound() const { return bound > 0 || best() <= 0; }
  const ComparedPattern* find(const std::string& name) const;  // nullptr: not compared
};

// Throws as picture_and_comparison does. If the effort's limits stop the search, the bound is not known, because half a
// bound says little.
JudgedComparison judge_patterns(const MachineFile& machine, const PictureRequest& request);

double gap_of(double predicted, double bound);  // how far above the bound, relative
Document judged_document(const JudgedComparison& comparison);
// Of that document, by rising price.
Table judged_table(const Document& document);

// Over many machines: for each pattern that served all of them.
struct ComparedOverAll {
  std::string name;
  double mean = 0;  // geometric mean of predicted / best
  double worst = 0;
  std::string worst_on;          // machine
  uint32_t best_on = 0;          // machines where nothing is cheaper
  uint32_t beats_optimised = 0;  // machines where it is cheaper than "optimised": none, or the search has failed
};
std::vector<ComparedOverAll> summarise(const std::vector<JudgedComparison>& comparisons);

}  // namespace smelt
