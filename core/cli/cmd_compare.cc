// smelt compare: every pattern on one machine, or on a folder of them.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "base/os/os.h"
#include "cli/command.h"
#include "cli/comparison.h"
#include "cli/plan_options.h"
#include "discover/error.h"
#include "generate/optimise.h"
#include "zoo/zoo.h"

namespace smelt {
namespace {

using Json = nlohmann::ordered_json;

struct CompareArguments {
  PlanArguments plan;
  std::string folder;
  uint32_t exact = 12;
  uint32_t moves = kDefaultMoves;
  uint64_t seed = 1;
  double budget_ms = 0;
  bool json = false;
};

double gap_of(double predicted, double bound) { return bound > 0 ? predicted / bound - 1 : 0; }

Json json_of(const Comparison& c) {
  Json rows = Json::array();
  for (const ComparedPattern& pattern : c.patterns)
    rows.push_back({{"pattern", pattern.name},
                    {"predicted", pattern.predicted},
                    {"ratio", c.best() > 0 ? pattern.predicted / c.best() : 1},
                    {"gap", gap_of(pattern.predicted, c.bound)}});
  return {{"machine", c.machine},     {"op", operation_name(c.op)}, {"participants", c.n}, {"cost_model", c.cost_model},
          {"unit", c.unit},           {"bound", c.bound},           {"exact", c.exact},    {"best", c.best()},
          {"patterns", std::move(rows)}};
}

std::string text_of(const Comparison& c) {
  std::string out = fmt::format("{} on {}, {} participants, {} cost model, in {}\n", operation_name(c.op), c.machine, c.n,
                                c.cost_model, c.unit);
  out += fmt::format("  {:<18} {:>12} {:>8} {:>9}\n", "pattern", "predicted", "ratio", "gap");
  std::vector<ComparedPattern> rows = c.patterns;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ComparedPattern& a, const ComparedPattern& b) { return a.predicted < b.predicted; });
  for (const ComparedPattern& row : rows)
    out += fmt::format("  {:<18} {:>12.1f} {:>8.2f} {:>8.1f}%\n", row.name, row.predicted,
                       c.best() > 0 ? row.predicted / c.best() : 1, 100 * gap_of(row.predicted, c.bound));
  out += fmt::format("  lower bound        {:>12.1f}\n", c.bound);
  out += "ratio: to the cheapest. gap: to the lower bound, which no ";
  out += c.op == Operation::kBarrier ? "barrier goes below (the longest way that news must go).\n" : "tree goes below.\n";
  if (c.exact) out += "optimised is the optimum of all trees here (exact search).\n";
  return out;
}

// Mean and worst gap of the cheapest.
struct Gap {
  double mean = 0, worst = 0;
  std::string worst_on;
};
Gap gap_over(const std::vector<Comparison>& all) {
  Gap gap;
  for (const Comparison& c : all) {
    const double here = gap_of(c.best(), c.bound);
    gap.mean += here / static_cast<double>(all.size());
    if (here >= gap.worst) gap.worst = here, gap.worst_on = c.machine;
  }
  return gap;
}

void put_summary(const std::vector<Comparison>& all, bool json) {
  const std::vector<ComparedOverAll> rows = summarise(all);
  const Gap gap = gap_over(all);
  if (json) {
    Json patterns = Json::array(), machines = Json::array();
    for (const ComparedOverAll& row : rows)
      patterns.push_back({{"pattern", row.name},
                          {"mean_ratio", row.mean},
                          {"worst_ratio", row.worst},
                          {"worst_on", row.worst_on},
                          {"best_on", row.best_on},
                          {"beats_optimised", row.beats_optimised}});
    for (const Comparison& c : all) machines.push_back(json_of(c));
    put(Json{{"machines", all.size()},
             {"patterns", patterns},
             {"gap", {{"mean", gap.mean}, {"worst", gap.worst}, {"worst_on", gap.worst_on}}},
             {"each", machines}}
            .dump(2) +
        "\n");
    return;
  }
  const Comparison& first = all.front();
  std::string out = fmt::format("{} on {} machines, {} cost model\n", operation_name(first.op), all.size(), first.cost_model);
  out += fmt::format("  {:<18} {:>10} {:>8} {:>9} {:>16}  {}\n", "pattern", "ratio", "worst", "best on", "beats optimised",
                     "worst on");
  for (const ComparedOverAll& row : rows)
    out += fmt::format("  {:<18} {:>10.3f} {:>8.2f} {:>9} {:>16}  {}\n", row.name, row.mean, row.worst, row.best_on,
                       row.beats_optimised, row.worst_on);
  out += fmt::format("cheapest to lower bound: mean {:.1f} %, worst {:.1f} % ({})\n", 100 * gap.mean, 100 * gap.worst,
                     gap.worst_on);
  out += "ratio: predicted / cheapest, geometric mean. best on: machines where nothing is cheaper.\n";
  put(out);
}

