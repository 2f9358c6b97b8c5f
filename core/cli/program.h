// What the programs with verbs share: parse, do one verb, and whatever goes wrong is one line that says what to do.
#pragma once

#include "cli/command.h"

namespace smelt {

struct Program {
  void (*add_verbs)(CLI::App& app, Action& chosen, std::vector<std::string>& tail);
  const char* footer = "";  // of its help
  // Called first with the arguments: becomes another program where that has the verb (houses.h).
  void (*leave_elsewhere)(const std::vector<std::string>& words) = nullptr;
  std::vector<std::string> machines = {};  // that an option for a MACHINE knows by name, for shells
};

// Returns the exit code. The program calls itself smelt, because people start it by that name (launch.cc).
int run_program(const Program& program, int argc, char** argv);

}  // namespace smelt
