#include "cli/comparison.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "generate/exact.h"
#include "profile/api.h"
#include "profile/text/error.h"
#include "schedule/bounds.h"
#include "schedule/fixed_order.h"
#include "schedule/predict.h"

namespace smelt {
namespace {

// Two predictions of the same value, added up in different orders.
constexpr double kSame = 1 + 1e-6;

// What a search looks at, as the rows of a comparison.
struct Rows {
  Comparison& out;
  const Costs& costs;
  Arena& arena;
  CandidateVisitor visitor = {[](void* context, const Choice& choice) {
                                char name[40];
                                pattern_text(choice.pattern, name, sizeof name);
                                static_cast<Rows*>(context)->add(name, choice);
                              },
                              this};
  bool no_memory = false;

  void add(const char* name, const Choice& choice) {
    double steady = 0;
    if (out.op == Operation::kBarrier) no_memory |= steady_price(choice.schedule, costs, arena, &steady) != 0;
    out.patterns.push_back({name, choice.pattern.info->tree != nullptr, choice.predicted, steady});
  }

  // The price of having the same bits of floating-point sums everywhere: no pattern of the registry, it would never be
  // chosen.
  void add_fixed_order(int root) {
    double least = 0;
    for (uint32_t i = 0; i < costs.n && !no_memory; ++i) {
      if (root >= 0 && i != static_cast<uint32_t>(root)) continue;
      char* const scratch = arena.mark();
      Schedule schedule;
      double makespan = 0;
      no_memory |= fixed_order_schedule(costs.n, static_cast<uint16_t>(i), arena, &schedule) != 0 ||
                   price_schedule(schedule, costs, arena, &makespan) != 0;
      arena.rewind(scratch);
      if (i == 0 || root >= 0 || makespan < least) least = makespan;
    }
    out.patterns.push_back({"fixed-order", false, least, 0});
  }
};

// All but the bound and the rows.
Comparison comparison_of(const Picture& costs, Operation op, const SearchEffort& effort) {
  Comparison out;
  out.machine = costs.machine;
  out.cost_model = costs.cost_model;
  out.unit = cost_unit_name(costs.costs.unit);
  out.op = op;
  out.n = costs.costs.n;
  out.exact = op != Operation::kBarrier && out.n <= effort.most_exact;
  return out;
}

[[noreturn]] void refuse_for_memory() { throw UserError("out of memory; name fewer CPUs with --cpus"); }

}  // namespace

double Comparison::best() const {
  double least = patterns.empty() ? 0 : patterns.front().predicted;
  for (const ComparedPattern& pattern : patterns) least = std::min(least, pattern.predicted);
  return least;
}

const ComparedPattern* Comparison::find(const std::string& name) const {
  for (const ComparedPattern& pattern : patterns)
    if (pattern.name == name) return &pattern;
  return nullptr;
}

Comparison compare_patterns(const Picture& picture, Operation op, int root, const SearchEffort& effort) {
  const Costs& costs = picture.costs;
  Comparison out = comparison_of(picture, op, effort);
  MappedArena arena(2 * generation_bytes(costs.n) + 2 * exact_bytes(kMostExact));
  if (!arena.ok()) refuse_for_memory();
  out.bound = price_bound(costs, op, root, arena, {0, effort.limits.stop}, effort.lines);
  if (effort.limits.stop && *effort.limits.stop) out.bound = 0;  // half a bound says little
  Rows rows{out, costs, arena};
  Choice best;
  const int error = choose_best(op, root, costs, arena, &best, effort, &rows.visitor);
  if (error != 0 && error != -EINVAL) refuse_for_memory();
  if (op == Operation::kReduce) rows.add_fixed_order(root);
  // The one that would be used: the cheapest, or an exchange with other partners that no row's name stands for.
  if (op == Operation::kBarrier && effort.moves > 0 && !error) rows.add("best", best);
  if (rows.no_memory) refuse_for_memory();
  return out;
}

Picture picture_and_comparison(const MachineFile& machine, const PictureRequest& request, Comparison* out) {
  const Picture costs = picture_costs(machine, request);
  *out = comparison_of(costs, request.op, request.effort);
  MappedArena arena(2 * generation_bytes(costs.costs.n));
  if (!arena.ok()) refuse_for_memory();
  Rows rows{*out, costs.costs, arena};
  Picture picture = make_picture(machine, request, &rows.visitor);
  out->bound = picture.bound;
  if (request.op == Operation::kReduce) rows.add_fixed_order(-1);
  if (request.op == Operation::kBarrier && request.effort.moves > 0)
    out->patterns.push_back({"best", picture.is_tree, picture.predicted, picture.steady});
  if (rows.no_memory) refuse_for_memory();
  return picture;
}

double gap_of(double predicted, double bound) { return bound > 0 ? predicted / bound - 1 : 0; }

Document comparison_document(const Comparison& c) {
  Document rows = Document::array();
  for (const ComparedPattern& pattern : c.patterns) {
    rows.push_back({{"pattern", pattern.name},
                    {"predicted", pattern.predicted},
                    {"ratio", c.best() > 0 ? pattern.predicted / c.best() : 1},
                    {"gap", c.has_bound() ? Document(gap_of(pattern.predicted, c.bound)) : Document()}});
    if (c.op == Operation::kBarrier) rows.back()["predicted_in_a_loop"] = pattern.steady;
  }
  return {{"machine", c.machine},
          {"op", operation_name(c.op)},
          {"participants", c.n},
          {"cost_model", c.cost_model},
          {"unit", c.unit},
          {"bound", c.bound},
          {"exact", c.exact},
          {"best", c.best()},
          {"patterns", std::move(rows)}};
}

Table comparison_table(const Document& document) {
  Table table{"pattern", columns("pattern; predicted|1; ratio|2; gap|.1%"), document["patterns"]};
  if (document["op"] == operation_name(Operation::kBarrier))
    table.columns.push_back({"in a loop", "predicted_in_a_loop", As::kTenths});
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const Document& a, const Document& b) {
    return a["predicted"].get<double>() < b["predicted"].get<double>();
  });
  return table;
}

std::vector<ComparedOverAll> summarise(const std::vector<Comparison>& comparisons) {
  std::vector<ComparedOverAll> out;
  if (comparisons.empty()) return out;
  for (const ComparedPattern& row : comparisons.front().patterns) {
    ComparedOverAll all;
    all.name = row.name;
    double logarithms = 0;
    bool everywhere = true;
    for (const Comparison& comparison : comparisons) {
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
