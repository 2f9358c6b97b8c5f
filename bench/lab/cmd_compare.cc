// smelt compare: every pattern on one machine, or on a folder of them.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

#include "bench/lab/judged.h"
#include "bench/lab/live.h"
#include "bench/lab/measured.h"
#include "bench/lab/subsets.h"
#include "bench/lab/verbs.h"
#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/progress_line.h"
#include "generate/exact.h"
#include "pictures/machines/zoo.h"
#include "pictures/picture_request.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

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

std::string compared_text(const Document& document) {
  std::string out =
      told(document, "{op} on {machine}, {participants} participants, {cost_model} cost model, in {unit}\n");
  out += table_text(judged_table(document));
  const bool barrier = document["op"] == operation_name(Operation::kBarrier);
  out += told(document, "  lower bound {bound|1}\n");
  out += "ratio: to the cheapest. gap: to the lower bound, which no ";
  out += barrier ? "barrier goes below.\n" : "tree goes below.\n";
  if (barrier) out += "in a loop: each of many that follow each other at once.\n";
  if (document["op"] == operation_name(Operation::kReduce)) out += kFixedOrder;
  if (document["exact"]) out += "optimised is the optimum of all trees here (exact search).\n";
  return out;
}

// Mean and worst gap of the cheapest.
struct Gap {
  double mean = 0, worst = 0;
  std::string worst_on;
};
Gap gap_over(const std::vector<JudgedComparison>& all) {
  Gap gap;
  for (const JudgedComparison& c : all) {
    const double here = gap_of(c.best(), c.bound);
    gap.mean += here / static_cast<double>(all.size());
    if (here >= gap.worst) gap.worst = here, gap.worst_on = c.machine;
  }
  return gap;
}

Document summary_document(const std::vector<JudgedComparison>& all) {
  Document patterns = Document::array(), machines = Document::array();
  for (const ComparedOverAll& row : summarise(all))
    patterns.push_back({{"pattern", row.name},
                        {"mean_ratio", row.mean},
                        {"worst_ratio", row.worst},
                        {"worst_on", row.worst_on},
                        {"best_on", row.best_on},
                        {"beats_optimised", row.beats_optimised}});
  for (const JudgedComparison& c : all) machines.push_back(judged_document(c));
  const Gap gap = gap_over(all);
  return {{"machines", all.size()},
          {"patterns", std::move(patterns)},
          {"gap", {{"mean", gap.mean}, {"worst", gap.worst}, {"worst_on", gap.worst_on}}},
          {"each", std::move(machines)}};
}

