#include "cli/launch_plan.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/options.h"
#include "cli/bind.h"
#include "cli/command.h"
#include "cli/fit.h"
#include "cli/houses.h"
#include "profile/text/error.h"
#include "smelt_config.h"

namespace smelt {
namespace {

// The entries have colons between, as LD_PRELOAD wants them.
std::string shims_to_use(const LaunchChoice& choice, const std::string& component) {
  if (choice.stock) return "";
  std::string shim = choice.library, beside;
  if (shim.empty()) {
    shim = find_shim();
    beside = find_kmp_shim();
    if (shim.empty() && component.empty())
      throw UserError(
          fmt::format("{} is neither beside this program nor in its library directory; name it with "
                      "--library PATH",
                      kShimName));
  } else if (::access(shim.c_str(), R_OK) != 0) {
    throw UserError(fmt::format("--library {}: {}; name the {} to use", shim, std::strerror(errno), kShimName));
  } else {
    shim = std::filesystem::absolute(shim).string();  // the program may start in, or change to, another directory
  }
  std::string unfit;
  const std::string shims = join_shims({shim, beside}, &unfit);
  if (!unfit.empty())
    throw UserError(
        fmt::format("{}: LD_PRELOAD cannot hold a path with a colon or a space; copy the library elsewhere "
                    "and name it with --library",
                    unfit));
  return shims;
}

std::string component_to_use(const LaunchChoice& choice) {
  if (choice.stock) return "";
  const std::string component = find_component();
  // Open MPI has no way to write a path with a colon; OpenMP programs need not care.
  return component.find(':') == std::string::npos ? component : "";
}

// Says why the component for messages is not there.
std::string no_messages() {
  const std::string series = SMELT_OPEN_MPI_SERIES;
  if (series.empty()) return std::string("the Open MPI components were not built: ") + SMELT_OPEN_MPI_MISSING;
  if (series != "4.1" && series != "5.0")
    return fmt::format("it serves those of Open MPI 4.1 and 5.0, and this Smelt is built for {}", series);
  return "there is no component for them where Smelt looks (mca_pml_smelt.so)";
}

// If --messages is given, this is the folder of the component that serves them. It is not always taken, because it is
// not known yet that messages are never slower.
std::string messages_to_use(const LaunchChoice& choice) {
  if (!choice.messages || choice.stock) return "";
  const std::string folder = find_messages_component();
  if (!folder.empty() && folder.find(':') == std::string::npos) return folder;
  // the program runs all the same
  warn(fmt::format(
      "--messages: {}; Open MPI's messages remain its own",
      folder.empty() ? no_messages() : fmt::format("Open MPI cannot read a path with a colon, {}", folder)));
  return "";
}

// With --networks: the parameters that follow from the sampled ones, if they are still those of this machine. All of
// them or none: a user's choice of interfaces does not go with samples of others.
std::vector<EnvironmentChange> network_parameters(const LaunchChoice& choice) {
  if (!choice.networks) return {};
  try {
    std::vector<EnvironmentChange> changes;
    std::string said, user = environment("OMPI_MCA_btl_tcp_if_exclude") ? "OMPI_MCA_btl_tcp_if_exclude" : "";
    for (const Document& row : Document::parse(ask_house({"tune", "openmpi", "--here", "--json"}))) {
      const std::string parameter = row["parameter"], name = "OMPI_MCA_" + parameter, value = row["value"];
      if (const char* const set = environment(name.c_str()); user.empty() && set && set != value) user = name;
      changes.push_back({name, value});
      said += fmt::format(" {}={}", parameter, value);
    }
    if (!user.empty()) throw UserError(fmt::format("{} is set", user));
    if (choice.verbose) warn(fmt::format("Open MPI is given, from the sampled networks:{}", said));
    return changes;
  } catch (const UserError& error) {  // the program runs all the same
    warn(fmt::format("--networks: {}; Open MPI keeps its own parameters", error.what()));
    return {};
  }
}

// The shims make teams of as many threads as the quota pays for, unless they are told not to.
QuotaTeam team_of_shims() {
  const QuotaTeam team = team_by_quota();
  if (team.threads == 0 || (environment("SMELT_FIT") && std::strcmp(options().fit, "0") == 0)) return {};
  bool served = !environment("SMELT_OPENMP");
  for (bool Options::*const shim : {&Options::gomp, &Options::kmp}) served = served || options().*shim;
  return served ? team : QuotaTeam{};
}

// --fit and --bind ask for these.
std::vector<EnvironmentChange> thread_changes(const LaunchChoice& choice, const std::vector<std::string>& command,
                                              std::vector<std::string>* set_by) {
  std::vector<EnvironmentChange> changes;
  uint32_t threads = 0;  // of each process; 0: not known
  // The settings are read only if this one is set: the program will warn of errors in them.
  if (choice.fit || (environment("SMELT_FIT") && std::strcmp(options().fit, "1") == 0)) {
    const Fit fit = fit_into(look_at_room(command), environment);
    const std::string asked_by = choice.fit ? "--fit" : "SMELT_FIT=1";
    warn(asked_by + ": " + fit.why);
    changes = fit.changes;
    if (!changes.empty()) set_by->push_back(asked_by);
    threads = fit.threads;
  }
  if (choice.bind != "none") {
    if (const char* const set = environment("OMP_NUM_THREADS"); threads == 0 && set)
      threads = static_cast<uint32_t>(std::strtoul(set, nullptr, 10));
    const Binding binding = bind_to(choice.bind, look_at_cores(), command, threads, environment);
    warn("--bind: " + binding.why);
    if (!binding.changes.empty()) set_by->push_back("--bind");
    changes.insert(changes.end(), binding.changes.begin(), binding.changes.end());
  }
  return changes;
}

}  // namespace

void add_launch_options(CLI::App& verb, LaunchChoice& choice) {
  verb.add_option("--library", choice.library, "the shim to use instead of those that belong to this program")
      ->type_name("PATH");
  verb.add_flag("--fit", choice.fit,
                "no more threads than the cgroup's quota pays for (OMP_NUM_THREADS; also SMELT_FIT=1)");
  verb.add_option("--bind", choice.bind,
                  "put threads and ranks on cores of their own, near each other or far, unless others work there")
      ->check(CLI::IsMember({"none", "close", "spread"}))
      ->capture_default_str();
  verb.add_flag(
      "--messages", choice.messages,
      "serve Open MPI's messages between ranks of a node as well, not its collectives alone (Open MPI 4.1, 5.0)");
  verb.add_flag("--networks", choice.networks,
                "give Open MPI's TCP component the parameters that follow from the sampled networks (smelt tune)");
}

std::vector<std::string> command_behind(const CLI::App& verb, const std::vector<std::string>& tail) {
  // Where the program's name came before any "--", the "--" is one of its arguments.
  std::vector<std::string> command = verb.remaining();
  if (!command.empty() && command[0].starts_with('-'))
    throw UserError(fmt::format("{}: no such option; see 'smelt {} --help'", command[0], verb.get_name()));
  const size_t skip = command.empty() && !tail.empty() ? 1 : 0;
  command.insert(command.end(), tail.begin() + static_cast<std::ptrdiff_t>(skip), tail.end());
  return command;
}

LaunchPlan plan_launch(const LaunchChoice& choice, const std::vector<std::string>& command) {
  const std::string program = command.empty() ? "" : find_program(command[0]);
  LaunchPlan plan;
  plan.command = command;
  LaunchParts parts;
  parts.component = component_to_use(choice);
  parts.shims = shims_to_use(choice, parts.component);
  parts.messages = messages_to_use(choice);
  parts.verbose = choice.verbose;
  parts.sanitizer = program.empty() ? "" : sanitizer_runtime(program);
  if (!choice.stock) {
    parts.more = thread_changes(choice, command, &plan.set_by);
    const bool fitted = std::any_of(parts.more.begin(), parts.more.end(),
                                    [](const EnvironmentChange& one) { return one.name == "OMP_NUM_THREADS"; });
    if (!fitted && !parts.shims.empty()) plan.by_quota = team_of_shims();
  }
  for (EnvironmentChange& one : network_parameters(choice)) parts.more.push_back(std::move(one));
  plan.parts = parts;
  plan.changes = run_environment(parts);
  if (!command.empty()) plan.job.launcher = mpi_launcher(command[0]);
  plan.elsewhere = std::filesystem::path(program).filename() == "srun";
  if (!program.empty()) plan.job.obstacle = preload_obstacle(program);
  plan.job.component = !parts.component.empty();
  plan.job.messages = !parts.messages.empty();
  return plan;
}

}  // namespace smelt
