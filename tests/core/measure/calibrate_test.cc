// Real measurements on this machine, whatever it is: the numbers must be sane, not particular.
#include "measure/calibrate.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "base/fingerprint.h"
#include "base/os/os.h"
#include "folder.h"
#include "measure/pair.h"
#include "measure/poller.h"
#include "measure/stages.h"
#include "measure/ticks.h"
#include "profile/text/error.h"
#include "profile/text/read.h"
#include "profile/text/statistics.h"
#include "sanitized.h"

using namespace smelt;
using smelt::test::kSanitized;

namespace {

// The first CPUs that this process may use, `count` of them at most.
Machine some_of_this_machine(size_t count) {
  Machine machine = discover_machine();
  for (Pu& pu : machine.pus) {
    pu.allowed = pu.allowed && count > 0;
    count -= pu.allowed;
  }
  return machine;
}

class Two : public testing::Test {
 protected:
  Two() {
    const std::vector<uint32_t> cpus = some_of_this_machine(2).allowed_cpus();
    if (cpus.size() == 2) a = static_cast<int>(cpus[0]), b = static_cast<int>(cpus[1]);
  }
  void SetUp() override {
    if (b < 0) GTEST_SKIP() << "this process may use one CPU only";
  }
  int a = -1, b = -1;
};

TEST_F(Two, PingPongTakesAPlausibleTime) {
  const double hop = median(measure_hops(a, b));
  EXPECT_GT(hop, 1) << "faster than any cache";
  EXPECT_LT(hop, 1e6);
}

TEST_F(Two, ReadingAReadyLineIsCheaperThanAHop) {
  // One attempt takes a millisecond, and a virtual machine may be in another's way for hundreds: attempts that follow
  // at once all see the same moment, so each waits longer than the one before, five seconds together.
  bool plausible = false;
  std::ostringstream seen;
  for (int attempt = 0; attempt < 10 && !plausible; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100 * attempt));
    const PairCost cost = measure_pair(a, b);
    EXPECT_EQ(cost.hops.size(), 16u);
    double hop = 1e9;
    for (double each : cost.hops) hop = std::min(hop, each);
    EXPECT_GT(hop, 1);
    seen << "\nhop " << hop << " ns; ready_read, send_busy, recv_busy";
    plausible = true;
    for (const DirectionCost& direction : {cost.forth, cost.back}) {
      EXPECT_GE(direction.send_busy, 0);
      EXPECT_GE(direction.recv_busy, 0);
      plausible &= direction.ready_read > 1 && direction.ready_read < 2 * hop && direction.send_busy < 2 * hop &&
                   direction.recv_busy < 2 * hop;
      seen << ": " << direction.ready_read << ", " << direction.send_busy << ", " << direction.recv_busy;
    }
  }
  EXPECT_TRUE(plausible || kSanitized) << "instrumented loads take any time" << seen.str();
}

TEST_F(Two, CalibrationGivesSaneCostsInTime) {
  const Machine machine = some_of_this_machine(4);
  const auto n = static_cast<uint32_t>(machine.allowed_cpus().size());
  uint32_t reported = 0, announced = 0;
  const int64_t start = os::now_ns();
  CalibrationOptions options;
  options.progress = [&](uint32_t done, uint32_t total, double) {
    EXPECT_GT(done, reported);
    reported = done;
    announced = total;
  };
  const ProfileImage image = calibrate(machine, *hardware_meter(), options).image;
  EXPECT_LT(os::now_ns() - start, kSanitized ? 60'000'000'000 : 5'000'000'000);
  EXPECT_GE(reported, n * (n - 1) / 2) << "pairs may be measured again";
  EXPECT_EQ(announced, reported);
  ASSERT_EQ(image.n(), n);
  EXPECT_TRUE(costs_are_sane(image.costs()));
  EXPECT_TRUE(image.measured());
  EXPECT_EQ(image.header.pairs_measured, n * (n - 1));
  uint32_t in_classes = 0;
  for (const ClassFigures& figures : image.classes) in_classes += figures.pairs;
  EXPECT_EQ(in_classes, n * (n - 1) / 2);
  EXPECT_EQ(image.header.fingerprint, machine_fingerprint());
  EXPECT_GT(image.header.one_way_hop, 1);
  EXPECT_LT(std::abs(image.header.created - static_cast<int64_t>(::time(nullptr))), 60);
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t j = 0; j < n; ++j) {
      if (i == j) continue;
      EXPECT_GT(image.hop[i * n + j], 1);
      EXPECT_LT(image.hop[i * n + j], 1e6);
    }
}

