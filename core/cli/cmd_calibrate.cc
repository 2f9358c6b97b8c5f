// smelt calibrate: measure this machine and put the profile where every process finds it.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "cli/checks.h"
#include "cli/class_figures.h"
#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/methods.h"
#include "cli/other_figures.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"
#include "discover/machine.h"
#include "measure/calibrate.h"
#include "measure/recheck.h"
#include "measure/stages.h"
#include "profile/text/error.h"
#include "profile/text/io.h"
#include "profile/text/read.h"
#include "profile/text/rows.h"

namespace smelt {
namespace {

// smelt calibrate --check: whether the profile still holds (measure/recheck.h).
std::string check_text(const Document& document) {
  Document rows = document["classes"];
  for (Document& row : rows) row["changed"] = row["within"] ? "" : "changed";
  return fact("profile", shown(document, "profile")) +
         table_text(
             {"one hop, ns", columns("class; CPUs=cpus|cpus; stored|1; now|1; ratio|2; =changed"), std::move(rows)}) +
         (document["within"] ? fact("within", shown(document, "limit", As::kPercent) + ": the profile holds")
                             : fact("advice", shown(document, "advice")));
}

int check_calibration(bool json, bool quiet) {
  std::string path;
  const ProfileImage image = present_profile(&path);
  const Machine machine = discover_machine();
  if (!machine.this_machine)
    throw UserError("only the machine we run on can be checked; unset HWLOC_XMLFILE and HWLOC_SYNTHETIC");
  std::vector<RecheckedPair> pairs = pairs_to_recheck(image, machine.allowed_cpus());
  if (pairs.empty() && image.n() > 1)
    throw UserError(
        "this process may use at most one CPU of the profile; let it use two, to check what is between them");
  if (!pairs.empty()) {
    const StillWorking working(fmt::format("measuring {} pairs", pairs.size()), !quiet);
    recheck(pairs, *hardware_meter());
  }

  std::vector<ClassFigures> classes;
  for (const RecheckedPair& c : pairs) classes.push_back(c.figures);
  const auto changed = std::count_if(pairs.begin(), pairs.end(), [](const RecheckedPair& c) { return !c.within(); });
  const std::string advice =
      changed == 0
          ? ""
          : fmt::format(
                "{} of {} classes changed by more than {:.0f} %; if this machine is idle, run 'smelt calibrate'",
                changed, pairs.size(), kRecheckLimit * 100);
  Document out = {{"profile", path},
                  {"unit", cost_unit_name(static_cast<CostUnit>(image.header.unit))},
                  {"limit", kRecheckLimit},
                  {"within", changed == 0},
                  {"classes", Document::array()}};
  for (const RecheckedPair& c : pairs)
    out["classes"].push_back({{"class", class_name(c.figures, classes)},
                              {"cpus", {c.a, c.b}},
                              {"stored", c.stored},
                              {"now", c.now},
                              {"ratio", c.ratio()},
                              {"within", c.within()}});
  out["advice"] = advice.empty() ? Document(nullptr) : Document(advice);
  if (!quiet || json) show(out, json, check_text);
  return changed == 0 ? 0 : kExitWarning;
}

struct CalibrateArguments {
  std::string output;
  CalibrationRequest request;
  bool no_methods = false, check = false, json = false, quiet = false, verbose = false;
};

std::string output_path(const CalibrateArguments& arguments) {
  if (!arguments.output.empty()) {
    if (!arguments.output.ends_with(".profile"))
      throw UserError(
          fmt::format("--output {}: the name must end in .profile (the JSON form goes beside it)", arguments.output));
    return arguments.output;
  }
  return arguments.request.shared ? shared_profile_path() : default_profile_path();
}

Document found_document(const NewProfile& found) {
  const ProfileImage& image = found.image;
  const PackedHeader& header = image.header;
  Document out = {{"profile", found.written.packed},
                  {"json", found.written.json},
                  {"machine", header.machine},
                  {"cpus", image.n()},
                  {"pairs_measured", header.pairs_measured},
                  {"method", header.method},
                  {"seconds", found.seconds},
                  {"ended_early", found.ended_early},
                  {"unit", cost_unit_name(image.costs().unit)},
                  {"ping_pong", header.one_way_hop},
                  {"spread", header.spread},
                  {"conditions", conditions_document(header.conditions)},
                  {"others_cpus", header.others},
                  {"hops", hops_document(image.costs(), image.package, image.core)},
                  {"classes", classes_document(image.classes)},
                  {"methods", methods_document(image.curves)},
                  {"raced", winners_document(image)},
                  {"remarks", found.remarks}};
  add_other_figures(out, image.queues, image.wait, image.fans, image.distances);
  return out;
}

// What the thresholds and the choice of patterns come from, in words of our own; --verbose asks for it.
std::string details_text(const Document& document) {
  return table_text(classes_table(document["classes"], document["unit"])) + queues_text(document) +
         methods_text(document["methods"]) + other_figures_text(document) +
         table_text(winners_table(document["raced"]));
}

std::string found_text(const Document& document, bool verbose) {
  return fact("machine", shown(document, "machine")) +
         fact("measured", told(document, "{cpus} CPUs, {pairs_measured} ordered pairs, {seconds|1} s ({method})")) +
         fact("ping-pong", told(document, "{ping_pong|1} ns one way, spread {spread|%}")) +
         table_text(hops_table(document["hops"], document["unit"])) + (verbose ? details_text(document) : "") +
         fact("written", shown(document, "profile")) + fact("", shown(document, "json")) +
         (verbose ? "" : fact("all of it", "smelt info"));
}

void report(const CalibrateArguments& arguments, const NewProfile& found) {
  if (arguments.quiet && !arguments.json) return;
  if (!arguments.json)
    for (const std::string& remark : found.remarks) warn(remark);
  show(found_document(found), arguments.json, [&](const Document& document) {
    // A profile that processes will not find by themselves deserves the word that makes them.
    return found_text(document, arguments.verbose) +
           (arguments.output.empty() ? "" : fact("use it", "SMELT_PROFILE=" + found.written.packed));
  });
}

// A line for each stage.
class StageLines {
 public:
  StageLines(bool wanted, Interruption& interruption) : wanted_(wanted), interruption_(interruption) {}

