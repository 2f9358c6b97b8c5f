// compare: the overheads of OpenMP's constructs with the stock libgomp, with Smelt preloaded, and with LLVM's libomp
// preloaded, in interleaved pairs of runs. How a line of the table comes about is told in pairs.h, and to the user by
// --help.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "discover/cpu_load.h"
#include "discover/machine.h"
#include "epcc/campaign.h"
#include "epcc/program.h"
#include "epcc/report.h"
#include "profile/text/error.h"

namespace {

namespace fs = std::filesystem;
using namespace smelt::epcc;

// CPUs' worth of others' work from which on calibrate, too, says that it measured beside it.
constexpr double kNoticedLoad = 0.2;

constexpr const char* kMethod = R"(Statistics:
  A run is one process that measures one construct by EPCC's method; its figure is the median over its samples where the
  program prints one (ours, EPCC 4.0), else the mean (EPCC 3.1); beside hogs always the mean, for a median
  hides the samples that lost their CPU. A pair is one run of each side, directly one after the
  other. The ratio shown is the median over the pairs of stock / Smelt, the spread its minimum and maximum.
  Every run is bracketed by a ping-pong between two CPUs: pairs with all hops <= 80 ns are "near", with all above "far",
  and never share a line. Where an overhead is not larger than its own +/-, the ratio is that of the whole times,
  delay included, and marked with *.
Exit status: 0, 1 a benchmark failed, 2 bad input.)";

struct Arguments {
  Request request;
  std::string libomp = "auto";
  bool bind = false, no_bind = false, quick = false, json = false;
};

void describe_options(CLI::App& app, Arguments& a) {
  Request& r = a.request;
  app.footer(kMethod);
  app.add_option("--pairs", r.pairs, "runs of each side per kernel (default 5, with --quick 3)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--threads", r.threads, "threads of the team")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--kernels", r.kernels, "only these, separated by commas: BARRIER,\"PARALLEL FOR\"")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--suite", r.suites,
                 "of syncbench, arraybench, taskbench and schedbench only these, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"syncbench", "arraybench", "taskbench", "schedbench"}))
      ->capture_default_str();
  app.add_option("--array-sizes", r.array_sizes, "doubles per array in arraybench, powers of 3 up to 59049")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 59049))
      ->capture_default_str();
  app.add_flag("--bind", a.bind, "bind each thread to a CPU (default when there are enough CPUs)");
  app.add_flag("--no-bind", a.no_bind, "let the threads wander")->excludes("--bind");
  app.add_option("--wait-policy", r.wait_policy, "OMP_WAIT_POLICY of all sides")
      ->check(CLI::IsMember({"default", "passive", "active"}))
      ->capture_default_str();
  app.add_option("--hog", r.hogs, "foreign busy processes during all runs")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--epcc-dir", r.original_dir,
                 "run your build of the original EPCC suite (3.1 or 4.0) instead of ours");
  app.add_option(
         "--runtime", r.runtime,
         "of the programs: GCC's libgomp, or LLVM's libomp under clang's; LD_LIBRARY_PATH chooses another libomp")
      ->check(CLI::IsMember({"libgomp", "libomp"}))
      ->capture_default_str();
  app.add_option("--libomp", a.libomp, "LLVM's libomp.so.5 as third side: a path, auto (if installed) or none")
      ->capture_default_str();
  app.add_option("--libgomp", r.libgomp, "another libgomp.so.1 as third side, such as bench/libgomp's")
      ->excludes("--libomp");
  app.add_option("--smelt-library", r.smelt_library,
                 "libsmelt_gomp.so or libsmelt_kmp.so to preload (default: of this build, or installed)");
  app.add_option("--smelt-env", r.smelt_env, "settings of the Smelt side, SMELT_NAME=value; may be given again")
      ->allow_extra_args(false);
  app.add_flag("--plain", r.plain, "Smelt without --smelt-env as third side")
      ->needs("--smelt-env")
      ->excludes("--libomp")
      ->excludes("--libgomp");
  app.add_option("--over", r.over, "schedbench's overheads over the reference or over schedule(static)")
      ->check(CLI::IsMember({"reference", "static"}))
      ->capture_default_str();
  app.add_option("--outer-repetitions", r.outer_repetitions, "samples per run")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  app.add_option("--test-time", r.test_time_us,
                 "least µs per sample (default 1000, with --quick 300; beside hogs 20000, 5000)")
      ->check(CLI::Range(1.0, 1e9));
  app.add_option("--delay-time", r.delay_time_us, "µs of work between two constructs")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  app.add_option("--timeout", r.timeout_s, "seconds after which one run counts as failed")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  app.add_flag("--quick", a.quick, "shorter runs, fewer pairs: the whole table in seconds");
  app.add_flag("--json", a.json, "print JSON: rows, and every run");
}

