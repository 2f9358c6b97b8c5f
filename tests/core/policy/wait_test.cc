// Which policy a waiter gets: with and without a profile, under the settings, under what OpenMP's own variables ask
// for.
#include "policy/wait.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <thread>

#include "base/options.h"
#include "base/os/os.h"
#include "profile/profile.h"
#include "standing_clock.h"

using namespace smelt;

namespace {

class Policy : public testing::Test {
 protected:
  Policy() { profile.wait = &wait; }
  ~Policy() override {
    for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) ::unsetenv(name);
    for (const char* name : {"SMELT_TUNE=spin_us", "SMELT_TUNE=yield_us"}) set_option(name, "-1");
    set_option("SMELT_WAIT", "auto");
  }
  // One thread: no quota is smaller.
  WaitPolicy measured(bool crowded) const { return wait_policy(crowded, 1, &profile); }
  static WaitPolicy typically(bool crowded) { return wait_policy(crowded, 1); }

  WaitFigures wait{40, 4000, 2000, 100'000};  // a machine on which all of it is dear
  Profile profile;
};

TEST_F(Policy, WithoutAProfileIsTypical) {
  const WaitPolicy alone = typically(false), crowd = typically(true), usual;
  EXPECT_EQ(alone.spin_ns, usual.spin_ns);
  EXPECT_EQ(alone.spin_ns, 5'000'000);
  EXPECT_EQ(alone.yield_ns, 0);
  EXPECT_EQ(alone.order, PostOrder::kUnfenced);
  EXPECT_EQ(crowd.spin_ns, 0);
  EXPECT_EQ(crowd.yield_ns, 200'000);
  EXPECT_EQ(crowd.order, PostOrder::kFenced);
  for (const WaitPolicy& policy : {alone, crowd}) {
    EXPECT_EQ(policy.burst, usual.burst);
    EXPECT_EQ(policy.look, usual.look);
    EXPECT_EQ(policy.foreign_ns, usual.foreign_ns);
  }
  const Profile empty;
  EXPECT_EQ(wait_policy(true, 1, &empty).yield_ns, crowd.yield_ns);
}

TEST_F(Policy, FollowsWhatWaitingCosts) {
  EXPECT_EQ(measured(false).spin_ns, typically(false).spin_ns) << "long enough already";
  EXPECT_EQ(measured(true).yield_ns, 400'000);
  EXPECT_EQ(measured(true).foreign_ns, 200'000);
  EXPECT_EQ(measured(false).burst, typically(false).burst / 2);
  wait.futex_return = 1'900'000;
  EXPECT_EQ(measured(false).spin_ns, 7'600'000);
}

TEST_F(Policy, IsTheUsersWhereSet) {
  ASSERT_EQ(set_option("SMELT_TUNE=spin_us", "7"), 0);
  ASSERT_EQ(set_option("SMELT_TUNE=yield_us", "9"), 0);
  EXPECT_EQ(measured(false).spin_ns, 7000);
  EXPECT_EQ(measured(true).yield_ns, 9000);
  ASSERT_EQ(set_option("SMELT_TUNE=spin_us", "0"), 0);
  EXPECT_EQ(measured(false).spin_ns, 0);
  EXPECT_EQ(measured(false).order, PostOrder::kFenced) << "who always sleeps pays for the fence";
  ASSERT_EQ(set_option("SMELT_WAIT", "spin"), 0);
  EXPECT_EQ(measured(true).spin_ns, kSpinForever);
  EXPECT_EQ(measured(true).order, PostOrder::kUnfenced);
  ASSERT_EQ(set_option("SMELT_WAIT", "sleep"), 0);
  EXPECT_EQ(measured(false).spin_ns + measured(false).yield_ns, 0);
}

TEST_F(Policy, HonoursOpenMp) {
  ::setenv("OMP_WAIT_POLICY", "passive", 1);
  EXPECT_EQ(typically(false).spin_ns, 0);
  EXPECT_EQ(typically(true).yield_ns, 50'000);
  EXPECT_EQ(measured(true).yield_ns, 400'000);
  ::setenv("OMP_WAIT_POLICY", "active", 1);
  EXPECT_EQ(typically(false).spin_ns, kSpinForever);
  ::unsetenv("OMP_WAIT_POLICY");
  ::setenv("GOMP_SPINCOUNT", "3k", 1);
  EXPECT_EQ(typically(false).spin_ns, 3000 * 20);
  EXPECT_EQ(measured(false).spin_ns, 3000 * 40) << "a poll takes twice as long here";
  ::setenv("GOMP_SPINCOUNT", "infinite", 1);
  EXPECT_EQ(measured(false).spin_ns, kSpinForever);
}

// A waiter that nobody posts to leaves its spinning and yielding when their time is over, and is woken out of its
// sleep. So it does where the clock stands: it hung there, at 100 % of its CPU.
TEST_F(Policy, EndsInASleepThatAPostEnds) {
  wait.futex_return = 1000;
  for (const int turn : {0, 1, 2, 3}) {
    const bool crowded = turn % 2 != 0;
    std::optional<test::StandingClock> stands;
    if (turn >= 2) stands.emplace();
    ASSERT_EQ(set_option("SMELT_TUNE=spin_us", "100"), 0);
    ASSERT_EQ(set_option("SMELT_TUNE=yield_us", "100"), 0);
    const WaitPolicy policy = measured(crowded);
    Line line;
    pthread_t poster;
    struct Job {
      Line* line;
      WaitPolicy policy;
    } job{&line, policy};
    ASSERT_EQ(pthread_create(
                  &poster, nullptr,
                  [](void* argument) -> void* {
                    const Job& job = *static_cast<Job*>(argument);
                    while (job.line->bell.sleepers.load() == 0) os::yield_cpu();
                    post(*job.line, 1, job.policy.order);
                    return nullptr;
                  },
                  &job),
              0);
    EXPECT_TRUE(wait_briefly(line.epoch, 1, policy) || wait_slowly(line, 1, nullptr, policy));
    pthread_join(poster, nullptr);
    EXPECT_TRUE(poll(line.epoch, 1));
  }
}

// CPU time that a waiter with seconds to spin takes for a flag that comes after half a second, the process being
// crowded from `since` on; what it could take until then is not counted.
int64_t cpu_ns_of_a_wait(int64_t since_ms) {
  const auto milliseconds = [](int64_t n) { std::this_thread::sleep_for(std::chrono::milliseconds(n)); };
  Line flag;
  int64_t taken = 0;
  headcount.cpus.store(2, std::memory_order_relaxed);
  headcount.threads.store(since_ms == 0 ? 3 : 2, std::memory_order_relaxed);
  const int64_t start = os::now_ns();
  std::thread waiter([&] {
    WaitPolicy policy;
    policy.spin_ns = 10'000'000'000;
    EXPECT_TRUE(wait_slowly(flag, 1, nullptr, policy));
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    taken = int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
  });
  milliseconds(since_ms > 0 ? since_ms : 0);
  if (since_ms >= 0) headcount.threads.store(3, std::memory_order_relaxed);
  const int64_t until_crowded = since_ms > 0 ? os::now_ns() - start : 0;
  milliseconds(500 - (since_ms > 0 ? since_ms : 0));
  post(flag, 1);
  waiter.join();
  headcount.threads.store(0, std::memory_order_relaxed);
  headcount.cpus.store(~0u, std::memory_order_relaxed);
  return taken - until_crowded;
}

// A nested team shares the CPUs of those who wait for it (2 x 2 bound threads: 1.45 times stock's time while they
// spun).
TEST(Headcount, NobodySpinsWhileTheProcessIsCrowded) {
  const int64_t alone = cpu_ns_of_a_wait(-1), crowded = cpu_ns_of_a_wait(0), later = cpu_ns_of_a_wait(100);
  if (alone < 100'000'000)
    GTEST_SKIP() << "this machine is too busy to tell: spinning got " << alone << " ns of CPU time";
  EXPECT_LT(crowded, 20'000'000);
  EXPECT_LT(later, 50'000'000);
}

}  // namespace
