// Curves, limits, splits and aggregates: by hand where that is possible, against every split there is where it is not.
#include "rails/rail/rail.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace smelt {
namespace {

// A latency and a time per byte, sampled at powers of two.
RailCurve line(double latency, double per_byte, uint32_t samples = kRailSizes) {
  RailCurve curve;
  curve.count = samples;
  for (uint32_t i = 0; i < samples; ++i)
    curve.bytes[i] = uint64_t{1} << i, curve.us[i] = latency + per_byte * static_cast<double>(curve.bytes[i]);
  return curve;
}

RailCurve random_curve(std::mt19937& random, uint64_t longest) {
  std::uniform_int_distribution<uint64_t> step(1, std::max<uint64_t>(longest / 4, 1));
  std::uniform_real_distribution<double> time(0, 30);
  RailCurve curve;
  uint64_t bytes = 0;
  double us = 1;
  curve.count = 1 + static_cast<uint32_t>(random() % 8);
  for (uint32_t i = 0; i < curve.count; ++i) {
    curve.bytes[i] = bytes += step(random);
    curve.us[i] = us += random() % 4 == 0 ? 0 : time(random);  // flat places, too
  }
  return curve;
}

double finish_of(const std::vector<RailNow>& rails, const std::vector<uint64_t>& shares) {
  double finish = 0;
  for (size_t r = 0; r < rails.size(); ++r)
    if (shares[r] > 0) finish = std::max(finish, rail_finish(rails[r], shares[r]));
  return finish;
}

// The earliest end of all splits there are.
double best_of_all(const std::vector<RailNow>& rails, std::vector<uint64_t>& shares, size_t rail, uint64_t left) {
  if (rail + 1 == rails.size()) {
    shares[rail] = left;
    return finish_of(rails, shares);
  }
  double best = INFINITY;
  for (shares[rail] = 0; shares[rail] <= left; ++shares[rail])
    best = std::min(best, best_of_all(rails, shares, rail + 1, left - shares[rail]));
  return best;
}

TEST(RailTime, IsLinearBetweenSamplesAndBeyondThem) {
  RailCurve curve;
  curve.count = 3;
  curve.bytes[0] = 8, curve.bytes[1] = 16, curve.bytes[2] = 32;
  curve.us[0] = 5, curve.us[1] = 7, curve.us[2] = 15;
  EXPECT_EQ(rail_time(curve, 1), 5);
  EXPECT_EQ(rail_time(curve, 8), 5);
  EXPECT_EQ(rail_time(curve, 12), 6);
  EXPECT_EQ(rail_time(curve, 16), 7);
  EXPECT_EQ(rail_time(curve, 24), 11);
  EXPECT_EQ(rail_time(curve, 32), 15);
  EXPECT_EQ(rail_time(curve, 64), 31);
  curve.count = 1;
  EXPECT_EQ(rail_time(curve, 16), 10);
}

// A sampling that was cut off where the latency still hides the bandwidth: nobody carries anything for nothing.
TEST(RailTime, BeyondAFlatEndGoesOnAsBeforeIt) {
  RailCurve curve = line(100, 1, 4);  // 101, 102, 104, 108
  curve.us[2] = curve.us[3] = 108;
  EXPECT_DOUBLE_EQ(rail_time(curve, 14), 108 + 6);  // 6 µs over 6 bytes
  EXPECT_EQ(rail_bytes_within(curve, 113.5), 13u);
  EXPECT_DOUBLE_EQ(rail_bandwidth(curve), 1);
  for (double& us : curve.us) us = 80;
  EXPECT_DOUBLE_EQ(rail_time(curve, 16), 160);
  EXPECT_EQ(rail_bandwidth(curve), 0);
}

TEST(RailTime, AndItsInverseAgree) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const RailCurve curve = random_curve(random, 400);
    const double us = std::uniform_real_distribution<double>(0, 300)(random);
    const uint64_t n = rail_bytes_within(curve, us);
    if (n == UINT64_MAX) {
      EXPECT_LE(rail_time(curve, uint64_t{1} << 40), us);
      continue;
    }
    if (n > 0) {
      EXPECT_LE(rail_time(curve, n), us * (1 + 1e-12));
    }
    EXPECT_GT(rail_time(curve, n + 1), us * (1 - 1e-12)) << n;
  }
}

