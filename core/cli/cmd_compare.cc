// smelt compare: every pattern on one machine, or on a folder of them.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/comparison.h"
#include "cli/interruption.h"
#include "cli/live.h"
#include "cli/measured.h"
#include "cli/picture_options.h"
#include "cli/progress_line.h"
#include "cli/subsets.h"
#include "generate/exact.h"
#include "profile/text/error.h"
#include "zoo/zoo.h"

namespace smelt {
namespace {

using Json = nlohmann::ordered_json;

struct CompareArguments {
  PictureArguments picture;
  std::string folder;
  std::vector<std::string> measured;
  uint32_t subsets = 0;
  std::string sizes = "7-12";
  bool live = false;
  bool json = false;
};

constexpr const char* kFixedOrder =
    "fixed-order: what groups do for results of the same bits everywhere (SMELT_REDUCE_ORDER).\n";

double gap_of(double predicted, double bound) { return bound > 0 ? predicted / bound - 1 : 0; }

Json json_of(const Comparison& c) {
  Json rows = Json::array();
  for (const ComparedPattern& pattern : c.patterns)
    rows.push_back({{"pattern", pattern.name},
                    {"predicted", pattern.predicted},
                    {"ratio", c.best() > 0 ? pattern.predicted / c.best() : 1},
                    {"gap", c.has_bound() ? Json(gap_of(pattern.predicted, c.bound)) : Json()}});
  if (c.op == Operation::kBarrier)
    for (size_t k = 0; k < c.patterns.size(); ++k) rows[k]["predicted_in_a_loop"] = c.patterns[k].steady;
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

std::string text_of(const Comparison& c) {
  std::string out = fmt::format("{} on {}, {} participants, {} cost model, in {}\n", operation_name(c.op), c.machine,
                                c.n, c.cost_model, c.unit);
  const bool barrier = c.op == Operation::kBarrier;
  out += fmt::format("  {:<18} {:>12} {:>8} {:>9}{}\n", "pattern", "predicted", "ratio", "gap",
                     barrier ? "    in a loop" : "");
  std::vector<ComparedPattern> rows = c.patterns;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ComparedPattern& a, const ComparedPattern& b) { return a.predicted < b.predicted; });
  for (const ComparedPattern& row : rows)
    out += fmt::format("  {:<18} {:>12.1f} {:>8.2f} {:>9}{}\n", row.name, row.predicted,
                       c.best() > 0 ? row.predicted / c.best() : 1,
                       c.has_bound() ? fmt::format("{:.1f}%", 100 * gap_of(row.predicted, c.bound)) : "-",
                       barrier ? fmt::format(" {:>12.1f}", row.steady) : "");
  out += fmt::format("  lower bound        {:>12.1f}\n", c.bound);
  out += "ratio: to the cheapest. gap: to the lower bound, which no ";
  out +=
      c.op == Operation::kBarrier ? "barrier goes below (the longest way that news must go).\n" : "tree goes below.\n";
  if (c.op == Operation::kReduce) out += kFixedOrder;
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
  std::string out =
      fmt::format("{} on {} machines, {} cost model\n", operation_name(first.op), all.size(), first.cost_model);
  out += fmt::format("  {:<18} {:>10} {:>8} {:>9} {:>16}  {}\n", "pattern", "ratio", "worst", "best on",
                     "beats optimised", "worst on");
  for (const ComparedOverAll& row : rows)
    out += fmt::format("  {:<18} {:>10.3f} {:>8.2f} {:>9} {:>16}  {}\n", row.name, row.mean, row.worst, row.best_on,
                       row.beats_optimised, row.worst_on);
  out += fmt::format("cheapest to lower bound: mean {:.1f} %, worst {:.1f} % ({})\n", 100 * gap.mean, 100 * gap.worst,
                     gap.worst_on);
  out += "ratio: predicted / cheapest, geometric mean. best on: machines where nothing is cheaper.\n";
  if (first.op == Operation::kReduce) out += kFixedOrder;
  put_page(out);
}

// "7-12" or "9". Throws UserError.
void parse_sizes(const std::string& text, SubsetRequest* request) {
  const char* const end = text.data() + text.size();
  std::from_chars_result read = std::from_chars(text.data(), end, request->least);
  request->most = request->least;
  if (read.ec == std::errc{} && read.ptr < end && *read.ptr == '-')
    read = std::from_chars(read.ptr + 1, end, request->most);
  if (read.ec != std::errc{} || read.ptr != end || request->least < 2 || request->most < request->least ||
      request->most > kMostExact)
    throw UserError(fmt::format("--sizes '{}': write the fewest and the most participants, from 2 to {}, like 7-12",
                                text, kMostExact));
}

std::vector<std::string> machines_of(const CompareArguments& arguments) {
  std::vector<std::string> machines;
  if (arguments.folder == "zoo") {
    for (const ZooEntry& entry : zoo()) machines.push_back("zoo:" + std::string(entry.name));
  } else if (!arguments.folder.empty()) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(arguments.folder, error))
      if (entry.path().extension() == ".json" || entry.path().extension() == ".xml") machines.push_back(entry.path());
    if (error) throw UserError(fmt::format("--folder {}: {}", arguments.folder, error.message()));
    if (machines.empty()) throw UserError(fmt::format("--folder {}: no .json or .xml file is in it", arguments.folder));
    std::sort(machines.begin(), machines.end());
  } else {
    machines.push_back(arguments.picture.machine);
  }
  return machines;
}

