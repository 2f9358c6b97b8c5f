// smelt env: the settings of smelt run for one program, as text that sets them for a shell, a service or a Jupyter
// kernel.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/launch_plan.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

struct EnvArguments {
  LaunchChoice choice;
  std::string format = "sh";
  bool json = false;
};

// A word for fish, which knows two escapes between single quotes.
std::string fish_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string lines_for(const std::vector<EnvironmentChange>& changes, const std::string& format) {
  std::string out;
  for (const EnvironmentChange& change : changes) {
    const std::string& name = change.name;
    if (format == "fish")
      out += change.value ? fmt::format("set -gx {} {};\n", name, fish_word(*change.value))
                          : fmt::format("set -e {};\n", name);
    else if (format == "sh")
      out += change.value ? fmt::format("export {}={};\n", name, shell_word(*change.value))
                          : fmt::format("unset {};\n", name);
    else  // as systemd's EnvironmentFile= and containers' --env-file read it: to the end of the line
      out += fmt::format("{}={}\n", name, change.value.value_or(""));
  }
  return out;
}

int run_env(const EnvArguments& arguments) {
  const std::vector<EnvironmentChange> changes = plan_launch(arguments.choice, {}).changes;
  if (!arguments.json && arguments.format != "json") {
    put(lines_for(changes, arguments.format));
    return 0;
  }
  Document variables = Document::object();
  for (const EnvironmentChange& change : changes) variables[change.name] = change.value.value_or("");
  put(document_text(variables));
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
