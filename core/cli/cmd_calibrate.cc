// smelt calibrate: measure this machine and put the profile where every process finds it.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>

#include "base/fingerprint.h"
#include "cli/calibration_check.h"
#include "cli/calibration_simulation.h"
#include "cli/checks.h"
#include "cli/class_figures.h"
#include "cli/command.h"
#include "cli/hops.h"
#include "cli/interruption.h"
#include "cli/methods.h"
#include "cli/parameters.h"
#include "cli/progress_line.h"
#include "discover/conditions.h"
#include "discover/error.h"
#include "discover/machine.h"
#include "measure/calibrate.h"
#include "measure/finalists.h"
#include "measure/journal.h"
#include "measure/methods.h"
#include "measure/parameters.h"
#include "measure/profile_io.h"

namespace smelt {
namespace {

struct CalibrateArguments {
  std::string output;
  double race_seconds = 1;
  bool system = false, no_methods = false, all_pairs = false, fresh = false, check = false, json = false, quiet = false;
  SimulationArguments simulation;  // where it has a machine
};

// What a calibration leaves behind for its report.
struct Found {
  ProfileImage image;
  std::vector<std::string> remarks;
  size_t resumed = 0;  // pairs that an interrupted one had measured
  double seconds = 0;
};

std::string output_path(const CalibrateArguments& arguments) {
  if (!arguments.output.empty()) {
    if (!arguments.output.ends_with(".profile"))
      throw UserError(
          fmt::format("--output {}: the name must end in .profile (the JSON form goes beside it)", arguments.output));
    return arguments.output;
  }
  return arguments.system ? shared_profile_path() : default_profile_path();
}

void report(const CalibrateArguments& arguments, const Found& found, const WrittenProfile& written) {
  const ProfileImage& image = found.image;
  const PackedHeader& header = image.header;
  const auto hops = summarise_hops(image.costs(), image.package, image.core);
  std::vector<std::vector<uint32_t>> cpus;
  for (const Winner& winner : image.winners) cpus.push_back(image.cpus_of(winner));
  if (arguments.json) {
    nlohmann::ordered_json out = {{"profile", written.packed},
                                        {"json", written.json},
                                        {"machine", header.machine},
                                        {"cpus", image.n()},
                                        {"pairs_measured", header.pairs_measured},
                                        {"resumed_pairs", found.resumed},
                                        {"method", header.method},
                                        {"seconds", found.seconds},
                                        {"unit", cost_unit_name(image.costs().unit)},
                                        {"ping_pong", header.one_way_hop},
                                        {"spread", header.spread},
                                        {"hops", hops_json(hops)},
                                        {"classes", classes_json(image.classes)},
                                        {"methods", methods_json(image.curves)},
                                        {"raced", winners_json(image.winners, cpus)},
                                        {"remarks", found.remarks}};
    add_parameters(out, image.wait, image.fans, image.distances);
    put(out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  } else if (!arguments.quiet) {
    for (const std::string& remark : found.remarks) warn(remark);
    put(fmt::format("machine     {}\n", header.machine));
    put(fmt::format("measured    {} CPUs, {} ordered pairs, {:.1f} s ({})\n", image.n(), header.pairs_measured,
                    found.seconds, header.method));
    put(fmt::format("ping-pong   {:.1f} ns one way, spread {:.0f} %\n", double{header.one_way_hop},
                    header.spread * 100.0));
    put(hops_text(hops, image.costs().unit));
    put(classes_text(image.classes, image.costs().unit));
    put(methods_text(image.curves));
    put(parameters_text(image.wait, image.fans, image.distances));
    put(winners_text(image.winners, cpus));
    put(fmt::format("written     {}\n            {}\n", written.packed, written.json));
    // A profile that processes will not find by themselves deserves the word that makes them.
    if (!arguments.output.empty()) put(fmt::format("use it      SMELT_PROFILE={}\n", written.packed));
  }
}

// One line, after an interruption.
std::string how_to_go_on(const Journal& journal) {
  return journal.pairs() == 0
             ? "interrupted; the profile is as it was"
             : fmt::format("interrupted; the profile is as it was; within {} minutes the same command goes on from "
                           "what was measured (pairs: {})",
                           kJournalMinutes, journal.pairs());
}

// Throws Interrupted.
void measure_pairs(const CalibrateArguments& arguments, const Machine& machine, Journal& journal,
                   const Interruption& interruption, Found* found) {
  ProgressLine progress("pairs", !arguments.quiet && !arguments.json);
  CalibrationOptions options;
  options.all_pairs = arguments.all_pairs;
  options.stop = interruption.asked();
  options.known = journal.known();
  options.measured = [&journal](const MeasuredPair& pair) { journal.add(pair); };
  options.progress = [&progress](uint32_t done, uint32_t total, double left) { progress.show(done, total, left); };
  progress.announce(estimate_seconds(machine, options));
  Calibration calibration = calibrate(machine, *hardware_meter(), options);
  found->image = std::move(calibration.image);
  found->remarks = std::move(calibration.remarks);
}

void measure_groups(const CalibrateArguments& arguments, Found* found) {
  ProgressLine progress("groups of processes", !arguments.quiet && !arguments.json);
  MeasuredMethods methods = measure_methods(
      found->image, [&progress](uint32_t done, uint32_t total) { progress.show(done, total); });
  found->image.curves = std::move(methods.sets);
  if (!methods.remark.empty()) found->remarks.push_back(methods.remark);
}

void measure_other_parameters(const CalibrateArguments& arguments, Found* found) {
  ProgressLine progress("parameters", !arguments.quiet && !arguments.json);
  const std::string remark =
      measure_parameters(found->image, [&progress](uint32_t done, uint32_t total) { progress.show(done, total); });
  if (!remark.empty()) found->remarks.push_back(remark);
}

void race_patterns(const CalibrateArguments& arguments, Found* found) {
  ProgressLine progress("races", !arguments.quiet && !arguments.json);
  time_all_finalists(found->image, arguments.race_seconds, [&progress](uint32_t done, uint32_t total) { progress.show(done, total); });
}

int run_calibrate(const CalibrateArguments& arguments) {
  const std::string path = output_path(arguments);
  const Machine machine = discover_machine();
  if (!machine.this_machine)
    throw UserError("only the machine we run on can be measured; unset HWLOC_XMLFILE and HWLOC_SYNTHETIC");
  Interruption interruption("interrupted; the profile is as it was");
  prepare_profile_place(path, arguments.system);
  Journal journal(path, machine_fingerprint(), arguments.fresh);
  Found found;
  found.resumed = journal.known().size();
  if (found.resumed > 0 && !arguments.quiet)
    warn(fmt::format("going on from what an interrupted calibration measured (pairs: {}); --fresh measures all anew",
                     found.resumed));
  const std::vector<Finding> conditions = calibration_findings();  // before our own threads are the load
  const auto begin = std::chrono::steady_clock::now();
  try {
    measure_pairs(arguments, machine, journal, interruption, &found);
  } catch (const Interrupted&) {
    warn(how_to_go_on(journal));
    return kExitInterrupted;
  }
  for (const Finding& bad : conditions)
    found.remarks.push_back(fmt::format("{}: {}: {}; {}", bad.what, bad.found, bad.why, bad.advice));
  interruption.leave_at_once(how_to_go_on(journal));
  if (!arguments.no_methods) measure_groups(arguments, &found);
  measure_other_parameters(arguments, &found);
  if (arguments.race_seconds > 0) race_patterns(arguments, &found);
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  interruption.ignore();  // the rest takes milliseconds
  const WrittenProfile written = write_profile(found.image, path, arguments.system);
  journal.remove();
  report(arguments, found, written);
  return 0;
}

// The simulation's options mean nothing without it, and most others nothing with it.
int dispatch_calibrate(CalibrateArguments arguments) {
  if (arguments.check) return check_calibration(arguments.json, arguments.quiet);
  if (arguments.simulation.machine.empty()) return run_calibrate(arguments);
  if (!arguments.output.empty()) arguments.simulation.output = output_path(arguments);
  arguments.simulation.all_pairs = arguments.all_pairs;
  arguments.simulation.json = arguments.json;
  arguments.simulation.quiet = arguments.quiet;
  return simulate_calibration(arguments.simulation);
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
      verb->add_option("--race", arguments->race_seconds,
                       "seconds for timing the patterns that look best; who wins is used from then on; 0: the model alone decides")
          ->type_name("SECONDS")->check(number_between(0, 3600))->capture_default_str();
  CLI::Option* fresh =
      verb->add_flag("--fresh", arguments->fresh, "do not go on from what an interrupted calibration measured");
  CLI::Option* check =
      verb->add_flag("--check", arguments->check,
                     "measure a pair of each class and compare it with the profile: exit code 0 within 30 %, 1 changed");
  SimulationArguments& simulation = arguments->simulation;
  CLI::Option* simulate =
      verb->add_option("--simulate", simulation.machine,
                       "calibrate a machine that is not there (see smelt tree --help); writes only where --output says")
          ->type_name("MACHINE");
  verb->add_option("--noise", simulation.noise_percent, "of every sample, one standard deviation")
      ->type_name("PERCENT")->capture_default_str()->needs(simulate);
  verb->add_option("--outliers", simulation.outliers_percent, "samples that take 10 to 1000 times as long")
      ->type_name("PERCENT")->capture_default_str()->needs(simulate);
  verb->add_option("--drift", simulation.drift_percent, "all costs grow by this per second")
      ->type_name("PERCENT")->capture_default_str()->needs(simulate);
  verb->add_option("--flip", simulation.flip, "from that second on costs are multiplied, of all CPUs or of these")
      ->type_name("SECONDS:FACTOR[:CPUS]")->needs(simulate);
  verb->add_option("--seed", simulation.seed, "the same seed gives the same samples")->check(whole_number())->capture_default_str()->needs(simulate);
  for (CLI::Option* other : {system, no_methods, race, fresh, check}) simulate->excludes(other);
  for (CLI::Option* other : {output, system, no_methods, race, fresh}) check->excludes(other);
  verb->add_flag("--json", arguments->json, "for programs");
  verb->add_flag("--quiet", arguments->quiet, "print nothing but errors");
  verb->footer(
      "Best on an idle machine; takes about 1 ms per pair of CPUs, a moment for the methods of\n"
      "groups of processes, and --race.\nExamples:\n  smelt calibrate && smelt info\n  smelt calibrate --check --quiet || "
      "smelt calibrate\n  smelt calibrate --simulate zoo:amd-epyc-7742-2x64x2 --noise 10");
  verb->callback([arguments, &chosen] { chosen = [arguments] { return dispatch_calibrate(*arguments); }; });
}

}  // namespace smelt
