// smelt run: put the OpenMP shim in front of a program and become that program.
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <unistd.h>
#include <vector>

#include "base/options.h"
#include "cli/command.h"
#include "cli/preload.h"
#include "discover/error.h"

namespace smelt {
namespace {

struct RunArguments {
  std::string library;
  bool dry_run = false, stock = false, verbose = false;
  std::vector<std::string> command;
};

// As one would type it: quoted only where the shell asks for it.
std::string shell_word(const std::string& text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shim_to_use(const RunArguments& arguments) {
  if (arguments.stock) return "";
  std::string shim = arguments.library;
  if (shim.empty()) {
    shim = find_shim();
    if (shim.empty())
      throw UserError(
          fmt::format("{} is neither beside this program nor in its library directory; name it with "
                      "--library PATH",
                      kShimName));
  } else if (::access(shim.c_str(), R_OK) != 0) {
    throw UserError(fmt::format("--library {}: {}; name the {} to use", shim, std::strerror(errno), kShimName));
  } else {
    shim = std::filesystem::absolute(shim).string();  // the program may start in, or change to, another directory
  }
  if (shim.find_first_of(": ") != std::string::npos)
    throw UserError(
        fmt::format("{}: LD_PRELOAD cannot hold a path with a colon or a space; copy the library elsewhere "
                    "and name it with --library",
                    shim));
  return shim;
}

int run_run(const RunArguments& arguments) {
  if (arguments.command.empty()) throw UserError("run what? e.g. smelt run -- ./app; see 'smelt run --help'");
  const std::string shim = shim_to_use(arguments);
  const char* before = environment("LD_PRELOAD");
  const std::string preload = preload_value(before, shim);

  const std::string program = find_program(arguments.command[0]);
  if (!arguments.stock && !program.empty()) {
    const std::string obstacle = preload_obstacle(program);
    if (!obstacle.empty())
      warn(fmt::format("{}: {}, so the loader ignores LD_PRELOAD; it runs without Smelt", arguments.command[0],
                       obstacle));
  }

  if (arguments.dry_run) {
    std::string line;
    if (!preload.empty())
      line += "LD_PRELOAD=" + shell_word(preload) + " ";
    else if (before && *before)
      line += "env -u LD_PRELOAD ";
    if (arguments.verbose) line += "SMELT_VERBOSE=1 ";
    for (const std::string& word : arguments.command) line += shell_word(word) + " ";
    line.back() = '\n';
    put(line);
    return 0;
  }

  if (preload.empty())
    ::unsetenv("LD_PRELOAD");
  else
    ::setenv("LD_PRELOAD", preload.c_str(), 1);
  if (arguments.verbose) ::setenv("SMELT_VERBOSE", "1", 1);
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
  CLI::App* verb = app.add_subcommand("run",
                                      "Run an OpenMP program (GCC's libgomp) with Smelt's barriers:\n"
                                      "smelt run [OPTIONS] -- PROGRAM [ARGUMENTS...]");
  auto arguments = std::make_shared<RunArguments>();
  verb->add_option("--library", arguments->library, "the shim to use instead of the one that belongs to this program")
      ->type_name("PATH");
  verb->add_flag("--dry-run", arguments->dry_run, "print the command instead of running it");
  verb->add_flag("--stock", arguments->stock, "run without Smelt, for comparison");
  verb->add_flag("--verbose", arguments->verbose, "let the shim say in one line what it took over (SMELT_VERBOSE=1)");
  verb->prefix_command();  // everything from the first word on belongs to the program
  verb->footer(
      "The exit code is the program's; 127: not found, 126: not executable.\nExample:\n  smelt run --verbose -- "
      "./app input.dat\n  smelt run -- mpirun -n 2 ./app");
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
