// The pauses of a crowd that loses slices, by a clock that the test sets.
#include "policy/yield_backoff.h"

#include <gtest/gtest.h>

#include "policy/thresholds.h"

using namespace smelt;

namespace {

constexpr YieldBackoff::Limits kLimits{1000, 16'000, 8};

TEST(YieldBackoff, YieldsUntilASliceIsLost) {
  YieldBackoff backoff(kLimits);
  EXPECT_TRUE(backoff.may_yield(0));
  for (int i = 0; i < 100; ++i) backoff.kept();
  EXPECT_EQ(backoff.pause(), 0);
  backoff.lost(50, 100);
  EXPECT_FALSE(backoff.may_yield(101));
  EXPECT_FALSE(backoff.may_yield(1099));
  EXPECT_TRUE(backoff.may_yield(1100));
}

TEST(YieldBackoff, EachTrialThatLosesDoublesThePause) {
  YieldBackoff backoff(kLimits);
  int64_t now = 1;
  for (const int64_t pause : {1000, 2000, 4000, 8000, 16'000, 16'000, 16'000}) {
    ASSERT_TRUE(backoff.may_yield(now));
    const int64_t began = now;
    now += 300;
    backoff.lost(began, now);
    EXPECT_EQ(backoff.pause(), pause);
    EXPECT_FALSE(backoff.may_yield(now + pause - 1));
    now += pause;
  }
}

TEST(YieldBackoff, ThreadsThatLoseInOneTrialCountOnce) {
  YieldBackoff backoff(kLimits);
  backoff.lost(10, 300);
  for (int64_t back = 310; back < 400; back += 10) backoff.lost(20, back);
  EXPECT_EQ(backoff.pause(), 1000);
  EXPECT_TRUE(backoff.may_yield(1300)) << "from the first loss that was noticed";
  backoff.lost(1300, 1600);
  EXPECT_EQ(backoff.pause(), 2000);
}

TEST(YieldBackoff, CleanRunsHalveAndThenForget) {
  YieldBackoff backoff(kLimits);
  int64_t now = 1;
  for (int i = 0; i < 4; ++i, now += 100'000) backoff.lost(now, now + 300);
  ASSERT_EQ(backoff.pause(), 8000);
  for (const int64_t pause : {4000, 2000, 1000, 0}) {
    for (uint32_t i = 1; i < kLimits.clean_run; ++i) backoff.kept();
    EXPECT_EQ(backoff.pause(), pause ? 2 * pause : 1000) << "one more is needed";
    backoff.kept();
    EXPECT_EQ(backoff.pause(), pause);
  }
  backoff.lost(now, now + 300);
  EXPECT_EQ(backoff.pause(), 1000) << "as if for the first time";
}

TEST(YieldBackoff, ALossEndsTheRun) {
  YieldBackoff backoff(kLimits);
  backoff.lost(1, 300);
  for (int64_t now = 10'000; now < 500'000; now += 100'000) {
    for (uint32_t i = 1; i < kLimits.clean_run; ++i) backoff.kept();
    const int64_t before = backoff.pause();
    backoff.lost(now, now + 300);
    EXPECT_EQ(backoff.pause(), std::min(2 * before, kLimits.longest_ns));
  }
}

// Beside a foreigner that is always there, trials that lose `slice` on every CPU take their share of the time.
TEST(YieldBackoff, WithTheProductsLimitsTrialsCostLittle) {
  YieldBackoff backoff(
      {typical(ThresholdId::kYieldPause), typical(ThresholdId::kLongestYieldPause), typical(ThresholdId::kYieldRun)});
  constexpr int64_t kSecond = 1'000'000'000, kSlice = 3'000'000, kSleep = 10'000;
  int64_t now = 1, lost = 0;
  while (now < 60 * kSecond) {
    if (backoff.may_yield(now)) {
      backoff.lost(now, now + kSlice);
      now += kSlice, lost += kSlice;
    } else {
      now += kSleep;
    }
  }
  EXPECT_LT(lost, 60 * kSecond / 200);
  // It goes: within the longest pause everybody yields again.
  EXPECT_TRUE(backoff.may_yield(now + kSecond));
}

}  // namespace
