#include "pictures/comparison.h"

#include <algorithm>

#include "generate/exact.h"
#include "generate/registry.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "schedule/fixed_order.h"
#include "schedule/predict.h"

namespace smelt {
namespace {

// What a search looks at, as the rows of a comparison.
struct ComparedRows {
  Comparison& out;
  const Costs& costs;
  Arena& arena;
  CandidateVisitor visitor = {[](void* context, const Choice& choice) {
                                char name[40];
                                pattern_text(choice.pattern, name, sizeof name);
                                static_cast<ComparedRows*>(context)->add(name, choice);
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
      uint32_t parts = 0;
      double makespan = 0;
      no_memory |= cheapest_fixed_order(costs.n, i, costs, arena, &parts, &makespan) != 0;
      if (i == 0 || root >= 0 || makespan < least) least = makespan;
    }
    out.patterns.push_back({"fixed-order", false, least, 0});
  }
};

// All but the rows.
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

Picture picture_and_comparison(const MachineFile& machine, const PictureRequest& request, Comparison* out) {
  const Picture costs = picture_costs(machine, request);
  *out = comparison_of(costs, request.op, request.effort);
  MappedArena arena(2 * generation_bytes(costs.costs.n));
  if (!arena.ok()) refuse_for_memory();
  ComparedRows rows{*out, costs.costs, arena};
  Picture picture = make_picture(machine, request, &rows.visitor);
  if (request.op == Operation::kReduce) rows.add_fixed_order(find_root(request, picture.cpu));
  if (request.op == Operation::kBarrier && request.effort.moves > 0)
    out->patterns.push_back({"best", picture.is_tree, picture.predicted, picture.steady});
  if (rows.no_memory) refuse_for_memory();
  return picture;
}

Document comparison_document(const Comparison& c) {
  Document rows = Document::array();
  for (const ComparedPattern& pattern : c.patterns) {
    rows.push_back({{"pattern", pattern.name},
                    {"predicted", pattern.predicted},
                    {"ratio", c.best() > 0 ? pattern.predicted / c.best() : 1}});
    if (c.op == Operation::kBarrier) rows.back()["predicted_in_a_loop"] = pattern.steady;
  }
  return {{"machine", c.machine}, {"op", operation_name(c.op)}, {"participants", c.n}, {"cost_model", c.cost_model},
          {"unit", c.unit},       {"exact", c.exact},           {"best", c.best()},    {"patterns", std::move(rows)}};
}

}  // namespace smelt
