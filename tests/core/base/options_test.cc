// The table of settings: the environment, a host's own values, and the C view of it all.
#include "base/options.h"

#include <gtest/gtest.h>
#include <smelt/options.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace smelt {
namespace {

std::map<std::string, smelt_option> table() {
  std::map<std::string, smelt_option> rows;
  smelt_option row;
  for (unsigned i = 0; smelt_option_get(i, &row) == 0; ++i) rows[row.name] = row;
  return rows;
}

TEST(Options, TheCViewHasEveryRow) {
  EXPECT_EQ(table().size(), option_count());
  smelt_option row;
  EXPECT_EQ(smelt_option_get(option_count(), &row), -ENOENT);
  EXPECT_EQ(smelt_option_get(0, nullptr), -EINVAL);
}

TEST(Options, EveryDefaultIsAValueThatCanBeSet) {
  for (const auto& [name, row] : table()) EXPECT_EQ(smelt_option_set(name.c_str(), row.value), 0) << name;
}

TEST(Options, ScopesSayWhoReadsThem) {
  auto rows = table();
  EXPECT_EQ(rows["SMELT_VERBOSE"].scope, SMELT_OPTION_BOTH);
  EXPECT_EQ(rows["SMELT_WAIT"].scope, SMELT_OPTION_THREADS);
  EXPECT_EQ(rows["SMELT_PRIORITY"].scope, SMELT_OPTION_PROCESSES);
}

TEST(Options, AHostSetsValues) {
  char text[] = "12345678901";
  ASSERT_EQ(smelt_option_set("SMELT_TUNE=flat_limit", text), 0);
  text[0] = 'x';  // copied
  EXPECT_EQ(options().flat_limit, 12345678901);
  EXPECT_STREQ(table()["SMELT_TUNE=flat_limit"].value, "12345678901");
  EXPECT_STREQ(table()["SMELT_TUNE=flat_limit"].from, "host");

  ASSERT_EQ(smelt_option_set("SMELT_TUNE=pattern", "dissemination"), 0);
  ASSERT_EQ(smelt_option_set("SMELT_TUNE=pattern", "knomial:4"), 0);
  EXPECT_STREQ(options().pattern, "knomial:4");
  for (int i = 0; i < 20; ++i) ASSERT_EQ(smelt_option_set("SMELT_WAIT", i % 2 ? "spin" : "SLEEP"), 0) << i;
  EXPECT_STREQ(options().wait, "spin");
}

TEST(Options, AListOfSwitchesAddsUp) {
  const auto switched = [](const char* list) {
    EXPECT_EQ(smelt_option_set("SMELT_OPENMP", list), 0) << list;
    return std::string(table()["SMELT_OPENMP"].value);
  };
  EXPECT_EQ(switched("on"), "on");
  EXPECT_EQ(switched("-tasks,-LOOPS"), "-loops,-tasks");
  EXPECT_FALSE(options().tasks);
  EXPECT_FALSE(options().dynamic_loops);
  EXPECT_TRUE(options().hot_team && options().nested && options().gomp && options().kmp);
  EXPECT_EQ(switched(",-hot,"), "-hot,-loops,-tasks");
  EXPECT_FALSE(options().hot_team);
  EXPECT_EQ(switched("on,-libomp"), "-libomp");
  EXPECT_FALSE(options().kmp);
  EXPECT_EQ(switched("off"), "off");
  EXPECT_FALSE(options().gomp);
  EXPECT_EQ(switched("on"), "on");
  testing::internal::CaptureStderr();
  EXPECT_EQ(smelt_option_set("SMELT_OPENMP", "-task,-nested"), -EINVAL);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "smelt: SMELT_OPENMP=-task is not one of on|off|-libgomp|-libomp|-hot|-nested|-loops|-tasks; it is ignored\n");
  EXPECT_TRUE(options().tasks);
  EXPECT_FALSE(options().nested);  // the good words count
  EXPECT_EQ(switched("on"), "on");
  // What each word does is told.
  const std::string words = table()["SMELT_OPENMP"].range, help = table()["SMELT_OPENMP"].help;
  for (size_t at = words.find('-'); at != std::string::npos; at = words.find('-', at + 1))
    EXPECT_NE(help.find(words.substr(at, words.find('|', at) - at) + ", "), std::string::npos) << words.substr(at);
}

