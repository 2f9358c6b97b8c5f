// smelt calibrate: measure this machine and put the profile where every process finds it.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "base/fingerprint.h"
#include "base/os/os.h"
#include "cli/checks.h"
#include "cli/class_figures.h"
#include "cli/command.h"
#include "cli/interruption.h"
#include "cli/methods.h"
#include "cli/other_figures.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"
#include "discover/conditions.h"
#include "discover/cpu_load.h"
#include "discover/machine.h"
#include "measure/calibrate.h"
#include "measure/fans.h"
#include "measure/finalists.h"
#include "measure/journal.h"
#include "measure/methods.h"
#include "measure/other_figures.h"
#include "measure/recheck.h"
#include "profile/text/error.h"
#include "profile/text/io.h"
#include "profile/text/read.h"

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

constexpr double kPairsShare = 0.7;  // of the time there is

struct CalibrateArguments {
  std::string output;
  double race_seconds = 1;
  double limit_seconds = 0;  // 0: by the estimate
  bool system = false, no_methods = false, all_pairs = false, fresh = false, check = false, json = false, quiet = false,
       verbose = false;
};

// A calibration's findings, for its report.
struct Found {
  ProfileImage image;
  std::vector<std::string> remarks;
  size_t resumed = 0;  // pairs that an interrupted one had measured
  double seconds = 0;
  bool ended_early = false;
};

double now_s() { return static_cast<double>(os::now_ns()) * 1e-9; }

// How long it should take, and how long it may. On a busy machine each step waits for CPUs that others have, so the
// estimate, which is for an idle one, says little there; the limit holds everywhere, to within one step.
struct TimeBudget {
  double begin = now_s();
  double pairs = 0, all = 0;  // s, estimated
  double limit = 0;

  double left() const { return std::max(begin + limit - now_s(), 0.0); }
  bool over() const { return left() <= 0; }
  int64_t until_ns() const { return static_cast<int64_t>((begin + limit) * 1e9); }
  // The remark that a line of progress adds when the estimate has turned out wrong.
  std::string remark() const {
    return now_s() - begin <= all * 1.5 + 1
               ? ""
               : fmt::format(", longer than foreseen, at most {} more", duration_text(std::ceil(left())));
  }
};

TimeBudget budget_time(const CalibrateArguments& arguments, const Machine& machine, const CalibrationOptions& options) {
  constexpr double kSetsOfMethods = 0.6, kOthersBase = 0.3, kOthersByDistance = 0.25;  // s
  constexpr double kSlack = 10, kTimes = 4;
  TimeBudget time;
  time.pairs = estimate_seconds(machine, options);
  const ProfileImage guess = guess_image(machine);
  time.all = time.pairs + kOthersBase + kOthersByDistance * static_cast<double>(fan_cpus(guess).size());
  if (!arguments.no_methods) time.all += kSetsOfMethods * static_cast<double>(method_cpus(guess).size());
  time.all += arguments.race_seconds;
  time.limit = arguments.limit_seconds > 0 ? arguments.limit_seconds : kSlack + kTimes * time.all;
  return time;
}

std::string output_path(const CalibrateArguments& arguments) {
  if (!arguments.output.empty()) {
    if (!arguments.output.ends_with(".profile"))
      throw UserError(
          fmt::format("--output {}: the name must end in .profile (the JSON form goes beside it)", arguments.output));
    return arguments.output;
  }
  return arguments.system ? shared_profile_path() : default_profile_path();
}

