#include "cli/calibration_simulation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/class_figures.h"
#include "cli/command.h"
#include "cli/other_figures.h"
#include "cli/picture_request.h"
#include "cli/progress_line.h"
#include "discover/machine_file.h"
#include "measure/calibrate.h"
#include "measure/simulated_machine.h"
#include "profile/text/error.h"
#include "profile/text/io.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

using Json = nlohmann::ordered_json;

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
struct Row {
  ClassFigures figures{};
  double truth = 0;                    // median hop
  std::vector<double> truths, errors;  // per unordered pair; errors relative, >= 0
};

std::vector<Row> compare(const Calibration& found, const SimulatedMachine& machine, const MachineFile& file) {
  const ProfileImage& image = found.image;
  std::vector<uint32_t> index;  // the image's CPUs in the file
  for (const uint32_t cpu : image.os_cpu)
    index.push_back(static_cast<uint32_t>(std::find(file.cpus.begin(), file.cpus.end(), cpu) - file.cpus.begin()));
  std::vector<Row> rows(image.classes.size());
  for (size_t k = 0; k < rows.size(); ++k) rows[k].figures = image.classes[k];
  const Costs& truth = machine.truth();
  for (uint32_t a = 0; a < image.n(); ++a)
    for (uint32_t b = a + 1; b < image.n(); ++b) {
      const size_t at = size_t{a} * image.n() + b;
      Row& row = rows.at(found.class_of[at]);
      const double is = (double{truth.hop[truth.at(index[a], index[b])]} + truth.hop[truth.at(index[b], index[a])]) / 2;
      row.truths.push_back(is);
      if (is > 0) row.errors.push_back(std::abs(image.hop[at] / is - 1));
    }
  for (Row& row : rows) row.truth = median(row.truths);
  return rows;
}

std::string report_text(const SimulationArguments& arguments, const MachineFile& file, const Calibration& found,
                        const Costs& truth, const std::vector<Row>& rows, double seconds, double all_seconds) {
  std::string out =
      fmt::format("simulated   {}: noise {:g} %, outliers {:g} %, drift {:g} %/s, seed {}\n", one_line(file.name),
                  arguments.noise_percent, arguments.outliers_percent, arguments.drift_percent, arguments.seed);
  const size_t n = found.image.n();
  out += fmt::format(
      "measured    {} of {} ordered pairs in {} of the machine's time, at most {} at once; one by one all take {}\n",
      found.image.header.pairs_measured, n * (n - 1), duration_text(seconds), found.at_once,
      duration_text(all_seconds));
  out += fmt::format("one hop, {:<15} {:>8} {:>8} {:>9} {:>9} {:>7} {:>8} {:>8}  marks\n",
                     cost_unit_name(found.image.costs().unit), "pairs", "samples", "truth", "measured", "error",
                     "worst", "spread");
  for (const Row& row : rows) {
    const ClassFigures& c = row.figures;
    const double worst = row.errors.empty() ? 0 : *std::max_element(row.errors.begin(), row.errors.end());
    std::string line = fmt::format("  {:<22} {:>8} {:>8} {:>9.1f} {:>9.1f} {:>5.1f} % {:>6.1f} % {:>6.0f} %  {}",
                                   class_name(c, found.image.classes), c.pairs, c.samples, row.truth, c.hop,
                                   row.truth > 0 ? (c.hop / row.truth - 1) * 100 : 0, worst * 100, c.spread * 100.0,
                                   marks_text(c.marks));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  for (const QueueCurves& queue : found.image.queues) {
    const double is = truth.service[queue.distance];
    out += fmt::format("queueing    {}: a message takes {:.2f}, {} {:.2f}\n",
                       distance_name(static_cast<Distance>(queue.distance)), is,
                       queue.reached ? "measured" : "measured at most", queue.service);
  }
  if (found.all_to_all.predicted > 0)
    out += fmt::format("adding up   an all-to-all of {} takes {:.1f}, by the measured figures {:.1f}\n",
                       found.all_to_all.members.size(), found.all_to_all.measured, found.all_to_all.predicted);
  return out;
}

Json report_json(const SimulationArguments& arguments, const MachineFile& file, const Calibration& found,
                 const Costs& truth, const std::vector<Row>& rows, double seconds, double all_seconds) {
  Json out = {{"simulated", file.name},
              {"noise_percent", arguments.noise_percent},
              {"outliers_percent", arguments.outliers_percent},
              {"drift_percent", arguments.drift_percent},
              {"flip", arguments.flip.empty() ? Json(nullptr) : Json(arguments.flip)},
              {"seed", arguments.seed},
              {"cpus", found.image.n()},
              {"pairs_measured", found.image.header.pairs_measured},
              {"at_once", found.at_once},
              {"seconds", seconds},
              {"seconds_all_pairs", all_seconds},
              {"unit", cost_unit_name(found.image.costs().unit)},
              {"classes", Json::array()}};
  const auto figures = classes_json(found.image.classes);
  for (size_t k = 0; k < rows.size(); ++k) {
    Json row = figures[k];
    row["truth"] = rows[k].truth;
    row["error"] = rows[k].truth > 0 ? rows[k].figures.hop / rows[k].truth - 1 : 0;
    row["worst_error"] = rows[k].errors.empty() ? 0 : *std::max_element(rows[k].errors.begin(), rows[k].errors.end());
    out["classes"].push_back(std::move(row));
  }
  out["queues"] = queues_json(found.image.queues);
  for (Json& queue : out["queues"])
    for (uint32_t d = 0; d < kDistances; ++d)
      if (queue["distance"] == kDistanceNames[d]) queue["truth"] = truth.service[d];
  out["all_to_all"] = {{"measured", found.all_to_all.measured}, {"predicted", found.all_to_all.predicted}};
  out["remarks"] = found.remarks;
  return out;
}

}  // namespace

int simulate_calibration(const SimulationArguments& arguments) {
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
  const std::vector<Row> rows = compare(found, *machine, file);
  WrittenProfile written;
  if (!arguments.output.empty()) written = write_profile(found.image, arguments.output);
  if (arguments.json) {
    Json out = report_json(arguments, file, found, machine->truth(), rows, seconds, all_seconds);
    out["profile"] = written.packed.empty() ? Json(nullptr) : Json(written.packed);
    put(out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else if (!arguments.quiet) {
    for (const std::string& remark : found.remarks) warn(remark);
    put(report_text(arguments, file, found, machine->truth(), rows, seconds, all_seconds));
    if (!written.packed.empty()) put(fmt::format("written     {}\n            {}\n", written.packed, written.json));
  }
  return 0;
}

}  // namespace smelt