TEST(Options, WordsForTuningComeTogetherOrOneByOne) {
  ASSERT_EQ(smelt_option_set("SMELT_TUNE", "spin_us=7,,PATTERN=knomial:3,canary=off,"), 0);
  EXPECT_EQ(options().spin_us, 7);
  EXPECT_STREQ(options().pattern, "knomial:3");
  EXPECT_FALSE(options().canary);
  EXPECT_STREQ(table()["SMELT_TUNE=pattern"].value, "knomial:3");
  EXPECT_STREQ(table()["SMELT_TUNE=pattern"].from, "host");
  ASSERT_EQ(smelt_option_set("SMELT_TUNE=spin_us", "8"), 0);
  EXPECT_EQ(options().spin_us, 8);

  const auto told = [](const char* list) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(smelt_option_set("SMELT_TUNE", list), -EINVAL) << list;
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(told("spin_us=soon,yield_us=5"),
            "smelt: SMELT_TUNE=spin_us=soon is not a whole number from -1 to 100000000 (µs); 8 is used\n");
  EXPECT_EQ(options().yield_us, 5);
  EXPECT_EQ(told("spin_ms=5"),
            "smelt: SMELT_TUNE=spin_ms is not a setting (maybe: SMELT_TUNE=spin_us?); it is ignored\n");
  EXPECT_EQ(told("verbose"), "smelt: SMELT_TUNE=verbose is not a setting ('smelt config' lists them); it is ignored\n");
  EXPECT_EQ(told("chunk").find("smelt: SMELT_TUNE=chunk= is not a multiple of 64 "), 0u);
  EXPECT_EQ(told(("pattern=" + std::string(48, 'x')).c_str()),
            "smelt: SMELT_TUNE=pattern=" + std::string(48, 'x') + " is too long; knomial:3 is used\n");
  EXPECT_STREQ(options().pattern, "knomial:3");
  ASSERT_EQ(smelt_option_set("SMELT_TUNE", "canary=1,spin_us=-1,yield_us=-1,pattern=best"), 0);
}

TEST(Options, CountsAreSaidOrAppendedToAFile) {
  ASSERT_EQ(smelt_option_set("SMELT_STATS", "yes"), 0);
  EXPECT_TRUE(options().stats);
  EXPECT_STREQ(table()["SMELT_STATS"].value, "1");
  EXPECT_STREQ(options().stats_file, "");
  ASSERT_EQ(smelt_option_set("SMELT_STATS", "./counts"), 0);
  EXPECT_FALSE(options().stats);
  EXPECT_STREQ(options().stats_file, "./counts");
  testing::internal::CaptureStderr();
  EXPECT_EQ(smelt_option_set("SMELT_STATS", "counts"), -EINVAL);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "smelt: SMELT_STATS=counts is not 0, 1 or the path of a file; ./counts is used\n");
  EXPECT_STREQ(options().stats_file, "./counts");
  ASSERT_EQ(smelt_option_set("SMELT_STATS", "0"), 0);
  EXPECT_STREQ(options().stats_file, "");
}

TEST(Options, ABadValueChangesNothingAndSaysSoInOneLine) {
  ASSERT_EQ(smelt_option_set("SMELT_TUNE=spin_us", "4096"), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(smelt_option_set("SMELT_TUNE=spin_us", "many"), -EINVAL);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "smelt: SMELT_TUNE=spin_us=many is not a whole number from -1 to 100000000 (µs); 4096 is used\n");
  EXPECT_EQ(options().spin_us, 4096);
  EXPECT_STREQ(table()["SMELT_TUNE=spin_us"].value, "4096");
  testing::internal::CaptureStderr();
  EXPECT_EQ(smelt_option_set("SMELT_PRIORITY", "101"), -EINVAL);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(told.find("smelt: SMELT_PRIORITY=101 is not a whole number from 0 to 100; "), 0u) << told;
  for (const char* odd : {"5ms", "5 ", "0x10", "1e3", "-", ""})
    EXPECT_EQ(smelt_option_set("SMELT_TUNE=spin_us", odd), -EINVAL) << odd;
  EXPECT_EQ(options().spin_us, 4096);
  EXPECT_EQ(smelt_option_set("SMELT_NOTHING", "1"), -ENOENT);
  EXPECT_EQ(smelt_option_set("SMELT_TUNE=chunk", nullptr), -EINVAL);
}

// Pieces of any other length would put the slots of a ring, and the operands in them, across lines.
TEST(Options, PiecesAreWholeLines) {
  EXPECT_STREQ(table()["SMELT_TUNE=chunk"].range, "64..32768 by 64, or -1");
  for (const char* good : {"64", "192", "32768", "-1"}) {
    EXPECT_EQ(smelt_option_set("SMELT_TUNE=chunk", good), 0) << good;
    EXPECT_EQ(std::to_string(options().chunk), good);
  }
  ASSERT_EQ(smelt_option_set("SMELT_TUNE=chunk", "512"), 0);
  for (const char* bad :
       {"1001", "1", "63", "0", "-64", "-2", "32769", "32832", "65536", "99999999999999999999", "x"}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(smelt_option_set("SMELT_TUNE=chunk", bad), -EINVAL) << bad;
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "smelt: SMELT_TUNE=chunk=" + std::string(bad) +
                  " is not a multiple of 64 up to 32768 (bytes), or -1; 512 is used\n");
    EXPECT_EQ(options().chunk, 512);
  }
}

}  // namespace
}  // namespace smelt
