// smelt config: every setting, its value and where the value came from, and behind them the words of SMELT_TUNE. All
// from options.def.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstring>
#include <memory>
#include <utility>

#include "base/options.h"
#include "cli/command.h"
#include "policy/team_size.h"

namespace smelt {
namespace {

const char* scope_word(OptionScope scope) {
  return scope == OptionScope::kThreads ? "threads" : scope == OptionScope::kProcesses ? "processes" : "both";
}

Document config_document() {
  Document rows = Document::array();
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
                    {"tuning", is_tuning(row.name)},
                    {"help", row.help}});
    // A quota decides what "auto" comes to.
    char team[128] = "";
    if (const QuotaTeam by_quota = team_by_quota(); by_quota.threads > 0 && std::strcmp(row.name, "SMELT_FIT") == 0)
      by_quota.text(team, sizeof team);
    if (*team && std::strcmp(row.value, "auto") == 0) rows.back()["here"] = team;
  }
  return rows;
}

std::string config_text(const Document& rows) {
  std::string out;
  bool tuning = false;
  for (const Document& row : rows) {
    if (row["tuning"] && !std::exchange(tuning, true))
      out += "\nOnly for work on Smelt, any number by commas (SMELT_TUNE=spin_us=20,canary=0):\n";
    out += told(row, "{name}={value}  [{from}]\n    {help}\n");
    if (row.contains("here")) out += told(row, "    here: {here}\n");
    if (row["range"] == "") continue;
    const std::string unit = row["unit"];
    out += fmt::format("    {} {}{}{}, default {}{}\n", shown(row, "type"), shown(row, "range"),
                       unit.empty() ? "" : " ", unit, shown(row, "default"),
                       row["scope"] == "threads"     ? "; threads only"
                       : row["scope"] == "processes" ? "; MPI ranks only"
                                                     : "");
  }
  return out;
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
      show(config_document(), *json, config_text);
      return 0;
    };
  });
}

}  // namespace smelt
