// The simulated machine: exact where nothing disturbs it, disturbed where it should be, and repeatable.
#include "bench/lab/simulated_machine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "measure/pair_samples.h"
#include "profile/text/error.h"
#include "profile/text/statistics.h"

using namespace smelt;

namespace {

SimulationSettings quiet() {
  SimulationSettings settings;
  settings.noise = settings.outliers = 0;
  return settings;
}

// 16 CPUs, two per core, four per cache, eight per package.
const MachineFile& machine() {
  static const MachineFile file = read_machine_file("synthetic:pack:2 l3:2 core:2 pu:2");
  return file;
}

double truth(int a, int b) {
  const Costs& costs = machine().overlap;
  const auto at = [&](int from, int to) {
    return double{costs.hop[costs.at(static_cast<uint32_t>(from), static_cast<uint32_t>(to))]};
  };
  return (at(a, b) + at(b, a)) / 2;
}

std::vector<PairCost> measure(Meter& meter, std::vector<CpuPair> pairs) { return meter.measure(pairs); }
double hop(Meter& meter, CpuPair pair) { return median(meter.measure_hops({&pair, 1})[0]); }

TEST(Undisturbed, GivesWhatTheFileSays) {
  const auto simulated = simulate(machine(), quiet());
  const Costs& costs = simulated->truth();
  for (const CpuPair pair : {CpuPair{0, 1}, CpuPair{0, 2}, CpuPair{9, 3}}) {
    const PairCost cost = measure(*simulated, {pair})[0];
    EXPECT_EQ(cost.hops.size(), 2u * kBatches);
    EXPECT_DOUBLE_EQ(median(cost.hops), truth(pair.a, pair.b));
    EXPECT_EQ(cost.drift, 0);
    for (const bool forth : {true, false}) {
      const auto from = static_cast<uint32_t>(forth ? pair.a : pair.b),
                 to = static_cast<uint32_t>(forth ? pair.b : pair.a);
      const DirectionCost& direction = forth ? cost.forth : cost.back;
      EXPECT_NEAR(direction.send_busy, costs.send_busy[costs.at(from, to)], 1e-9);
      EXPECT_NEAR(direction.recv_busy, costs.recv_busy[costs.at(from, to)], 1e-9);
      EXPECT_NEAR(direction.ready_read, costs.ready_read[costs.at(from, to)], 1e-9);
    }
  }
  // Readers of two nodes cross.
  const float crossing = costs.crossing[static_cast<uint32_t>(distance_in(costs, 4, 8))];
  EXPECT_NEAR(simulated->measure_poller(0, {4, 8}, 1), costs.poller + crossing, 1e-4);
}

TEST(Undisturbed, TakesTheTimeOfTheHardwaresRoundTrips) {
  const auto simulated = simulate(machine(), quiet());
  double before = simulated->seconds();
  const auto took_ns = [&] {
    const double now = simulated->seconds(), took = (now - before) * 1e9;
    before = now;
    return took;
  };
  measure(*simulated, {{0, 8}});
  EXPECT_NEAR(took_ns(), pair_ns(truth(0, 8)), 1);
  hop(*simulated, {0, 8});
  EXPECT_NEAR(took_ns(), hops_ns(truth(0, 8)), 1);
  measure(*simulated, {{0, 1}, {4, 12}});
  EXPECT_NEAR(took_ns(), pair_ns(truth(4, 12)), 1) << "as long as the longer one";
  simulated->warm_up({0});
  double all_ns = took_ns();
  for (int a = 0; a < 16; ++a)
    for (int b = a + 1; b < 16; ++b) measure(*simulated, {{a, b}});
  all_ns += took_ns();
  EXPECT_NEAR(all_ns * 1e-9, simulated->seconds_of_all_pairs(), 1e-6);
  EXPECT_EQ(simulated->pairs_measured(), 1u + 2 + 120);
}

TEST(Samples, AreRepeatableByTheirSeed) {
  SimulationSettings settings;
  settings.seed = 7;
  const auto first = simulate(machine(), settings), again = simulate(machine(), settings);
  settings.seed = 8;
  const auto other = simulate(machine(), settings);
  const std::vector<double> hops = measure(*first, {{2, 9}})[0].hops;
  EXPECT_EQ(hops, measure(*again, {{2, 9}})[0].hops);
  EXPECT_NE(hops, measure(*other, {{2, 9}})[0].hops);
  EXPECT_NE(hops, measure(*first, {{2, 9}})[0].hops) << "a moment later";
}

TEST(Samples, HaveTheNoiseAndTheOutliersAskedFor) {
  SimulationSettings settings;
  settings.outliers = 0.02;
  const auto simulated = simulate(machine(), settings);
  std::vector<double> hops;
  for (int i = 0; i < 200; ++i) {
    const PairCost cost = measure(*simulated, {{0, 8}})[0];
    for (double each : cost.hops) hops.push_back(each / truth(0, 8));
  }
  EXPECT_NEAR(median(hops), 1, 0.01);
  EXPECT_NEAR(relative_iqr(hops), 1.35 * settings.noise, 0.01);
  const auto wild = std::count_if(hops.begin(), hops.end(), [](double by) { return by > 5; });
  EXPECT_GT(wild, 20);
  EXPECT_LT(wild, 140) << "of 3,200, 64 expected";
}

TEST(Disturbances, HitTheirCpusInTheirTime) {
  SimulationSettings settings = quiet();
  settings.changes.push_back({0.05, 0.1, 4, {8, 9}});
  settings.changes.push_back({0.1, 1e9, 1.5, {}});
  const auto simulated = simulate(machine(), settings);
  EXPECT_DOUBLE_EQ(hop(*simulated, {0, 8}), truth(0, 8));
  simulated->warm_up({}), simulated->warm_up({}), simulated->warm_up({});  // 20 ms each
  EXPECT_DOUBLE_EQ(hop(*simulated, {0, 8}), 4 * truth(0, 8));
  EXPECT_DOUBLE_EQ(hop(*simulated, {0, 10}), truth(0, 10));
  simulated->warm_up({}), simulated->warm_up({});
  EXPECT_DOUBLE_EQ(hop(*simulated, {9, 0}), 6 * truth(0, 9));
  EXPECT_DOUBLE_EQ(hop(*simulated, {0, 10}), 1.5 * truth(0, 10));
  simulated->warm_up({}), simulated->warm_up({}), simulated->warm_up({});
  EXPECT_DOUBLE_EQ(hop(*simulated, {0, 8}), 1.5 * truth(0, 8));
}

TEST(Disturbances, InTheMiddleOfAPairShowAsDrift) {
  SimulationSettings settings = quiet();
  settings.changes.push_back({pair_ns(truth(0, 8)) * 0.5e-9, 1e9, 2, {}});
  EXPECT_DOUBLE_EQ(measure(*simulate(machine(), settings), {{0, 8}})[0].drift, 1);
}

TEST(Disturbances, DriftAndThrottlingFollowTheClock) {
  SimulationSettings settings = quiet();
  settings.drift_per_s = 10;
  auto simulated = simulate(machine(), settings);
  simulated->warm_up({});
  EXPECT_NEAR(hop(*simulated, {0, 8}) / truth(0, 8), 1.2, 0.01);
  settings = quiet();
  settings.throttle_period_s = 0.08;
  settings.throttle_share = 0.5;
  settings.throttle_factor = 3;
  simulated = simulate(machine(), settings);
  EXPECT_DOUBLE_EQ(hop(*simulated, {0, 8}), truth(0, 8));
  simulated->warm_up({}), simulated->warm_up({});
  EXPECT_DOUBLE_EQ(hop(*simulated, {0, 8}), 3 * truth(0, 8));
  simulated->warm_up({}), simulated->warm_up({});
  EXPECT_DOUBLE_EQ(hop(*simulated, {0, 8}), truth(0, 8));
}

TEST(Disturbances, ABusyCpuSpoilsItsOwnPairsOnly) {
  SimulationSettings settings = quiet();
  settings.busy_cpu = 3;
  const auto simulated = simulate(machine(), settings);
  EXPECT_GT(hop(*simulated, {0, 3}), 2 * truth(0, 3));
  EXPECT_DOUBLE_EQ(hop(*simulated, {0, 2}), truth(0, 2));
}

TEST(Company, DisturbsWhereACacheIsSharedAndInCrowds) {
  SimulationSettings settings = quiet();
  settings.same_llc_factor = 1.5;
  settings.crowd = 2;
  settings.crowd_factor = 2;
  const auto simulated = simulate(machine(), settings);
  const auto together = [&](std::vector<CpuPair> pairs) {
    std::vector<double> slower;
    for (const auto& hops : simulated->measure_hops(pairs))
      slower.push_back(median(hops) / truth(pairs[slower.size()].a, pairs[slower.size()].b));
    return slower;
  };
  EXPECT_EQ(together({{0, 1}}), (std::vector<double>{1}));
  EXPECT_EQ(together({{0, 1}, {4, 5}}), (std::vector<double>{1, 1})) << "a cache each";
  EXPECT_EQ(together({{0, 1}, {2, 3}}), (std::vector<double>{1.5, 1.5}));
  EXPECT_EQ(together({{0, 1}, {2, 4}, {8, 9}}), (std::vector<double>{3, 3, 2}));
}

TEST(Places, AreTheFiles) {
  const auto simulated = simulate(machine(), quiet());
  ASSERT_EQ(simulated->machine().pus.size(), 16u);
  for (uint32_t i = 0; i < 16; ++i) {
    const Pu& pu = simulated->machine().pus[i];
    EXPECT_EQ(pu.os_index, machine().cpus[i]);
    EXPECT_EQ(pu.core, machine().core[i]);
    EXPECT_EQ(pu.llc, machine().overlap.llc[i]);
    EXPECT_EQ(pu.package, machine().package[i]);
  }
  EXPECT_FALSE(simulated->machine().this_machine);
}

TEST(Refusals, AreErrors) {
  const auto refused = [](auto change) {
    SimulationSettings settings;
    change(settings);
    EXPECT_THROW(simulate(machine(), settings), UserError);
  };
  refused([](SimulationSettings& s) { s.noise = -0.1; });
  refused([](SimulationSettings& s) { s.outliers = 2; });
  refused([](SimulationSettings& s) { s.drift_per_s = NAN; });
  refused([](SimulationSettings& s) { s.busy_cpu = 16; });
  refused([](SimulationSettings& s) { s.throttle_factor = 0.5; });
  refused([](SimulationSettings& s) { s.same_llc_factor = 0; });
  refused([](SimulationSettings& s) { s.changes.push_back({0, 1, 0, {}}); });
  refused([](SimulationSettings& s) { s.changes.push_back({0, 1, 2, {99}}); });
  const auto simulated = simulate(machine(), quiet());
  EXPECT_THROW(hop(*simulated, {0, 0}), UserError);
  EXPECT_THROW(hop(*simulated, {0, 16}), UserError);
  EXPECT_THROW(hop(*simulated, {-1, 3}), UserError);
}

}  // namespace
