// smelt info and config: this machine and its settings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/options.h"
#include "program.h"

namespace smelt::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

json info(const std::map<std::string, std::string>& environment) {
  const Outcome outcome = run({{"info", "--json"}, environment});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.json();
}

std::map<std::string, json> thresholds(const std::vector<std::string>& arguments,
                                       const std::map<std::string, std::string>& environment = {}) {
  std::vector<std::string> all{"info", "--thresholds", "--json"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Outcome outcome = run({all, environment});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::map<std::string, json> rows;
  const json out = outcome.json();
  for (const json& row : out["thresholds"]) {
    EXPECT_TRUE(rows.emplace(row["name"], row).second) << row;
    EXPECT_NE(row["reason"], "") << row;
    EXPECT_TRUE(row["value"].is_null() || row["value"].is_number_unsigned()) << row;
  }
  return rows;
}

TEST(Info, SaysThatAGuessIsAGuess) {
  const auto empty = cache("nothing-measured");
  const json out = info(empty);
  if (out["profile"]["source"] == "system") GTEST_SKIP() << "this machine has a system profile";
  EXPECT_EQ(out["profile"]["source"], "guess");
  EXPECT_EQ(out["profile"]["measured"], false);
  EXPECT_NE(out["advice"].get<std::string>().find("smelt calibrate"), std::string::npos);
  EXPECT_EQ(out["pus"].get<size_t>(), out["cpus"].size());
  EXPECT_TRUE(out["barrier"]["pattern"].is_string());
  const Outcome text = run({{"info"}, empty});
  EXPECT_NE(text.out.find("guess"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("advice"), std::string::npos) << text.out;
}

TEST(Info, ShowsTheBarrierThatTheSettingAsksFor) {
  const auto shown = [](const char* pattern) { return run({{"info", "--json"}, {{"SMELT_TUNE=pattern", pattern}}}); };
  EXPECT_EQ(shown("mst").json()["barrier"]["pattern"], "mst");
  const Outcome bad = shown("mts");
  EXPECT_NE(bad.err.find("did you mean 'mst'?"), std::string::npos) << bad.err;
  EXPECT_EQ(bad.json()["barrier"]["pattern"], shown("best").json()["barrier"]["pattern"]);
}

TEST(Info, ListsTheThresholdsAndTheirReasons) {
  const auto elsewhere = thresholds({"--machine", "synthetic:pack:2 core:4 pu:1"});
  EXPECT_EQ(elsewhere.at("copy_broadcast").at("origin"), "typical");
  EXPECT_EQ(elsewhere.at("copy_broadcast").at("setting"), "SMELT_TUNE=copy_limit");
  EXPECT_EQ(elsewhere.at("spin").at("unit"), "ns");
  EXPECT_EQ(elsewhere.at("inline").at("origin"), "layout");
  const auto crowd = thresholds({"--machine", "synthetic:pack:2 core:4 pu:1", "--participants", "9"});
  EXPECT_EQ(crowd.at("copy_broadcast").at("origin"), "situation");
  EXPECT_TRUE(crowd.at("copy_broadcast").at("value").is_null());
  const auto set = thresholds({}, {{"SMELT_TUNE", "copy_limit=12345,yield_us=7"}});
  EXPECT_EQ(set.at("copy_reduce").at("value"), 12345);
  EXPECT_EQ(set.at("copy_reduce").at("origin"), "setting");
  EXPECT_EQ(set.at("yield").at("value"), 7000);
  for (const auto& [name, row] : elsewhere) EXPECT_EQ(row.at("strict"), row.at("value")) << name << ": not measured";
  const Outcome text = smelt({"info", "--thresholds"});
  for (const auto& [name, row] : elsewhere) EXPECT_NE(text.out.find("\n" + name + " "), std::string::npos) << name;
  EXPECT_EQ(smelt({"info", "--participants", "3"}).code, 2) << "of thresholds only";
}

// What it finds is the machine's; that both forms say the same, and the exit code with them, is ours. Load comes and
// goes, so the fixed subjects are compared.
TEST(Doctor, SaysWhatItFoundAndWhatToDo) {
  const auto empty = cache("doctor");
  const Outcome outcome = run({{"doctor", "--json"}, empty});
  const json report = outcome.json();
  EXPECT_EQ(outcome.code, report["trustworthy"].get<bool>() ? 0 : 1) << outcome.err;
  const Outcome text = run({{"doctor"}, empty});
  EXPECT_TRUE(text.out.starts_with("running     ")) << text.out;
  EXPECT_EQ(text.code, text.out.find("\nmeasuring   fine: ") != std::string::npos ? 0 : 1) << text.out;
  std::map<std::string, json> findings;
  bool warning = false, of_programs = false;
  for (const json& finding : report["findings"]) {
    findings[finding["what"]] = finding;
    warning |= finding["severity"] == "warning";
    of_programs |= finding["severity"] == "warning" && finding["of_programs"].get<bool>();
    EXPECT_EQ(finding["advice"].is_null(), finding["severity"] == "ok") << finding;
    EXPECT_NE(text.out.find(finding["what"].get<std::string>()), std::string::npos) << finding;
  }
  EXPECT_EQ(report["trustworthy"], !warning);
  EXPECT_EQ(report["running_is_fine"], !of_programs);
  for (const char* what : {"CPU quota", "other load", "frequency governor", "OpenMP pinning", "profile"})
    EXPECT_TRUE(findings.contains(what)) << what;
  // Binding is advised where nothing else runs.
  const bool others = findings["other load"]["severity"] == "warning";
  EXPECT_EQ(findings["OpenMP pinning"]["severity"], others ? "ok" : "note");
  EXPECT_EQ(outcome.out.find("export OMP_PROC_BIND=true") == std::string::npos, others) << outcome.out;
  const json pinned = run({{"doctor", "--json"}, {{"OMP_PLACES", "cores"}, {"SMELT_PROFILE", "/no/such/file"}}}).json();
  for (const json& finding : pinned["findings"]) {
    if (finding["what"] == "OpenMP pinning") {
      EXPECT_NE(finding["found"].get<std::string>().find("OMP_PLACES=cores"), std::string::npos) << finding;
    } else if (finding["what"] == "profile") {
      EXPECT_EQ(finding["severity"], "warning") << finding;
    }
  }
}

TEST(Config, TellsValuesAndWhereTheyCameFrom) {
  const Outcome outcome = run({{"config", "--json"}, {{"SMELT_WAIT", "sleep"}, {"SMELT_TUNE", "spin_us=many"}}});
  ASSERT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("SMELT_TUNE=spin_us=many"), std::string::npos) << outcome.err;
  std::map<std::string, json> rows;
  for (const json& row : outcome.json()) rows[row["name"]] = row;
  EXPECT_EQ(rows.size(), option_count());
  EXPECT_EQ(rows["SMELT_WAIT"]["value"], "sleep");
  EXPECT_EQ(rows["SMELT_WAIT"]["from"], "environment");
  EXPECT_EQ(rows["SMELT_TUNE=spin_us"]["from"], "default (bad value)");
  EXPECT_EQ(rows["SMELT_TUNE=spin_us"]["value"], rows["SMELT_TUNE=spin_us"]["default"]);
  EXPECT_EQ(rows["SMELT_TUNE=pattern"]["from"], "default");
  const Outcome text = run({{"config"}, {{"SMELT_WAIT", "sleep"}}});
  EXPECT_NE(text.out.find("SMELT_WAIT=sleep  [environment]"), std::string::npos) << text.out;
  const Outcome typo = run({{"config"}, {{"SMELT_PATERN", "x"}}});
  EXPECT_NE(typo.err.find("maybe: SMELT_TUNE=pattern?"), std::string::npos) << typo.err;
  // Both kinds apart: users' first, then what only those who work on Smelt turn.
  const size_t users = text.out.rfind("\nSMELT_REDUCE_ORDER="), line = text.out.find("\nOnly for work on Smelt");
  EXPECT_LT(users, line) << text.out;
  EXPECT_LT(line, text.out.find("\nSMELT_TUNE=")) << text.out;
  EXPECT_EQ(rows["SMELT_WAIT"]["tuning"], false);
  EXPECT_EQ(rows["SMELT_TUNE=chunk"]["tuning"], true);
}

// options.def is the one table; the manual page repeats its names and helps, and this keeps them the same.
TEST(Manual, KnowsEverySettingAndEveryVerb) {
  const std::string page = expect_manual(from_environment("SMELT_TEST_MANUAL"), {{"doctor"},
                                                                                 {"calibrate"},
                                                                                 {"profile", "export"},
                                                                                 {"profile", "import"},
                                                                                 {"profile", "verify"},
                                                                                 {"profile", "diff"},
                                                                                 {"info"},
                                                                                 {"run"},
                                                                                 {"try"},
                                                                                 {"env"},
                                                                                 {"config"}});
  for (uint32_t i = 0; i < option_count(); ++i) {
    OptionRow row;
    option_row(i, &row);
    if (is_tuning(row.name)) continue;  // CONTRIBUTING.md has those
    EXPECT_NE(page.find(row.name), std::string::npos) << row.name;
    EXPECT_NE(page.find(row.help), std::string::npos) << row.name << ": " << row.help;
  }
}

}  // namespace
}  // namespace smelt::test
