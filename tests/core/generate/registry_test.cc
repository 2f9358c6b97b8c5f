#include "generate/registry.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

using namespace smelt;

namespace {

TEST(Registry, EveryRowIsOneTreeOrOneExchangeWithItsOwnName) {
  std::set<std::string> names;
  for (const PatternInfo& info : pattern_registry()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_NE(info.tree == nullptr, info.exchange == nullptr) << info.name;
    EXPECT_STRNE(info.help, "") << info.name;
    if (info.argument) {
      EXPECT_LE(info.min_argument, info.default_argument) << info.name;
      EXPECT_LE(info.default_argument, info.max_argument) << info.name;
    }
    Pattern found;
    ASSERT_EQ(find_pattern(info.name, &found), 0) << info.name;
    EXPECT_EQ(found.info, &info);
    EXPECT_EQ(found.argument, info.default_argument);
  }
}

TEST(Registry, ArgumentsAreReadAndChecked) {
  Pattern found;
  ASSERT_EQ(find_pattern("knomial:8", &found), 0);
  EXPECT_EQ(found.argument, 8u);
  ASSERT_EQ(find_pattern("dissemination:1023", &found), 0);
  EXPECT_EQ(found.argument, 1023u);
  for (const char* wrong : {"knomial:", "knomial:0", "knomial:1024", "knomial:4x", "knomial:-1", "knomial: 4",
                            "knomial:99999999999999999999", "dissemination:x"}) {
    EXPECT_EQ(find_pattern(wrong, &found), -ERANGE) << wrong;
  }
  EXPECT_EQ(find_pattern("mst:2", &found), -EINVAL);
  for (const char* unknown : {"", "knomia", "knomial4", "MST", ":4", "best"}) {
    EXPECT_EQ(find_pattern(unknown, &found), -ENOENT) << unknown;
  }
  EXPECT_EQ(found.argument, 1023u) << "a refused name must leave the result alone";
}

TEST(Registry, TypingErrorsFindTheirName) {
  EXPECT_STREQ(nearest_pattern("knomail:4"), "knomial");
  EXPECT_STREQ(nearest_pattern("binray"), "binary");
  EXPECT_STREQ(nearest_pattern("adaptive-sort"), "adaptive-sorted");
  EXPECT_STREQ(nearest_pattern("disemination"), "dissemination");
  EXPECT_EQ(nearest_pattern("quantum"), nullptr);
  EXPECT_EQ(nearest_pattern(""), nullptr);
  EXPECT_EQ(nearest_pattern(std::string(500, 'k').c_str()), nullptr);
}

}  // namespace
