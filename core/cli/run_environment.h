// The changes of smelt run to a program's environment, so that the loader and Open MPI find Smelt, or no longer do.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace smelt {

// One of Open MPI's own.
struct Parameter {
  std::string name, value, why;
};

struct EnvironmentChange {
  std::string name;
  std::optional<std::string> value;  // nothing: the variable goes
};

struct RunParts {
  std::string shims;      // the OpenMP shims, with colons between, "" for none
  std::string component;  // folder of the Open MPI component, "" for none
  std::string messages;   // ... and of the one for messages, "" where nobody has asked for it
  bool verbose = false;
  std::string sanitizer = {};            // AddressSanitizer's runtime that the program needs (preload.h), "" for none
  std::vector<Parameter> networks = {};  // of Open MPI, to be set
  std::vector<EnvironmentChange> threads = {};  // of --fit and --bind
};

// Against the environment as it is. Parts that are "" are taken away where an earlier smelt run put them. The user's
// own settings stay: other libraries and folders, a priority; and messages that the user or an outer smelt run has
// asked for, unless there is no `component` either.
std::vector<EnvironmentChange> run_environment(const RunParts& parts);

// The variable by which the user has said something else about Open MPI's use of networks, "" for none. All parameters
// are set or none: a user's choice of interfaces does not go with samples of others.
std::string users_network_variable(const std::vector<Parameter>& networks);

// As one would type it before a command, with a blank at the end; "" for no changes.
std::string as_shell_prefix(const std::vector<EnvironmentChange>& changes);

// Quoted only where the shell asks for it.
std::string shell_word(const std::string& text);

}  // namespace smelt
