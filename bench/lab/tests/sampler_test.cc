// Which pairs are measured and what is concluded from them: by strata alone, and by whole calibrations of machines that
// are simulated, compared with the truth and with the time of all pairs.
#include "measure/sampler.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "pictures/machines/zoo.h"
#include "profile/text/error.h"
#include "simulation.h"

using namespace smelt;
using namespace smelt::test;

namespace {

// --- strata ---

void measure_wanted(Samples& samples, const Strata& strata, const std::function<double(Spot)>& hop) {
  for (const bool full : {false, true})
    for (Spot spot : full ? strata.wanted : strata.wanted_hops) {
      Sample sample;
      sample.hop = hop(spot);
      sample.full = full;
      samples.put(spot, sample);
    }
}

TEST(Plans, BeginWithADozenSpotsOfEachClassSpreadOverIt) {
  const Machine machine = machine_from_synthetic("pack:2 numa:2 l3:2 l2:2 core:2 pu:2");
  const Strata strata = stratify(machine.pus, Samples(64), false);
  EXPECT_FALSE(strata.done());
  EXPECT_EQ(strata.classes.size(), 6u) << "threads, and cores with a common level-2 cache, are classes too";
  EXPECT_EQ(strata.wanted.size(), 6u * 12);
  EXPECT_TRUE(strata.wanted_hops.empty());
  std::map<uint32_t, std::set<uint32_t>> nodes;
  for (Spot spot : strata.wanted)
    for (uint32_t cpu : {spot.a, spot.b})
      nodes[base_class(machine.pus[spot.a], machine.pus[spot.b])].insert(machine.pus[cpu].node);
  for (const auto& [base, seen] : nodes) EXPECT_EQ(seen.size(), 4u) << base;
}

TEST(Plans, PutEveryPairIntoOneClassAndComeToAnEnd) {
  const Machine machine = machine_from_synthetic("pack:2 numa:4 l3:2 core:4 pu:2");
  const auto n = static_cast<uint32_t>(machine.pus.size());
  for (const auto& hop : std::initializer_list<std::function<double(Spot)>>{
           [](Spot) { return 100.0; }, [](Spot spot) { return 100.0 + spot.a * spot.b; },
           [](Spot spot) { return (spot.a ^ spot.b) % 3 == 0 ? 50.0 : 500.0; }, [](Spot) { return 0.0; }}) {
    Samples samples(n);
    Strata strata;
    size_t full = 0, hops = 0;
    int rounds = 0;
    while (!(strata = stratify(machine.pus, samples, false)).done()) {
      ASSERT_LT(++rounds, 100);
      for (const std::vector<Spot>& wanted : {strata.wanted, strata.wanted_hops})
        for (Spot spot : wanted) ASSERT_LT(spot.a, spot.b);
      full += strata.wanted.size();
      hops += strata.wanted_hops.size();
      measure_wanted(samples, strata, hop);
    }
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (const PairClass& one : strata.classes) {
      EXPECT_FALSE(samples.full(one.pairs).empty()) << "each class has all figures";
      for (Spot spot : one.pairs) EXPECT_TRUE(seen.emplace(spot.a, spot.b).second);
    }
    EXPECT_EQ(seen.size(), n * (n - 1) / 2);
    EXPECT_LE(static_cast<double>(full) + static_cast<double>(hops) / 6, 0.04 * n * (n - 1) / 2)
        << "strange machines, too";
  }
}

TEST(Plans, DoubtADozenThatDiffer) {
  const Machine machine = machine_from_synthetic("core:40 pu:1");
  for (const auto& [spread, expected] : {std::pair{0.02, 12u}, {0.25, 24u}}) {  // evenly: the range; its IQR is a half
    Samples samples(40);
    Strata strata;
    while (!(strata = stratify(machine.pus, samples, false)).done())
      measure_wanted(samples, strata,
                     [&](Spot spot) { return 100 * (1 + spread * ((spot.a * 7 + spot.b * 13) % 31) / 31); });
    ASSERT_EQ(strata.classes.size(), 1u);
    EXPECT_GE(samples.usable(strata.classes[0].pairs).size(), expected);
    EXPECT_LT(samples.usable(strata.classes[0].pairs).size(), expected + 12);
    EXPECT_FALSE(strata.classes[0].wide);
  }
}

TEST(Plans, PreferSteadySamples) {
  const Machine machine = machine_from_synthetic("core:4 pu:1");
  Samples samples(4);
  Strata strata = stratify(machine.pus, samples, true);
  ASSERT_EQ(strata.wanted.size(), 6u);
  measure_wanted(samples, strata, [](Spot) { return 100.0; });
  Sample wild;
  wild.hop = 9000;
  wild.steady = false;
  for (const Spot spot : {Spot{0, 1}, Spot{0, 2}, Spot{0, 3}, Spot{1, 2}}) samples.put(spot, wild);
  strata = stratify(machine.pus, samples, true);
  ASSERT_TRUE(strata.done()) << "unsteady ones are measured, nevertheless";
  ASSERT_EQ(strata.classes.size(), 1u);
  EXPECT_EQ(strata.classes[0].hop, 100);
  EXPECT_FALSE(strata.classes[0].wide);
  samples.forget({0, 1});
  EXPECT_EQ(stratify(machine.pus, samples, true).wanted, (std::vector<Spot>{{0, 1}}));
}

// --- how close, how fast ---

void expect_close(const std::string& what, uint64_t seed) {
  const MachineFile file = read_machine_file(what);
  SimulationSettings settings;  // 5 % noise, 1 % outliers
  settings.seed = seed;
  const auto simulated = simulate(file, settings);
  CalibrationOptions options;
  options.most_at_once = 1;  // the share of the time is not to be flattered
  const Calibration result = run(*simulated, options);
  const Errors errors = errors_of(result, simulated->truth());
  const double share = simulated->seconds() / simulated->seconds_of_all_pairs();
  const uint32_t n = simulated->truth().n;
  const std::string name = what.substr(what.rfind('/') + 1);
  if (seed == 1)
    fmt::print(
        "{:<32} {:4} CPUs {:3} classes {:4} pairs {:5.1f} % of the time; class hop {:4.1f} % ready {:4.1f} % "
        "distance {:4.1f} %; pair median {:4.1f} % p90 {:4.1f} %\n",
        name, n, result.image.classes.size(), simulated->pairs_measured(), 100 * share, 100 * errors.hop,
        100 * errors.ready_read, 100 * errors.by_distance, 100 * median(errors.pairs),
        100 * quantile(errors.pairs, 0.9));
  EXPECT_LE(errors.hop, 0.1) << name << ", seed " << seed;
  EXPECT_LE(errors.ready_read, 0.1) << name << ", seed " << seed;
  EXPECT_LE(errors.busy, 0.1) << name << ", seed " << seed;
  EXPECT_LE(errors.by_distance, 0.1) << name << ", seed " << seed;
  EXPECT_FALSE(is_marked(result)) << name << ": " << all_remarks(result);
  EXPECT_TRUE(n < 64 || share <= 0.03) << name << ", seed " << seed << ": " << share;
  EXPECT_TRUE(costs_are_sane(result.image.costs())) << name;
  EXPECT_EQ(result.image.costs().unit, file.unit);
}

TEST(Accuracy, OnTheSharedMachines) {
  const char* const folder = std::getenv("SMELT_TEST_MACHINES");
  if (!folder || !std::filesystem::is_directory(folder))
    GTEST_SKIP() << "SMELT_TEST_MACHINES names no folder of machines";
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") files.insert(entry.path().string());
  EXPECT_FALSE(files.empty());
  for (const std::string& file : files)
    for (uint64_t seed : {1, 2, 3}) expect_close(file, seed);
}

TEST(Accuracy, OnTheZooAndSyntheticMachines) {
  for (const ZooEntry& entry : zoo())
    for (uint64_t seed : {1, 2, 3}) expect_close(std::string("zoo:") + entry.name, seed);
  for (const char* description : {"pack:4 l3:4 core:8 pu:2", "pack:2 numa:4 l3:2 core:8 pu:1", "pack:8 core:8 pu:1"})
    for (uint64_t seed : {1, 2, 3}) expect_close(std::string("synthetic:") + description, seed);
}

TEST(SmallMachines, AreMeasuredAltogether) {
  for (const auto& [description, cpus, classes] : {std::tuple{"core:1 pu:1", 1u, 0u},
                                                   {"core:2 pu:1", 2u, 1u},
                                                   {"core:1 pu:2", 2u, 1u},
                                                   {"core:1 pu:4", 4u, 1u},
                                                   {"core:8 pu:2", 16u, 2u}}) {
    const auto simulated = simulate(read_machine_file(std::string("synthetic:") + description));
    const Calibration result = run(*simulated);
    ASSERT_EQ(result.image.n(), cpus) << description;
    EXPECT_EQ(result.image.classes.size(), classes) << description;
    EXPECT_EQ(result.image.header.pairs_measured, cpus * (cpus - 1)) << description;
    EXPECT_TRUE(result.image.measured());
    EXPECT_TRUE(costs_are_sane(result.image.costs())) << description;
    EXPECT_TRUE(result.remarks.empty()) << all_remarks(result);
    for (double error : errors_of(result, simulated->truth()).pairs) EXPECT_LE(error, 0.1) << description;
  }
}

TEST(AllPairs, AreMeasuredWhenAskedFor) {
  const auto simulated = simulate(sixty_four());
  CalibrationOptions options;
  options.all_pairs = true;
  const Calibration result = run(*simulated, options);
  EXPECT_EQ(result.image.header.pairs_measured, 64u * 63);
  for (double error : errors_of(result, simulated->truth()).pairs) EXPECT_LE(error, 0.1);
  for (const ClassFigures& figures : result.image.classes) EXPECT_EQ(figures.samples, figures.pairs);
}

TEST(Sampler, IsRepeatableByTheSeed) {
  const auto matrices = [](uint64_t seed) {
    SimulationSettings settings;
    settings.seed = seed;
    return run(*simulate(sixty_four(), settings)).image.hop;
  };
  EXPECT_EQ(matrices(3), matrices(3));
  EXPECT_NE(matrices(3), matrices(4));
}

TEST(Sampler, LeavesOutWhatIsNotAllowed) {
  const auto simulated = simulate(sixty_four());
  Machine machine = simulated->machine();
  for (Pu& pu : machine.pus) pu.allowed = pu.os_index == 5 || pu.os_index == 40;
  const Calibration result = calibrate(machine, *simulated, {});
  EXPECT_EQ(result.image.os_cpu, (std::vector<uint32_t>{5, 40}));
  EXPECT_NEAR(result.image.hop[1], hop_between(simulated->truth(), 5, 40), 30);
  for (Pu& pu : machine.pus) pu.allowed = false;
  EXPECT_THROW(calibrate(machine, *simulated, {}), UserError);
}

// --- classes ---

TEST(Splitting, BySocketsThatAreNotEquallyFar) {
  // Four sockets of 16 in a ring: the opposite one is twice as far.
  const auto socket = [](uint32_t cpu) { return cpu / 16; };
  const MachineFile file = with_costs("synthetic:pack:4 core:16 pu:1", [&](uint32_t a, uint32_t b) {
    const uint32_t apart = socket(b) - socket(a);
    return apart == 0 ? 100 : apart == 2 ? 800 : 400;
  });
  const auto simulated = simulate(file);
  const Calibration result = run(*simulated);
  ASSERT_EQ(result.image.classes.size(), 3u);
  EXPECT_NEAR(result.image.classes[0].hop, 100, 5);
  EXPECT_NEAR(result.image.classes[1].hop, 400, 20);
  EXPECT_NEAR(result.image.classes[2].hop, 800, 40);
  EXPECT_EQ(result.image.classes[1].part, 0u);
  EXPECT_EQ(result.image.classes[2].part, 1u);
  EXPECT_EQ(result.image.classes[2].pairs, 2u * 16 * 16);
  for (double error : errors_of(result, simulated->truth()).pairs)
    EXPECT_LE(error, 0.15) << "also of pairs not measured";
}

TEST(Splitting, ByCachesOfOneNode) {
  // Eight caches on a line in one node.
  const MachineFile file = with_costs("synthetic:pack:1 l3:8 core:8 pu:1", [](uint32_t a, uint32_t b) {
    const uint32_t apart = b / 8 - a / 8;
    return apart == 0 ? 50 : 100 + 60 * apart;
  });
  const auto simulated = simulate(file);
  const Calibration result = run(*simulated);
  EXPECT_GE(result.image.classes.size(), 4u);
  const Errors errors = errors_of(result, simulated->truth());
  EXPECT_LE(errors.hop, 0.1);
  EXPECT_LE(quantile(errors.pairs, 0.95), 0.2);
  EXPECT_LE(simulated->seconds(), 0.05 * simulated->seconds_of_all_pairs());
}

// Whatever the topology does not explain.
double by_parity(uint32_t a, uint32_t b) { return (a + b) % 2 == 0 ? 100 : 300; }

TEST(Splitting, ByValuesWhereAllCanBeMeasured) {
  const auto simulated = simulate(with_costs("synthetic:pack:1 core:24 pu:1", by_parity));
  const Calibration result = run(*simulated);
  ASSERT_EQ(result.image.classes.size(), 2u) << all_remarks(result);
  EXPECT_EQ(result.image.classes[0].pairs, 2u * (12 * 11 / 2));
  EXPECT_EQ(result.image.classes[0].samples, result.image.classes[0].pairs);
  for (double error : errors_of(result, simulated->truth()).pairs) EXPECT_LE(error, 0.15);
}

TEST(Splitting, ByValuesMakesNoClassOfASinglePair) {
  const auto simulated = simulate(with_costs("synthetic:pack:1 core:24 pu:1", [](uint32_t a, uint32_t b) {
    return a == 3 && b == 7 ? 900 : by_parity(a, b);
  }));
  const Calibration result = run(*simulated);
  ASSERT_EQ(result.image.classes.size(), 2u) << all_remarks(result);
  EXPECT_NEAR(result.image.hop[3 * 24 + 7], 900, 90) << "and yet it has its own cost";
}

TEST(Splitting, WideClassesAreMarkedWhereTheyCannot) {
  const auto simulated = simulate(with_costs("synthetic:pack:1 core:200 pu:1", by_parity));
  const Calibration result = run(*simulated);
  ASSERT_EQ(result.image.classes.size(), 1u);
  EXPECT_TRUE(result.image.classes[0].marks & kMarkWide);
  EXPECT_TRUE(remarked(result, "differ by")) << all_remarks(result);
  EXPECT_LE(simulated->seconds(), 0.03 * simulated->seconds_of_all_pairs()) << "and that costs no more";
}

TEST(Splitting, CutsALargeRangeIntoNoMoreClassesThanThereMayBe) {
  const auto wild = [](uint32_t a, uint32_t b) { return 10 * std::pow(1.003, a * 64 + b); };
  const auto simulated = simulate(with_costs("synthetic:pack:1 core:64 pu:1", wild));
  CalibrationOptions options;
  options.all_pairs = true;
  const Calibration result = run(*simulated, options);
  EXPECT_GT(result.image.classes.size(), 16u);
  EXPECT_LE(result.image.classes.size(), kMaxClasses);
  uint32_t pairs = 0;
  for (size_t i = 0; i < result.image.classes.size(); ++i) {
    pairs += result.image.classes[i].pairs;
    EXPECT_EQ(result.image.classes[i].part, i) << "numbered by rising hop";
    EXPECT_GE(result.image.classes[i].hop, result.image.classes[i > 0 ? i - 1 : 0].hop);
  }
  EXPECT_EQ(pairs, 64u * 63 / 2);
}

}  // namespace
