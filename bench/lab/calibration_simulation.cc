// smelt calibrate --simulate: the calibration of a machine that is not there, held against what it should have found.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "bench/lab/simulated_machine.h"
#include "bench/lab/verbs.h"
#include "cli/checks.h"
#include "cli/class_figures.h"
#include "cli/command.h"
#include "cli/other_figures.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"
#include "measure/calibrate.h"
#include "pictures/machines/machine_file.h"
#include "pictures/picture_request.h"
#include "profile/text/error.h"
#include "profile/text/io.h"
#include "profile/text/rows.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

struct SimulationArguments {
  std::string machine;       // as read_machine_file takes it
  double noise_percent = 5;  // SimulationSettings, in the units of the command line
  double outliers_percent = 1;
  double drift_percent = 0;          // per simulated second
  std::string flip;                  // "SECONDS:FACTOR" or "SECONDS:FACTOR:CPUS": from then on so many times the cost
  std::vector<std::string> service;  // "other package=12", in the machine's unit
  uint64_t seed = 1;
  bool all_pairs = false;
  std::string output;  // a .profile to write, "" for none
  bool json = false, quiet = false;
};

SimulatedChange flip_from(const std::string& text, const MachineFile& file) {
  SimulatedChange change;
  const char* const end = text.data() + text.size();
  const auto refuse = [&text](const std::string& why) -> UserError {
    return UserError(fmt::format("--flip {}: {}", text, why));
  };
  auto at = std::from_chars(text.data(), end, change.begin_s);
  const bool begins = at.ec == std::errc{} && at.ptr != end && *at.ptr == ':' && change.begin_s >= 0;
  if (begins) at = std::from_chars(at.ptr + 1, end, change.factor);
  if (!begins || at.ec != std::errc{} || !(change.factor > 0 && std::isfinite(change.factor)) ||
      (at.ptr != end && *at.ptr != ':'))
    throw refuse("expected SECONDS:FACTOR or SECONDS:FACTOR:CPUS, for instance 0.5:4:0-3");
  if (at.ptr == end) return change;
  std::vector<uint32_t> cpus;
  try {
    cpus = parse_cpu_list(std::string(at.ptr + 1, end));
  } catch (const UserError& error) {
    throw refuse(error.what());
  }
  for (const uint32_t cpu : cpus) {
    const auto found = std::find(file.cpus.begin(), file.cpus.end(), cpu);
    if (found == file.cpus.end()) throw refuse(fmt::format("{} has no CPU {}", file.name, cpu));
    change.cpus.push_back(static_cast<uint32_t>(found - file.cpus.begin()));
  }
  return change;
}

void set_service(const std::string& text, SimulationSettings& settings) {
  const size_t equals = text.find('=');
  const char* const end = text.data() + text.size();
  double cost = -1;
  if (equals != std::string::npos) {
    const auto at = std::from_chars(text.data() + equals + 1, end, cost);
    if (at.ec != std::errc{} || at.ptr != end || !std::isfinite(cost)) cost = -1;
  }
  for (uint32_t d = 1; d < kDistances && cost >= 0; ++d)
    if (text.substr(0, equals) == kDistanceNames[d]) {
      settings.service[d] = cost;
      return;
    }
  throw UserError(fmt::format("--service {}: expected a distance and a cost, for instance 'other package=12' ({})",
                              text, fmt::join(kDistanceNames + 1, kDistanceNames + kDistances, ", ")));
}

SimulationSettings settings_from(const SimulationArguments& arguments, const MachineFile& file) {
  SimulationSettings settings;
  settings.seed = arguments.seed;
  settings.noise = arguments.noise_percent / 100;
  settings.outliers = arguments.outliers_percent / 100;
  settings.drift_per_s = arguments.drift_percent / 100;
  for (const std::string& service : arguments.service) set_service(service, settings);
  if (!arguments.flip.empty()) settings.changes.push_back(flip_from(arguments.flip, file));
  return settings;
}

