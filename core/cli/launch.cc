// smelt, as people start it. Its usual call, `smelt run -- ./app`, stands before every run of somebody's program, and
// must cost no more than a program that does nothing. So it is done here, by a program that needs the C library alone.
// All else is done by smelt-main (main.cc), with its libraries and its parser; this becomes that, with the same
// arguments. Wherever a call of `smelt run` has options, a setting, or something to say, it is for smelt-main, too: so
// there is nothing here to be kept the same as there but the parts of a plain run.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/launch_environment.h"

namespace smelt {
namespace {

// The program's words in a plain `smelt run`; nullptr: it is none.
char** plain_command(char** argv) {
  if (!argv[0] || !argv[1] || std::strcmp(argv[1], "run") != 0 || !argv[2]) return nullptr;
  char** const command = argv + (std::strcmp(argv[2], "--") == 0 ? 3 : 2);
  if (!command[0] || command[0][0] == '-' || command[0][0] == '\0') return nullptr;
  for (char** variable = environ; *variable; ++variable)
    if (std::strncmp(*variable, "SMELT_", 6) == 0) return nullptr;
  return command;
}

// As `env` does it: the variables as they are, without those that are changed, and then the changes.
std::vector<std::string> changed_environment(const std::vector<EnvironmentChange>& changes) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable; ++variable) {
    const std::string text = *variable;
    bool stays = true;
    for (const EnvironmentChange& change : changes) stays = stays && !text.starts_with(change.name + "=");
    if (stays) all.push_back(text);
  }
  for (const EnvironmentChange& change : changes)
    if (change.value) all.push_back(change.name + "=" + *change.value);
  return all;
}

// Returns where this run is not plain after all, or the program cannot be executed.
void become(char** command) {
  const std::string program = find_program(command[0]);
  const std::string shim = find_shim();
  if (program.empty() || !preload_obstacle(program).empty() || shim.empty()) return;
  LaunchParts parts;
  std::string unfit;
  parts.shims = join_shims({shim, find_kmp_shim()}, &unfit);
  if (!unfit.empty()) return;
  parts.component = find_component();
  parts.sanitizer = sanitizer_runtime(program);
  if (parts.component.find(':') != std::string::npos) return;
  std::vector<std::string> variables = changed_environment(run_environment(parts));
  std::vector<char*> pointers;
  for (std::string& variable : variables) pointers.push_back(variable.data());
  pointers.push_back(nullptr);
  ::execvpe(command[0], command, pointers.data());
}

}  // namespace
}  // namespace smelt

int main(int, char** argv) {
  using namespace smelt;
  if (char** const command = plain_command(argv)) become(command);
  const std::string path = find_main();
  if (!path.empty()) ::execv(path.c_str(), argv);
  std::fprintf(stderr, "smelt: %s is neither beside this program nor in its library directory; install Smelt again\n",
               kMainName);
  return kExitUsage;
}