  void operator()(const CalibrationProgress& now) {
    constexpr const char* kNames[] = {"pairs", "groups of processes", "parameters", "races"};
    if (now.total > 0) {
      line_->show(now.done, now.total, now.stage_left, late_text(now));
      return;
    }
    line_.reset();
    if (now.stage == CalibrationStage::kWriting) return interruption_.ignore();  // the rest takes milliseconds
    line_.emplace(kNames[static_cast<size_t>(now.stage)], wanted_);
    if (now.stage == CalibrationStage::kPairs) line_->announce(now.foreseen, now.at_most);
  }

 private:
  static std::string late_text(const CalibrationProgress& now) {
    if (now.elapsed <= now.foreseen * 1.5 + 1) return "";
    return fmt::format(", longer than foreseen, at most {} more",
                       duration_text(std::ceil(std::max(now.at_most - now.elapsed, 0.0))));
  }

  const bool wanted_;
  Interruption& interruption_;
  std::optional<ProgressLine> line_;
};

int run_calibrate(const CalibrateArguments& arguments) {
  CalibrationRequest request = arguments.request;
  request.path = output_path(arguments);
  request.methods = !arguments.no_methods;
  Interruption interruption("interrupted; the profile is as it was");
  interruption.leave_at_once();
  StageLines lines(!arguments.quiet && !arguments.json, interruption);
  request.progress = std::ref(lines);
  if (!arguments.quiet && !arguments.json) request.tell = warn;
  report(arguments, calibrate_this_machine(request));
  return 0;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& chosen) {
  CLI::App* verb =
      app.add_subcommand("calibrate", "Measure what a message between this machine's CPUs costs, and keep it");
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::Option* output =
      verb->add_option("-o,--output", arguments->output, "write here instead of the user's cache; ends in .profile")
          ->type_name("FILE");
  CLI::Option* system =
      verb->add_flag("--system", arguments->request.shared, "write the profile that all users of this machine share")
          ->excludes(output);
  verb->add_flag("--all-pairs", arguments->request.all_pairs, "measure every pair of CPUs, also on a large machine");
  CLI::Option* no_methods =
      verb->add_flag("--no-methods", arguments->no_methods,
                     "do not measure the collectives of groups of processes; their limits are then typical ones");
  CLI::Option* race =
      verb->add_option(
              "--race", arguments->request.race_seconds,
              "seconds for timing the patterns that look best; who wins is used from then on; 0: the model alone "
              "decides")
          ->type_name("SECONDS")
          ->check(number_between(0, 3600))
          ->capture_default_str();
  CLI::Option* limit =
      verb->add_option(
              "--limit", arguments->request.limit_seconds,
              "seconds after which it ends with what it has, and says so (default: by the machine; 12 to 20 on small "
              "ones)")
          ->type_name("SECONDS")
          ->check(number_between(0.1, 1e6));
  CLI::Option* check =
      verb->add_flag("--check", arguments->check,
                     "measure a pair of each class and compare with the profile: exit code 0 within 30 %, 1 changed");
  for (CLI::Option* other : {output, system, no_methods, race, limit}) check->excludes(other);
  verb->add_flag("--json", arguments->json, "for programs");
  verb->add_flag("--quiet", arguments->quiet, "print nothing but errors");
  verb->add_flag("--verbose", arguments->verbose, "print all figures, as 'smelt info' does");
  verb->footer(
      "Best on an idle machine; takes about 1 ms per pair of CPUs, a moment for the methods of\n"
      "groups of processes, and --race.\nExamples:\n  smelt calibrate && smelt info\n  smelt calibrate --check --quiet "
      "|| smelt calibrate");
  verb->callback([arguments, &chosen] {
    chosen = [arguments] {
      return arguments->check ? check_calibration(arguments->json, arguments->quiet) : run_calibrate(*arguments);
    };
  });
}

}  // namespace smelt