// A class as it was measured and as it is, and how far off each of its pairs comes out in the matrix.
struct ClassErrors {
  ClassFigures figures{};
  double truth = 0;                    // median hop
  std::vector<double> truths, errors;  // per unordered pair; errors relative, >= 0
};

std::vector<ClassErrors> compare(const Calibration& found, const SimulatedMachine& machine, const MachineFile& file) {
  const ProfileImage& image = found.image;
  std::vector<uint32_t> index;  // the image's CPUs in the file
  for (const uint32_t cpu : image.os_cpu)
    index.push_back(static_cast<uint32_t>(std::find(file.cpus.begin(), file.cpus.end(), cpu) - file.cpus.begin()));
  std::vector<ClassErrors> rows(image.classes.size());
  for (size_t k = 0; k < rows.size(); ++k) rows[k].figures = image.classes[k];
  const Costs& truth = machine.truth();
  for (uint32_t a = 0; a < image.n(); ++a)
    for (uint32_t b = a + 1; b < image.n(); ++b) {
      const size_t at = size_t{a} * image.n() + b;
      ClassErrors& row = rows.at(found.class_of[at]);
      const double is = (double{truth.hop[truth.at(index[a], index[b])]} + truth.hop[truth.at(index[b], index[a])]) / 2;
      row.truths.push_back(is);
      if (is > 0) row.errors.push_back(std::abs(image.hop[at] / is - 1));
    }
  for (ClassErrors& row : rows) row.truth = median(row.truths);
  return rows;
}

Document simulation_document(const SimulationArguments& arguments, const MachineFile& file, const Calibration& found,
                             const Costs& truth, const std::vector<ClassErrors>& rows, double seconds,
                             double all_seconds) {
  Document out = {{"simulated", file.name},
                  {"noise_percent", arguments.noise_percent},
                  {"outliers_percent", arguments.outliers_percent},
                  {"drift_percent", arguments.drift_percent},
                  {"flip", arguments.flip.empty() ? Document(nullptr) : Document(arguments.flip)},
                  {"seed", arguments.seed},
                  {"cpus", found.image.n()},
                  {"pairs_measured", found.image.header.pairs_measured},
                  {"at_once", found.at_once},
                  {"seconds", seconds},
                  {"seconds_all_pairs", all_seconds},
                  {"unit", cost_unit_name(found.image.costs().unit)}};
  Document classes = classes_document(found.image.classes);
  for (size_t k = 0; k < rows.size(); ++k) {
    const ClassErrors& row = rows[k];
    classes[k]["truth"] = row.truth;
    classes[k]["error"] = row.truth > 0 ? row.figures.hop / row.truth - 1 : 0;
    classes[k]["worst_error"] = row.errors.empty() ? 0 : *std::max_element(row.errors.begin(), row.errors.end());
  }
  out["classes"] = std::move(classes);
  out["queues"] = queues_document(found.image.queues);
  for (Document& queue : out["queues"])
    for (uint32_t d = 0; d < kDistances; ++d)
      if (queue["distance"] == kDistanceNames[d]) queue["truth"] = truth.service[d];
  out["remarks"] = found.remarks;
  return out;
}

std::string simulation_text(const Document& document) {
  std::string out =
      fact("simulated",
           fmt::format("{}: noise {:g} %, outliers {:g} %, drift {:g} %/s, seed {}", one_line(document["simulated"]),
                       document["noise_percent"].get<double>(), document["outliers_percent"].get<double>(),
                       document["drift_percent"].get<double>(), shown(document, "seed")));
  const auto n = document["cpus"].get<size_t>();
  out +=
      fact("measured",
           fmt::format("{} of {} ordered pairs in {} of the machine's time, at most {} at once; one by one all take {}",
                       shown(document, "pairs_measured"), n * (n - 1), duration_text(document["seconds"]),
                       shown(document, "at_once"), duration_text(document["seconds_all_pairs"])));
  out += table_text(
      {"one hop, " + shown(document, "unit"),
       columns("class; pairs|0; samples|0; truth|1; measured=hop|1; error|.1%; worst=worst_error|.1%; spread|%; marks"),
       document["classes"]});
  for (const Document& queue : document["queues"])
    out += fact(
        "queueing",
        fmt::format("{}: a message takes {}, {} {}", shown(queue, "distance"), shown(queue, "truth", As::kHundredths),
                    queue["reached"] ? "measured" : "measured at most", shown(queue, "service", As::kHundredths)));
  return out;
}

