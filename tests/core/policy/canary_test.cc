// The canary between two real threads on two CPUs, under profiles that are right, three times too dear and three times
// too cheap; and what becomes of it when somebody is late, elsewhere, or not there at all.
#include "policy/canary.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/os/os.h"
#include "generate/registry.h"
#include "profile/packed.h"
#include "profile/profile.h"
#include "team/team.h"

namespace smelt {
namespace {

using test::Packed;

// A profile of n CPUs, 0 to n - 1, in last-level caches of `per_llc` and packages of `per_package`, with one hop for
// all.
struct FakeProfile {
  explicit FakeProfile(uint32_t n, float hop = 50, uint32_t per_llc = 64, uint32_t per_package = 64) : packed(n, 0) {
    for (uint32_t i = 0; i < n; ++i) {
      packed.os_cpu()[i] = i;
      packed.array<uint16_t>(packed.at.llc)[i] = static_cast<uint16_t>(i / per_llc);
      packed.array<uint16_t>(packed.at.node)[i] = packed.array<uint16_t>(packed.at.package)[i] =
          static_cast<uint16_t>(i / per_package);
      for (uint32_t j = 0; j < n; ++j)
        for (const uint64_t matrix : {packed.at.hop, packed.at.send_busy, packed.at.recv_busy, packed.at.ready_read})
          packed.array<float>(matrix)[i * n + j] = i == j ? 0 : hop;
    }
    packed.seal();
    attach_image(packed.bytes.data(), &profile);
    profile.mapping = packed.bytes.data();
    profile.mapped_bytes = packed.bytes.size();
  }
  FakeProfile(const FakeProfile&) = delete;
  Packed packed;
  Profile profile;
};

CanaryReport report_of(Distance distance, float known, float hop) {
  CanaryReport report;
  report.count = 1;
  report.pair[0] = {{0, 1}, {4, 5}, distance, known, hop};
  return report;
}

TEST(CanaryFactors, ThirtyPerCentEitherWayAreNoNews) {
  float factor[kDistances];
  for (const float hop : {100.0f, 129.0f, 77.0f, 0.0f}) {
    EXPECT_FALSE(canary_factors(report_of(Distance::kSameLlc, 100, hop), factor)) << hop;
    for (const float f : factor) EXPECT_EQ(f, 1);
  }
  for (const float hop : {132.0f, 75.0f, 300.0f, 1.0f}) {
    EXPECT_TRUE(canary_factors(report_of(Distance::kOther, 100, hop), factor)) << hop;
    EXPECT_FLOAT_EQ(factor[static_cast<uint32_t>(Distance::kOther)], hop / 100);
    EXPECT_EQ(factor[static_cast<uint32_t>(Distance::kSameLlc)], 1);
  }
  EXPECT_FALSE(canary_factors(CanaryReport{}, factor));
}

TEST(CanaryFactors, AreToldInOneLine) {
  char text[kCanaryText];
  describe_canary(report_of(Distance::kSameLlc, 57, 171), true, text, sizeof text);
  EXPECT_NE(std::string(text).find("CPUs 4 and 5, same last-level cache: a hop takes 171 ns, was 57"),
            std::string::npos)
      << text;
  EXPECT_NE(std::string(text).find("smelt calibrate"), std::string::npos) << text;
  describe_canary(report_of(Distance::kSameLlc, 57, 0), false, text, sizeof text);
  EXPECT_NE(std::string(text).find("no answer in time"), std::string::npos) << text;
  CanaryReport most;
  most.count = kCanaryPairs;
  for (CanaryPair& pair : most.pair) pair = {{1022, 1023}, {4294967294u, 4294967294u}, Distance::kSameLlc, 1e9f, 9e8f};
  describe_canary(most, true, text, sizeof text);
  EXPECT_NE(std::string(text).find("smelt calibrate"), std::string::npos) << "too little room: " << text;
  char small[20];
  describe_canary(most, true, small, sizeof small);
  EXPECT_EQ(std::string(small).size(), sizeof small - 1);
}

TEST(CanaryFactors, ScaleOneDistanceAndForgetTheWinners) {
  Packed packed(4, 1, true);
  for (uint32_t i = 0; i < 4; ++i) packed.array<uint16_t>(packed.at.llc)[i] = static_cast<uint16_t>(i / 2);
  packed.seal();
  Profile before;
  attach_image(packed.bytes.data(), &before);
  before.mapping = packed.bytes.data();
  before.mapped_bytes = packed.bytes.size();
  before.source = ProfileSource::kUser;
  float factor[kDistances] = {1, 1, 3, 1, 1, 1};
  Profile after;
  ASSERT_EQ(rescale_profile(before, factor, &after), 0);
  EXPECT_EQ(after.source, ProfileSource::kUser);
  EXPECT_NE(after.mapping, before.mapping);
  EXPECT_EQ(after.header.winners, 0u);
  EXPECT_EQ(after.winners, nullptr);
  EXPECT_EQ(after.header.classes, before.header.classes);
  EXPECT_EQ(after.classes[1].hop, before.classes[1].hop);
  for (uint32_t i = 0; i < 4; ++i)
    for (uint32_t j = 0; j < 4; ++j) {
      const float scale = i != j && i / 2 == j / 2 ? 3 : 1;
      const size_t at = i * 4 + j;
      EXPECT_EQ(after.costs.hop[at], before.costs.hop[at] * scale);
      EXPECT_EQ(after.costs.send_busy[at], before.costs.send_busy[at] * scale);
      EXPECT_EQ(after.costs.recv_busy[at], before.costs.recv_busy[at] * scale);
      EXPECT_EQ(after.costs.ready_read[at], before.costs.ready_read[at] * scale);
    }
  unload_profile(&after);
}

TEST(CanaryFactors, ChooseThePatternAnew) {
  const FakeProfile fake(16, 50, 8, 8);
  uint32_t cpus[16];
  for (uint32_t i = 0; i < 16; ++i) cpus[i] = i;
  float factor[kDistances] = {1, 1, 1, 1, 1, 40};
  Profile after;
  ASSERT_EQ(rescale_profile(fake.profile, factor, &after), 0);
  uint32_t crossing[2] = {};  // messages between the packages
  const Profile* const profiles[] = {&fake.profile, &after};
  for (int i = 0; i < 2; ++i) {
    MappedArena arena(generation_bytes(16));
    TeamRequest request{profiles[i], 16, cpus, "best", false};
    TeamPlan plan;
    ASSERT_EQ(plan_team(request, arena, &plan), 0);
    const Schedule& schedule = plan.schedule;
    for (uint32_t p = 0; p < 16; ++p)
      for (uint32_t s = schedule.begin[p]; s < schedule.begin[p + 1]; ++s)
        for (uint32_t q = 0; q < schedule.steps[s].count; ++q)
          crossing[i] +=
              schedule.steps[s].kind == StepKind::kSignal && schedule.peers[schedule.steps[s].first + q] / 8 != p / 8;
  }
  EXPECT_GT(crossing[0], crossing[1]);
  EXPECT_GE(crossing[1], 2u);
  unload_profile(&after);
}

// Nobody follows: the pairs that were chosen are in the report, without an answer, after the deadline.
TEST(Canary, TakesOnePairPerDistanceOfDifferentThreads) {
  const FakeProfile fake(16, 50, 4, 8);
  uint32_t cpus[16];
  for (uint32_t i = 0; i < 16; ++i) cpus[i] = i;
  Canary canary;
  const CanaryReport report = canary.lead(fake.profile, 16, cpus);
  ASSERT_EQ(report.count, 3u);
  bool thread_used[16] = {}, distance_used[kDistances] = {};
  for (const CanaryPair& pair : report.pair) {
    EXPECT_EQ(pair.hop, 0);
    EXPECT_EQ(pair.known, 50);
    for (int side = 0; side < 2; ++side) {
      EXPECT_FALSE(thread_used[pair.thread[side]]);
      thread_used[pair.thread[side]] = true;
      EXPECT_EQ(pair.cpu[side], pair.thread[side]);
    }
    EXPECT_FALSE(distance_used[static_cast<uint32_t>(pair.distance)]);
    distance_used[static_cast<uint32_t>(pair.distance)] = true;
  }
}

TEST(Canary, AsksNobodyWhoSharesACpuOrIsUnknown) {
  const FakeProfile fake(2);
  for (const uint32_t other : {0u, 7u, ~0u}) {
    const uint32_t cpus[] = {0, other};
    Canary canary;
    EXPECT_EQ(canary.lead(fake.profile, 2, cpus).count, 0u);
    canary.follow(1, WaitPolicy{});  // comes, finds nothing to do, goes
  }
}

TEST(Canary, WaitsForNobodyWhoStaysAway) {
  const FakeProfile fake(2);
  const uint32_t cpus[] = {0, 1};
  Canary canary;
  const int64_t start = os::now_ns();
  const CanaryReport report = canary.lead(fake.profile, 2, cpus);
  EXPECT_LT(os::now_ns() - start, 2'000'000'000);  // the scheduler may take its time, not ours
  ASSERT_EQ(report.count, 1u);
  EXPECT_EQ(report.pair[0].hop, 0);
  canary.follow(1, WaitPolicy{0, 0, PostOrder::kFenced});  // too late, and soon back
  EXPECT_LT(os::now_ns() - start, 4'000'000'000);
}

class Live : public testing::Test {
 protected:
  void SetUp() override {
    if (os::allowed_cpu_list(cpus, 2) < 2) GTEST_SKIP() << "two CPUs are needed";
    pin(cpus[0], &before);
  }
  void TearDown() override { pthread_setaffinity_np(pthread_self(), sizeof before, &before); }

  static void pin(uint32_t cpu, cpu_set_t* old = nullptr) {
    if (old) pthread_getaffinity_np(pthread_self(), sizeof *old, old);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  }

  CanaryReport ask(float known, const uint32_t* seen_on) {
    const FakeProfile fake(cpus[1] + 1, known, 1024, 1024);
    Canary canary;
    std::atomic<bool> there{false};
    std::thread other([&] {
      pin(cpus[1]);
      there.store(true);
      canary.follow(1, WaitPolicy{});
    });
    while (!there.load()) os::yield_cpu();
    const CanaryReport report = canary.lead(fake.profile, 2, seen_on);
    other.join();
    return report;
  }

  uint32_t cpus[2];
  cpu_set_t before;
};

// On a virtual machine, loaded besides, two askings in a row need not find the same: tried until they do, or it fails.
TEST_F(Live, DriftIsSeenBothWaysAndARightProfileHolds) {
  constexpr int kTries = 2000;
  bool dear = false, cheap = false, right = false;
  int64_t most = 0, answered = 0, asked = 0;
  for (int i = 0; i < kTries && !(dear && cheap && right); ++i) {
    const float hop = ask(1, cpus).pair[0].hop;
    ++asked;
    if (hop <= 0) continue;
    ++answered;
    const struct {
      float scale;
      bool* seen;
    } cases[] = {{3, &dear}, {1.0f / 3, &cheap}, {1, &right}};
    for (const auto& c : cases) {
      const CanaryReport report = ask(hop * c.scale, cpus);
      ASSERT_EQ(report.count, 1u);
      EXPECT_FLOAT_EQ(report.pair[0].known, hop * c.scale);
      most = std::max(most, report.took_ns);
      float factor[kDistances];
      const bool drifted = canary_factors(report, factor);
      if (report.pair[0].hop <= 0) {
        EXPECT_FALSE(drifted);
        continue;
      }
      if (c.scale == 1) {
        *c.seen |= !drifted;
      } else if (const float found = factor[static_cast<uint32_t>(report.pair[0].distance)]; drifted) {
        *c.seen |= (found < 1) == (c.scale > 1);
      }
    }
  }
  printf("answered %lld of %lld; the longest took %lld us\n", static_cast<long long>(answered),
         static_cast<long long>(asked), static_cast<long long>(most / 1000));
  EXPECT_TRUE(dear && cheap && right) << dear << cheap << right;
}

TEST_F(Live, WhoIsNotWhereItWasSeenGivesNoAnswer) {
  const uint32_t swapped[] = {cpus[1], cpus[0]};
  for (int i = 0; i < 20; ++i) {
    const CanaryReport report = ask(50, swapped);
    ASSERT_EQ(report.count, 1u);
    EXPECT_EQ(report.pair[0].hop, 0);
  }
}

}  // namespace
}  // namespace smelt