Json json_of(const SubsetGaps& gaps) {
  return {{"mean", gaps.mean},
          {"worst", gaps.worst},
          {"worst_on", {{"machine", gaps.worst_machine}, {"cpus", gaps.worst_cpus}}},
          {"optimal", gaps.optimal}};
}

void put_subsets(const SubsetResult& result, const SubsetRequest& request, size_t machines, bool json) {
  const std::pair<const char*, const SubsetGaps*> rows[] = {{"annealing", &result.search},
                                                            {"adaptive-sorted", &result.adaptive}};
  const char* const model = request.paper ? "paper" : "overlap";
  if (json) {
    Json out = {{"op", operation_name(request.op)},
                {"cost_model", model},
                {"machines", machines},
                {"sets", result.sets},
                {"sizes", {request.least, request.most}},
                {"seed", request.effort.seed}};
    for (const auto& [name, gaps] : rows) out[name] = json_of(*gaps);
    put(out.dump(2) + "\n");
    return;
  }
  put_page(fmt::format("{} among {} sets of {} to {} CPUs of {} machine{}, {} cost model, seed {}\n",
                       operation_name(request.op), result.sets, request.least, request.most, machines,
                       machines == 1 ? "" : "s", model, request.effort.seed));
  put(fmt::format("  {:<18} {:>10} {:>10} {:>10}  {}\n", "above the optimum", "mean", "worst", "optimal", "worst on"));
  for (const auto& [name, gaps] : rows)
    put(fmt::format(
        "  {:<18} {:>9.3f}% {:>9.2f}% {:>10}  {}\n", name, 100 * gaps->mean, 100 * gaps->worst, gaps->optimal,
        gaps->worst > 0 ? fmt::format("{}: {}", one_line(gaps->worst_machine), cpu_ranges(gaps->worst_cpus)) : "-"));
  put_page("annealing: pattern optimised without its exact method. optimal: sets where it is the optimum.\n");
}

int run_subsets(const CompareArguments& arguments) {
  SubsetRequest subsets;
  subsets.count = arguments.subsets;
  parse_sizes(arguments.sizes, &subsets);
  if (arguments.picture.root_option->count() + arguments.picture.cpus_option->count() > 0)
    throw UserError("--subsets: the CPUs are drawn and the root is free; leave --cpus and --root out");
  Interruption interrupt("interrupted");
  SubsetResult result;
  uint32_t used = 0;
  const std::vector<std::string> machines = machines_of(arguments);
  for (uint32_t k = 0; k < machines.size() && !*interrupt.asked(); ++k) {
    PictureArguments one = arguments.picture;
    one.machine = machines[k];
    PictureRequest request;
    const MachineFile machine = read_request(one, interrupt.asked(), &request);
    // An optimum is known of trees only; the program's usual operation is the barrier.
    if (arguments.picture.op_option->count() == 0) request.op = Operation::kBroadcast;
    if (request.op == Operation::kBarrier)
      throw UserError("--subsets: only of a broadcast or a reduction is the optimum known; choose --op");
    subsets.op = request.op;
    subsets.paper = request.paper;
    subsets.effort = request.effort;
    const uint32_t before = result.sets;
    const StillWorking working(
        fmt::format("searching sets of {} ({} of {})", one_line(machine.name), k + 1, machines.size()));
    compare_subsets(machine, k, subsets, &result);
    used += result.sets > before;
  }
  const int code = interrupt.finish(fmt::format("{} sets were complete", result.sets));
  if (result.sets == 0 && code == 0)
    throw UserError(fmt::format("--sizes {}: no machine has so many CPUs", arguments.sizes));
  if (result.sets == 0) return code;
  for (SubsetGaps* gaps : {&result.search, &result.adaptive}) gaps->mean /= result.sets;
  put_subsets(result, subsets, used, arguments.json);
  return code;
}

