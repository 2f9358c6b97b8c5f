// On the real machine: two threads, a CPU each.
#include "measure/track.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "base/arena.h"
#include "generate/registry.h"
#include "here.h"
#include "measure/skew.h"
#include "profile/profile.h"
#include "profile/text/image.h"
#include "profile/text/statistics.h"
#include "schedule/build.h"

using namespace smelt;

namespace {

class OnTrack : public testing::Test {
 protected:
  void SetUp() override {
    image_ = test::guess_here();
    if (image_.n() < 2) GTEST_SKIP() << "one CPU";
    cpus_ = {image_.os_cpu[0], image_.os_cpu[1]};
    Costs costs;
    ASSERT_EQ(subset_costs(image_.costs(), std::vector<uint16_t>{0, 1}, arena_, &costs), 0);
    for (const char* name : {"pair", "sequential", "dissemination:1"}) {
      Pattern pattern;
      Choice choice;
      ASSERT_EQ(find_pattern(name, &pattern), 0) << name;
      ASSERT_EQ(build(pattern, Operation::kBarrier, -1, costs, arena_, &choice), 0) << name;
      schedules_.push_back(choice.schedule);
    }
    for (const Schedule& schedule : schedules_) barriers_.push_back(&schedule);
  }

  ProfileImage image_;
  std::vector<uint32_t> cpus_;
  MappedArena arena_{4 * generation_bytes(2)};
  std::vector<Schedule> schedules_;
  std::vector<const Schedule*> barriers_;
};

// An episode cannot end before the last has come. Would both stay away equally long, or only one of them, or nobody,
// an episode took less than its longest delay, which for two is two thirds of the most on average and not a half: 3 µs
// less, where a barrier takes less than one. Most laps are shorter than the time that a scheduler lets a thread run, so
// the median tells that on a loaded machine too. There it may be more; less only where a lap is held up exactly when
// its clock is read first.
TEST_F(OnTrack, ThreadsArriveEachAfterItsOwnDelay) {
  constexpr uint32_t kLaps = 101, kEpisodes = 8;
  constexpr double kMostNs = 20e3;
  Track track(barriers_);
  for (uint32_t b = 0; b < barriers_.size(); ++b) {
    std::vector<double> beyond;
    track.run(cpus_, [&] {
      for (uint32_t k = 0; k < kLaps; ++k) beyond.push_back(track.skewed_lap(b, kEpisodes, kMostNs, k));
    });
    EXPECT_GT(median(beyond), 0) << "barrier " << b;
    std::printf("barrier %u: %.0f ns beyond delays of up to %.0f\n", b, median(beyond), kMostNs);
  }
}

TEST_F(OnTrack, TightAndSkewedLapsAndHopsMix) {
  Track track(barriers_);
  track.run(cpus_, [&] {
    for (uint32_t k = 0; k < 5; ++k)
      for (uint32_t b = 0; b < barriers_.size(); ++b) {
        EXPECT_GT(track.lap(b, 16), 0);
        EXPECT_GE(track.skewed_lap(b, 16, 1000, k), 0);
        EXPECT_GT(track.hop(), 0);
      }
  });
}

TEST(Skew, DelaysAreEvenAndEachItsOwn) {
  constexpr uint32_t kMost = 1000, kEpisodes = 4000;
  std::set<uint32_t> first;
  for (const uint32_t participant : {0u, 1u, 1023u}) {
    uint32_t quarters[4] = {};
    for (uint32_t e = 0; e < kEpisodes; ++e) {
      const uint32_t delay = skew_delay(7, e, participant, kMost);
      ASSERT_LE(delay, kMost);
      ++quarters[std::min(delay * 4 / kMost, 3u)];
    }
    for (const uint32_t quarter : quarters) EXPECT_NEAR(quarter, kEpisodes / 4, 150);
    first.insert(skew_delay(7, 0, participant, kMost));
  }
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ(skew_delay(7, 5, 1, kMost), skew_delay(7, 5, 1, kMost)) << "anybody can tell anybody's";
  EXPECT_NE(skew_delay(7, 5, 1, kMost), skew_delay(8, 5, 1, kMost));
  EXPECT_EQ(skew_delay(7, 5, 1, 0), 0u);
}

TEST(Skew, TheLongestOfEachEpisodeAreAddedUp) {
  EXPECT_EQ(longest_delays(3, 8, 8, 4, 100), 0u);
  EXPECT_EQ(longest_delays(3, 8, 10, 1, 100), uint64_t{skew_delay(3, 8, 0, 100)} + skew_delay(3, 9, 0, 100));
  EXPECT_EQ(longest_delays(3, 8, 9, 2, 100), std::max(skew_delay(3, 8, 0, 100), skew_delay(3, 8, 1, 100)));
  EXPECT_EQ(longest_delays(3, 0, 20, 3, 100), longest_delays(3, 0, 8, 3, 100) + longest_delays(3, 8, 20, 3, 100));
}

}  // namespace