// Two pollers on one CPU take turns by time slices, so the figure means nothing: but it must come, and be a cost.
TEST_F(Two, PollerMeasurementEnds) {
  const double poller = measure_poller(a, {b, b}, 0, 8);
  EXPECT_GE(poller, 0);
  EXPECT_LT(poller, 1e9);
}

TEST_F(Two, PairsAreMeasuredAtTheSameTime) {
  const std::unique_ptr<Meter> meter = hardware_meter();
  const CpuPair pairs[] = {{a, b}, {b, a}};  // not as it should be, but it must come to an end
  for (const std::vector<double>& hops : meter->measure_hops(pairs)) EXPECT_EQ(hops.size(), 8u);
  const CpuPair wrong[] = {{a, b}, {a, 5000}};
  EXPECT_THROW(meter->measure_hops(wrong), UserError);
}

// All of it in one call. A limit that is over at once leaves out what is not reached, and the profile says so.
TEST_F(Two, ALimitEndsAllStagesEarly) {
  const smelt::test::Folder folder;
  CalibrationRequest request;
  request.path = folder.path("here.profile");
  request.limit_seconds = 0.05;
  std::vector<CalibrationStage> begun;
  request.progress = [&](const CalibrationProgress& now) {
    if (now.total == 0) begun.push_back(now.stage);
    EXPECT_EQ(now.at_most, 0.05);
  };
  const NewProfile found = calibrate_this_machine(request);
  using enum CalibrationStage;
  EXPECT_EQ(begun, (std::vector<CalibrationStage>{kPairs, kGroups, kParameters, kRaces, kWriting}));
  EXPECT_TRUE(found.ended_early);
  EXPECT_TRUE(found.image.header.conditions & kEndedEarly);
  EXPECT_TRUE(found.image.curves.empty() && found.image.winners.empty());
  EXPECT_EQ(read_profile(request.path).pack(), found.image.pack());
}

TEST(OneCpu, GivesAProfileOfOneCpu) {
  const ProfileImage image = calibrate(some_of_this_machine(1), *hardware_meter(), {}).image;
  EXPECT_EQ(image.n(), 1u);
  EXPECT_EQ(image.hop, std::vector<float>{0});
  EXPECT_EQ(image.header.pairs_measured, 0u);
  EXPECT_TRUE(costs_are_sane(image.costs()));
  EXPECT_TRUE(image.measured());
}

TEST(Refusals, AreOneClearLine) {
  EXPECT_THROW(measure_hops(0, 0), UserError);
  EXPECT_THROW(measure_hops(0, -1), UserError);
  try {
    measure_hops(0, 5000);
    ADD_FAILURE() << "CPU 5000 was used";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("CPU 5000 cannot be used"), std::string::npos) << error.what();
  }
  ::setenv("HWLOC_SYNTHETIC", "pack:1 core:2 pu:1", 1);
  EXPECT_THROW(calibrate_this_machine({}), UserError) << "another machine";
  ::unsetenv("HWLOC_SYNTHETIC");
}

TEST(Ticks, AgreeWithTheSystemsClock) {
  const int64_t start_ns = os::now_ns();
  const uint64_t start = ticks();
  while (os::now_ns() - start_ns < 20'000'000) {
  }
  const double by_ticks = static_cast<double>(ticks() - start) * ns_per_tick();
  EXPECT_NEAR(by_ticks / static_cast<double>(os::now_ns() - start_ns), 1, 0.05);
}

}  // namespace
