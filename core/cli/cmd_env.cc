// smelt env: the settings of smelt run for one program, as text that sets them for a shell, a service or a Jupyter
// kernel.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/launch_plan.h"
#include "cli/switch_script.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

struct EnvArguments {
  LaunchChoice choice;
  std::string format = "sh";
  bool json = false;
};

// What may have been switched on by this installation.
LaunchParts all_parts(const LaunchChoice& choice) {
  LaunchParts parts;
  std::string unfit;
  parts.shims = choice.library.empty() ? join_shims({find_shim(), find_kmp_shim()}, &unfit) : choice.library;
  parts.component = find_component();
  parts.messages = find_messages_component();
  return parts;
}

// The line that says who decides how many threads there are and where; it is "" where all is as without Smelt.
std::string source_text(const LaunchPlan& plan) {
  std::string text;
  for (const std::string& one : plan.set_by) text += (text.empty() ? "by " : "; by ") + one;
  if (plan.by_quota.threads > 0) {
    char team[128];
    plan.by_quota.text(team, sizeof team);
    text += fmt::format("{}by default, {}; SMELT_FIT=0: as without Smelt", text.empty() ? "" : "; ", team);
  }
  return text.empty() ? "" : "threads: " + text;
}

int run_env(const EnvArguments& arguments) {
  const LaunchChoice& choice = arguments.choice;
  const bool json = arguments.json || arguments.format == "json", script = !json && arguments.format != "file";
  const Shell shell = arguments.format == "fish" ? Shell::kFish : Shell::kPosix;
  if (script && choice.stock) {
    put(switch_off_script(all_parts(choice), shell));
    return 0;
  }
  const LaunchPlan plan = plan_launch(choice, {});
  const std::string source = source_text(plan);
  if (script) {
    put(switch_on_script(plan.parts, shell));
    // A command that does nothing: a comment would hide what follows from eval $(smelt env), without quotes.
    if (!source.empty()) put(fmt::format(": '{}';\n", source));
    return 0;
  }
  if (!json && !source.empty()) put(fmt::format("# {}\n", source));
  Document variables = Document::object();
  for (const EnvironmentChange& change : plan.changes)
    if (json)
      variables[change.name] = change.value.value_or("");
    else  // as systemd's EnvironmentFile= and containers' --env-file read it: to the end of the line
      put(fmt::format("{}={}\n", change.name, change.value.value_or("")));
  if (json) put(document_text(variables));
  return 0;
}

}  // namespace

void add_env(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand(
      "env", "Print what switches Smelt on for a shell and all that it starts: eval \"$(smelt env)\"");
  auto arguments = std::make_shared<EnvArguments>();
  verb->add_flag("--off", arguments->choice.stock, "print what switches it off again");
  CLI::Option* format =
      verb->add_option(
              "--format", arguments->format,
              "sh (bash, zsh), fish, file (systemd's EnvironmentFile=, --env-file) or json (a Jupyter kernel's env)")
          ->check(CLI::IsMember({"sh", "fish", "file", "json"}));
  verb->add_flag("--json", arguments->json, "the same as --format json")->excludes(format);
  add_launch_options(*verb, arguments->choice);
  verb->footer(
      "Examples:\n  eval \"$(smelt env)\"                   this shell; smelt env --off: off again\n  smelt env >"
      "$CONDA_PREFIX/etc/conda/activate.d/smelt.sh\n  smelt env --format file >smelt.env    EnvironmentFile= "
      "of a unit");
  verb->callback([arguments, &chosen] { chosen = [arguments] { return run_env(*arguments); }; });
}

}  // namespace smelt