TEST(Isotonic, PoolsWhatDecreasesAndKeepsTheRest) {
  RailCurve curve = line(0, 1, 6);
  const double given[] = {1, 5, 3, 4, 12, 6}, wanted[] = {1, 4, 4, 4, 9, 9};
  std::copy(std::begin(given), std::end(given), curve.us);
  make_isotonic(&curve);
  for (uint32_t i = 0; i < 6; ++i) EXPECT_DOUBLE_EQ(curve.us[i], wanted[i]) << i;
}

TEST(Isotonic, NothingDecreasesAndTheSumStays) {
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i) {
    RailCurve curve = line(1, 0.01, 1 + static_cast<uint32_t>(random() % kRailSizes));
    double sum = 0, after = 0;
    for (uint32_t k = 0; k < curve.count; ++k) sum += curve.us[k] *= 0.3 + static_cast<double>(random() % 100) / 50;
    make_isotonic(&curve);
    EXPECT_TRUE(std::is_sorted(curve.us, curve.us + curve.count));
    for (uint32_t k = 0; k < curve.count; ++k) after += curve.us[k];
    EXPECT_NEAR(after, sum, 1e-9 * sum);
  }
}

TEST(Convex, LowersWhatStandsOutAsFarAsItsSpreadLetsIt) {
  const RailCurve straight = line(50, 0.01);
  RailCurve curve = straight;
  for (double& spread : curve.spread) spread = 0.5;
  for (const uint32_t i : {5u, 17u, 19u, 20u}) curve.us[i] *= 1.4;
  make_isotonic(&curve);
  const RailCurve before = curve;
  make_convex(&curve, 1 << 16);
  for (uint32_t i = 0; i < curve.count; ++i)
    EXPECT_NEAR(curve.us[i], i < 16 ? before.us[i] : straight.us[i], 1e-9 * straight.us[i]) << i;
  // Samples that agree with each other are not argued with.
  curve = straight;
  for (uint32_t i = 16; i < curve.count; ++i)
    curve.us[i] = 700 * std::sqrt(static_cast<double>(curve.bytes[i]) / 65536);
  const RailCurve bent = curve;
  make_convex(&curve, 1 << 16);
  for (uint32_t i = 0; i < curve.count; ++i) EXPECT_GE(curve.us[i], 0.97 * bent.us[i] * (1 - 1e-12)) << i;
}

TEST(Convex, StaysACurve) {
  std::mt19937 random(8);
  for (int i = 0; i < 500; ++i) {
    RailCurve curve = random_curve(random, 1000);
    for (double& spread : curve.spread) spread = static_cast<double>(random() % 100) / 100;
    const RailCurve before = curve;
    make_convex(&curve, random() % 2000);
    EXPECT_TRUE(std::is_sorted(curve.us, curve.us + curve.count));
    for (uint32_t k = 0; k < curve.count; ++k) {
      EXPECT_GT(curve.us[k], 0);
      EXPECT_LE(curve.us[k], before.us[k] * (1 + 1e-12));
    }
  }
}

TEST(Crossing, IsWhereTheGainReachesThreePercent) {
  // 40 + n / 200 = 0.97 (10 + n / 100)
  EXPECT_NEAR(static_cast<double>(rail_crossing(line(10, 0.01), line(40, 0.005))), 30.3 / 0.0047, 1.01);
  EXPECT_EQ(rail_crossing(line(10, 0.01), line(40, 0.01)), UINT64_MAX);
  EXPECT_EQ(rail_crossing(line(40, 0.01), line(10, 0.01, 12)), 0u);
  EXPECT_EQ(rail_crossing(line(10, 0.01), line(10, 0.01)), UINT64_MAX) << "no gain is no reason";
  EXPECT_EQ(rail_crossing(RailCurve{}, line(1, 1)), 0u);
  EXPECT_EQ(rail_crossing(line(1, 1), RailCurve{}), UINT64_MAX);
}

