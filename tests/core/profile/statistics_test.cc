#include "profile/text/statistics.h"

#include <gtest/gtest.h>

using namespace smelt;

namespace {

TEST(Statistics, OfNothingAndOfOne) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(midmean({}), 0);
  EXPECT_EQ(relative_iqr({}), 0);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(midmean({7}), 7);
  EXPECT_EQ(relative_iqr({7}), 0);
  EXPECT_EQ(relative_iqr({0, 0, 0}), 0);
}

// Hyndman & Fan's type 7, by hand.
TEST(Statistics, QuantilesInterpolate) {
  const std::vector<double> values{4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.75), 3.25);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
  EXPECT_DOUBLE_EQ(relative_iqr(values), 1.5 / 2.5);
  EXPECT_DOUBLE_EQ(median({9, 1, 5}), 5);
}

TEST(Statistics, InterruptsDoNotShow) {
  std::vector<double> values(100, 50.0);
  for (int i = 0; i < 24; ++i) values[static_cast<size_t>(4 * i)] = 1e6;
  EXPECT_DOUBLE_EQ(median(values), 50);
  EXPECT_DOUBLE_EQ(midmean(values), 50);
  EXPECT_DOUBLE_EQ(relative_iqr(values), 0);
}

TEST(Statistics, MidmeanResolvesLessThanOneTickOfTheClock) {
  std::vector<double> values;  // a clock of 40 ns that shows 28 ns as 0 or 40
  for (int i = 0; i < 100; ++i) values.push_back(i % 10 < 5 ? 40 : (i % 10 < 6 ? 80 : 0));
  EXPECT_DOUBLE_EQ(median(values), 40);
  EXPECT_DOUBLE_EQ(midmean(values), (15 * 0 + 35 * 40) / 50.0);
}

}  // namespace