std::string summary_text(const Document& document) {
  const Document &first = document["each"][0], &gap = document["gap"];
  return fmt::format("{} on {} machines, {} cost model\n", shown(first, "op"), shown(document, "machines"),
                     shown(first, "cost_model")) +
         table_text({"pattern",
                     columns("pattern; ratio=mean_ratio|3; worst=worst_ratio|2; best on=best_on|0; "
                             "beats optimised=beats_optimised|0; worst on=worst_on"),
                     document["patterns"]}) +
         told(gap, "cheapest to lower bound: mean {mean|.1%}, worst {worst|.1%} ({worst_on})\n") +
         "ratio: predicted / cheapest, geometric mean. best on: machines where nothing is cheaper.\n" +
         (first["op"] == operation_name(Operation::kReduce) ? kFixedOrder : "");
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

Document subsets_document(const SubsetResult& result, const SubsetRequest& request, size_t machines) {
  Document out = {{"op", operation_name(request.op)},
                  {"cost_model", request.paper ? "paper" : "overlap"},
                  {"machines", machines},
                  {"sets", result.sets},
                  {"sizes", {request.least, request.most}},
                  {"seed", request.effort.seed}};
  const auto add = [&out](const char* name, const SubsetGaps& gaps) {
    out[name] = {{"mean", gaps.mean},
                 {"worst", gaps.worst},
                 {"worst_on", {{"machine", gaps.worst_machine}, {"cpus", gaps.worst_cpus}}},
                 {"optimal", gaps.optimal}};
  };
  add("annealing", result.search), add("adaptive-sorted", result.adaptive);
  return out;
}

std::string subsets_text(const Document& document) {
  Document rows = Document::array();
  for (const char* const name : {"annealing", "adaptive-sorted"}) {
    Document row = document[name];
    const Document on = row["worst_on"];
    row["name"] = name;
    row["worst_on"] = row["worst"] > 0
                          ? Document(fmt::format("{}: {}", one_line(on["machine"]), shown(on, "cpus", As::kCpus)))
                          : Document(nullptr);
    rows.push_back(std::move(row));
  }
  return fmt::format("{} among {} sets of {} to {} CPUs of {} machine{}, {} cost model, seed {}\n",
                     shown(document, "op"), shown(document, "sets"), document["sizes"][0].dump(),
                     document["sizes"][1].dump(), shown(document, "machines"), document["machines"] == 1 ? "" : "s",
                     shown(document, "cost_model"), shown(document, "seed")) +
         table_text({"above the optimum", columns("tree=name; mean|.3%; worst|.1%; optimal|0; worst on=worst_on"),
                     std::move(rows)}) +
         "annealing: pattern optimised without its exact method. optimal: sets where it is the optimum.\n";
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
  show(subsets_document(result, subsets, used), arguments.json, subsets_text);
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
  show(time_live(request.cpus, request.op, seconds), arguments.json, live_text);
  return 0;
}

int run_compare(const CompareArguments& arguments) {
  if (!arguments.measured.empty()) {
    put_measured(arguments.measured, arguments.picture.machine_option->count() > 0 ? arguments.picture.machine : "",
                 arguments.json);
    return 0;
  }
  if (arguments.subsets > 0) return run_subsets(arguments);
  if (arguments.live) return run_live(arguments);
  const bool folder = !arguments.folder.empty();
  const std::vector<std::string> machines = machines_of(arguments);
  std::vector<JudgedComparison> all;
  Interruption interrupt("interrupted");
  for (const std::string& name : machines) {
    PictureArguments one = arguments.picture;
    one.machine = name;
    PictureRequest request;
    const MachineFile machine = read_request(one, interrupt.asked(), &request);
    request.pattern = "best";  // whose search visits all
    request.working =
        fmt::format("comparing patterns on {} ({} of {})", one_line(machine.name), all.size() + 1, machines.size());
    JudgedComparison comparison = judge_patterns(machine, request);
    // Among others, a search that was cut short would be taken for what it is not.
    if (folder && *interrupt.asked()) break;
    all.push_back(std::move(comparison));
  }
  const int code = interrupt.finish(folder ? fmt::format("{} of {} machines were complete", all.size(), machines.size())
                                           : "'optimised' is the best found so far");
  if (all.empty()) return code;
  if (folder)
    show(summary_document(all), arguments.json, summary_text);
  else
    show(judged_document(all.front()), arguments.json, compared_text);
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
  // Its files say which operations and trees, and most of them which machine; both models price them.
  CLI::Option* measured = verb->add_option("--measured", arguments->measured,
                                           "matrix files that say what trees took there: do the models order them so?");
  measured->type_name("FILE")->expected(1, -1);
  for (CLI::Option* other : verb->get_options())
    if (other != measured && other != verb->get_help_ptr() && !other->check_lname("machine")) measured->excludes(other);
  verb->add_flag("--json", arguments->json, "the same for programs");
  verb->footer(
      "Example:\n  smelt compare --machine zoo:NAME --op broadcast\n  smelt compare --folder zoo --op reduce\n"
      "  smelt compare --folder zoo --op reduce --subsets 10\n  smelt compare --measured FILE...");
  verb->callback([arguments, &chosen] { chosen = [arguments] { return run_compare(*arguments); }; });
}

}  // namespace smelt
