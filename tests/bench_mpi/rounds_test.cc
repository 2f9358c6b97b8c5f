// From rounds to rows: ratios within a round, distances kept apart, a failed side out of the ratios; and the summary.
#include "bench/mpi/rounds.h"

#include <gtest/gtest.h>

using namespace smelt::bench;

namespace {

Reading reading(double us, double hop_ns) { return {us, us, us, 1000, true, {hop_ns, hop_ns}}; }

// Sides 0 and 1 are the others, 2 is the reference.
Cell cell(double first, double second, double smelt, double hop_ns = 50) {
  return {0, {reading(first, hop_ns), reading(second, hop_ns), reading(smelt, hop_ns)}};
}

const std::vector<bool> kNoneFailed{false, false, false};

TEST(Rounds, RatiosAreMadeWithinARound) {
  const Series series{"bcast", 8, {cell(2, 4, 1), cell(9, 6, 2), cell(8, 20, 2)}};
  const auto rows = rows_of(series, 2, kNoneFailed);
  ASSERT_EQ(rows.size(), 1u);
  const SweepRow& row = rows[0];
  EXPECT_EQ(row.kernel, "bcast");
  EXPECT_EQ(row.size, 8);
  EXPECT_EQ(row.rounds, 3u);
  EXPECT_EQ(row.distance, Distance::kNear);
  EXPECT_EQ(row.sides[2].us->median, 2);
  EXPECT_EQ(row.sides[2].us->min, 1);
  EXPECT_FALSE(row.sides[2].ratio);
  EXPECT_EQ(row.sides[0].ratio->median, 4);   // 2, 4.5, 4
  EXPECT_EQ(row.sides[1].ratio->median, 4);   // 4, 3, 10
  EXPECT_EQ(row.against_fastest->median, 3);  // 2, 3, 4: not always the same side
  EXPECT_EQ(row.against_fastest->min, 2);
  EXPECT_EQ(row.against_fastest->max, 4);
  EXPECT_EQ(row.fastest, 1);  // medians 8 and 6
}

TEST(Rounds, NearAndFarNeverShareARow) {
  const auto rows = rows_of({"bcast", 8, {cell(2, 4, 1), cell(9, 9, 3, 250), cell(2, 4, 1, 80)}}, 2, kNoneFailed);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].distance, Distance::kNear);
  EXPECT_EQ(rows[0].rounds, 2u);
  EXPECT_EQ(rows[1].distance, Distance::kFar);
  EXPECT_EQ(rows[1].against_fastest->median, 3);
}

TEST(Rounds, MovedCellsCountOnlyWhenAlone) {
  Cell moved = cell(100, 100, 1);
  moved.sides[1]->hop_ns = {50, 250};
  const auto with_others = rows_of({"bcast", 8, {moved, cell(2, 4, 1)}}, 2, kNoneFailed);
  ASSERT_EQ(with_others.size(), 1u);
  EXPECT_EQ(with_others[0].against_fastest->max, 2);
  const auto alone = rows_of({"bcast", 8, {moved}}, 2, kNoneFailed);
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].distance, Distance::kMoved);
  EXPECT_TRUE(summarise(alone).empty());
}

TEST(Rounds, WithoutPingPongTheDistanceIsUnknown) {
  Cell blind = cell(2, 4, 1);
  for (auto& side : blind.sides) side->hop_ns.clear();
  const auto rows = rows_of({"barrier", 0, {blind}}, 2, kNoneFailed);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].distance, Distance::kUnknown);
  EXPECT_EQ(summarise(rows).size(), 1u);
}

TEST(Rounds, AFailedSideTakesNoPartInTheRatios) {
  Cell broken = cell(2, 4, 1);
  broken.sides[0].reset();
  const auto rows = rows_of({"bcast", 8, {cell(2, 4, 1), broken}}, 2, {true, false, false});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].against_fastest->median, 4);
  EXPECT_EQ(rows[0].fastest, 1);
  EXPECT_FALSE(rows[0].sides[0].ratio);
  EXPECT_EQ(rows[0].sides[0].us->median, 2);  // what it did say is kept
}

TEST(Rounds, AFailedReferenceMakesNoRatios) {
  Cell broken = cell(2, 4, 1);
  broken.sides[2].reset();
  const auto rows = rows_of({"bcast", 8, {broken}}, 2, {false, false, true});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_FALSE(rows[0].against_fastest);
  EXPECT_TRUE(summarise(rows).empty());
}

TEST(Rounds, ALoneSideHasNoRatios) {
  const auto rows = rows_of({"bcast", 8, {Cell{0, {reading(2, 50)}}}}, 0, {false});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_FALSE(rows[0].against_fastest);
  EXPECT_EQ(rows[0].fastest, -1);
}

SweepRow row(const char* kernel, long size, double ratio, Distance distance = Distance::kNear) {
  SweepRow result{kernel, size, distance, 1, {}, Spread{ratio, ratio, ratio}, 0};
  return result;
}

TEST(Summary, GeometricMeanStopsAtOneMebibyteButTheLeastDoesNot) {
  const auto summary = summarise({row("bcast", 8, 4), row("bcast", 1 << 20, 1), row("bcast", 16 << 20, 0.5)});
  ASSERT_EQ(summary.size(), 1u);
  EXPECT_NEAR(summary[0].geometric_mean, 2, 1e-12);
  EXPECT_EQ(summary[0].sizes, 2u);
  EXPECT_EQ(summary[0].least, 0.5);
  EXPECT_EQ(summary[0].least_size, 16 << 20);
}

TEST(Summary, KernelsAndDistancesAreKeptApart) {
  const auto summary = summarise({row("bcast", 8, 4), row("bcast", 8, 2, Distance::kFar), row("reduce", 8, 3)});
  ASSERT_EQ(summary.size(), 3u);
  EXPECT_NEAR(summary[1].geometric_mean, 2, 1e-12);
  EXPECT_EQ(summary[1].distance, Distance::kFar);
  EXPECT_EQ(summary[2].kernel, "reduce");
}

TEST(Summary, OnlyLargeSizesHaveNoMean) {
  const auto summary = summarise({row("bcast", 2 << 20, 4)});
  ASSERT_EQ(summary.size(), 1u);
  EXPECT_EQ(summary[0].sizes, 0u);
  EXPECT_EQ(summary[0].least, 4);
}

}  // namespace
