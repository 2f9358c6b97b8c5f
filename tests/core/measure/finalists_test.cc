// On the real machine: its CPUs, its lines, the barriers that programs get.
#include "measure/finalists.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "collective/team.h"
#include "discover/error.h"
#include "discover/machine.h"
#include "model/api.h"

using namespace smelt;

namespace {

ProfileImage image_of(const std::string& synthetic) { return guess_image(machine_from_synthetic(synthetic)); }

class Finalists : public testing::Test {
 protected:
  void SetUp() override {
    Machine machine = discover_machine();
    std::erase_if(machine.pus, [](const Pu& pu) { return !pu.allowed; });
    image_ = guess_image(machine);
    if (image_.n() < 2) GTEST_SKIP() << "one CPU";
    pair_ = {image_.os_cpu[0], image_.os_cpu[1]};
  }
  ProfileImage image_;
  std::vector<uint32_t> pair_;
};

TEST_F(Finalists, OfABarrierForTwoAreDifferentSchedulesAndAllAreTimed) {
  const TimedSet set = time_finalists(image_, pair_, Operation::kBarrier, {0, true, 8, {3, 20, false}});
  ASSERT_GE(set.finalists.size(), 2u) << "an exchange and a tree at least";
  for (size_t k = 0; k < set.finalists.size(); ++k) {
    const Finalist& finalist = set.finalists[k];
    EXPECT_GT(finalist.predicted, 0);
    EXPECT_GT(finalist.timed.ns, 0) << finalist.pattern;
    EXPECT_GT(finalist.timed.reference, 0);
    EXPECT_EQ(finalist.timed.laps, 3u);
    if (k > 0) {
      EXPECT_GE(finalist.predicted, set.finalists[k - 1].predicted);
    }
    std::printf("%-24s predicted %6.1f ns, measured %6.1f, %5.2f hops\n", finalist.pattern.c_str(), finalist.predicted,
                finalist.timed.ns, finalist.timed.ratio);
  }
  EXPECT_LT(set.winner, set.finalists.size());
}

TEST_F(Finalists, OfBroadcastsAndReductionsAreTimedInAClosedLoop) {
  for (Operation op : {Operation::kBroadcast, Operation::kReduce}) {
    const TimedSet set = time_finalists(image_, pair_, op, {4, true, 8, {3, 20, true}});
    ASSERT_FALSE(set.finalists.empty());
    EXPECT_GT(set.finalists[set.winner].timed.ns, 0);
  }
}

// The way to a program: timed, kept in the profile, packed, loaded, planned.
TEST_F(Finalists, TheWinnerIsWhatATeamGets) {
  const TimedSet set = time_finalists(image_, pair_, Operation::kBarrier, {3, true, 8, {3, 20, true}}, &image_);
  ASSERT_EQ(image_.winners.size(), 1u);
  image_.winners[0].predicted = 12345;  // to be recognised
  image_.header.created = 1;
  image_.header.pairs_measured = 2;
  const std::string path = testing::TempDir() + "finalists.profile";
  const std::vector<std::byte> bytes = image_.pack();
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  Profile profile;
  Refusal why;
  ASSERT_EQ(load_profile_file(path.c_str(), 0, &profile, &why), 0) << why.text;
  MappedArena arena(generation_bytes(2));
  TeamRequest request;
  request.profile = &profile;
  request.n = 2;
  const uint32_t backwards[] = {pair_[1], pair_[0]};
  for (const uint32_t* cpus : {static_cast<const uint32_t*>(pair_.data()), static_cast<const uint32_t*>(backwards)}) {
    request.cpus = cpus;
    TeamPlan plan;
    ASSERT_EQ(plan_team(request, arena, &plan), 0);
    EXPECT_EQ(plan.predicted, 12345);
    EXPECT_EQ(plan.pattern, set.finalists[set.winner].pattern);
  }
  request.pattern = "all-to-all";
  TeamPlan plan;
  ASSERT_EQ(plan_team(request, arena, &plan), 0);
  EXPECT_NE(plan.predicted, 12345) << "who asks for a pattern gets that";
  unload_profile(&profile);
  std::remove(path.c_str());
}

TEST_F(Finalists, ACpuThatTheProfileDoesNotKnowIsRefused) {
  EXPECT_THROW(time_finalists(image_, {image_.os_cpu[0], 4000}, Operation::kBarrier, {}), UserError);
  EXPECT_THROW(time_finalists(image_, {image_.os_cpu[0]}, Operation::kBarrier, {}), UserError);
}

TEST_F(Finalists, AllOfTheMachineWithinTheTime) {
  const auto sets = time_all_finalists(image_, 0.3);
  EXPECT_EQ(sets.size(), 3 * likely_teams(image_).size());
  EXPECT_EQ(image_.winners.size(), sets.size());
}

TEST(LikelyTeams, AreCoresFirstAndThenEveryThread) {
  const auto teams = likely_teams(image_of("pack:2 core:3 pu:2"));
  ASSERT_EQ(teams.size(), 4u);
  EXPECT_EQ(teams[0].size(), 2u);
  EXPECT_EQ(teams[1].size(), 4u);
  EXPECT_EQ(teams[2].size(), 6u);
  EXPECT_EQ(teams[3].size(), 12u);
  EXPECT_EQ(likely_teams(image_of("pack:1 core:2 pu:1")).size(), 1u);
  EXPECT_TRUE(likely_teams(image_of("pack:1 core:1 pu:1")).empty());
  EXPECT_EQ(likely_teams(image_of("pack:1 core:1 pu:2")).size(), 1u);
}

}  // namespace
