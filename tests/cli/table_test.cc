// A document's rows as text, and documents for programs.
#include "cli/table.h"

#include <gtest/gtest.h>

using namespace smelt;

namespace {

Table sample() {
  return {"one hop, µs",
          {{"distance", "distance"}, {"pairs", "pairs", As::kWhole}, {"hop", "hop", As::kTenths}, {"marks", "marks"}},
          {{{"distance", "same core"}, {"pairs", 2}, {"hop", 8.94}, {"marks", Document::array()}},
           {{"distance", "other package"}, {"pairs", 512}, {"hop", nullptr}, {"marks", {"unsteady", "wide"}}}}};
}

TEST(Table, TextHasColumnsAsWideAsTheirCells) {
  EXPECT_EQ(table_text(sample()),
            "one hop, µs      pairs  hop  marks\n"
            "  same core          2  8.9\n"
            "  other package    512    -  unsteady, wide\n");
  EXPECT_EQ(table_text({"nothing", {{"a", "a"}}, Document::array()}), "");
}

TEST(Table, EveryFormOfAValue) {
  const Document row = {
      {"x", 0.12345}, {"cpus", {0, 1, 2, 8}}, {"words", {"a", "b"}}, {"none", nullptr}, {"yes", true}};
  EXPECT_EQ(shown(row, "x", As::kWhole), "0");
  EXPECT_EQ(shown(row, "x", As::kTenths), "0.1");
  EXPECT_EQ(shown(row, "x", As::kHundredths), "0.12");
  EXPECT_EQ(shown(row, "x", As::kThousandths), "0.123");
  EXPECT_EQ(shown(row, "x", As::kPercent), "12 %");
  EXPECT_EQ(shown(row, "x", As::kTenthsPercent), "12.3 %");
  EXPECT_EQ(shown(row, "x", As::kThousandthsPercent), "12.345 %");
  EXPECT_EQ(shown(row, "x", As::kChange), "-88 %");
  EXPECT_EQ(shown(row, "cpus", As::kCpus), "0-2,8");
  EXPECT_EQ(shown(row, "words"), "a, b");
  EXPECT_EQ(shown(row, "yes"), "true");
  EXPECT_EQ(shown(row, "none"), "-");
  EXPECT_EQ(shown(row, "missing", As::kTenths), "-");
}

TEST(Table, ColumnsAreSpelt) {
  const std::vector<Column> all = columns("class; CPUs=cpus|cpus; now, µs=now_us|2; =changed; error|+%; most|.3%");
  ASSERT_EQ(all.size(), 6u);
  const auto is = [](const Column& one, const char* title, const char* member, As form) {
    return one.title == title && one.member == member && one.form == form;
  };
  EXPECT_TRUE(is(all[0], "class", "class", As::kText));
  EXPECT_TRUE(is(all[1], "CPUs", "cpus", As::kCpus));
  EXPECT_TRUE(is(all[2], "now, µs", "now_us", As::kHundredths));
  EXPECT_TRUE(is(all[3], "", "changed", As::kText));
  EXPECT_TRUE(is(all[4], "error", "error", As::kChange));
  EXPECT_TRUE(is(all[5], "most", "most", As::kThousandthsPercent));
}

TEST(Table, SentencesNameMembers) {
  const Document document = {{"pairs", 2}, {"share", 0.125}, {"a", {{"name", "x"}, {"cpus", {0, 1, 2}}}}};
  EXPECT_EQ(told(document, "{pairs} pairs, {share|%} or {share|2}, {a.name} on {a.cpus|cpus}{none}"),
            "2 pairs, 12 % or 0.12, x on 0-2-");
  EXPECT_EQ(told(document, "no member {"), "no member ");
}

TEST(Document, FloatsHaveTheDigitsOfAFloat) {
  const Document document = {{"hop", double{208.33f}}, {"list", {double{0.1f}, 1e300}}, {"whole", 12345678901}};
  EXPECT_EQ(document_text(document, -1), "{\"hop\":208.33,\"list\":[0.1,1e+300],\"whole\":12345678901}\n");
  EXPECT_EQ(document_text({{"bad", "\xff"}}, -1), "{\"bad\":\"\xef\xbf\xbd\"}\n");
}

}  // namespace