// One CPU per core first, SMT siblings after: the order in which threads are bound.
std::vector<int> binding_order(const smelt::Machine& machine) {
  std::map<uint16_t, int> seen;  // core -> CPUs of it so far
  std::vector<std::pair<int, int>> order;
  for (const smelt::Pu& pu : machine.pus)
    if (pu.allowed) order.emplace_back(seen[pu.core]++, static_cast<int>(pu.os_index));
  std::ranges::stable_sort(order, {}, &std::pair<int, int>::first);
  std::vector<int> cpus;
  for (const auto& [rank, cpu] : order) cpus.push_back(cpu);
  return cpus;
}

std::string find_smelt_library(const std::string& runtime) {
  const std::string short_name = runtime == "libgomp" ? "gomp" : "kmp", name = "libsmelt_" + short_name + ".so";
  const fs::path in_build = fs::path(own_directory()).parent_path() / (short_name + "_shim") / name;
  if (access(in_build.c_str(), R_OK) == 0) return in_build;
  return fs::path(SMELT_LIBDIR) / "smelt" / name;
}

// The file that the loader would take for libomp.so.5, else the newest of LLVM's own directories. Empty: not installed.
std::string find_libomp() {
  for (const char* ldconfig : {"/sbin/ldconfig", "/usr/sbin/ldconfig"}) {
    if (access(ldconfig, X_OK) != 0) continue;
    const Finished cache = run_child({ldconfig, "-p"}, Environment::of_this_process(), 10);
    const size_t entry = cache.out.find("\tlibomp.so.5 ");
    const size_t arrow = entry == std::string::npos ? entry : cache.out.find("=> ", entry);
    if (arrow != std::string::npos) return cache.out.substr(arrow + 3, cache.out.find('\n', arrow) - arrow - 3);
  }
  std::string newest;
  int newest_version = -1;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/lib", error)) {
    const std::string name = entry.path().filename();
    const fs::path library = entry.path() / "lib/libomp.so.5";
    if (!name.starts_with("llvm") || access(library.c_str(), R_OK) != 0) continue;
    const int version = name.starts_with("llvm-") ? std::atoi(name.c_str() + 5) : 0;
    if (version > newest_version) newest = library;
    newest_version = std::max(version, newest_version);
  }
  return newest;
}

int run(const CLI::App& app, Arguments& a) {
  Request& r = a.request;
  const smelt::Machine machine = smelt::discover_machine();
  const std::vector<int> cpus = binding_order(machine);
  r.bind = a.bind || (!a.no_bind && static_cast<size_t>(r.threads) <= cpus.size());
  if (a.quick && app.count("--pairs") == 0) r.pairs = 3;
  // Beside hogs a sample must last several time slices, or it sees either none of the hogs or nothing else.
  if (app.count("--test-time") == 0) r.test_time_us = r.hogs > 0 ? (a.quick ? 5'000 : 20'000) : (a.quick ? 300 : 1'000);
  const bool libomp = r.runtime == "libomp";
  r.own_dir = own_directory() + (libomp ? "/clang" : "");
  if (libomp && access((fs::path(r.own_dir) / "syncbench").c_str(), X_OK) != 0)
    throw BadInput{fmt::format(
        "--runtime libomp: there is no {}/syncbench: install clang and libomp-dev, and build again", r.own_dir)};
  r.smelt_library = r.smelt_library.empty() ? find_smelt_library(r.runtime) : fs::absolute(r.smelt_library).string();
  if (!r.libgomp.empty())
    r.libgomp = fs::absolute(r.libgomp);
  else if (r.plain || (libomp && a.libomp == "auto"))  // it is the first side then
    r.libomp.clear();
  else if (a.libomp == "auto")
    r.libomp = find_libomp();
  else if (a.libomp != "none")
    r.libomp = fs::absolute(a.libomp);

  const smelt::LoadWatch watch(smelt::this_system());
  Results results = run_campaign(r, cpus, terminal_progress());
  end_progress();
  if (const double others = watch.so_far().others_cpus; !a.json && r.hogs == 0 && others >= kNoticedLoad)
    results.warnings.push_back(fmt::format(
        "Load     others used {:.1f} CPUs meanwhile: ratios are those of that moment, so look again when it is quiet",
        others));
  const std::string text = fmt::format("{}, {} CPUs allowed{}", machine.name(), cpus.size(),
                                       machine.virtualised ? ", virtual: near and far may change at any time" : "");
  fmt::print("{}", a.json ? report_json(r, results, text) : report_text(r, results, text));
  if (a.json)
    for (const std::string& warning : results.warnings) fmt::print(stderr, "compare: {}\n", warning);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Overheads of OpenMP constructs: the stock runtime against Smelt, in interleaved pairs of runs.",
               "compare"};
  Arguments arguments;
  describe_options(app, arguments);
  install_signal_handlers();
  try {
    app.parse(argc, argv);
    return run(app, arguments);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return complain("compare", error.what(), 2);
  } catch (const BadInput& bad) {
    return complain("compare", bad.line, 2);
  } catch (const FailedRun& failed) {
    return complain("compare", failed.line, 1);
  } catch (const smelt::UserError& error) {
    return complain("compare", error.what(), 2);
  } catch (const std::exception& error) {
    return complain("compare", error.what(), 1);
  }
}
