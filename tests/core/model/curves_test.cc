// Where two curves cross: clear, noisy, never, always, half measured.
#include "model/curves.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace smelt;

namespace {

struct Curve {
  float ns[kCurveSizes] = {};
  operator const float*() const { return ns; }
};

// A fixed part and a part per byte, as copies cost; the samples lie on it exactly.
Curve line(double fixed, double per_byte) {
  Curve out;
  for (uint32_t i = 0; i < kCurveSizes; ++i)
    out.ns[i] = static_cast<float>(fixed + per_byte * static_cast<double>(kSampledBytes[i]));
  return out;
}

// 0.97 (100 + s / 8) = fixed + s / 16, solved by hand; whole bytes, and floats for nanoseconds, leave a little.
void expect_at(uint64_t size, double fixed) {
  EXPECT_NEAR(static_cast<double>(size), (fixed - 97) / (0.97 / 8 - 0.0625), 2);
}

TEST(Crossing, OfLinesIsWhereTheGainReachesThreePercent) {
  for (double fixed : {120.0, 612.0, 1060.0, 1100.0, 9000.0, 100'000.0}) {
    SCOPED_TRACE(fixed);
    expect_at(crossing(line(100, 0.125), line(fixed, 0.0625)), fixed);
  }
}

TEST(Crossing, NeverAndAlways) {
  EXPECT_EQ(crossing(line(100, 0.1), line(200, 0.2)), UINT64_MAX);
  EXPECT_EQ(crossing(line(200, 0.2), line(100, 0.1)), 0u);
  EXPECT_EQ(crossing(line(100, 0.1), line(100, 0.1)), UINT64_MAX) << "no gain is no reason to change";
  EXPECT_EQ(crossing(line(1000, 0.01), line(100, 0.1)), UINT64_MAX) << "cheaper for short ones only";
}

TEST(Crossing, WhatWasNotMeasuredIsNeverTaken) {
  EXPECT_EQ(crossing(line(100, 0.1), Curve{}), UINT64_MAX);
  EXPECT_EQ(crossing(Curve{}, line(100, 0.1)), 0u);
  EXPECT_EQ(crossing(Curve{}, Curve{}), UINT64_MAX);
}

TEST(Crossing, SizesThatOneLacksDoNotCount) {
  Curve a = line(100, 0.125), b = line(1100, 0.0625);
  a.ns[0] = b.ns[8] = 0;
  expect_at(crossing(a, b), 1100);
  b.ns[3] = 0;  // one end of the interval: the next smaller size takes its place, on the same lines
  expect_at(crossing(a, b), 1100);
}

TEST(Crossing, GainsBelowThreePercentAreIgnored) {
  const Curve a = line(100, 0.1);
  Curve b = a;
  for (float& ns : b.ns) ns *= 0.98f;
  EXPECT_EQ(crossing(a, b), UINT64_MAX);
  b.ns[7] = 0.9f * a.ns[7];  // worthwhile at 1 MiB, still cheaper at 4 MiB: somewhere between 256 KiB and 1 MiB
  EXPECT_GT(crossing(a, b), uint64_t{256} << 10);
  EXPECT_LT(crossing(a, b), uint64_t{1} << 20);
}

TEST(Crossing, OneWrongSampleDoesNotBringItForward) {
  const Curve a = line(100, 0.125);
  Curve b = line(9000, 0.0625);
  const uint64_t clean = crossing(a, b);
  expect_at(clean, 9000);
  b.ns[1] = a.ns[1] / 2;  // a lucky sample long before
  EXPECT_EQ(crossing(a, b), clean);
  b.ns[7] = a.ns[7] * 1.01f;  // one within the noise: as if it were not there
  EXPECT_EQ(crossing(a, b), clean);
  b.ns[7] = a.ns[7] * 1.1f;  // an unlucky one after: from there on
  EXPECT_GT(crossing(a, b), uint64_t{1} << 20);
  b.ns[8] = a.ns[8] * 1.1f;
  EXPECT_EQ(crossing(a, b), UINT64_MAX);
}

TEST(Crossing, LaterGainsMayBeSmall) {
  const Curve a = line(100, 0.125);
  Curve b = line(1100, 0.0625);
  b.ns[8] = 0.99f * a.ns[8];
  expect_at(crossing(a, b), 1100);
}

void put(CurveSet& set, CurveMethod method, const Curve& curve) {
  std::copy(curve.ns, curve.ns + kCurveSizes, set.ns[method]);
}

TEST(Crossings, OfASet) {
  CurveSet set{};
  set.participants = 2;
  put(set, kBroadcastShelf, line(100, 0.125));
  put(set, kBroadcastSingle, line(1100, 0.0625));
  put(set, kReduceFlat, line(100, 0.25));
  put(set, kReduceSliced, line(356, 0.125));
  put(set, kReduceSingle, line(4452, 0.0625));  // overtakes flat before it overtakes sliced
  put(set, kAllreduceFlat, line(100, 0.125));
  put(set, kAllreduceSliced, line(200, 0.25));
  Crossings at = crossings_of(set);
  expect_at(at.copy_broadcast, 1100);
  EXPECT_EQ(at.flat_reduce, crossing(set.ns[kReduceFlat], set.ns[kReduceSliced]));
  EXPECT_LT(at.flat_reduce, 4096u);
  EXPECT_LT(crossing(set.ns[kReduceFlat], set.ns[kReduceSingle]), 32768u);
  EXPECT_EQ(at.copy_reduce, crossing(set.ns[kReduceSliced], set.ns[kReduceSingle])) << "the better of the two";
  EXPECT_EQ(at.flat_allreduce, UINT64_MAX);
  EXPECT_EQ(at.copy_allreduce, UINT64_MAX) << "not measured";
  at = crossings_of(CurveSet{});
  for (uint64_t limit : {at.copy_broadcast, at.flat_reduce, at.copy_reduce, at.flat_allreduce, at.copy_allreduce})
    EXPECT_EQ(limit, UINT64_MAX);
}

TEST(NearestCurves, AreNearestAsARatio) {
  CurveSet sets[2]{};
  sets[0].participants = 2, sets[1].participants = 16;
  EXPECT_EQ(nearest_curves(nullptr, 0, 4), nullptr);
  for (uint32_t n : {1u, 2u, 3u, 5u}) EXPECT_EQ(nearest_curves(sets, 2, n), &sets[0]) << n;
  for (uint32_t n : {6u, 16u, 1024u}) EXPECT_EQ(nearest_curves(sets, 2, n), &sets[1]) << n;
  sets[1].participants = 8;
  EXPECT_EQ(nearest_curves(sets, 2, 4), &sets[0]) << "of two as near the first";
}

TEST(NearestCurves, OfStrictCallsAreThoseOfAsManyParticipants) {
  CurveSet sets[4]{};
  const auto strict = static_cast<uint32_t>(Sync::kStrict);
  sets[0].participants = 2, sets[1].participants = 2, sets[1].sync = strict;
  sets[2].participants = 16, sets[3].participants = 16, sets[3].sync = strict;
  EXPECT_EQ(nearest_curves(sets, 4, 3), &sets[0]);
  EXPECT_EQ(nearest_curves(sets, 4, 3, Sync::kStrict), &sets[1]);
  EXPECT_EQ(nearest_curves(sets, 4, 20), &sets[2]);
  EXPECT_EQ(nearest_curves(sets, 4, 20, Sync::kStrict), &sets[3]);
  EXPECT_EQ(nearest_curves(sets, 3, 20, Sync::kStrict), &sets[2]) << "there is none";
  EXPECT_EQ(nearest_curves(sets + 1, 1, 2), nullptr);
}

}  // namespace
