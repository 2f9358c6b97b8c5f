// smelt run: put the OpenMP shims in front of a program, the Open MPI component under it, and become that program.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "cli/command.h"
#include "cli/open_mpi_parameters.h"
#include "cli/preload.h"
#include "cli/run_environment.h"
#include "network/interfaces.h"
#include "profile/text/error.h"
#include "profile/text/network.h"

namespace smelt {
namespace {

struct RunArguments {
  std::string library;
  bool dry_run = false, stock = false, verbose = false, networks = false, messages = false;
  std::vector<std::string> command;
};

// With colons between, as LD_PRELOAD wants them.
std::string shims_to_use(const RunArguments& arguments, const std::string& component) {
  if (arguments.stock) return "";
  std::string shim = arguments.library, beside;
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
  for (const std::string& path : {shim, beside})
    if (path.find_first_of(": ") != std::string::npos)
      throw UserError(
          fmt::format("{}: LD_PRELOAD cannot hold a path with a colon or a space; copy the library elsewhere "
                      "and name it with --library",
                      path));
  return shim + (shim.empty() || beside.empty() ? "" : ":") + beside;
}

std::string component_to_use(const RunArguments& arguments) {
  if (arguments.stock) return "";
  const std::string component = find_component();
  // Open MPI has no way to write a path with a colon; OpenMP programs need not care.
  return component.find(':') == std::string::npos ? component : "";
}

// With --messages: the folder of the component that serves them. Not always, since it is not known yet that they are
// never slower.
std::string messages_to_use(const RunArguments& arguments) {
  if (!arguments.messages || arguments.stock) return "";
  const std::string folder = find_messages_component();
  if (!folder.empty() && folder.find(':') == std::string::npos) return folder;
  // the program runs all the same
  warn(fmt::format("--messages: {}; Open MPI's messages remain its own",
                   folder.empty() ? "there is no component for them here, which is built with Open MPI 4.1 only"
                                  : fmt::format("Open MPI cannot read a path with a colon, {}", folder)));
  return "";
}

// With --networks: what follows from the sampled ones, where they are still those of this machine.
std::vector<Parameter> network_parameters(const RunArguments& arguments) {
  if (!arguments.networks) return {};
  try {
    const std::string path = default_network_path();
    if (::access(path.c_str(), F_OK) != 0) throw UserError("no network was sampled yet; see 'smelt network --help'");
    const NetworkProfile profile = read_network_profile(path);
    const std::vector<NetworkInterface> here = network_interfaces();
    for (const NetworkRail& rail : profile.rails)
      if (std::none_of(here.begin(), here.end(), [&](const NetworkInterface& one) {
            return one.name == rail.interface && one.driver == rail.driver;
          }))
        throw UserError(fmt::format("{}: there is no {} ({}) here any more; sample the networks again", path,
                                    rail.interface, rail.driver));
    const std::vector<Parameter> parameters = open_mpi_parameters(profile);
    const std::string user = users_network_variable(parameters);
    if (!user.empty()) throw UserError(fmt::format("{} is set", user));
    if (arguments.verbose) {
      std::string said;
      for (const Parameter& one : parameters) said += fmt::format(" {}={}", one.name, one.value);
      warn(fmt::format("Open MPI is given, from {}:{}", path, said));
    }
    return parameters;
  } catch (const UserError& error) {  // the program runs all the same
    warn(fmt::format("--networks: {}; Open MPI keeps its own parameters", error.what()));
    return {};
  }
}

int run_run(const RunArguments& arguments) {
  if (arguments.command.empty()) throw UserError("run what? e.g. smelt run -- ./app; see 'smelt run --help'");
  const std::string component = component_to_use(arguments);
  const std::string shims = shims_to_use(arguments, component);
  const std::string program = find_program(arguments.command[0]);
  const std::vector<EnvironmentChange> changes =
      run_environment({.shims = shims,
                       .component = component,
                       .messages = messages_to_use(arguments),
                       .verbose = arguments.verbose,
                       .sanitizer = program.empty() ? "" : sanitizer_runtime(program),
                       .networks = network_parameters(arguments)});

  if (!shims.empty() && !program.empty()) {
    const std::string obstacle = preload_obstacle(program);
    if (!obstacle.empty())
      warn(fmt::format("{}: {}, so the loader ignores LD_PRELOAD; it runs without Smelt", arguments.command[0],
                       obstacle));
  }

  if (arguments.dry_run) {
    std::string line = as_shell_prefix(changes);
    for (const std::string& word : arguments.command) line += shell_word(word) + " ";
    line.back() = '\n';
    put(line);
    return 0;
  }

  for (const EnvironmentChange& change : changes) {
    if (change.value)
      ::setenv(change.name.c_str(), change.value->c_str(), 1);
    else
      ::unsetenv(change.name.c_str());
  }
  std::vector<char*> argv;
  for (const std::string& word : arguments.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const int error = errno;
  // ENOENT with the file there: its interpreter is what is missing.
  if (error == ENOENT && !program.empty()) {
    warn(fmt::format("{}: its interpreter or loader does not exist; see 'file {}'", argv[0], program));
    return kExitNoExecute;
  }
  if (error == ENOENT || error == ENOTDIR) {
    warn(fmt::format("{}: not found; check the name, or its directory in PATH", argv[0]));
    return kExitNotFound;
  }
  warn(fmt::format("{}: cannot be executed ({}); check its mode and format", argv[0], std::strerror(error)));
  return kExitNoExecute;
}

}  // namespace

void add_run(CLI::App& app, Action& chosen, const std::vector<std::string>& tail) {
  CLI::App* verb = app.add_subcommand(
      "run",
      "Run an OpenMP (GCC's libgomp, LLVM's libomp) or Open MPI program with Smelt's barriers and collectives:\n"
      "smelt run [OPTIONS] -- PROGRAM [ARGUMENTS...]");
  auto arguments = std::make_shared<RunArguments>();
  verb->add_option("--library", arguments->library, "the shim to use instead of those that belong to this program")
      ->type_name("PATH");
  verb->add_flag("--dry-run", arguments->dry_run, "print the command instead of running it");
  verb->add_flag("--stock", arguments->stock, "run without Smelt, for comparison");
  verb->add_flag("--messages", arguments->messages,
                 "serve Open MPI's messages between ranks of a node as well, not its collectives alone (Open MPI 4.1)");
  verb->add_flag("--networks", arguments->networks,
                 "give Open MPI's TCP component the parameters that follow from the sampled networks (smelt tune)");
  verb->add_flag("--verbose", arguments->verbose, "let Smelt say what it took over (SMELT_VERBOSE=1)");
  verb->prefix_command();  // everything from the first word on belongs to the program
  verb->footer(
      "The exit code is the program's; 127: not found, 126: not executable.\nExample:\n  smelt run --verbose -- "
      "./app input.dat\n  smelt run -- mpirun -n 4 ./app");
  verb->callback([verb, arguments, &chosen, &tail] {
    // Where the program's name came before any "--", the "--" is one of its arguments.
    arguments->command = verb->remaining();
    if (!arguments->command.empty() && arguments->command[0].starts_with('-'))
      throw UserError(fmt::format("{}: no such option; see 'smelt run --help'", arguments->command[0]));
    const size_t skip = arguments->command.empty() && !tail.empty() ? 1 : 0;
    arguments->command.insert(arguments->command.end(), tail.begin() + static_cast<std::ptrdiff_t>(skip), tail.end());
    chosen = [arguments] { return run_run(*arguments); };
  });
}

}  // namespace smelt