int run_live(const CompareArguments& arguments) {
  if (arguments.picture.machine != "this" || !arguments.folder.empty())
    throw UserError("--live: only this machine can be timed; leave --machine and --folder out");
  PictureRequest request;
  if (!read_request(arguments.picture, nullptr, &request).here)
    throw UserError("--live: only this machine can be timed; unset HWLOC_XMLFILE and HWLOC_SYNTHETIC");
  constexpr double kUsualSeconds = 2;
  const double seconds = arguments.picture.budget_ms > 0 ? arguments.picture.budget_ms / 1000 : kUsualSeconds;
  put_live(request.cpus, request.op, seconds, arguments.json);
  return 0;
}

int run_compare(const CompareArguments& arguments) {
  if (!arguments.measured.empty()) {
    put_measured(arguments.measured, arguments.json);
    return 0;
  }
  if (arguments.subsets > 0) return run_subsets(arguments);
  if (arguments.live) return run_live(arguments);
  const bool folder = !arguments.folder.empty();
  const std::vector<std::string> machines = machines_of(arguments);
  std::vector<Comparison> all;
  Interruption interrupt("interrupted");
  for (const std::string& name : machines) {
    PictureArguments one = arguments.picture;
    one.machine = name;
    PictureRequest request;
    const MachineFile machine = read_request(one, interrupt.asked(), &request);
    const StillWorking working(fmt::format("comparing patterns on {} ({} of {})", one_line(machine.name), all.size() + 1,
                                           machines.size()));
    const Picture costs = picture_costs(machine, request);
    int root = -1;
    if (request.root) {
      const auto at = std::find(costs.cpu.begin(), costs.cpu.end(), *request.root);
      if (at == costs.cpu.end())
        throw UserError(fmt::format("--root {}: {} has no such CPU", *request.root, costs.machine));
      root = static_cast<int>(at - costs.cpu.begin());
    }
    Comparison comparison = compare_patterns(costs, request.op, root, request.effort);
    // Among others, a search that was cut short would be taken for what it is not.
    if (folder && *interrupt.asked()) break;
    all.push_back(std::move(comparison));
  }
  const int code = interrupt.finish(folder ? fmt::format("{} of {} machines were complete", all.size(), machines.size())
                                           : "'optimised' is the best found so far");
  if (all.empty()) return code;
  if (folder)
    put_summary(all, arguments.json);
  else if (arguments.json)
    put(json_of(all.front()).dump(2) + "\n");
  else
    put_page(text_of(all.front()));
  return code;
}

}  // namespace

void add_compare(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand("compare", "All patterns side by side: on a machine, or on a folder of machines");
  auto arguments = std::make_shared<CompareArguments>();
  add_picture_options(*verb, arguments->picture);
  verb->add_option("--folder", arguments->folder, "all .json and .xml files of a folder, or 'zoo': a summary")
      ->type_name("FOLDER");
  verb->add_option(
          "--subsets", arguments->subsets,
          "draw so many sets of CPUs of each machine and say how far annealing, and the paper's tree, are from the "
          "optimum")
      ->check(CLI::Range(1, 1000000));
  verb->add_option("--sizes", arguments->sizes, "of those sets: from how many CPUs to how many")->capture_default_str();
  verb->add_flag("--live", arguments->live,
                 "time all patterns on this machine: prediction against measurement, for 2 s or --budget");
  // Its files say which machine, which operations and which trees; both models price them.
  CLI::Option* measured = verb->add_option("--measured", arguments->measured,
                                           "matrix files that say what trees took there: do the models order them so?");
  measured->type_name("FILE")->expected(1, -1);
  for (CLI::Option* other : verb->get_options())
    if (other != measured && other != verb->get_help_ptr()) measured->excludes(other);
  verb->add_flag("--json", arguments->json, "the same for programs");
  verb->footer(
      "Example:\n  smelt compare --machine zoo:NAME --op broadcast\n  smelt compare --folder zoo --op reduce\n"
      "  smelt compare --folder zoo --op reduce --subsets 10\n  smelt compare --measured FILE...");
  verb->callback([arguments, &chosen] { chosen = [arguments] { return run_compare(*arguments); }; });
}

}  // namespace smelt
