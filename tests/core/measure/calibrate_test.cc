// Real measurements on this machine, whatever it is: the numbers must be sane, not particular.
#include "measure/calibrate.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sched.h>

#include "base/fingerprint.h"
#include "base/os/os.h"
#include "discover/error.h"
#include "measure/ping_pong.h"
#include "measure/poller.h"
#include "measure/ticks.h"

using namespace smelt;

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kInstrumented = true;
#else
constexpr bool kInstrumented = false;
#endif

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
  const PingPong result = measure_ping_pong(a, b);
  EXPECT_GT(result.one_way_ns, 1) << "faster than any cache";
  EXPECT_LT(result.one_way_ns, 1e6);
  EXPECT_GE(result.iqr, 0);
}

TEST_F(Two, ReadingAReadyLineIsCheaperThanAHop) {
  // On a busy machine one attempt may go wrong; three in a row do not.
  bool plausible = false;
  for (int attempt = 0; attempt < 3 && !plausible; ++attempt) {
    const PairCost cost = measure_pair(a, b);
    EXPECT_EQ(cost.hops.size(), 16u);
    double hop = 1e9;
    for (double each : cost.hops) hop = std::min(hop, each);
    EXPECT_GT(hop, 1);
    plausible = true;
    for (const DirectionCost& direction : {cost.forth, cost.back}) {
      EXPECT_GE(direction.send_busy, 0);
      EXPECT_GE(direction.recv_busy, 0);
      plausible &= direction.ready_read > 1 && direction.ready_read < 2 * hop && direction.send_busy < 2 * hop &&
                   direction.recv_busy < 2 * hop;
    }
  }
  EXPECT_TRUE(plausible || kInstrumented) << "instrumented loads take any time";
}

TEST_F(Two, CalibrationGivesSaneCostsInTime) {
  const Machine machine = some_of_this_machine(4);
  const auto n = static_cast<uint32_t>(machine.allowed_cpus().size());
  uint32_t reported = 0, announced = 0;
  const int64_t start = os::now_ns();
  const ProfileImage image = calibrate(machine, [&](uint32_t done, uint32_t total) {
    EXPECT_EQ(done, ++reported);
    announced = total;
  });
  EXPECT_LT(os::now_ns() - start, kInstrumented ? 60'000'000'000 : 5'000'000'000);
  EXPECT_EQ(reported, n * (n - 1) / 2);
  EXPECT_EQ(announced, reported);
  ASSERT_EQ(image.n(), n);
  EXPECT_TRUE(costs_are_sane(image.costs()));
  EXPECT_TRUE(image.measured());
  EXPECT_EQ(image.header.pairs_measured, n * (n - 1));
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

// --- which pairs, how often, and what the others get: on machines that only exist here ---

PairCost cost_of(double hop, double drift = 0) {
  PairCost cost;
  cost.hops.assign(16, hop);
  cost.drift = drift;
  cost.forth = {hop / 10, hop / 20, hop / 2};
  cost.back = {hop / 5, hop / 25, hop / 4};
  return cost;
}

TEST(Pairs, UpTo64CpusAreAllMeasuredInBothDirections) {
  int calls = 0;
  const ProfileImage image = calibrate_pairs(machine_from_synthetic("pack:2 core:32 pu:1"), [&](int a, int b) {
    ++calls;
    return cost_of(100 + a + b);
  });
  EXPECT_EQ(calls, 64 * 63 / 2);
  EXPECT_EQ(image.header.pairs_measured, 64u * 63);
  EXPECT_EQ(image.hop[3 * 64 + 40], 143);
  EXPECT_EQ(image.hop[40 * 64 + 3], 143);
  EXPECT_EQ(image.send_busy[3 * 64 + 40], 14.3f);
  EXPECT_EQ(image.send_busy[40 * 64 + 3], 28.6f);
  EXPECT_EQ(image.recv_busy[3 * 64 + 40], 7.15f);
  EXPECT_EQ(image.ready_read[40 * 64 + 3], 35.75f);
}

TEST(Pairs, LargerMachinesHaveADozenPerClassAndItsMedianElsewhere) {
  const Machine machine = machine_from_synthetic("pack:2 numa:2 l3:2 core:8 pu:2");
  const ProfileImage guess = guess_image(machine);
  int calls = 0;
  const ProfileImage image = calibrate_pairs(machine, [&](int a, int b) {
    ++calls;
    const double typical = guess.hop[static_cast<size_t>(a) * 128 + static_cast<size_t>(b)];
    return cost_of(calls % 12 == 0 ? 100'000 : 2 * typical);  // one wild pair per class must not show elsewhere
  });
  EXPECT_EQ(calls, 5 * 12);
  EXPECT_EQ(image.header.pairs_measured, 2u * 5 * 12);
  EXPECT_TRUE(costs_are_sane(image.costs()));
  int wild = 0;
  for (size_t i = 0; i < image.hop.size(); ++i) {
    if (image.hop[i] == 100'000)
      ++wild;
    else
      EXPECT_EQ(image.hop[i], 2 * guess.hop[i]);
  }
  EXPECT_EQ(wild, 2 * 5);
}

TEST(Pairs, AreMeasuredAgainWhileTheMachineMoves) {
  const Machine two = machine_from_synthetic("core:2 pu:1");
  int calls = 0;
  ProfileImage image =
      calibrate_pairs(two, [&](int, int) { return ++calls < 3 ? cost_of(260, 0.9) : cost_of(57, 0.1); });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(image.hop[1], 57);
  calls = 0;
  image = calibrate_pairs(two, [&](int, int) { return ++calls, cost_of(100 * calls, calls == 2 ? 0.4 : 3.0); });
  EXPECT_EQ(calls, 5) << "and no oftener";
  EXPECT_EQ(image.hop[1], 200) << "the steadiest attempt counts";
}

TEST(Pairs, LeaveOutWhatIsNotAllowed) {
  Machine machine = machine_from_synthetic("core:4 pu:1");
  machine.pus[1].allowed = machine.pus[2].allowed = false;
  const ProfileImage image = calibrate_pairs(machine, [&](int a, int b) { return cost_of(10 * a + b); });
  EXPECT_EQ(image.os_cpu, (std::vector<uint32_t>{0, 3}));
  EXPECT_EQ(image.hop[1], 3);
  for (Pu& pu : machine.pus) pu.allowed = false;
  EXPECT_THROW(calibrate_pairs(machine, [](int, int) { return cost_of(1); }), UserError);
}

TEST(OneCpu, GivesAProfileOfOneCpu) {
  const ProfileImage image = calibrate(some_of_this_machine(1));
  EXPECT_EQ(image.n(), 1u);
  EXPECT_EQ(image.hop, std::vector<float>{0});
  EXPECT_EQ(image.header.pairs_measured, 0u);
  EXPECT_TRUE(costs_are_sane(image.costs()));
  EXPECT_TRUE(image.measured());
}

TEST(Refusals, AreOneClearLine) {
  EXPECT_THROW(measure_ping_pong(0, 0), UserError);
  EXPECT_THROW(measure_ping_pong(0, -1), UserError);
  try {
    measure_ping_pong(0, 5000);
    ADD_FAILURE() << "CPU 5000 was used";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("CPU 5000 cannot be used"), std::string::npos) << error.what();
  }
  ::setenv("HWLOC_SYNTHETIC", "pack:1 core:2 pu:1", 1);
  const Machine other = discover_machine();
  ::unsetenv("HWLOC_SYNTHETIC");
  EXPECT_THROW(calibrate(other), UserError);
  EXPECT_THROW(calibrate(machine_from_synthetic("core:2 pu:1")), UserError);
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
