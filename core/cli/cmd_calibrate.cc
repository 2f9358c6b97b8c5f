// smelt calibrate: measure this machine and put the profile where every process finds it.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <unistd.h>

#include "cli/command.h"
#include "cli/hops.h"
#include "cli/methods.h"
#include "cli/parameters.h"
#include "discover/error.h"
#include "discover/machine.h"
#include "measure/calibrate.h"
#include "measure/methods.h"
#include "measure/parameters.h"
#include "measure/profile_io.h"

namespace smelt {
namespace {

struct CalibrateArguments {
  std::string output;
  bool system = false, no_methods = false, json = false, quiet = false;
};

// The measuring threads and processes hold nothing and end with this process, so leaving at once is the simplest correct way.
void leave_interrupted(int) {
  static constexpr char kText[] = "\nsmelt: interrupted; the profile is as it was\n";
  const size_t skip = isatty(STDERR_FILENO) ? 0 : 1;  // a terminal's cursor stands behind the progress
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText + skip, sizeof kText - 1 - skip);
  _exit(kExitInterrupted);
}

std::string output_path(const CalibrateArguments& arguments) {
  if (!arguments.output.empty()) {
    if (!arguments.output.ends_with(".profile"))
      throw UserError(
          fmt::format("--output {}: the name must end in .profile (the JSON form goes beside it)", arguments.output));
    return arguments.output;
  }
  if (!arguments.system) return default_profile_path();
  char path[sizeof Profile::path];
  if (system_profile_path(path, sizeof path) != 0)
    throw UserError("the system's profile path is too long; use --output");
  return path;
}

// A line that overwrites itself, on terminals only.
Progress terminal_progress(const CalibrateArguments& arguments, const char* what, uint32_t every) {
  if (arguments.quiet || arguments.json || !isatty(STDERR_FILENO)) return {};
  return [what, every](uint32_t done, uint32_t total) {
    if (done % every != 0 && done != total) return;
    std::fprintf(stderr, "\rsmelt: measured %u of %u %s", done, total, what);
    if (done == total) std::fputc('\n', stderr);
  };
}

void report(const CalibrateArguments& arguments, const ProfileImage& image, const WrittenProfile& written,
            double seconds) {
  const PackedHeader& header = image.header;
  const auto hops = summarise_hops(image.costs(), image.package, image.core);
  if (arguments.json) {
    const nlohmann::ordered_json out = {{"profile", written.packed},
                                        {"json", written.json},
                                        {"machine", header.machine},
                                        {"cpus", image.n()},
                                        {"pairs_measured", header.pairs_measured},
                                        {"method", header.method},
                                        {"seconds", seconds},
                                        {"unit", cost_unit_name(image.costs().unit)},
                                        {"ping_pong", header.one_way_hop},
                                        {"spread", header.spread},
                                        {"hops", hops_json(hops)},
                                        {"methods", methods_json(image.curves)}};
    put(out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  } else if (!arguments.quiet) {
    put(fmt::format("machine     {}\n", header.machine));
    put(fmt::format("measured    {} CPUs, {} ordered pairs, {:.1f} s ({})\n", image.n(), header.pairs_measured, seconds,
                    header.method));
    put(fmt::format("ping-pong   {:.1f} ns one way, spread {:.0f} %\n", double{header.one_way_hop},
                    header.spread * 100.0));
    put(hops_text(hops, image.costs().unit));
    put(methods_text(image.curves));
    put(parameters_text(image.wait, image.fans, image.distances));
    put(fmt::format("written     {}\n            {}\n", written.packed, written.json));
  }
}

int run_calibrate(const CalibrateArguments& arguments) {
  const std::string path = output_path(arguments);
  const Machine machine = discover_machine();
  std::signal(SIGINT, leave_interrupted);
  const auto begin = std::chrono::steady_clock::now();
  // Not at every pair: terminals are slower than pairs.
  ProfileImage image = calibrate(machine, terminal_progress(arguments, "pairs", 16));
  if (!arguments.no_methods) {
    MeasuredMethods methods = measure_methods(image, terminal_progress(arguments, "groups of processes", 1));
    image.curves = std::move(methods.sets);
    if (!methods.remark.empty() && !arguments.quiet) warn(methods.remark);
  }
  const std::string remark = measure_parameters(image, terminal_progress(arguments, "parameters", 1));
  if (!remark.empty() && !arguments.quiet) warn(remark);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::signal(SIGINT, SIG_IGN);  // the rest takes milliseconds, and "interrupted" must mean that nothing was changed
  const WrittenProfile written = write_profile(image, path, arguments.system);
  report(arguments, image, written, took.count());
  // A profile that processes will not find by themselves deserves the word that makes them.
  if (!arguments.output.empty() && !arguments.quiet && !arguments.json)
    put(fmt::format("use it      SMELT_PROFILE={}\n", written.packed));
  return 0;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& chosen) {
  CLI::App* verb =
      app.add_subcommand("calibrate", "Measure what a message between this machine's CPUs costs, and keep it");
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::Option* output =
      verb->add_option("--output", arguments->output, "write here instead of the user's cache; ends in .profile")
          ->type_name("FILE");
  verb->add_flag("--system", arguments->system, "write the profile that all users of this machine share")
      ->excludes(output);
  verb->add_flag("--no-methods", arguments->no_methods,
                 "do not measure the collectives of groups of processes; their limits are then typical ones");
  verb->add_flag("--json", arguments->json, "for programs");
  verb->add_flag("--quiet", arguments->quiet, "print nothing but errors");
  verb->footer(
      "Best on an idle machine; takes about 2 ms per pair of CPUs, and a moment for the methods\n"
      "of groups of processes.\nExample:\n  smelt calibrate && smelt info");
  verb->callback([arguments, &chosen] { chosen = [arguments] { return run_calibrate(*arguments); }; });
}

}  // namespace smelt
