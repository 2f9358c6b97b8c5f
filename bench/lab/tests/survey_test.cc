// Everything that goes wrong on real machines, on simulated ones: overcome, or told.
#include "measure/survey.h"

#include <gtest/gtest.h>

#include <set>

#include <fmt/format.h>

#include "profile/text/error.h"
#include "simulation.h"

using namespace smelt;
using namespace smelt::test;

namespace {

void expect_close_or_marked(const std::string& what, const MachineFile& file, const SimulationSettings& settings,
                            const Factor& factor = undisturbed) {
  const auto simulated = simulate(file, settings);
  const Calibration result = run(*simulated);
  const Errors errors = errors_of(result, simulated->truth(), factor);
  EXPECT_TRUE(is_marked(result) || errors.hop <= 0.1) << what << ": off by " << 100 * errors.hop << " %\n"
                                                      << all_remarks(result);
  EXPECT_TRUE(!is_marked(result) || !result.remarks.empty()) << what;
}

TEST(Noise, ThriceAsMuchIsStillOvercome) {
  SimulationSettings settings;
  settings.noise = 0.15;
  settings.outliers = 0.05;
  const auto simulated = simulate(sixty_four(), settings);
  const Calibration result = run(*simulated);
  EXPECT_LE(errors_of(result, simulated->truth()).hop, 0.1);
  EXPECT_FALSE(is_marked(result)) << all_remarks(result);
}

TEST(Drift, IsFollowedOrMarked) {
  const double seconds = seconds_undisturbed(sixty_four());
  for (const double all : {0.1, 0.5, 2.0}) {  // during the time of an undisturbed calibration
    SimulationSettings settings;
    settings.drift_per_s = all / seconds;
    const auto simulated = simulate(sixty_four(), settings);
    const Calibration result = run(*simulated);
    const double end = 1 + settings.drift_per_s * simulated->seconds();
    const double error = errors_of(result, simulated->truth(), [&](uint32_t, uint32_t) { return (1 + end) / 2; }).hop;
    EXPECT_TRUE(is_marked(result) || error <= 0.1 + (end - 1) / 2) << all << ": " << error << "\n"
                                                                   << all_remarks(result);
    EXPECT_TRUE(all < 1 || is_marked(result)) << "nobody can measure that";
  }
}

TEST(Placement, FlipsForAWhileAreOvercomeOrMarked) {
  const double seconds = seconds_undisturbed(sixty_four());
  std::vector<uint32_t> node;
  for (uint32_t cpu = 16; cpu < 32; ++cpu) node.push_back(cpu);
  for (const double begin : {0.2, 0.4, 0.6, 0.8})
    for (const double length : {0.1, 0.3})
      for (const double factor : {0.3, 4.0}) {
        SimulationSettings settings;
        settings.changes.push_back({begin * seconds, length * seconds, factor, node});
        expect_close_or_marked(fmt::format("from {} for {}, times {}", begin, length, factor), sixty_four(), settings);
      }
}

// What was disturbed for a while must not look like a class of its own.
TEST(Placement, FlipsForAWhileLeaveNoTrace) {
  const double seconds = seconds_undisturbed(sixty_four());
  std::vector<uint32_t> node;
  for (uint32_t cpu = 16; cpu < 32; ++cpu) node.push_back(cpu);
  for (uint64_t seed : {1, 2, 3, 4}) {
    SimulationSettings settings;
    settings.seed = seed;
    settings.changes.push_back({0.2 * seconds, 0.1 * seconds, 4, node});
    const auto simulated = simulate(sixty_four(), settings);
    const Calibration result = run(*simulated);
    EXPECT_EQ(result.image.classes.size(), 5u) << seed;
    EXPECT_LE(errors_of(result, simulated->truth()).hop, 0.1) << seed;
    EXPECT_FALSE(is_marked(result) || is_wide(result)) << seed << ": " << all_remarks(result);
    EXPECT_LT(simulated->seconds(), 1.5 * seconds) << "a few pairs are measured again, not all";
  }
}

TEST(Placement, FlipsForGoodGiveTheNewMachine) {
  const double seconds = seconds_undisturbed(sixty_four());
  SimulationSettings settings;
  std::set<uint32_t> moved;
  for (uint32_t cpu = 0; cpu < 32; ++cpu) moved.insert(cpu);
  settings.changes.push_back({0.6 * seconds, 1e9, 3, {moved.begin(), moved.end()}});
  expect_close_or_marked("for good", sixty_four(), settings,
                         [&](uint32_t a, uint32_t b) { return moved.count(a) || moved.count(b) ? 3.0 : 1.0; });
}

TEST(Frequency, AChangeHalfWayIsNoticed) {
  const double seconds = seconds_undisturbed(sixty_four());
  for (const double factor : {0.6, 1.25, 1.5}) {
    SimulationSettings settings;
    settings.changes.push_back({seconds / 2, 1e9, factor, {}});
    const auto simulated = simulate(sixty_four(), settings);
    const Calibration result = run(*simulated);
    EXPECT_LE(errors_of(result, simulated->truth(), [&](uint32_t, uint32_t) { return factor; }).hop, 0.1) << factor;
    EXPECT_TRUE(remarked(result, "changed while it was measured")) << factor << all_remarks(result);
    EXPECT_FALSE(is_marked(result)) << factor << ": the new frequency is as good as the old one";
  }
}

TEST(Throttling, IsOvercomeOrMarked) {
  for (const double period : {0.003, 0.02, 0.05}) {
    SimulationSettings settings;
    settings.throttle_period_s = period;
    expect_close_or_marked(fmt::format("every {} s", period), sixty_four(), settings);
  }
}

TEST(BusyNeighbour, SpoilsNoClassAndIsNamed) {
  for (const double share : {0.3, 0.7, 1.0}) {
    SimulationSettings settings;
    settings.busy_cpu = 5;
    settings.busy_share = share;
    // All pairs of it are measured ...
    const auto small = simulate(read_machine_file("synthetic:pack:2 core:4 pu:2"), settings);
    Calibration result = run(*small);
    EXPECT_LE(errors_of(result, small->truth()).hop, 0.1) << share;
    EXPECT_TRUE(share != 0.7 || remarked(result, "CPU 5:")) << share << ": " << all_remarks(result);
    for (double error : errors_of(result, small->truth()).pairs)
      EXPECT_TRUE(error < 0.2 || is_marked(result)) << "its pairs have their class's costs";
    // ... or a few. One that is always slow looks like a slow CPU, whose pairs differ from the others.
    const auto large = simulate(sixty_four(), settings);
    result = run(*large);
    EXPECT_TRUE(errors_of(result, large->truth()).hop <= 0.1 || (share == 1 && is_wide(result)))
        << share << all_remarks(result);
    EXPECT_FALSE(share > 0.5 && result.remarks.empty());
  }
}

TEST(Everything, AtOnceIsToldAtLeast) {
  const double seconds = seconds_undisturbed(sixty_four());
  SimulationSettings settings;
  settings.noise = 0.1;
  settings.outliers = 0.05;
  settings.busy_cpu = 9;
  settings.throttle_period_s = 0.02;
  settings.changes.push_back({seconds / 3, seconds / 3, 3, {0, 1, 2, 3}});
  settings.changes.push_back({seconds / 2, 1e9, 1.3, {}});
  expect_close_or_marked("everything", sixty_four(), settings, [](uint32_t, uint32_t) { return 1.3; });
}

// --- pairs at the same time ---

TEST(Company, IsKeptWhereItDoesNotDisturb) {
  CalibrationOptions all;
  all.all_pairs = true;
  SimulationSettings settings;
  settings.same_llc_factor = 1;
  const auto free = simulate(sixty_four(), settings);
  EXPECT_EQ(run(*free, all).at_once, 16u);
  EXPECT_LT(free->seconds(), free->seconds_of_all_pairs() / 4);
  settings.crowd = 5;
  settings.crowd_factor = 1.5;
  const auto crowded = simulate(sixty_four(), settings);
  const Calibration few = run(*crowded, all);
  EXPECT_EQ(few.at_once, 4u);
  EXPECT_LE(errors_of(few, crowded->truth()).hop, 0.1);
  settings.same_llc_factor = 1.5;
  const auto sharing = simulate(sixty_four(), settings);
  const Calibration apart = run(*sharing, all);
  EXPECT_GT(apart.at_once, 1u) << "pairs of different caches";
  EXPECT_LE(errors_of(apart, sharing->truth()).hop, 0.1);
  settings.crowd = 1;
  const auto alone = simulate(sixty_four(), settings);
  EXPECT_EQ(run(*alone, all).at_once, 1u);
  Machine limited = free->machine();
  limited.cpu_quota = 8;
  EXPECT_EQ(calibrate(limited, *free, all).at_once, 4u) << "the quota would throttle more";
}

// --- what is announced ---

TEST(Progress, ComesToItsEndAndTheEstimateIsNear) {
  for (const bool all_pairs : {false, true}) {
    const auto simulated = simulate(sixty_four());
    uint32_t last = 0, announced = 0;
    double left = 1;
    CalibrationOptions options;
    options.all_pairs = all_pairs;
    options.most_at_once = 1;
    options.progress = [&](uint32_t done, uint32_t total, double seconds_left) {
      EXPECT_EQ(done, last + 1);
      EXPECT_GE(total, done);
      EXPECT_GE(seconds_left, 0);
      last = done, announced = total, left = seconds_left;
    };
    run(*simulated, options);
    EXPECT_EQ(last, announced);
    EXPECT_EQ(left, 0);
    EXPECT_NEAR(estimate_seconds(simulated->machine(), options) / simulated->seconds(), 1, 0.35) << all_pairs;
  }
}

// Whenever the time is over, there is a profile of all CPUs, and it says what it is worth.
TEST(TimeLimit, EndsWithWhatThereIsAndSaysSo) {
  const double seconds = seconds_undisturbed(sixty_four());
  double before = 0;
  for (const double share : {1e-6, 0.05, 0.3, 0.6}) {
    const auto simulated = simulate(sixty_four());
    CalibrationOptions options;
    options.seconds = share * seconds;
    const Calibration result = run(*simulated, options);
    SCOPED_TRACE(share);
    EXPECT_TRUE(result.ended_early);
    EXPECT_LE(simulated->seconds(), options.seconds + 0.1 * seconds + 0.1) << "a few pairs more at most";
    EXPECT_TRUE(costs_are_sane(result.image.costs()));
    EXPECT_NE(std::string(result.image.header.method).find("its time was over early"), std::string::npos);
    EXPECT_NE(all_remarks(result).find("the time was over"), std::string::npos) << all_remarks(result);
    EXPECT_GE(result.image.header.pairs_measured, before);
    before = result.image.header.pairs_measured;
    for (uint32_t i = 0; i < 64; ++i)
      for (uint32_t j = 0; j < 64; ++j)
        if (i != j) {
          ASSERT_GT(result.image.hop[i * 64 + j], 0);
          ASSERT_GT(result.image.ready_read[i * 64 + j], 0);
          ASSERT_NE(result.class_of[i * 64 + j], kNobody);
        }
    for (const ClassFigures& figures : result.image.classes) {
      if (figures.samples == 0) {
        EXPECT_TRUE(figures.marks & kMarkUnsteady);
      }
      EXPECT_GT(figures.hop, 0);
    }
  }
  EXPECT_GT(before, 0) << "what was measured counts";
  const auto simulated = simulate(sixty_four());
  CalibrationOptions options;
  options.seconds = 100 * seconds;
  EXPECT_FALSE(run(*simulated, options).ended_early);
}

}  // namespace