TEST(Crossing, OfSamplesAtOtherSizesIsTheSame) {
  RailCurve sparse;  // the same line, sampled twice
  sparse.count = 2;
  sparse.bytes[0] = 3, sparse.bytes[1] = 1'000'003;
  for (uint32_t i = 0; i < 2; ++i) sparse.us[i] = 40 + 0.005 * static_cast<double>(sparse.bytes[i]);
  const double both = static_cast<double>(rail_crossing(line(10, 0.01), line(40, 0.005)));
  EXPECT_NEAR(static_cast<double>(rail_crossing(line(10, 0.01), sparse)), both, 1.01);
}

TEST(Crossing, AnOutlierMovesItUpOnly) {
  RailCurve better = line(40, 0.005);
  better.us[16] *= 10;  // one wrong sample at 64 KiB: from there on only is the gain for good
  EXPECT_GT(rail_crossing(line(10, 0.01), better), uint64_t{1} << 16);
  EXPECT_LE(rail_crossing(line(10, 0.01), better), uint64_t{1} << 17);
}

TEST(Limits, FollowFromTheCurves) {
  Rail rail;
  rail.method[kRailEager] = line(50, 0.010);
  rail.method[kRailRendezvous] = line(150, 0.008);
  rail.method[kRailGathered] = line(52, 0.010);
  rail.method[kRailPair] = line(60, 0.020);
  const RailLimits limits = limits_of(rail, line(0.1, 0.001));
  EXPECT_NEAR(static_cast<double>(limits.rendezvous), (150 - 48.5) / (0.0097 - 0.008), 1.01);
  EXPECT_NEAR(static_cast<double>(limits.gathered), (52 - 0.97 * 50.1) / (0.97 * 0.011 - 0.010), 1.01);
  // By the size of each: 60 + n / 50 = 0.97 (50.1 + 0.022 n), the copy of both and one latency against two packets.
  EXPECT_NEAR(static_cast<double>(limits.apart), (60 - 0.97 * 50.1) / (0.97 * 0.022 - 0.020), 1.01);
}

