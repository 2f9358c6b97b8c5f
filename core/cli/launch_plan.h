// The plan of how a program is started with Smelt or without: smelt run, try and env make it from the same options.
#pragma once

#include <string>
#include <vector>

#include "cli/job_stats.h"
#include "cli/launch_environment.h"
#include "policy/team_size.h"

namespace CLI {
class App;
}

namespace smelt {

struct LaunchChoice {
  std::string library;
  bool stock = false, verbose = false, networks = false, messages = false, fit = false;
  std::string bind = "none";  // "close", "spread"

  bool with_options() const { return !library.empty() || networks || messages || fit || bind != "none"; }
};

// The options --library, --fit, --bind, --messages and --networks.
void add_launch_options(CLI::App& verb, LaunchChoice& choice);

// Words behind the options of a verb with prefix_command(), and `tail`, which began with "--". Throws UserError where
// an option is none of the verb's.
std::vector<std::string> command_behind(const CLI::App& verb, const std::vector<std::string>& tail);

struct LaunchPlan {
  std::vector<std::string> command;        // the program and its arguments; none for an environment alone
  LaunchParts parts;                       // what stands in front of it
  std::vector<EnvironmentChange> changes;  // against the environment as it is
  JobKind job;
  // What decides how many threads there are and where, as far as it is not as without Smelt: "--fit", "SMELT_FIT=1",
  // "--bind".
  std::vector<std::string> set_by;
  QuotaTeam by_quota;      // the teams that the shims make in the program
  bool elsewhere = false;  // a daemon starts the ranks, not the command itself (Slurm's srun)
};

// Throws UserError where there is no shim. Warns of what else is not there.
LaunchPlan plan_launch(const LaunchChoice& choice, const std::vector<std::string>& command);

}  // namespace smelt