int run_compare(const CompareArguments& arguments) {
  std::vector<std::string> machines;
  if (arguments.folder == "zoo") {
    for (const ZooEntry& entry : zoo()) machines.push_back("zoo:" + std::string(entry.name));
  } else if (!arguments.folder.empty()) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(arguments.folder, error))
      if (entry.path().extension() == ".json" || entry.path().extension() == ".xml") machines.push_back(entry.path());
    if (error) throw UserError(fmt::format("--folder {}: {}", arguments.folder, error.message()));
    if (machines.empty())
      throw UserError(fmt::format("--folder {}: no .json or .xml file is in it", arguments.folder));
    std::sort(machines.begin(), machines.end());
  } else {
    machines.push_back(arguments.plan.machine);
  }
  std::vector<Comparison> all;
  for (const std::string& name : machines) {
    PlanArguments one = arguments.plan;
    one.machine = name;
    PlanRequest request;
    const MachineFile machine = read_request(one, &request);
    const Picture costs = plan_costs(machine, request);
    int root = -1;
    if (request.root) {
      const auto at = std::find(costs.cpu.begin(), costs.cpu.end(), *request.root);
      if (at == costs.cpu.end()) throw UserError(fmt::format("--root {}: {} has no such CPU", *request.root, costs.machine));
      root = static_cast<int>(at - costs.cpu.begin());
    }
    SearchEffort effort;
    effort.most_exact = arguments.exact;
    effort.moves = arguments.moves;
    effort.seed = arguments.seed;
    if (arguments.budget_ms > 0) effort.limits.deadline_ns = os::now_ns() + static_cast<int64_t>(arguments.budget_ms * 1e6);
    all.push_back(compare_patterns(costs, request.op, root, effort));
  }
  if (!arguments.folder.empty()) put_summary(all, arguments.json);
  else if (arguments.json) put(json_of(all.front()).dump(2) + "\n");
  else put(text_of(all.front()));
  return 0;
}

}  // namespace

void add_compare(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand("compare", "All patterns side by side: on a machine, or on a folder of machines");
  auto arguments = std::make_shared<CompareArguments>();
  add_plan_options(*verb, arguments->plan);
  verb->add_option("--folder", arguments->folder, "all .json and .xml files of a folder, or 'zoo': a summary");
  verb->add_option("--exact", arguments->exact, "find the optimum up to so many participants")
      ->check(CLI::Range(0, 16))
      ->capture_default_str();
  verb->add_option("--moves", arguments->moves, "moves of annealing above that (default: by the number of participants)");
  verb->add_option("--seed", arguments->seed, "of the annealing; the same seed finds the same tree")->capture_default_str();
  verb->add_option("--budget", arguments->budget_ms, "ms that the search may take per machine; what it finds then depends on the time")
      ->check(CLI::Range(0.0, 1e9));
  verb->add_flag("--json", arguments->json, "the same for programs");
  verb->footer("Example:\n  smelt compare --machine zoo:NAME --op broadcast\n  smelt compare --folder zoo --op reduce");
  verb->callback([arguments, &chosen] { chosen = [arguments] { return run_compare(*arguments); }; });
}

}  // namespace smelt