// 40 ms there and back, in which 800,000 bytes leave.
TEST(Finish, AColdRailSendsInWindowsThatDouble) {
  const RailCurve far = line(20'000, 0.05);
  const double none = 20'000;
  const auto at = [&](double window, uint64_t bytes) { return rail_finish({&far, 0, 1, window}, bytes); };
  EXPECT_NEAR(at(10'000, 10'000), none + 500, 1);
  EXPECT_NEAR(at(10'000, 10'001), 40'000 + none, 1);
  EXPECT_NEAR(at(10'000, 30'000), 40'000 + none + 1'000, 1);
  EXPECT_NEAR(at(10'000, 30'001), 80'000 + none, 1);
  EXPECT_NEAR(at(10'000, 70'000), 80'000 + none + 2'000, 1);
  // 640,000 bytes leave in the seventh round trip, from 240 ms on; the next ones leave one after the other.
  EXPECT_NEAR(at(10'000, 1'270'000), 240'000 + none + 32'000, 1);
  EXPECT_NEAR(at(10'000, 100'000'000), 280'000 + none + 0.05 * (100'000'000 - 1'270'000), 2);
  EXPECT_NEAR(at(800'000, 10'000'000), none + 500'000, 1) << "it is full at once";
  EXPECT_NEAR(rail_finish({&far, 5'000, 2, 10'000}, 30'000), 5'000 + 40'000 + none + 2'000, 1)
      << "busy, and half as fast";
  EXPECT_NEAR(rail_finish({&far, 0, 1, 10'000, 7'000}, 3'000), none + 150, 1);
  EXPECT_NEAR(rail_finish({&far, 0, 1, 10'000, 7'000}, 3'001), 40'000 + none - 500 + 150, 1);
  EXPECT_NEAR(rail_finish({&far, 0, 1, 10'000, 40'000}, 1), 80'000 + none - 1'500, 1);
}

TEST(Finish, CapacityIsItsInverse) {
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    const RailCurve curve = random_curve(random, 5000);
    const RailNow rail = {&curve, static_cast<double>(random() % 3 * 15), 0.5 + 0.5 * static_cast<double>(random() % 4),
                          random() % 3 == 0 ? HUGE_VAL : 1 + static_cast<double>(random() % 3000),
                          static_cast<double>(random() % 4 * 500)};
    const uint64_t n = 1 + random() % 20'000;
    const double until = 1.5 * rail_finish(rail, n) * static_cast<double>(random() % 1000) / 1000;
    const uint64_t most = rail_capacity(rail, until, n);
    ASSERT_LE(most, n);
    if (most > 0) {
      ASSERT_LE(rail_finish(rail, most), until * (1 + 1e-12));
    }
    if (most < n) {
      ASSERT_GT(rail_finish(rail, most + 1), until * (1 - 1e-12));
    }
  }
}

TEST(Split, AgainstEverySplitThereIs) {
  std::mt19937 random(3);
  for (int i = 0; i < 1200; ++i) {
    const uint32_t count = 1 + static_cast<uint32_t>(random() % 4);
    const uint64_t most = count <= 2 ? 2000 : count == 3 ? 120 : 30;
    const uint64_t n = 1 + random() % most;
    std::vector<RailCurve> curves;
    for (uint32_t r = 0; r < count; ++r) curves.push_back(random_curve(random, most));
    std::vector<RailNow> rails;
    for (const RailCurve& curve : curves)
      rails.push_back({&curve, static_cast<double>(random() % 3 * 15), 0.5 + 0.5 * static_cast<double>(random() % 4),
                       random() % 2 == 0 ? HUGE_VAL : 1 + static_cast<double>(random() % most),
                       static_cast<double>(random() % most)});
    RailSplit split;
    ASSERT_EQ(split_message(rails.data(), count, n, &split), 0);
    uint64_t sum = 0;
    uint32_t used = 0;
    for (uint32_t r = 0; r < count; ++r) sum += split.bytes[r], used += split.bytes[r] > 0;
    ASSERT_EQ(sum, n);
    ASSERT_EQ(used, split.used);
    const std::vector<uint64_t> shares(split.bytes, split.bytes + count);
    ASSERT_DOUBLE_EQ(split.finish_us, finish_of(rails, shares));
    std::vector<uint64_t> tried(count);
    const double best = best_of_all(rails, tried, 0, n);
    ASSERT_NEAR(split.finish_us, best, 1e-9 * best) << "case " << i << ": " << count << " rails, " << n << " bytes";
  }
}

TEST(Split, OfLinesEndsAtTheSameTimeEverywhere) {
  const RailCurve fast = line(50, 0.04), slow = line(400, 0.1), slower = line(90, 0.5);
  const RailNow rails[] = {{&fast, 0}, {&slow, 100}, {&slower, 3000}};
  for (uint64_t n : {uint64_t{1} << 20, uint64_t{5} << 20, uint64_t{1} << 30}) {
    RailSplit split;
    ASSERT_EQ(split_message(rails, 3, n, &split), 0);
    EXPECT_EQ(split.used, 3u);
    for (uint32_t r = 0; r < 3; ++r)
      EXPECT_NEAR(rails[r].idle_us + rail_time(*rails[r].curve, split.bytes[r]), split.finish_us, 1.0);
  }
}

TEST(Split, LeavesOutARailThatDoesNotHelp) {
  const RailCurve fast = line(50, 0.04), slow = line(400, 0.1);
  const RailNow rails[] = {{&slow, 0}, {&fast, 0}};
  RailSplit split;
  ASSERT_EQ(split_message(rails, 2, 8000, &split), 0);  // the fast one is done at 370
  EXPECT_EQ(split.bytes[0], 0u);
  EXPECT_EQ(split.bytes[1], 8000u);
  ASSERT_EQ(split_message(rails, 2, 10000, &split), 0);  // alone at 450
  EXPECT_EQ(split.used, 2u);
}

TEST(Split, ALongerMessageNeverEndsEarlier) {
  std::mt19937 random(4);
  for (int i = 0; i < 200; ++i) {
    const RailCurve a = random_curve(random, 5000), b = random_curve(random, 5000), c = random_curve(random, 5000);
    const RailNow rails[] = {{&a, 0}, {&b, 7}, {&c, 30}};
    double before = 0;
    for (uint64_t n = 1; n < 20000; n = n * 3 / 2 + 1) {
      RailSplit split;
      ASSERT_EQ(split_message(rails, 3, n, &split), 0);
      EXPECT_GE(split.finish_us, before * (1 - 1e-12));
      before = split.finish_us;
    }
  }
}

// A distant rail that carries half of what it did is not twice as far away.
TEST(Split, SlownessIsOfTheBandwidth) {
  const RailCurve near = line(50, 0.1), far = line(20'000, 0.05);
  const RailNow rails[] = {{&near, 0}, {&far, 1000, 2}};
  EXPECT_NEAR(rail_finish(rails[1], 1), 21'000, 1);
  EXPECT_NEAR(rail_finish(rails[1], 1 << 20), 21'000 + 2 * 0.05 * (1 << 20), 1);
  RailSplit split;
  ASSERT_EQ(split_message(rails, 2, 1 << 20, &split), 0);
  EXPECT_EQ(split.used, 2u);
  for (uint32_t r = 0; r < 2; ++r) EXPECT_NEAR(rail_finish(rails[r], split.bytes[r]), split.finish_us, 1.0);
  ASSERT_EQ(split_message(rails, 2, 200'000, &split), 0);  // near: done at 20,050
  EXPECT_EQ(split.bytes[1], 0u);
}

// After a pause the far rail's first window is worth a wait, its second one is not.
TEST(Split, AColdRailGetsWhatItLetsOutAtOnce) {
  const RailCurve near = line(5, 0.1), far = line(20'000, 0.05);
  RailNow rails[] = {{&near, 0}, {&far, 0}};
  RailSplit split;
  ASSERT_EQ(split_message(rails, 2, 1 << 18, &split), 0);
  EXPECT_GT(split.bytes[1], 40'000u);
  rails[1].window = 15'000;
  ASSERT_EQ(split_message(rails, 2, 1 << 18, &split), 0);
  EXPECT_EQ(split.bytes[1], 15'000u);
  ASSERT_EQ(choose_split(rails, 2, 1 << 20, &split), 0);
  EXPECT_NEAR(rail_finish(rails[1], split.bytes[1]), split.finish_us, 1.0);
  EXPECT_GT(split.bytes[1], 15'000u);
}

TEST(Split, RefusesWhatMakesNoSense) {
  const RailCurve good = line(1, 1), none;
  RailSplit split;
  const RailNow empty{&none, 0}, negative{&good, -1}, endless{&good, INFINITY}, unknown{&good, NAN}, fine{&good, 0},
      closed{&good, 0, 1, 0.5}, nowhere{&good, 0, 1, NAN}, less{&good, 0, 1, 9, -1};
  for (const RailNow& rail : {empty, negative, endless, unknown, closed, nowhere, less})
    EXPECT_EQ(split_message(&rail, 1, 1, &split), -EINVAL);
  EXPECT_EQ(split_message(&fine, 0, 1, &split), -EINVAL);
  EXPECT_EQ(split_message(&fine, 1, 0, &split), -EINVAL);
  const std::vector<RailNow> many(kMaxRails + 1, fine);
  EXPECT_EQ(split_message(many.data(), kMaxRails + 1, 1, &split), -EINVAL);
  EXPECT_EQ(split_message(many.data(), kMaxRails, uint64_t{1} << 40, &split), 0);
  EXPECT_EQ(split.used, kMaxRails);
}

// --- what a message does

RailCurve with_spread(RailCurve curve, double spread) {
  for (uint32_t i = 0; i < curve.count; ++i) curve.spread[i] = spread;
  return curve;
}

TEST(Choose, ASlowerRailGetsLess) {
  const RailCurve curve = line(10, 0.01);
  const RailNow rails[] = {{&curve, 0, 1}, {&curve, 0, 4}};
  RailSplit split;
  ASSERT_EQ(split_message(rails, 2, 10'000'000, &split), 0);
  EXPECT_NEAR(static_cast<double>(split.bytes[0]), 8'000'000, 3000);
  ASSERT_EQ(split_by_bandwidth(rails, 2, 10'000'000, &split), 0);
  EXPECT_NEAR(static_cast<double>(split.bytes[0]), 8'000'000, 1);
  const RailNow nonsense[] = {{&curve, 0, 0}, {&curve, 0, NAN}};
  for (const RailNow& one : nonsense) {
    EXPECT_EQ(split_message(&one, 1, 1, &split), -EINVAL);
    EXPECT_EQ(split_by_bandwidth(&one, 1, 1, &split), -EINVAL);
    EXPECT_EQ(choose_split(&one, 1, 1, &split), -EINVAL);
  }
}

TEST(Choose, ByBandwidthIsWhatItSays) {
  const RailCurve fast = line(50, 0.01), slow = line(5, 0.04);
  const RailNow rails[] = {{&fast, 1000}, {&slow, 0}};
  RailSplit split;
  for (const uint64_t n : {uint64_t{1}, uint64_t{2}, uint64_t{99}, uint64_t{1} << 20, uint64_t{1} << 40}) {
    ASSERT_EQ(split_by_bandwidth(rails, 2, n, &split), 0);
    EXPECT_EQ(split.bytes[0] + split.bytes[1], n);
    EXPECT_NEAR(static_cast<double>(split.bytes[0]), 0.8 * static_cast<double>(n), 1 + 1e-9 * static_cast<double>(n));
  }
  RailCurve flat = line(10, 0.01);  // whose bandwidth nobody knows
  for (double& us : flat.us) us = 10;
  const RailNow equal[] = {{&flat, 0}, {&fast, 0}};
  ASSERT_EQ(split_by_bandwidth(equal, 2, 1000, &split), 0);
  EXPECT_EQ(split.bytes[0], 500u);
}

TEST(Choose, OneRailWhereSeveralGainTooLittle) {
  const RailCurve fast = line(50, 0.01), slow = line(51, 1);
  const RailNow rails[] = {{&fast, 0}, {&slow, 0}};
  RailSplit split;
  ASSERT_EQ(split_message(rails, 2, 1 << 20, &split), 0);
  EXPECT_EQ(split.used, 2u) << "equal finish gains 1 %";
  ASSERT_EQ(choose_split(rails, 2, 1 << 20, &split), 0);
  EXPECT_EQ(split.used, 1u);
  EXPECT_EQ(split.bytes[0], uint64_t{1} << 20);
  EXPECT_DOUBLE_EQ(split.finish_us, rail_time(fast, 1 << 20));
}

// What a cold rail carries without a wait gains 2 %, but for the messages after this one half of the time.
TEST(Choose, AColdRailIsUsedAsFarAsItsWindowGoesIfItIsWorthItWarm) {
  const RailCurve near = line(5, 0.1), far = line(20'000, 0.05), poor = line(20'000, 2);
  RailSplit split;
  for (const RailCurve* curve : {&far, &poor}) {
    const RailNow rails[] = {{&near, 0}, {curve, 0, 1, 10'000}};
    ASSERT_EQ(choose_split(rails, 2, 1 << 19, &split), 0);
    EXPECT_EQ(split.bytes[1], curve == &far ? 10'000u : 0u);
  }
}

TEST(Choose, TheLongEndWhereTheSamplesDoNotKnowBetter) {
  // Equal finish takes latency into account: at 64 KiB it gains some per cent on the shares by bandwidth.
  for (const double spread : {0.0, 0.3}) {
    const RailCurve near = with_spread(line(20, 0.04), spread), far = with_spread(line(300, 0.04), spread);
    const RailNow rails[] = {{&near, 0}, {&far, 0}};
    RailSplit split, finish, bandwidth;
    ASSERT_EQ(choose_split(rails, 2, 1 << 16, &split), 0);
    ASSERT_EQ(split_message(rails, 2, 1 << 16, &finish), 0);
    ASSERT_EQ(split_by_bandwidth(rails, 2, 1 << 16, &bandwidth), 0);
    ASSERT_LT(finish.finish_us, bandwidth.finish_us);
    EXPECT_EQ(split.bytes[0], spread > 0 ? bandwidth.bytes[0] : finish.bytes[0]);
    // What a rail still carries is no matter of samples' spread.
    const RailNow busy[] = {{&near, 5000}, {&far, 0}};
    ASSERT_EQ(choose_split(busy, 2, 1 << 16, &split), 0);
    EXPECT_LT(split.bytes[0], split.bytes[1]);
  }
}

TEST(Choose, IsNeverMuchWorseThanTheBest) {
  std::mt19937 random(6);
  for (int i = 0; i < 500; ++i) {
    const double spread = static_cast<double>(random() % 3) / 10;
    std::vector<RailCurve> curves;
    std::vector<RailNow> rails;
    for (uint32_t r = 0; r < 2 + random() % 3; ++r) curves.push_back(with_spread(random_curve(random, 5000), spread));
    for (const RailCurve& curve : curves) rails.push_back({&curve, static_cast<double>(random() % 3 * 20)});
    const uint64_t n = 1 + random() % 100'000;
    const auto count = static_cast<uint32_t>(rails.size());
    RailSplit split, finish;
    ASSERT_EQ(choose_split(rails.data(), count, n, &split), 0);
    ASSERT_EQ(split_message(rails.data(), count, n, &finish), 0);
    EXPECT_EQ(std::accumulate(split.bytes, split.bytes + count, uint64_t{0}), n);
    EXPECT_LE(split.finish_us, finish.finish_us * (1 + std::max(spread, 0.031)));
    for (uint32_t r = 0; r < count; ++r)
      EXPECT_LE(split.finish_us, (rails[r].idle_us + rail_time(curves[r], n)) * (1 + 1e-12));
  }
}

TEST(Aggregate, AsLongAsItIsCheaper) {
  Rail rail;
  rail.method[kRailEager] = line(50, 0.01);
  rail.method[kRailPair] = line(60, 0.02);  // a further packet costs 10 and its bytes
  const RailCurve copy = line(0.1, 0.005);
  const uint64_t small[] = {100, 100, 100, 100}, mixed[] = {100, 100, 4000, 100}, large[] = {1500, 1500};
  EXPECT_EQ(aggregate_packets(rail, copy, small, 4), 4u);
  EXPECT_EQ(aggregate_packets(rail, copy, small, 1), 1u);
  EXPECT_EQ(aggregate_packets(rail, copy, small, 0), 0u);
  EXPECT_EQ(aggregate_packets(rail, copy, mixed, 4), 2u) << "a copy of 20 us for a gap of 10";
  EXPECT_EQ(aggregate_packets(rail, copy, large, 2), 1u) << "both are copied: 15 us for a gap of 10";
  rail.method[kRailEager].count = 9;
  EXPECT_EQ(aggregate_packets(rail, copy, small, 4), 2u) << "nothing longer than 256 bytes was sampled";
}

TEST(Transfer, IsTheBetterOfBoth) {
  Rail rail;
  rail.method[kRailEager] = line(50, 0.01);
  rail.method[kRailRendezvous] = line(150, 0.008);
  const RailCurve best = transfer_curve(rail);
  for (uint32_t i = 0; i < best.count; ++i)
    EXPECT_EQ(best.us[i], std::min(rail.method[kRailEager].us[i], rail.method[kRailRendezvous].us[i]));
  EXPECT_NEAR(rail_bandwidth(best), 125, 0.01);
  // Where eager was sampled for less, the other's samples tell the rest.
  rail.method[kRailEager].count = 12;
  const RailCurve longer = transfer_curve(rail);
  ASSERT_EQ(longer.count, kRailSizes);
  EXPECT_EQ(longer.bytes[24], uint64_t{1} << 24);
  EXPECT_EQ(longer.us[24], rail.method[kRailRendezvous].us[24]);
  EXPECT_TRUE(std::is_sorted(longer.us, longer.us + longer.count));
}

}  // namespace
}  // namespace smelt
