#include "bench/lab/judged.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "bench/lab/bounds/bounds.h"
#include "generate/exact.h"
#include "profile/profile.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

// Two predictions of the same value, added up in different orders.
constexpr double kSame = 1 + 1e-6;

double bound_of(const MachineFile& machine, const PictureRequest& request) {
  const Picture picture = picture_costs(machine, request);
  const std::atomic<bool>* const stop = request.effort.limits.stop;
  MappedArena arena(2 * generation_bytes(picture.costs.n));
  if (!arena.ok()) throw UserError("out of memory; name fewer CPUs with --cpus");
  // No budget is for this.
  const double bound =
      price_bound(picture.costs, request.op, find_root(request, picture.cpu), arena, {0, stop}, request.effort.lines);
  return stop && *stop ? 0 : bound;
}

}  // namespace

const ComparedPattern* JudgedComparison::find(const std::string& name) const {
  for (const ComparedPattern& pattern : patterns)
    if (pattern.name == name) return &pattern;
  return nullptr;
}

JudgedComparison judge_patterns(const MachineFile& machine, const PictureRequest& request) {
  JudgedComparison out;
  out.bound = bound_of(machine, request);
  picture_and_comparison(machine, request, &out);
  return out;
}

double gap_of(double predicted, double bound) { return bound > 0 ? predicted / bound - 1 : 0; }

Document judged_document(const JudgedComparison& c) {
  Document out = comparison_document(c);
  for (Document& row : out["patterns"])
    row["gap"] = c.has_bound() ? Document(gap_of(row["predicted"], c.bound)) : Document();
  out["bound"] = c.bound;
  return out;
}

Table judged_table(const Document& document) {
  Table table{"pattern", columns("pattern; predicted|1; ratio|2; gap|.1%"), document["patterns"]};
  if (document["op"] == operation_name(Operation::kBarrier))
    table.columns.push_back({"in a loop", "predicted_in_a_loop", As::kTenths});
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const Document& a, const Document& b) {
    return a["predicted"].get<double>() < b["predicted"].get<double>();
  });
  return table;
}

std::vector<ComparedOverAll> summarise(const std::vector<JudgedComparison>& comparisons) {
  std::vector<ComparedOverAll> out;
  if (comparisons.empty()) return out;
  for (const ComparedPattern& row : comparisons.front().patterns) {
    ComparedOverAll all;
    all.name = row.name;
    double logarithms = 0;
    bool everywhere = true;
    for (const JudgedComparison& comparison : comparisons) {
      const ComparedPattern* here = comparison.find(row.name);
      const ComparedPattern* optimised = comparison.find("optimised");
      if (!here) {
        everywhere = false;
        break;
      }
      const double best = comparison.best();
      const double ratio = best > 0 ? here->predicted / best : 1;
      logarithms += std::log(ratio);
      if (ratio > all.worst) {
        all.worst = ratio;
        all.worst_on = comparison.machine;
      }
      all.best_on += here->predicted <= best * kSame;
      // Exchanges may be: a barrier need not go through a root.
      all.beats_optimised += optimised && here->is_tree && here->predicted * kSame < optimised->predicted;
    }
    if (!everywhere) continue;
    all.mean = std::exp(logarithms / static_cast<double>(comparisons.size()));
    out.push_back(all);
  }
  return out;
}

}  // namespace smelt
