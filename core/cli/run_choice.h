// The parts that smelt run puts in front of a program and under Open MPI, by its options: shims, components,
// parameters. smelt try and smelt env do the same.
#pragma once

#include <string>
#include <vector>

#include "cli/run_environment.h"

namespace CLI {
class App;
}

namespace smelt {

struct RunChoice {
  std::string library;
  bool stock = false, verbose = false, networks = false, messages = false, fit = false;
  std::string bind = "none";  // "close", "spread"
};

// The options --library, --fit, --bind, --messages and --networks.
void add_run_options(CLI::App& verb, RunChoice& choice);

// Words behind the options of a verb with prefix_command(), and `tail`, which began with "--". Throws UserError where
// an option is none of the verb's.
std::vector<std::string> command_behind(const CLI::App& verb, const std::vector<std::string>& tail);

// Throws UserError where there is no shim. Warns of what else is not there.
// `command`: the program and its arguments, if they are known.
RunParts parts_to_run(const RunChoice& choice, const std::string& program, const std::vector<std::string>& command);

}  // namespace smelt
