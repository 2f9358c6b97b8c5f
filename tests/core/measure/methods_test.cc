// The methods of groups, measured for real in small; and processes that fail, which must cost no more than a line.
#include "measure/methods.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <pthread.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <string>

#include "base/os/os.h"
#include "discover/machine.h"
#include "measure/processes.h"

using namespace smelt;

namespace {

std::vector<uint32_t> two_cpus() {
  const std::vector<uint32_t> cpus = discover_machine().allowed_cpus();
  return cpus.size() < 2 ? std::vector<uint32_t>{} : std::vector<uint32_t>{cpus[0], cpus[1]};
}

constexpr MethodEffort kSmall{4, 3, 1 << 14, 16};  // up to 4 KiB

// More batches than there is time for, of one call each; of a size three are enough to be kept.
constexpr MethodEffort kEndless{kCurveSizes, 100'000, 1, 1};

class TwoProcesses : public testing::Test {
 protected:
  void SetUp() override {
    if (cpus.empty()) GTEST_SKIP() << "this process may use one CPU only";
  }
  const std::vector<uint32_t> cpus = two_cpus();
};

TEST_F(TwoProcesses, MeasureEveryMethod) {
  CurveSet sets[kSyncs];
  ASSERT_EQ(measure_sets(cpus, kSmall, sets), "");
  const bool single = sets[0].ns[kBroadcastSingle][0] > 0;  // where the kernel lets one process read another
  for (uint32_t sync = 0; sync < kSyncs; ++sync) {
    const CurveSet& set = sets[sync];
    EXPECT_EQ(set.participants, 2u);
    EXPECT_EQ(set.sync, sync);
    for (uint32_t m = 0; m < kCurveMethods; ++m)
      for (uint32_t s = 0; s < kCurveSizes; ++s) {
        const bool copies = m == kBroadcastSingle || m == kReduceSingle || m == kAllreduceSingle;
        if (s >= kSmall.sizes || (copies && !single))
          EXPECT_EQ(set.ns[m][s], 0) << kCurveMethodNames[m] << " " << s;
        else
          EXPECT_GT(set.ns[m][s], 1) << kCurveMethodNames[m] << " " << s;
        EXPECT_LT(set.ns[m][s], 1e9) << kCurveMethodNames[m] << " " << s;
      }
  }
}

TEST_F(TwoProcesses, AreChosenAndAnnounced) {
  ProfileImage image = guess_image(discover_machine());
  if (method_cpus(image).empty()) GTEST_SKIP() << "one core";
  image.core.resize(2), image.os_cpu = cpus, image.hop = {0, 1, 1, 0};
  if (image.core[0] == image.core[1]) GTEST_SKIP() << "the first two CPUs are one core";
  uint32_t announced = 0;
  const MeasuredMethods methods = measure_methods(
      image,
      [&](uint32_t done, uint32_t total) {
        EXPECT_LE(done, total);
        announced = total;
      },
      kSmall);
  EXPECT_EQ(methods.remark, "");
  ASSERT_EQ(methods.sets.size(), 2u) << "loose and strict";
  EXPECT_EQ(announced, 1u);
}

TEST_F(TwoProcesses, ThatFailLeaveALineAndNoCurves) {
  ProfileImage image = guess_image(machine_from_synthetic("core:2 pu:1"));
  image.os_cpu = {4000, 4001};
  const MeasuredMethods methods = measure_methods(image, {}, kSmall);
  EXPECT_TRUE(methods.sets.empty());
  EXPECT_NE(methods.remark.find("typical limits are used"), std::string::npos) << methods.remark;
  EXPECT_EQ(methods.remark.find('\n'), std::string::npos);
}

// Every set has a share of the calibration's time: what it has measured by then stays.
TEST_F(TwoProcesses, KeepTheSizesThatWereMeasuredInTime) {
  ProfileImage image = guess_image(machine_from_synthetic("core:2 pu:1"));
  image.os_cpu = cpus;
  MethodEffort effort = kEndless;
  effort.until_ns = os::now_ns() + 1'000'000'000;
  const MeasuredMethods methods = measure_methods(image, {}, effort);
  ASSERT_EQ(methods.sets.size(), 2u) << methods.remark;
  for (const CurveSet& set : methods.sets) {
    EXPECT_GT(set.ns[kBroadcastShelf][0], 1);
    EXPECT_EQ(set.ns[kBroadcastShelf][kCurveSizes - 1], 0);
  }
  EXPECT_TRUE(methods.remark.starts_with("the time was over: the methods for 2 processes are known up to "))
      << methods.remark;
}

uint32_t die_after_s = 0;

// A child is ended by SIGPROF so long after it was made: in the middle of its work, for that is endless. (By the clock:
// who sleeps uses little of the CPU. By a timer of its own: alarm() is its time limit's.)
void die_in_the_child() {
  if (die_after_s == 0) return;
  sigevent end{};
  end.sigev_notify = SIGEV_SIGNAL;
  end.sigev_signo = SIGPROF;
  const itimerspec after{{0, 0}, {die_after_s, 0}};
  timer_t timer{};
  if (::timer_create(CLOCK_MONOTONIC, &end, &timer) != 0 || ::timer_settime(timer, 0, &after, nullptr) != 0)
    ::_exit(97);
}

TEST_F(TwoProcesses, KeepThemAlsoWhenOneIsKilled) {
  ASSERT_EQ(::pthread_atfork(nullptr, nullptr, die_in_the_child), 0);
  CurveSet sets[kSyncs];
  // A machine with much else to do may take seconds for the first size.
  for (const uint32_t seconds : {1, 5, 25}) {
    die_after_s = seconds;
    const std::string why = measure_sets(cpus, kEndless, sets);
    die_after_s = 0;
    ASSERT_NE(why.find(fmt::format("was killed by signal {}", SIGPROF)), std::string::npos) << why;
    if (sets[0].ns[kBroadcastShelf][0] > 0) break;
  }
  EXPECT_GT(sets[0].ns[kBroadcastShelf][0], 1);
}

// Two groups share the time: the first does not leave the second without.
TEST_F(TwoProcesses, OfTheFirstGroupLeaveTimeForTheSecond) {
  ProfileImage image = guess_image(machine_from_synthetic("core:4 pu:1"));
  image.os_cpu = {cpus[0], cpus[1], cpus[0], cpus[1]};
  for (uint32_t a = 0; a < 4; ++a)
    for (uint32_t b = 0; b < 4; ++b) image.hop[a * 4 + b] = a == b ? 0.0f : a + b == 1 ? 50.0f : 100.0f;
  MeasuredMethods methods;
  // Four processes on two CPUs under ThreadSanitizer: the first size may take seconds. Half of what there is must do.
  for (int64_t seconds = 5; methods.sets.size() < 4 && seconds <= 80; seconds *= 4) {
    MethodEffort effort = kEndless;
    effort.until_ns = os::now_ns() + seconds * 1'000'000'000;
    methods = measure_methods(image, {}, effort);
  }
  ASSERT_EQ(methods.sets.size(), 4u) << methods.remark;
  EXPECT_EQ(methods.sets[2].participants, 4u);
  EXPECT_GT(methods.sets[2].ns[kBroadcastShelf][0], 1);
}

TEST_F(TwoProcesses, MeetAndEndTogether) {
  EXPECT_EQ(run_processes(
                cpus,
                [](Rank& rank) {
                  smelt_host host = rank.host();
                  int64_t low[2] = {int64_t{rank.me} + 3, -int64_t{rank.me}};
                  if (host.minimum(host.context, low, 2) != 0 || low[0] != 3 || low[1] != -1) return 1;
                  char word[8] = "wrong";
                  if (rank.me == 0) std::snprintf(word, sizeof word, "right");
                  return host.broadcast(host.context, word, sizeof word) == 0 && std::string(word) == "right" ? 0 : 1;
                },
                60),
            "");
  // One fails, the other waits for it: both are gone at once, not after the time limit.
  const int64_t begin = os::now_ns();
  EXPECT_EQ(run_processes(
                cpus, [](Rank& rank) { return rank.me == 0 ? 1 : (::pause(), 0); }, 60),
            "process 1 of 2 failed");
  EXPECT_EQ(run_processes(
                cpus, [](Rank&) { return -ENOMEM; }, 60),
            "process 1 of 2 failed (Cannot allocate memory)");
  EXPECT_LT(os::now_ns() - begin, 30'000'000'000);
  EXPECT_EQ(run_processes(
                cpus, [](Rank&) { return ::raise(SIGKILL); }, 60),
            "process 1 of 2 was killed by signal 9");
  EXPECT_EQ(run_processes(
                cpus, [](Rank&) { return ::pause(), 0; }, 1),
            "process 1 of 2 took too long");
}

// --- which CPUs, on machines that only exist here ---

TEST(MethodCpus, AreOfDifferentCoresAndNearest) {
  ProfileImage image = guess_image(machine_from_synthetic("core:3 pu:2"));
  for (uint32_t a = 0; a < 6; ++a)
    for (uint32_t b = 0; b < 6; ++b) image.hop[a * 6 + b] = a == b ? 0.0f : 100.0f;
  image.hop[0 * 6 + 1] = image.hop[1 * 6 + 0] = 5;  // siblings
  image.hop[2 * 6 + 4] = image.hop[4 * 6 + 2] = 50;
  EXPECT_EQ(method_cpus(image), (std::vector<std::vector<uint32_t>>{{2, 4}})) << "under four cores two are enough";
}

TEST(MethodCpus, OfManyCoresAreOnePerCore) {
  const auto few = method_cpus(guess_image(machine_from_synthetic("core:6 pu:2")));
  ASSERT_EQ(few.size(), 2u);
  EXPECT_EQ(few[1], (std::vector<uint32_t>{0, 2, 4, 6, 8, 10}));
  const auto many = method_cpus(guess_image(machine_from_synthetic("pack:2 core:32 pu:1")));
  ASSERT_EQ(many.size(), 2u);
  EXPECT_EQ(many[1].size(), 16u);
  EXPECT_TRUE(method_cpus(guess_image(machine_from_synthetic("core:1 pu:2"))).empty());
}

}  // namespace
