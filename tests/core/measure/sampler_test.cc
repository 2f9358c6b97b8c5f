// The whole calibration on machines that are simulated: how close it comes, at which share of the time of all pairs, and
// whether every disturbance is overcome or told.
#include "measure/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "discover/error.h"
#include "measure/calibrate.h"
#include "measure/pair_samples.h"
#include "measure/simulated_machine.h"
#include "measure/statistics.h"
#include "zoo/zoo.h"

using namespace smelt;

namespace {

double hop_between(const Costs& costs, uint32_t a, uint32_t b) {
  return (double{costs.hop[costs.at(a, b)]} + costs.hop[costs.at(b, a)]) / 2;
}

// Each figure of each class against the median over all pairs that belong to it, measured or not.
struct Errors {
  double hop = 0, ready_read = 0;  // relative, of the worst class
  double busy = 0;                 // send_busy and recv_busy; beyond 0.1 % of the hop and the rounding, relative
  double by_distance = 0;          // the matrix's median per distance, however it was split
  std::vector<double> pairs;       // each pair's hop, relative
};

using Factor = std::function<double(uint32_t a, uint32_t b)>;  // what has become of the truth

Errors errors_of(const Calibration& result, const Costs& truth, const Factor& factor = [](uint32_t, uint32_t) { return 1.0; }) {
  struct Figures {
    std::vector<double> hop, send, receive, ready;
  };
  std::map<uint16_t, Figures> classes;
  std::map<uint32_t, std::pair<std::vector<double>, std::vector<double>>> distances;
  Errors errors;
  for (uint32_t a = 0; a < truth.n; ++a)
    for (uint32_t b = a + 1; b < truth.n; ++b) {
      const double by = factor(a, b), hop = by * hop_between(truth, a, b), found = result.image.hop[truth.at(a, b)];
      const uint16_t index = result.class_of[truth.at(a, b)];
      Figures& figures = classes[index];
      figures.hop.push_back(hop);
      for (const size_t at : {truth.at(a, b), truth.at(b, a)}) {
        figures.send.push_back(by * truth.send_busy[at]);
        figures.receive.push_back(by * truth.recv_busy[at]);
        figures.ready.push_back(by * truth.ready_read[at]);
      }
      errors.pairs.push_back(std::abs(found / hop - 1));
      auto& [ours, theirs] = distances[result.image.classes.at(index).distance];
      ours.push_back(found), theirs.push_back(hop);
    }
  for (const auto& [index, figures] : classes) {
    const ClassFigures& found = result.image.classes[index];
    const auto relative = [](double value, double expected) { return std::abs(value / expected - 1); };
    const double expected = median(figures.hop);
    errors.hop = std::max(errors.hop, relative(found.hop, expected));
    errors.ready_read = std::max(errors.ready_read, relative(found.ready_read, median(figures.ready)));
    // They are differences of samples, a hundredth of the hop: its noise and two decimals are all of them on fast pairs.
    for (const auto& [busy, exact] : {std::pair{found.send_busy, median(figures.send)},
                                      std::pair{found.recv_busy, median(figures.receive)}})
      errors.busy = std::max(errors.busy, std::max(0.0, std::abs(busy - exact) - 0.001 * expected - 0.005) / exact);
  }
  for (const auto& [distance, values] : distances)
    errors.by_distance = std::max(errors.by_distance, std::abs(median(values.first) / median(values.second) - 1));
  return errors;
}

bool is_marked(const Calibration& result, uint32_t marks = kMarkUnsteady) {
  return std::any_of(result.image.classes.begin(), result.image.classes.end(),
                     [&](const ClassFigures& figures) { return (figures.marks & marks) != 0; });
}
bool is_wide(const Calibration& result) { return is_marked(result, kMarkWide); }

bool remarked(const Calibration& result, const std::string& word) {
  return std::any_of(result.remarks.begin(), result.remarks.end(),
                     [&](const std::string& remark) { return remark.find(word) != std::string::npos; });
}

std::string all_remarks(const Calibration& result) {
  std::string text;
  for (const std::string& remark : result.remarks) text += remark + "\n";
  return text;
}

Calibration run(SimulatedMachine& simulated, CalibrationOptions options = {}) {
  return calibrate(simulated.machine(), simulated, options);
}

// 64 CPUs: two packages of two nodes, two caches each, four cores of two threads. Five classes.
const MachineFile& sixty_four() {
  static const MachineFile file = read_machine_file("synthetic:pack:2 numa:2 l3:2 core:4 pu:2");
  return file;
}

double seconds_undisturbed(const MachineFile& file, CalibrationOptions options = {}) {
  const auto simulated = simulate(file);
  run(*simulated, options);
  return simulated->seconds();
}

// A machine with costs of our own.
MachineFile with_costs(const std::string& description, const std::function<double(uint32_t, uint32_t)>& hop) {
  MachineFile file = read_machine_file(description);
  const uint32_t n = file.overlap.n;
  auto* hops = file.storage->make<float>(size_t{n} * n);
  for (uint32_t a = 0; a < n; ++a)
    for (uint32_t b = 0; b < n; ++b)
      hops[size_t{a} * n + b] = a == b ? 0 : static_cast<float>(hop(std::min(a, b), std::max(a, b)));
  file.overlap.hop = hops;
  return file;
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
    fmt::print("{:<32} {:4} CPUs {:3} classes {:4} pairs {:5.1f} % of the time; class hop {:4.1f} % ready {:4.1f} % "
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
  if (!folder || !std::filesystem::is_directory(folder)) GTEST_SKIP() << "SMELT_TEST_MACHINES names no folder of machines";
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
  for (const auto& [description, cpus, classes] :
       {std::tuple{"core:1 pu:1", 1u, 0u}, {"core:2 pu:1", 2u, 1u}, {"core:1 pu:2", 2u, 1u}, {"core:1 pu:4", 4u, 1u},
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
  for (double error : errors_of(result, simulated->truth()).pairs) EXPECT_LE(error, 0.15) << "also of pairs not measured";
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

// --- disturbances: overcome, or told ---

void expect_close_or_marked(const std::string& what, const MachineFile& file, const SimulationSettings& settings,
                            const Factor& factor = [](uint32_t, uint32_t) { return 1.0; }) {
  const auto simulated = simulate(file, settings);
  const Calibration result = run(*simulated);
  const Errors errors = errors_of(result, simulated->truth(), factor);
  EXPECT_TRUE(is_marked(result) || errors.hop <= 0.1)
      << what << ": off by " << 100 * errors.hop << " %\n" << all_remarks(result);
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
    EXPECT_TRUE(is_marked(result) || error <= 0.1 + (end - 1) / 2) << all << ": " << error << "\n" << all_remarks(result);
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
    EXPECT_TRUE(share < 0.5 || remarked(result, "CPU 5:") || is_marked(result)) << share << ": " << all_remarks(result);
    for (double error : errors_of(result, small->truth()).pairs)
      EXPECT_TRUE(error < 0.2 || is_marked(result)) << "its pairs have their class's costs";
    // ... or a few. One that is always slow looks like a slow CPU, whose pairs differ from the others.
    const auto large = simulate(sixty_four(), settings);
    result = run(*large);
    EXPECT_TRUE(errors_of(result, large->truth()).hop <= 0.1 || (share == 1 && is_wide(result))) << share << all_remarks(result);
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
}

// --- stopping and going on ---

TEST(Stop, LeavesCleanlyAndGoesOn) {
  const auto simulated = simulate(sixty_four());
  std::atomic<bool> stop{false};
  std::vector<MeasuredPair> journal;
  CalibrationOptions options;
  options.stop = &stop;
  options.measured = [&](const MeasuredPair& pair) {
    journal.push_back(pair);
    if (journal.size() == 20) stop = true;
  };
  EXPECT_THROW(run(*simulated, options), Interrupted);
  EXPECT_EQ(journal.size(), 20u);
  stop = false;
  options.known = journal;
  const uint64_t before = simulated->pairs_measured();
  const Calibration result = run(*simulated, options);
  EXPECT_TRUE(result.remarks.empty()) << all_remarks(result);
  EXPECT_LE(errors_of(result, simulated->truth()).hop, 0.1);
  const auto fresh = simulate(sixty_four());
  run(*fresh);
  EXPECT_EQ(simulated->pairs_measured() - before, fresh->pairs_measured() - 20) << "those 20 are not measured again";
}

TEST(Resume, DropsWhatNoLongerHolds) {
  std::vector<MeasuredPair> journal;
  CalibrationOptions options;
  options.measured = [&](const MeasuredPair& pair) { journal.push_back(pair); };
  run(*simulate(sixty_four()), options);
  options.known = std::move(journal);
  options.measured = nullptr;
  SimulationSettings settings;
  settings.changes.push_back({0, 1e9, 1.5, {}});
  const auto slower = simulate(sixty_four(), settings);
  const Calibration result = run(*slower, options);
  EXPECT_TRUE(remarked(result, "no longer hold")) << all_remarks(result);
  EXPECT_LE(errors_of(result, slower->truth(), [](uint32_t, uint32_t) { return 1.5; }).hop, 0.1);
}

TEST(Resume, PassesOverPairsOfOtherMachinesAndTurnsPairsRound) {
  const auto simulated = simulate(read_machine_file("synthetic:core:2 pu:1"));
  std::vector<MeasuredPair> journal;
  CalibrationOptions options;
  options.measured = [&](const MeasuredPair& pair) { journal.push_back(pair); };
  run(*simulated, options);
  ASSERT_EQ(journal.size(), 1u);
  MeasuredPair turned = journal[0];
  std::swap(turned.os_cpu_a, turned.os_cpu_b);
  turned.cost.forth.send_busy = 42;  // 1 sends to 0
  options.known = {turned, {7, 9, turned.cost}, {0, 0, turned.cost}, {0, 1, {}}};
  const Calibration result = run(*simulated, options);
  EXPECT_EQ(journal.size(), 1u) << "nothing was measured";
  EXPECT_EQ(result.image.send_busy[1 * 2 + 0], 42);
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

}  // namespace
