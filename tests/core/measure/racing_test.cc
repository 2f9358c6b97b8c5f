#include "measure/racing.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

using namespace smelt;

namespace {

// Candidates of known speed on a machine with noise, interrupts and moves: `scale` hits laps and references alike.
struct Course {
  std::vector<double> speed;
  std::mt19937 random{1};
  double noise = 0.1, scale = 1;
  uint32_t laps = 0;

  double noisy(double ns) {
    std::uniform_real_distribution<double> share(0, 1);
    const double outlier = share(random) < 0.03 ? 50 : 1;
    return ns * scale * outlier * (1 + noise * (share(random) - 0.5));
  }
  double lap(uint32_t candidate) {
    ++laps;
    if (laps % 7 == 0) scale = scale == 1 ? 4 : 1;  // moved to another place, and back
    return noisy(speed[candidate]);
  }
  Race run(const RaceSettings& settings) {
    return race(
        static_cast<uint32_t>(speed.size()), [this](uint32_t c) { return lap(c); }, [this] { return noisy(50); },
        settings);
  }
};

TEST(Racing, TheFastestWinsAlthoughTheMachineMoves) {
  for (uint32_t fastest = 0; fastest < 9; ++fastest) {
    Course course;
    for (uint32_t c = 0; c < 9; ++c) course.speed.push_back(c == fastest ? 100 : 110 + 10 * c);
    const Race result = course.run({8, 60, true});
    EXPECT_EQ(result.winner, fastest);
    EXPECT_TRUE(result.complete);
    EXPECT_NEAR(result.racers[fastest].ratio, 2, 0.2);
  }
}

TEST(Racing, TheSlowerHalfIsDroppedAndTheRestRunTwiceAsMuch) {
  Course course;
  for (uint32_t c = 0; c < 8; ++c) course.speed.push_back(100 * (c + 1));
  const Race result = course.run({4, 60, true});
  // Rounds: 8 run 4 laps, 4 run 8 more, 2 run 16 more.
  EXPECT_EQ(result.racers[7].rounds, 1u);
  EXPECT_EQ(result.racers[7].laps, 4u);
  EXPECT_EQ(result.racers[0].rounds, 3u);
  EXPECT_EQ(result.racers[0].laps, 4u + 8 + 16);
  EXPECT_EQ(course.laps, 8u * 4 + 4 * 8 + 2 * 16);
}

TEST(Racing, WithoutHalvingEverybodyRunsAlike) {
  Course course;
  course.speed = {300, 100, 200};
  const Race result = course.run({6, 60, false});
  EXPECT_EQ(result.winner, 1u);
  for (const Racer& racer : result.racers) EXPECT_EQ(racer.laps, 6u);
}

TEST(Racing, TheTimeIsKeptAndEverybodyHasRun) {
  uint32_t laps = 0;
  const Race result = race(
      5,
      [&](uint32_t c) {
        ++laps;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return 10.0 + c;
      },
      [] { return 5.0; }, {1000, 0.02, true});
  EXPECT_FALSE(result.complete);
  EXPECT_LT(laps, 1000u);
  for (const Racer& racer : result.racers) EXPECT_GE(racer.laps, 1u);
  EXPECT_EQ(result.winner, 0u);
}

TEST(Racing, OneWinsAloneAndNobodyWinsNothing) {
  Course course;
  course.speed = {70};
  EXPECT_EQ(course.run({4, 60, true}).racers[0].laps, 4u);
  EXPECT_TRUE(race(0, {}, {}, {}).racers.empty());
}

}  // namespace
