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
  ASSERT_EQ(smelt_option_set("SMELT_FLAT_LIMIT", text), 0);
  text[0] = 'x';  // copied
  EXPECT_EQ(options().flat_limit, 12345678901);
  EXPECT_STREQ(table()["SMELT_FLAT_LIMIT"].value, "12345678901");
  EXPECT_STREQ(table()["SMELT_FLAT_LIMIT"].from, "host");

  ASSERT_EQ(smelt_option_set("SMELT_PATTERN", "dissemination"), 0);
  ASSERT_EQ(smelt_option_set("SMELT_PATTERN", "knomial:4"), 0);
  EXPECT_STREQ(options().pattern, "knomial:4");
  for (int i = 0; i < 20; ++i) ASSERT_EQ(smelt_option_set("SMELT_WAIT", i % 2 ? "spin" : "SLEEP"), 0) << i;
  EXPECT_STREQ(options().wait, "spin");
  ASSERT_EQ(smelt_option_set("SMELT_GOMP", "off"), 0);
  EXPECT_FALSE(options().gomp);
}

TEST(Options, ABadValueChangesNothingAndSaysSoInOneLine) {
  ASSERT_EQ(smelt_option_set("SMELT_SPIN_US", "4096"), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(smelt_option_set("SMELT_SPIN_US", "many"), -EINVAL);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "smelt: SMELT_SPIN_US=many is not a whole number from -1 to 100000000 (µs); 4096 is used\n");
  EXPECT_EQ(options().spin_us, 4096);
  EXPECT_STREQ(table()["SMELT_SPIN_US"].value, "4096");
  testing::internal::CaptureStderr();
  EXPECT_EQ(smelt_option_set("SMELT_PRIORITY", "101"), -EINVAL);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(told.find("smelt: SMELT_PRIORITY=101 is not a whole number from 0 to 100; "), 0u) << told;
  for (const char* odd : {"5ms", "5 ", "0x10", "1e3", "-", ""})
    EXPECT_EQ(smelt_option_set("SMELT_SPIN_US", odd), -EINVAL) << odd;
  EXPECT_EQ(options().spin_us, 4096);
  EXPECT_EQ(smelt_option_set("SMELT_NOTHING", "1"), -ENOENT);
  EXPECT_EQ(smelt_option_set("SMELT_CHUNK", nullptr), -EINVAL);
}

// Pieces of any other length would put the slots of a ring, and the operands in them, across lines.
TEST(Options, PiecesAreWholeLines) {
  EXPECT_STREQ(table()["SMELT_CHUNK"].range, "64..32768 by 64, or -1");
  for (const char* good : {"64", "192", "32768", "-1"}) {
    EXPECT_EQ(smelt_option_set("SMELT_CHUNK", good), 0) << good;
    EXPECT_EQ(std::to_string(options().chunk), good);
  }
  ASSERT_EQ(smelt_option_set("SMELT_CHUNK", "512"), 0);
  for (const char* bad :
       {"1001", "1", "63", "0", "-64", "-2", "32769", "32832", "65536", "99999999999999999999", "x"}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(smelt_option_set("SMELT_CHUNK", bad), -EINVAL) << bad;
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "smelt: SMELT_CHUNK=" + std::string(bad) +
                  " is not a multiple of 64 up to 32768 (bytes), or -1; 512 is used\n");
    EXPECT_EQ(options().chunk, 512);
  }
}

}  // namespace
}  // namespace smelt
