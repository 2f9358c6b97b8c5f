// Names that settings had in earlier versions: each still works in this one, and a line says what to write instead.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"

namespace smelt::test {
namespace {

using nlohmann::json;

struct Old {
  const char* name;
  const char* value;
  const char* row;    // of smelt config
  const char* shown;  // its value
  const char* write;  // what the line says
};
constexpr Old kSwitches[] = {{"SMELT_GOMP", "0", "SMELT_OPENMP", "-libgomp", "SMELT_OPENMP=-libgomp"},
                             {"SMELT_KMP", "off", "SMELT_OPENMP", "-libomp", "SMELT_OPENMP=-libomp"},
                             {"SMELT_HOT_TEAM", "0", "SMELT_OPENMP", "-hot", "SMELT_OPENMP=-hot"},
                             {"SMELT_KMP_HOT_TEAM", "0", "SMELT_OPENMP", "-hot", "SMELT_OPENMP=-hot"},
                             {"SMELT_NESTED", "no", "SMELT_OPENMP", "-nested", "SMELT_OPENMP=-nested"},
                             {"SMELT_DYNAMIC_LOOPS", "0", "SMELT_OPENMP", "-loops", "SMELT_OPENMP=-loops"},
                             {"SMELT_TASKS", "0", "SMELT_OPENMP", "-tasks", "SMELT_OPENMP=-tasks"},
                             {"SMELT_TASKS", "1", "SMELT_OPENMP", "on", "SMELT_OPENMP=-tasks"}};
constexpr Old kOthers[] = {{"SMELT_STATS_FILE", "/no/file", "SMELT_STATS", "/no/file", "SMELT_STATS=/no/file"},
                           {"SMELT_STATS_FILE", "counts", "SMELT_STATS", "counts", "SMELT_STATS=./counts"},
                           {"SMELT_PATTERN", "mst", "SMELT_TUNE=pattern", "mst", "SMELT_TUNE=pattern=mst"},
                           {"SMELT_CANARY", "0", "SMELT_TUNE=canary", "0", "SMELT_TUNE=canary=0"},
                           {"SMELT_SPIN_US", "20", "SMELT_TUNE=spin_us", "20", "SMELT_TUNE=spin_us=20"},
                           {"SMELT_YIELD_US", "5", "SMELT_TUNE=yield_us", "5", "SMELT_TUNE=yield_us=5"},
                           {"SMELT_FLAT_LIMIT", "64", "SMELT_TUNE=flat_limit", "64", "SMELT_TUNE=flat_limit=64"},
                           {"SMELT_COPY_LIMIT", "9", "SMELT_TUNE=copy_limit", "9", "SMELT_TUNE=copy_limit=9"},
                           {"SMELT_COPY", "libc", "SMELT_TUNE=copy", "libc", "SMELT_TUNE=copy=libc"},
                           {"SMELT_SYNC", "loose", "SMELT_TUNE=sync", "loose", "SMELT_TUNE=sync=loose"},
                           {"SMELT_CHUNK", "128", "SMELT_TUNE=chunk", "128", "SMELT_TUNE=chunk=128"},
                           {"SMELT_PATIENCE", "3", "SMELT_TUNE=patience", "3", "SMELT_TUNE=patience=3"}};

json row_of(const Outcome& outcome, const std::string& name) {
  for (const json& row : outcome.json())
    if (row["name"] == name) return row;
  return {};
}

void expect_works(const Old& old) {
  const Outcome outcome = run({{"config", "--json"}, {{old.name, old.value}}});
  EXPECT_EQ(row_of(outcome, old.row)["value"], old.shown) << old.name;
  EXPECT_EQ(row_of(outcome, old.row)["from"], "environment") << old.name;
  // One line, of this name.
  EXPECT_EQ(outcome.err.find("smelt: " + std::string(old.name) + " is an old name; "), 0u) << outcome.err;
  EXPECT_NE(outcome.err.find(std::string("write ") + old.write + "\n"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
}

TEST(OldNames, OfSwitches) {
  for (const Old& old : kSwitches) expect_works(old);
}
TEST(OldNames, OfOthers) {
  for (const Old& old : kOthers) expect_works(old);
}

TEST(OldNames, AllTogetherEachOnce) {
  std::map<std::string, std::string> environment;
  for (const Old& old : kSwitches) environment[old.name] = "0";
  for (const Old& old : kOthers) environment[old.name] = old.value;
  const Outcome outcome = run({{"config", "--json"}, environment});
  EXPECT_EQ(row_of(outcome, "SMELT_OPENMP")["value"], "off");
  size_t lines = 0;
  for (const char c : outcome.err) lines += c == '\n';
  EXPECT_EQ(lines, environment.size()) << outcome.err;
}

TEST(OldNames, DoNotCountBesideTheNewOnes) {
  const Outcome outcome = run({{"config", "--json"},
                               {{"SMELT_OPENMP", "-loops"},
                                {"SMELT_TASKS", "0"},
                                {"SMELT_TUNE", "spin_us=7"},
                                {"SMELT_SPIN_US", "20"},
                                {"SMELT_YIELD_US", "9"},
                                {"SMELT_STATS", "1"},
                                {"SMELT_STATS_FILE", "/no/file"}}});
  EXPECT_EQ(row_of(outcome, "SMELT_OPENMP")["value"], "-loops");
  EXPECT_EQ(row_of(outcome, "SMELT_TUNE=spin_us")["value"], "7");
  EXPECT_EQ(row_of(outcome, "SMELT_TUNE=yield_us")["value"], "9");  // of another word nothing was said
  EXPECT_EQ(row_of(outcome, "SMELT_STATS")["value"], "1");
  for (const char* line : {"smelt: SMELT_TASKS is an old name and does not count: SMELT_OPENMP is set\n",
                           "smelt: SMELT_SPIN_US is an old name and does not count: SMELT_TUNE=spin_us is set\n",
                           "smelt: SMELT_STATS_FILE is an old name and does not count: SMELT_STATS is set\n"})
    EXPECT_NE(outcome.err.find(line), std::string::npos) << line << outcome.err;
}

// Sites set it for contrib's scripts.
TEST(OldNames, TheFolderOfTheShimsIsNoSettingAndNoError) {
  EXPECT_EQ(run({{"config"}, {{"SMELT_LIBDIR", "/usr/lib/smelt"}}}).err, "");
}

}  // namespace
}  // namespace smelt::test
