// Which limits a group gets: measured, typical, or set by the user.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/options.h"
#include "group/plan.h"

using namespace smelt;

namespace {

class GroupLimits : public testing::Test {
 protected:
  // Sets of 2 and 16 participants whose methods cross at known sizes.
  GroupLimits() {
    for (uint32_t i = 0; i < 2; ++i) {
      sets[i] = {};
      sets[i].participants = i == 0 ? 2 : 16;
      const double more = i == 0 ? 1 : 2;  // the larger group's limits are twice the smaller one's
      // The gain of 3 % is reached where 0.97 (100 + bytes slope) = 97 + fixed + bytes slope'.
      line(i, kBroadcastShelf, 100, 0.2);
      line(i, kBroadcastSingle, 97 + more * 0.094 * 16'000, 0.1);
      line(i, kReduceFlat, 100, 0.2);
      line(i, kReduceSliced, 97 + more * 0.094 * 2'000, 0.1);
      line(i, kReduceSingle, 97 + more * 0.094 * 2'000 + more * 0.047 * 60'000, 0.05);
      line(i, kAllreduceFlat, 100, 0.2);
      line(i, kAllreduceSliced, 97 + more * 0.094 * 1'000, 0.1);
      line(i, kAllreduceSingle, 97 + more * 0.094 * 1'000 + more * 0.047 * 15'000, 0.05);
    }
    profile.curves = sets;
    profile.header.curve_sets = 2;
  }
  ~GroupLimits() override {
    for (const char* name : {"SMELT_TUNE=flat_limit", "SMELT_TUNE=copy_limit", "SMELT_TUNE=chunk"})
      set_option(name, "-1");
  }

  void line(uint32_t set, CurveMethod method, double fixed, double per_byte) {
    for (uint32_t i = 0; i < kCurveSizes; ++i)
      sets[set].ns[method][i] = static_cast<float>(fixed + per_byte * static_cast<double>(kSampledBytes[i]));
  }
  static void expect_near(uint64_t limit, double expected) {
    EXPECT_NEAR(static_cast<double>(limit), expected, expected / 50);
  }

  CurveSet sets[2];
  Profile profile;
};

TEST_F(GroupLimits, AreWhereTheCurvesCross) {
  const Limits two = group_limits(&profile, 2);
  EXPECT_STREQ(two.origin, "measured");
  expect_near(two.of[SMELT_COLLECTIVE_BROADCAST].copy, 16'000);
  expect_near(two.of[SMELT_COLLECTIVE_REDUCE].flat, 2'000);
  expect_near(two.of[SMELT_COLLECTIVE_REDUCE].copy, 60'000);
  expect_near(two.of[SMELT_COLLECTIVE_ALLREDUCE].flat, 1'000);
  expect_near(two.of[SMELT_COLLECTIVE_ALLREDUCE].copy, 15'000);
  EXPECT_EQ(two.piece, 16384u);
  expect_near(group_limits(&profile, 4).of[SMELT_COLLECTIVE_REDUCE].flat, 2'000);
  expect_near(group_limits(&profile, 5).of[SMELT_COLLECTIVE_REDUCE].flat, 4'000);  // nearest to two, but not comparable
  expect_near(group_limits(&profile, 3).of[SMELT_COLLECTIVE_BROADCAST].copy,
              32'000);  // of single copy only two are two
  expect_near(group_limits(&profile, 3).of[SMELT_COLLECTIVE_REDUCE].copy, 120'000);
  expect_near(group_limits(&profile, 6).of[SMELT_COLLECTIVE_REDUCE].flat, 4'000);
  expect_near(group_limits(&profile, 200).of[SMELT_COLLECTIVE_BROADCAST].copy, 32'000);
}

// Strict curves of two participants, none of sixteen: that is what profiles of before they were measured have of all.
TEST_F(GroupLimits, OfStrictCallsAreWhereTheStrictCurvesCross) {
  const auto strict = [this](uint32_t n) { return group_limits(&profile, n, false, false, true); };
  EXPECT_TRUE(same_limits(group_limits(&profile, 2), strict(2))) << "no strict curves";
  CurveSet three[3] = {sets[0], sets[0], sets[1]};
  three[1].sync = static_cast<uint32_t>(Sync::kStrict);
  for (uint32_t i = 0; i < kCurveSizes; ++i)
    three[1].ns[kReduceSliced][i] = static_cast<float>(97 + 0.094 * 500 + 0.1 * static_cast<double>(kSampledBytes[i]));
  profile.curves = three;
  profile.header.curve_sets = 3;
  expect_near(group_limits(&profile, 2).of[SMELT_COLLECTIVE_REDUCE].flat, 2'000);
  expect_near(strict(2).of[SMELT_COLLECTIVE_REDUCE].flat, 500);
  expect_near(strict(2).of[SMELT_COLLECTIVE_ALLREDUCE].flat, 1'000);
  EXPECT_FALSE(same_limits(group_limits(&profile, 2), strict(2)));
  expect_near(strict(16).of[SMELT_COLLECTIVE_REDUCE].flat, 4'000);
  EXPECT_TRUE(same_limits(group_limits(&profile, 16), strict(16)));
}

TEST_F(GroupLimits, OnAMachineThatMovesHoldAtTheMiddleOfItsHops) {
  profile.header.one_way_hop = 60;
  const Limits still = group_limits(&profile, 2), moving = group_limits(&profile, 2, false, true);
  EXPECT_LT(moving.of[SMELT_COLLECTIVE_REDUCE].copy, still.of[SMELT_COLLECTIVE_REDUCE].copy);
  EXPECT_EQ(moving.of[SMELT_COLLECTIVE_REDUCE].flat, still.of[SMELT_COLLECTIVE_REDUCE].flat);
  EXPECT_STREQ(moving.origin, "measured, on a virtual machine that may be moved");
  profile.header.one_way_hop = 300;
  EXPECT_GT(group_limits(&profile, 2, false, true).of[SMELT_COLLECTIVE_REDUCE].copy,
            still.of[SMELT_COLLECTIVE_REDUCE].copy);
  EXPECT_EQ(group_limits(&profile, 2, true, true).of[SMELT_COLLECTIVE_REDUCE].copy, UINT64_MAX) << "not in a crowd";
}

// Many that read from one process wait for one another in the kernel (measured with 4, 8 and 16 processes).
TEST_F(GroupLimits, OfManyTakeNoSingleCopyOfABroadcastThatNobodyMeasured) {
  profile.header.curve_sets = 1;  // of two alone
  for (const bool moves : {false, true})
    for (const uint32_t n : {3u, 4u, 16u}) {
      const Limits limits = group_limits(&profile, n, false, moves);
      EXPECT_EQ(limits.of[SMELT_COLLECTIVE_BROADCAST].copy, UINT64_MAX) << n;
      EXPECT_EQ(limits.of[SMELT_COLLECTIVE_ALLGATHER].copy, UINT64_MAX) << n;
      EXPECT_EQ(limits.of[SMELT_COLLECTIVE_REDUCE].copy, n * (32u << 10)) << n;
      EXPECT_EQ(limits.of[SMELT_COLLECTIVE_ALLREDUCE].copy, n * (64u << 10)) << n;
      EXPECT_EQ(limits.of[SMELT_COLLECTIVE_GATHER].copy, (1u << 20) / n) << n;
      EXPECT_EQ(limits.of[SMELT_COLLECTIVE_ALLTOALL].copy, 4096u) << n;
    }
}

TEST_F(GroupLimits, OfManyStayWhereTheyWereMeasuredOnAMachineThatMoves) {
  for (uint32_t i = 0; i < kCurveSizes; ++i) sets[1].ns[kBroadcastSingle][i] = 2 * sets[1].ns[kBroadcastShelf][i];
  for (const bool moves : {false, true}) {
    EXPECT_EQ(group_limits(&profile, 8, false, moves).of[SMELT_COLLECTIVE_BROADCAST].copy, UINT64_MAX);
    expect_near(group_limits(&profile, 8, false, moves).of[SMELT_COLLECTIVE_REDUCE].copy, 120'000);
  }
}

TEST_F(GroupLimits, WithoutASingleCopyNeverTakeIt) {
  for (CurveMethod method : {kBroadcastSingle, kReduceSingle, kAllreduceSingle})
    std::fill_n(sets[0].ns[method], kCurveSizes, 0.0f);
  const Limits limits = group_limits(&profile, 2);
  EXPECT_EQ(limits.of[SMELT_COLLECTIVE_BROADCAST].copy, UINT64_MAX);
  EXPECT_EQ(limits.of[SMELT_COLLECTIVE_REDUCE].copy, UINT64_MAX);
  EXPECT_EQ(limits.of[SMELT_COLLECTIVE_ALLREDUCE].copy, UINT64_MAX);
  expect_near(limits.of[SMELT_COLLECTIVE_REDUCE].flat, 2'000);
}

TEST_F(GroupLimits, AreTypicalWithoutCurves) {
  const Profile guess;
  for (const Profile* none : {static_cast<const Profile*>(nullptr), &guess}) {
    const Limits two = group_limits(none, 2), more = group_limits(none, 8);
    EXPECT_STREQ(two.origin, "typical");
    EXPECT_EQ(two.of[SMELT_COLLECTIVE_REDUCE].flat, UINT64_MAX) << "of two, one combines";
    EXPECT_LT(more.of[SMELT_COLLECTIVE_REDUCE].flat, 1u << 20);
    EXPECT_GT(more.piece, 0u);
  }
}

// Of two, where nothing says which method is faster.
TEST_F(GroupLimits, OfTwoAreTriedWhereNobodyMeasured) {
  const auto tried = [](const Limits& limits) { return limits.of[SMELT_COLLECTIVE_BROADCAST].tried; };
  const Profile guess;
  for (const Profile* none : {static_cast<const Profile*>(nullptr), &guess})
    for (const bool moves : {false, true}) {
      const Limits two = group_limits(none, 2, false, moves);
      for (const smelt_collective which : {SMELT_COLLECTIVE_BROADCAST, SMELT_COLLECTIVE_REDUCE,
                                           SMELT_COLLECTIVE_ALLREDUCE, SMELT_COLLECTIVE_ALLTOALL}) {
        EXPECT_TRUE(two.of[which].tried) << which;
        EXPECT_EQ(two.of[which].copy, 2048u) << which;
      }
      EXPECT_FALSE(two.of[SMELT_COLLECTIVE_BARRIER].tried);
      EXPECT_FALSE(two.of[SMELT_COLLECTIVE_GATHERV].tried) << "nobody knows all lengths";
      EXPECT_EQ(two.of[SMELT_COLLECTIVE_GATHERV].copy, UINT64_MAX);
      EXPECT_FALSE(tried(group_limits(none, 3, false, moves)));
      EXPECT_FALSE(tried(group_limits(none, 2, true, moves))) << "in a crowd";
    }
  EXPECT_FALSE(tried(group_limits(&profile, 2)));
  ASSERT_EQ(set_option("SMELT_TUNE=copy_limit", "100000"), 0);
  EXPECT_FALSE(tried(group_limits(nullptr, 2)));
  EXPECT_EQ(group_limits(nullptr, 2).of[SMELT_COLLECTIVE_BROADCAST].copy, 100'000u);
}

TEST_F(GroupLimits, AreTheUsersWhereSet) {
  ASSERT_EQ(set_option("SMELT_TUNE=flat_limit", "77"), 0);
  Limits limits = group_limits(&profile, 2);
  EXPECT_EQ(limits.of[SMELT_COLLECTIVE_REDUCE].flat, 77u);
  EXPECT_EQ(limits.of[SMELT_COLLECTIVE_ALLREDUCE].flat, 77u);
  expect_near(limits.of[SMELT_COLLECTIVE_BROADCAST].copy, 16'000);
  ASSERT_EQ(set_option("SMELT_TUNE=copy_limit", "0"), 0);
  ASSERT_EQ(set_option("SMELT_TUNE=chunk", "512"), 0);
  limits = group_limits(&profile, 2);
  EXPECT_EQ(limits.of[SMELT_COLLECTIVE_BROADCAST].copy, 0u);
  EXPECT_EQ(limits.of[SMELT_COLLECTIVE_REDUCE].copy, 0u);
  EXPECT_EQ(limits.of[SMELT_COLLECTIVE_ALLREDUCE].copy, 0u);
  EXPECT_EQ(limits.piece, 512u);
}

}  // namespace
