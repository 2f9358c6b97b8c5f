// smelt config: every setting, its value and where the value came from. All from options.def.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

#include "base/options.h"
#include "cli/command.h"

namespace smelt {
namespace {

const char* scope_word(OptionScope scope) {
  return scope == OptionScope::kThreads ? "threads" : scope == OptionScope::kProcesses ? "processes" : "both";
}

const char* scope_note(OptionScope scope) {
  return scope == OptionScope::kThreads ? "; threads only" : scope == OptionScope::kProcesses ? "; MPI ranks only" : "";
}

std::string config_text() {
  std::string out;
  for (uint32_t i = 0; i < option_count(); ++i) {
    OptionRow row;
    option_row(i, &row);
    out += fmt::format("{}={}  [{}]\n", row.name, row.value, row.from);
    out += fmt::format("    {}\n", row.help);
    if (row.range[0] != '\0')
      out += fmt::format("    {} {}{}{}, default {}{}\n", row.type, row.range, row.unit[0] ? " " : "", row.unit,
                         row.fallback, scope_note(row.scope));
  }
  return out;
}

std::string config_json() {
  auto rows = nlohmann::ordered_json::array();
  for (uint32_t i = 0; i < option_count(); ++i) {
    OptionRow row;
    option_row(i, &row);
    rows.push_back({{"name", row.name},
                    {"value", row.value},
                    {"from", row.from},
                    {"type", row.type},
                    {"unit", row.unit},
                    {"range", row.range},
                    {"default", row.fallback},
                    {"scope", scope_word(row.scope)},
                    {"help", row.help}});
  }
  return rows.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

void add_config(CLI::App& app, Action& chosen) {
  CLI::App* verb = app.add_subcommand("config", "List the settings, their values and where each came from");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "for programs");
  verb->footer(
      "Settings are environment variables:\n  SMELT_WAIT=sleep smelt config\nThose that MPI ranks read are also Open "
      "MPI's "
      "parameters:\n  mpirun --mca coll_smelt_priority 90 ...");
  verb->callback([json, &chosen] {
    chosen = [json] {
      if (*json)
        put(config_json());
      else
        put_page(config_text());
      return 0;
    };
  });
}

}  // namespace smelt