int simulate_calibration(const SimulationArguments& arguments) {
  if (!arguments.output.empty() && !arguments.output.ends_with(".profile"))
    throw UserError(
        fmt::format("--output {}: the name must end in .profile (the JSON form goes beside it)", arguments.output));
  const MachineFile file = read_machine_file(arguments.machine);
  const std::unique_ptr<SimulatedMachine> machine = simulate(file, settings_from(arguments, file));
  CalibrationOptions options;
  options.all_pairs = arguments.all_pairs;
  Calibration found;
  {
    ProgressLine progress("pairs", !arguments.quiet && !arguments.json);
    options.progress = [&progress](uint32_t done, uint32_t total, double) { progress.show(done, total); };
    found = calibrate(machine->machine(), *machine, options);
  }
  // Nobody is to take it for a measured one.
  set_text(found.image.header.method, sizeof found.image.header.method,
           fmt::format("simulated, seed {}: {}", arguments.seed, found.image.header.method));
  const double seconds = machine->seconds(), all_seconds = machine->seconds_of_all_pairs();
  const std::vector<ClassErrors> rows = compare(found, *machine, file);
  WrittenProfile written;
  if (!arguments.output.empty()) written = write_profile(found.image, arguments.output);
  Document out = simulation_document(arguments, file, found, machine->truth(), rows, seconds, all_seconds);
  out["profile"] = written.packed.empty() ? Document(nullptr) : Document(written.packed);
  if (!arguments.json)
    for (const std::string& remark : found.remarks) warn(remark);
  if (arguments.json || !arguments.quiet)
    show(out, arguments.json, [&](const Document& document) {
      return simulation_text(document) +
             (written.packed.empty() ? "" : fact("written", written.packed) + fact("", written.json));
    });
  return 0;
}

}  // namespace

void add_simulation(CLI::App& app, Action& chosen) {
  CLI::App* verb =
      app.add_subcommand("calibrate", "Calibrate a machine that is not there: what is found beside the truth");
  auto arguments = std::make_shared<SimulationArguments>();
  verb->add_option("--simulate", arguments->machine,
                   "calibrate a machine that is not there (see smelt tree --help); writes only where --output says")
      ->type_name("MACHINE")
      ->required();
  verb->add_option("--noise", arguments->noise_percent, "of every sample, one standard deviation")
      ->type_name("PERCENT")
      ->capture_default_str();
  verb->add_option("--outliers", arguments->outliers_percent, "samples that take 10 to 1000 times as long")
      ->type_name("PERCENT")
      ->capture_default_str();
  verb->add_option("--drift", arguments->drift_percent, "all costs grow by this per second")
      ->type_name("PERCENT")
      ->capture_default_str();
  verb->add_option("--flip", arguments->flip, "from that second on costs are multiplied, of all CPUs or of these")
      ->type_name("SECONDS:FACTOR[:CPUS]");
  verb->add_option("--service", arguments->service,
                   "how long a message keeps what those of that distance share; may be given several times")
      ->type_name("DISTANCE=COST");
  verb->add_option("--seed", arguments->seed, "the same seed gives the same samples")
      ->check(whole_number())
      ->capture_default_str();
  verb->add_option("-o,--output", arguments->output, "write the profile here; ends in .profile")->type_name("FILE");
  verb->add_flag("--all-pairs", arguments->all_pairs, "measure every pair of CPUs, also on a large machine");
  verb->add_flag("--json", arguments->json, "for programs");
  verb->add_flag("--quiet", arguments->quiet, "print nothing but errors");
  verb->footer("Example:\n  smelt calibrate --simulate zoo:amd-epyc-7742-2x64x2 --noise 10");
  verb->callback([arguments, &chosen] { chosen = [arguments] { return simulate_calibration(*arguments); }; });
}

}  // namespace smelt
