// From pairs to rows: medians of pair ratios, distances kept apart, no ratio from an overhead that is only noise.
#include "epcc/pairs.h"

#include <gtest/gtest.h>

#include "epcc/campaign.h"

using namespace smelt::epcc;

namespace {

Figures figures(double overhead, double noise = 0.01) { return {"BARRIER", overhead + 0.1, overhead, noise}; }

Pair pair(double stock, double smelt, double hop_ns) {
  return {figures(stock), figures(smelt), std::nullopt, {hop_ns, hop_ns + 1}};
}

TEST(Pairs, RatioIsTheMedianOfPairRatios) {
  const Construct construct{"syncbench", "BARRIER", {pair(0.2, 0.1, 50), pair(0.6, 0.1, 50), pair(0.3, 0.1, 50)}};
  const auto rows = summarise(construct);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].distance, Distance::kNear);
  EXPECT_EQ(rows[0].pairs, 3u);
  EXPECT_TRUE(rows[0].stock.overhead_is_clear);
  EXPECT_NEAR(rows[0].stock.shown().median, 3, 1e-9);
  EXPECT_NEAR(rows[0].stock.shown().min, 2, 1e-9);
  EXPECT_NEAR(rows[0].stock.shown().max, 6, 1e-9);
  EXPECT_NEAR(rows[0].stock.side.overhead, 0.3, 1e-9);
}

TEST(Pairs, NearAndFarNeverShareARow) {
  const Construct construct{"syncbench", "BARRIER", {pair(0.2, 0.1, 50), pair(0.9, 0.3, 250), pair(0.2, 0.1, 79)}};
  const auto rows = summarise(construct);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].distance, Distance::kNear);
  EXPECT_EQ(rows[0].pairs, 2u);
  EXPECT_NEAR(rows[0].stock.shown().median, 2, 1e-9);
  EXPECT_EQ(rows[1].distance, Distance::kFar);
  EXPECT_NEAR(rows[1].stock.shown().median, 3, 1e-9);
}

TEST(Pairs, MovedPairsCountOnlyWhenAlone) {
  Pair moved = pair(5, 0.1, 50);
  moved.hop_ns.push_back(250);
  EXPECT_EQ(classify(moved.hop_ns), Distance::kMoved);
  const auto with_others = summarise({"syncbench", "BARRIER", {moved, pair(0.2, 0.1, 50)}});
  ASSERT_EQ(with_others.size(), 1u);
  EXPECT_NEAR(with_others[0].stock.shown().max, 2, 1e-9);
  const auto alone = summarise({"syncbench", "BARRIER", {moved}});
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].distance, Distance::kMoved);
}

TEST(Pairs, WithoutPingPongTheDistanceIsUnknown) {
  Pair blind = pair(0.2, 0.1, 50);
  blind.hop_ns.clear();
  const auto rows = summarise({"syncbench", "BARRIER", {blind}});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].distance, Distance::kUnknown);
}

TEST(Pairs, NoiseFallsBackToTimes) {
  for (const Pair& unclear : {pair(0.2, 0, 50), pair(0.2, -0.01, 50), pair(-0.2, 0.1, 50), pair(0.2, 0.009, 50)}) {
    const auto rows = summarise({"syncbench", "BARRIER", {unclear}});
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_FALSE(rows[0].stock.overhead_is_clear);
    EXPECT_NEAR(rows[0].stock.shown().median, unclear.stock.time / unclear.smelt.time, 1e-9);
  }
  // One unclear pair among clear ones: leaving it out would flatter, so the row as a whole falls back.
  const auto rows = summarise({"syncbench", "BARRIER", {pair(0.2, 0.1, 50), pair(0.2, -0.01, 50), pair(0.2, 0.1, 50)}});
  EXPECT_FALSE(rows[0].stock.overhead_is_clear);
}

TEST(Pairs, LibompIsComparedWithSmeltToo) {
  Pair three = pair(0.2, 0.1, 50);
  three.libomp = figures(0.15);
  const auto rows = summarise({"syncbench", "BARRIER", {three}});
  ASSERT_TRUE(rows.at(0).libomp.has_value());
  EXPECT_NEAR(rows[0].libomp->shown().median, 1.5, 1e-9);
  const auto partly = summarise({"syncbench", "BARRIER", {three, pair(0.2, 0.1, 50)}});
  EXPECT_FALSE(partly.at(0).libomp.has_value());
}

TEST(Pairs, MedianOfEvenAndOdd) {
  EXPECT_DOUBLE_EQ(median({3}), 3);
  EXPECT_DOUBLE_EQ(median({4, 1}), 2.5);
  EXPECT_DOUBLE_EQ(median({9, 1, 5}), 5);
}

TEST(Kernels, AreNamedLoosely) {
  EXPECT_TRUE(names_kernel("parallel_for", "PARALLEL FOR"));
  EXPECT_TRUE(names_kernel("Barrier_Var", "BARRIER_VAR"));
  EXPECT_TRUE(names_kernel("copyin", "COPYIN 27"));
  EXPECT_TRUE(names_kernel("COPYIN 27", "COPYIN 27"));
  EXPECT_FALSE(names_kernel("COPYIN 2", "COPYIN 27"));
  EXPECT_FALSE(names_kernel("PARALLEL", "PARALLEL FOR"));
  EXPECT_FALSE(names_kernel("", "BARRIER"));
}

}  // namespace