Document found_document(const Found& found, const WrittenProfile& written) {
  const ProfileImage& image = found.image;
  const PackedHeader& header = image.header;
  std::vector<std::vector<uint32_t>> cpus;
  for (const Winner& winner : image.winners) cpus.push_back(image.cpus_of(winner));
  Document out = {{"profile", written.packed},
                  {"json", written.json},
                  {"machine", header.machine},
                  {"cpus", image.n()},
                  {"pairs_measured", header.pairs_measured},
                  {"resumed_pairs", found.resumed},
                  {"method", header.method},
                  {"seconds", found.seconds},
                  {"ended_early", found.ended_early},
                  {"unit", cost_unit_name(image.costs().unit)},
                  {"ping_pong", header.one_way_hop},
                  {"spread", header.spread},
                  {"conditions", conditions_document(header.conditions)},
                  {"others_cpus", header.others},
                  {"hops", hops_document(summarise_hops(image.costs(), image.package, image.core))},
                  {"classes", classes_document(image.classes)},
                  {"methods", methods_document(image.curves)},
                  {"raced", winners_document(image.winners, cpus)},
                  {"remarks", found.remarks}};
  add_other_figures(out, image.queues, header.all_to_all, image.wait, image.fans, image.distances);
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

void report(const CalibrateArguments& arguments, const Found& found, const WrittenProfile& written) {
  if (arguments.quiet && !arguments.json) return;
  if (!arguments.json)
    for (const std::string& remark : found.remarks) warn(remark);
  show(found_document(found, written), arguments.json, [&](const Document& document) {
    // A profile that processes will not find by themselves deserves the word that makes them.
    return found_text(document, arguments.verbose) +
           (arguments.output.empty() ? "" : fact("use it", "SMELT_PROFILE=" + written.packed));
  });
}

// Prints one line, after an interruption.
std::string how_to_go_on(const Journal& journal) {
  return journal.pairs() == 0
             ? "interrupted; the profile is as it was"
             : fmt::format(
                   "interrupted; the profile is as it was; within {} minutes the same command goes on from "
                   "what was measured (pairs: {})",
                   kJournalMinutes, journal.pairs());
}

// Throws Interrupted.
void measure_pairs(const CalibrateArguments& arguments, const Machine& machine, Journal& journal,
                   CalibrationOptions options, const TimeBudget& time, Found* found) {
  ProgressLine progress("pairs", !arguments.quiet && !arguments.json);
  options.measured = [&journal](const MeasuredPair& pair) { journal.add(pair); };
  options.progress = [&](uint32_t done, uint32_t total, double left) {
    progress.show(done, total, left, time.remark());
  };
  // The measurements that follow are worth something, too: the pairs may have most of the time, not all.
  options.seconds = time.left() * kPairsShare;
  progress.announce(time.all, time.limit);
  Calibration calibration = calibrate(machine, *hardware_meter(), options);
  found->image = std::move(calibration.image);
  found->remarks = std::move(calibration.remarks);
  found->ended_early = calibration.ended_early;
}

// Whole seconds for children that would wait for ever; their own look at the clock comes first.
unsigned alarm_seconds(const TimeBudget& time, unsigned usual) {
  constexpr double kGrace = 3;
  return static_cast<unsigned>(std::min(std::ceil(time.left() + kGrace), static_cast<double>(usual)));
}

void measure_groups(const CalibrateArguments& arguments, const TimeBudget& time, Found* found) {
  ProgressLine progress("groups of processes", !arguments.quiet && !arguments.json);
  MethodEffort effort;
  effort.until_ns = time.until_ns();
  MeasuredMethods methods = measure_methods(
      found->image, [&](uint32_t done, uint32_t total) { progress.show(done, total, -1, time.remark()); }, effort);
  found->image.curves = std::move(methods.sets);
  if (!methods.remark.empty()) found->remarks.push_back(methods.remark);
}

void measure_others(const CalibrateArguments& arguments, const TimeBudget& time, Found* found) {
  ProgressLine progress("parameters", !arguments.quiet && !arguments.json);
  OtherEffort effort;
  effort.until_ns = time.until_ns();
  effort.copies.limit_s = alarm_seconds(time, effort.copies.limit_s);
  const std::string remark = measure_other_figures(
      found->image, [&](uint32_t done, uint32_t total) { progress.show(done, total, -1, time.remark()); }, effort);
  if (!remark.empty()) found->remarks.push_back(remark);
}

void race_patterns(const CalibrateArguments& arguments, const TimeBudget& time, Found* found) {
  ProgressLine progress("races", !arguments.quiet && !arguments.json);
  Races races = time_all_finalists(
      found->image, std::min(arguments.race_seconds, time.left()),
      [&](uint32_t done, uint32_t total) { progress.show(done, total, -1, time.remark()); }, time.until_ns());
  for (std::string& remark : races.remarks) found->remarks.push_back(std::move(remark));
}

// Writes the conditions into the profile, for good.
void mark_conditions(const LoadSeen& seen, Found* found) {
  constexpr double kOthers = 0.2, kStolen = 0.02, kSpread = 0.3;
  PackedHeader& header = found->image.header;
  const auto& classes = found->image.classes;
  const bool unsteady =
      header.spread > kSpread ||
      std::any_of(classes.begin(), classes.end(), [](const ClassFigures& c) { return c.marks & kMarkUnsteady; });
  header.others = static_cast<float>(seen.others_cpus);
  const auto mark = [&header](ConditionMark one, bool so) { header.conditions |= so ? one : 0u; };
  header.conditions = 0;
  mark(kBesideOthers, seen.others_cpus >= kOthers);
  mark(kTimeStolen, seen.stolen >= kStolen);
  mark(kThrottled, seen.throttled > 0);
  mark(kUnsteady, unsteady);
  mark(kEndedEarly, found->ended_early);
  if (header.conditions)
    found->remarks.push_back(fmt::format("measured {}; calibrate again when the machine is quiet",
                                         conditions_of(header.conditions, header.others)));
}

// All of it. Throws Interrupted while the pairs are measured; afterwards a signal ends the process with `how`.
Found measure(const CalibrateArguments& arguments, const Machine& machine, Journal& journal,
              const std::vector<MeasuredPair>& known, const TimeBudget& time, Interruption& interruption) {
  Found found;
  found.resumed = known.size();
  const std::vector<Finding> before = calibration_findings();  // before our own threads are the load
  const LoadWatch watch(this_system());
  CalibrationOptions options;
  options.all_pairs = arguments.all_pairs;
  options.stop = interruption.asked();
  options.known = known;
  measure_pairs(arguments, machine, journal, options, time, &found);
  for (const Finding& bad : before)
    found.remarks.push_back(fmt::format("{}: {}: {}; {}", bad.what, bad.found, bad.why, bad.advice));
  interruption.leave_at_once(how_to_go_on(journal));
  if (!arguments.no_methods) measure_groups(arguments, time, &found);
  measure_others(arguments, time, &found);
  if (arguments.race_seconds > 0) race_patterns(arguments, time, &found);
  found.seconds = now_s() - time.begin;
  found.ended_early |= time.over();
  if (found.ended_early)
    found.remarks.push_back(fmt::format(
        "it took {} where about {} were foreseen, and ended at its limit with what it had; calibrate again when "
        "the machine is quiet, or give it --limit",
        duration_text(found.seconds), duration_text(time.all)));
  mark_conditions(watch.in_time(), &found);
  return found;
}

// Once more, where the first time was a bad one, the time holds another, and the machine is quiet now.
void measure_again_if_quiet(const CalibrateArguments& arguments, const Machine& machine, Journal& journal,
                            const TimeBudget& time, Interruption& interruption, Found* found) {
  const auto marks = [](const Found& one) { return std::popcount(one.image.header.conditions); };
  if (marks(*found) == 0 || time.left() < time.all || any_warning(load_conditions(this_system()))) return;
  if (!arguments.quiet && !arguments.json)
    warn(fmt::format("measured {}; the machine is quiet now, so all is measured once more",
                     conditions_of(found->image.header.conditions, found->image.header.others)));
  Found again = measure(arguments, machine, journal, {}, time, interruption);
  if (marks(again) < marks(*found)) *found = std::move(again);
}

int run_calibrate(const CalibrateArguments& arguments) {
  const std::string path = output_path(arguments);
  const Machine machine = discover_machine();
  if (!machine.this_machine)
    throw UserError("only the machine we run on can be measured; unset HWLOC_XMLFILE and HWLOC_SYNTHETIC");
  Interruption interruption("interrupted; the profile is as it was");
  prepare_profile_place(path, arguments.system);
  Journal journal(path, machine_fingerprint(), arguments.fresh);
  if (!journal.known().empty() && !arguments.quiet)
    warn(fmt::format("going on from what an interrupted calibration measured (pairs: {}); --fresh measures all anew",
                     journal.known().size()));
  CalibrationOptions options;
  options.all_pairs = arguments.all_pairs;
  const TimeBudget time = budget_time(arguments, machine, options);
  Found found;
  try {
    found = measure(arguments, machine, journal, journal.known(), time, interruption);
    measure_again_if_quiet(arguments, machine, journal, time, interruption, &found);
  } catch (const Interrupted&) {
    warn(how_to_go_on(journal));
    return kExitInterrupted;
  }
  interruption.ignore();  // the rest takes milliseconds
  const WrittenProfile written = write_profile(found.image, path, arguments.system);
  journal.remove();
  report(arguments, found, written);
  return 0;
}

int dispatch_calibrate(const CalibrateArguments& arguments) {
  if (arguments.check) return check_calibration(arguments.json, arguments.quiet);
  return run_calibrate(arguments);
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
      verb->add_flag("--system", arguments->system, "write the profile that all users of this machine share")
          ->excludes(output);
  verb->add_flag("--all-pairs", arguments->all_pairs, "measure every pair of CPUs, also on a large machine");
  CLI::Option* no_methods =
      verb->add_flag("--no-methods", arguments->no_methods,
                     "do not measure the collectives of groups of processes; their limits are then typical ones");
  CLI::Option* race =
      verb->add_option(
              "--race", arguments->race_seconds,
              "seconds for timing the patterns that look best; who wins is used from then on; 0: the model alone "
              "decides")
          ->type_name("SECONDS")
          ->check(number_between(0, 3600))
          ->capture_default_str();
  CLI::Option* limit =
      verb->add_option(
              "--limit", arguments->limit_seconds,
              "seconds after which it ends with what it has, and says so (default: by the machine; 12 to 20 on small "
              "ones)")
          ->type_name("SECONDS")
          ->check(number_between(0.1, 1e6));
  CLI::Option* fresh =
      verb->add_flag("--fresh", arguments->fresh, "do not go on from what an interrupted calibration measured");
  CLI::Option* check =
      verb->add_flag("--check", arguments->check,
                     "measure a pair of each class and compare with the profile: exit code 0 within 30 %, 1 changed");
  for (CLI::Option* other : {output, system, no_methods, race, limit, fresh}) check->excludes(other);
  verb->add_flag("--json", arguments->json, "for programs");
  verb->add_flag("--quiet", arguments->quiet, "print nothing but errors");
  verb->add_flag("--verbose", arguments->verbose, "print all figures, as 'smelt info' does");
  verb->footer(
      "Best on an idle machine; takes about 1 ms per pair of CPUs, a moment for the methods of\n"
      "groups of processes, and --race.\nExamples:\n  smelt calibrate && smelt info\n  smelt calibrate --check --quiet "
      "|| smelt calibrate");
  verb->callback([arguments, &chosen] { chosen = [arguments] { return dispatch_calibrate(*arguments); }; });
}

}  // namespace smelt
