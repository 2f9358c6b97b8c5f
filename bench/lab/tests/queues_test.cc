// Where messages queue: found on simulated machines whose queues are known, and played once on the hardware.
#include "measure/queues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "bench/lab/simulated_bursts.h"
#include "measure/bursts.h"
#include "profile/text/error.h"
#include "simulation.h"

using namespace smelt;
using namespace smelt::test;

namespace {

constexpr auto index_of(Distance distance) { return static_cast<uint32_t>(distance); }

const QueueCurves* find(const Calibration& found, Distance distance) {
  for (const QueueCurves& queue : found.image.queues)
    if (queue.distance == index_of(distance)) return &queue;
  return nullptr;
}

// 128 CPUs: two packages of two nodes, two caches each, eight cores of two threads.
const MachineFile& large() {
  static const MachineFile file = read_machine_file("synthetic:pack:2 numa:2 l3:2 core:8 pu:2");
  return file;
}

std::set<int> all_of(const QueuePairs& pairs) {
  std::set<int> cpus;
  for (const CpuPair& pair : pairs.pairs) cpus.insert({pair.a, pair.b});
  return cpus;
}

TEST(Pairs, AreDisjointAndCrossOneThing) {
  const auto simulated = simulate(large());
  const ProfileImage image = guess_image(simulated->machine());
  const std::vector<QueuePairs> found = queue_pairs(image);
  std::vector<Distance> distances;
  for (const QueuePairs& queue : found) {
    distances.push_back(queue.distance);
    EXPECT_EQ(all_of(queue).size(), 2 * queue.pairs.size()) << "nobody is in two";
    std::set<uint16_t> cores, senders, receivers;
    for (const CpuPair& pair : queue.pairs) {
      const auto a = static_cast<uint32_t>(pair.a), b = static_cast<uint32_t>(pair.b);
      cores.insert({image.core[a], image.core[b]});
      if (queue.distance != Distance::kSameCore) {
        EXPECT_EQ(distance_in(image, a, b), queue.distance);
      }
      const std::vector<uint16_t>& ids = queue.distance == Distance::kSameCore   ? image.core
                                         : queue.distance <= Distance::kSameNode ? image.llc
                                                                                 : image.node;
      senders.insert(ids[a]);
      receivers.insert(ids[b]);
    }
    EXPECT_EQ(senders.size(), 1u);
    EXPECT_EQ(receivers.size(), 1u);
    EXPECT_EQ(cores.size(), queue.distance == Distance::kSameCore ? 2 : 2 * queue.pairs.size()) << "one on each core";
  }
  EXPECT_EQ(distances, (std::vector{Distance::kSameCore, Distance::kSameLlc, Distance::kSameNode,
                                    Distance::kSamePackage, Distance::kOther}));
  EXPECT_EQ(found[0].pairs.size(), 2u);   // threads of a core
  EXPECT_EQ(found[1].pairs.size(), 4u);   // of eight cores
  EXPECT_EQ(found[2].pairs.size(), 8u);   // from cache to cache
  EXPECT_EQ(found[4].pairs.size(), 16u);  // from node to node
  EXPECT_EQ(queue_pairs(image, 3)[4].pairs.size(), 3u);
  EXPECT_TRUE(queue_pairs(image, 1).empty()) << "one pair alone shows nothing";
  EXPECT_TRUE(queue_pairs(guess_image(simulate(read_machine_file("synthetic:core:2 pu:1"))->machine())).empty());
}

TEST(Fit, IsTheCapacityThatWasReached) {
  // Alone 10 ns a line; two directions of 3 ns each: from two pairs on the cache is the limit.
  const double line[kQueueSizes] = {10, 12, 24, 48};
  const QueueCurves found = fit_queue(Distance::kSameLlc, line);
  EXPECT_FLOAT_EQ(found.service, 3);
  EXPECT_EQ(found.reached, 1u);
  EXPECT_EQ(found.residual, 0);
  EXPECT_FLOAT_EQ(fit_queue(Distance::kOther, line).service, 6) << "each direction has a link";
}

TEST(Fit, IsABoundWhereNothingQueues) {
  const double line[kQueueSizes] = {10, 10.5, 9.5, 10};
  const QueueCurves found = fit_queue(Distance::kOther, line);
  EXPECT_EQ(found.reached, 0u);
  EXPECT_FLOAT_EQ(found.service, 1.25) << "eight lines got through in ten";
  EXPECT_GT(found.residual, 0.02);
  EXPECT_LT(found.residual, 0.06);
}

// The truth is not shown to the calibration; it sees samples with noise and outliers.
TEST(Calibration, FindsHiddenServiceTimesWithinTenPerCent) {
  const Costs& costs = large().overlap;
  for (const uint64_t seed : {1, 2, 3}) {
    SimulationSettings settings;
    settings.seed = seed;
    // Each above what its pairs need to be seen: a send share / (pairs * directions).
    const double truths[kDistances] = {0, 14, 4, 14, 22, 30};
    std::copy_n(truths, kDistances, settings.service.begin());
    const auto simulated = simulate(large(), settings);
    const Calibration found = run(*simulated);
    for (uint32_t d = 1; d < kDistances; ++d) {
      const QueueCurves* queue = find(found, static_cast<Distance>(d));
      ASSERT_TRUE(queue) << kDistanceNames[d];
      EXPECT_NEAR(queue->service / truths[d], 1, 0.1) << kDistanceNames[d] << ", seed " << seed;
      EXPECT_EQ(queue->reached, 1u) << kDistanceNames[d];
      EXPECT_LT(queue->residual, 0.2) << kDistanceNames[d];
      EXPECT_EQ(found.image.header.service[d], queue->service);
      EXPECT_EQ(found.image.costs().service[d], queue->service);
    }
  }
  EXPECT_GT(costs.n, 100u);
}

TEST(Calibration, SaysAtMostWhereNothingQueues) {
  SimulationSettings settings;
  settings.service.fill(0);
  const Calibration found = run(*simulate(large(), settings));
  ASSERT_EQ(found.image.queues.size(), 5u);
  for (const QueueCurves& queue : found.image.queues) {
    EXPECT_EQ(queue.reached, 0u) << kDistanceNames[queue.distance];
    EXPECT_GT(queue.service, 0) << "what got through is all that is known";
    const float typical = typical_cost(static_cast<Distance>(queue.distance)).service;
    EXPECT_EQ(found.image.header.service[queue.distance],
              typical > 0 ? std::min(typical, queue.service) : queue.service);
  }
  // Two pairs alone bound it far above what is typical.
  const Calibration few = run(*simulate(read_machine_file("synthetic:pack:2 numa:1 core:2 pu:1"), settings));
  const uint32_t other = index_of(Distance::kOther);
  const QueueCurves* queue = find(few, Distance::kOther);
  ASSERT_TRUE(queue);
  EXPECT_GT(queue->service, 2 * typical_cost(Distance::kOther).service);
  EXPECT_EQ(few.image.header.service[other], typical_cost(Distance::kOther).service);
}

TEST(Calibration, TakesTypicalFiguresWhereThereIsNoPlaceForTwoPairs) {
  const Calibration found = run(*simulate(read_machine_file("synthetic:pack:2 core:1 pu:1")));
  EXPECT_TRUE(found.image.queues.empty());
  EXPECT_EQ(found.image.header.service[index_of(Distance::kOther)], typical_cost(Distance::kOther).service);
}

TEST(Calibration, OfAQuotaOfCpusHasNoMorePairs) {
  const auto simulated = simulate(large());
  Machine machine = simulated->machine();
  machine.cpu_quota = 8;
  const Calibration found = calibrate(machine, *simulated, {});
  for (const QueueCurves& queue : found.image.queues) EXPECT_EQ(queue.line[3], 0) << "eight pairs are sixteen CPUs";
}

TEST(Calibration, OfTwoHundredFiftySixCpusTakesSeconds) {
  const auto simulated = simulate(read_machine_file("zoo:amd-epyc-7742-2x64x2"));
  run(*simulated);
  EXPECT_LT(simulated->seconds(), 10);
}

TEST(SimulatedBursts, AreWhatCanBeWorkedOutByHand) {
  const MachineFile file = read_machine_file("synthetic:pack:2 numa:1 core:2 pu:1");
  Costs costs = file.overlap;
  std::fill_n(costs.service, kDistances, 0.0f);
  const std::pair<uint32_t, uint32_t> pairs[] = {{0, 2}, {1, 3}};
  const double hop = costs.hop[costs.at(0, 2)], send = costs.send_busy[costs.at(0, 2)];
  const double receive = costs.recv_busy[costs.at(0, 2)], ready = costs.ready_read[costs.at(0, 2)];
  // Four stores, then four lines to read, the last of which comes a hop after it left.
  const double alone = std::max(hop + 3 * send, 4 * send + ready + 3 * receive);
  EXPECT_NEAR(simulate_bursts(costs, pairs, 4), alone, 1e-3);
  EXPECT_NEAR(simulate_bursts(costs, {pairs, 1}, 4), alone, 1e-3);
  // One link for both pairs, each way: eight lines in a round, 300 each.
  costs.service[index_of(Distance::kOther)] = 300;
  EXPECT_NEAR(simulate_bursts(costs, pairs, 4), 8 * 300.0, 20);
  EXPECT_NEAR(simulate_bursts(costs, {pairs, 1}, 4), 3 * 300.0 + hop + receive, 20);
}

// On this machine's CPUs: it ends, and a longer burst takes longer.
TEST(Hardware, PlaysBursts) {
  const Machine machine = discover_machine();
  std::vector<int> cpus;
  for (const Pu& pu : machine.pus)
    if (pu.allowed) cpus.push_back(static_cast<int>(pu.os_index));
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU";
  const CpuPair pair{cpus[0], cpus[1]};
  const double few = measure_bursts({&pair, 1}, 1), many = measure_bursts({&pair, 1}, 64);
  EXPECT_GT(few, 0);
  EXPECT_GT(many, few);
  const CpuPair nowhere{cpus[0], 8000};
  EXPECT_THROW(measure_bursts({&nowhere, 1}, 1), UserError);
}

}  // namespace
