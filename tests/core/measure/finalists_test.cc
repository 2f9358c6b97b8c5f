// On the real machine: its CPUs, its lines, the barriers that programs get.
#include "measure/finalists.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>
#include <fstream>

#include <sys/resource.h>

#include "base/os/os.h"
#include "discover/machine.h"
#include "generate/registry.h"
#include "here.h"
#include "profile/profile.h"
#include "profile/text/error.h"
#include "team/team.h"

using namespace smelt;

namespace {

ProfileImage image_of(const std::string& synthetic) { return guess_image(machine_from_synthetic(synthetic)); }

class Finalists : public testing::Test {
 protected:
  void SetUp() override {
    image_ = test::guess_here();
    if (image_.n() < 2) GTEST_SKIP() << "one CPU";
    pair_ = {image_.os_cpu[0], image_.os_cpu[1]};
  }
  ProfileImage image_;
  std::vector<uint32_t> pair_;
};

TEST_F(Finalists, OfABarrierForTwoAreAllTimed) {
  const TimedSet set = time_finalists(image_, pair_, Operation::kBarrier, {0, 8, {3, 20, false}, 0});
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
    const TimedSet set = time_finalists(image_, pair_, op, {4, 8, {3, 20, true}});
    ASSERT_FALSE(set.finalists.empty());
    EXPECT_GT(set.finalists[set.winner].timed.ns, 0);
  }
}

TEST_F(Finalists, WhoWinsHasAlsoRunWithTheThreadsArrivingApart) {
  FinalistSettings settings{3, 8, {3, 20, true}};
  const TimedSet set = time_finalists(image_, pair_, Operation::kBarrier, settings, &image_);
  const Racer& skewed = set.finalists[set.winner].skewed;
  EXPECT_GT(skewed.laps, 0u);
  EXPECT_GT(skewed.ns, 0);
  ASSERT_EQ(image_.winners.size(), 1u);
  EXPECT_EQ(image_.winners[0].skewed, static_cast<float>(skewed.ns));
  settings.skew = 0;
  for (const Finalist& finalist : time_finalists(image_, pair_, Operation::kBarrier, settings).finalists)
    EXPECT_EQ(finalist.skewed.laps, 0u);
}

// The way to a program: timed, kept in the profile, packed, loaded, planned.
TEST_F(Finalists, TheWinnerIsWhatATeamGets) {
  const TimedSet set = time_finalists(image_, pair_, Operation::kBarrier, {3, 8, {3, 20, true}}, &image_);
  ASSERT_EQ(image_.winners.size(), 1u);
  image_.winners[0].predicted = 12345;  // to be recognised
  image_.header.created = 1;
  image_.header.pairs_measured = 2;
  const std::string path = testing::TempDir() + "finalists.profile";
  const std::vector<std::byte> bytes = image_.pack();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
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
  const std::vector<std::string> remarks = time_all_finalists(image_, 0.3);
  EXPECT_TRUE(remarks.empty()) << remarks[0];
  EXPECT_EQ(image_.winners.size(), 3 * likely_teams(image_).size());
}

// A CPU that went away since the pairs were measured: what can be raced is, the rest is one line, and nothing is lost.
TEST_F(Finalists, ARaceThatCannotBeRunIsARemark) {
  ProfileImage image = guess_image(machine_from_synthetic("pack:1 core:3 pu:1"));
  image.os_cpu = {pair_[0], pair_[1], 60000};
  std::vector<std::string> remarks;
  ASSERT_NO_THROW(remarks = time_all_finalists(image, 0.3));
  EXPECT_EQ(image.winners.size(), 3u) << "of the two that are there";
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("3 of 6 races could not be run"), std::string::npos) << remarks[0];
  EXPECT_NE(remarks[0].find("CPU 60000"), std::string::npos) << remarks[0];
}

TEST_F(Finalists, WhenTheTimeIsOverTheModelDecides) {
  const std::vector<std::string> remarks = time_all_finalists(image_, 10, {}, os::now_ns());
  EXPECT_TRUE(image_.winners.empty());
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("the time was over"), std::string::npos);
}

// The search for the finalists comes before the first lap, and on a large machine it takes longer than the laps. CPUs
// that are not there end what follows it; the time is this thread's own, so a loaded machine tells the same.
TEST(FinalistsOfMany, AreSearchedForNoLongerThanTheRaceMayLast) {
  ProfileImage image = guess_image(machine_from_synthetic("pack:2 numa:2 core:12 pu:1"));
  for (uint32_t i = 0; i < image.n(); ++i) image.os_cpu[i] = 60000 + i;
  const auto searching = [&image](int64_t until_ns) {
    FinalistSettings settings;
    settings.race.until_ns = until_ns;
    timespec begin{}, end{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    EXPECT_THROW(time_finalists(image, image.os_cpu, Operation::kBarrier, settings), UserError);
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return static_cast<double>(end.tv_sec - begin.tv_sec) + static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9;
  };
  const double at_leisure = searching(0), late = searching(os::now_ns());
  std::printf("the search took %.3f s, and %.3f s when the time was over\n", at_leisure, late);
  EXPECT_LT(late, at_leisure / 2);
}

// Planning is the part that needs memory, and comes before the first thread, so CPUs that are not there do for it: it
// must get as far as them. All candidates at once took 64 times as much, 1.9 GB here.
TEST(FinalistsOfMany, ArePlannedOneAtATime) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  ProfileImage image = guess_image(machine_from_synthetic("pack:8 core:64 pu:1"));
  for (uint32_t i = 0; i < image.n(); ++i) image.os_cpu[i] = 60000 + i;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit small{600u << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &small), 0);
  std::string why;
  try {
    time_finalists(image, image.os_cpu, Operation::kBroadcast, {});
  } catch (const UserError& error) {
    why = error.what();
  }
  ::setrlimit(RLIMIT_AS, &before);
  EXPECT_NE(why.find("CPU 60000 cannot be used"), std::string::npos) << why;
#else
  GTEST_SKIP() << "sanitizers reserve more than any limit";
#endif
}

TEST(ChooseFinalists, AreTheCheapestAndWhoStandsForAFamily) {
  const std::vector<std::string> patterns = {
      "all-to-all", "dissemination:7", "spread:2", "dissemination:4, partners searched", "optimised",
      "mst",        "dissemination:2", "hybrid",   "hierarchical:2, partners searched",  "hierarchical:1",
      "sequential"};
  EXPECT_EQ(choose_finalists(patterns, 3), (std::vector<size_t>{0, 1, 2, 4, 6, 7, 8}));
  EXPECT_EQ(choose_finalists(patterns, 100).size(), patterns.size());
  EXPECT_EQ(choose_finalists({"binary", "mst"}, 1), (std::vector<size_t>{0})) << "of a family that is not there nobody";
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
