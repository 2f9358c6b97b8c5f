#include "schedule/predict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "generate/patterns.h"
#include "machines.h"
#include "schedule/choose.h"
#include "schedule/fixed_order.h"

using namespace smelt;
using namespace smelt::test;

namespace {

// Three participants with four figures that can be told apart in every sum.
class Predict : public testing::Test {
 protected:
  MappedArena arena{1 << 22};
  std::vector<float> hop, send, receive, ready;
  const uint16_t zero[4] = {0, 0, 0, 0}, own[4] = {0, 1, 2, 3};
  static constexpr auto kLink = static_cast<uint32_t>(Distance::kOther);

  Costs costs(uint32_t n, float poller = 0) {
    for (std::vector<float>* matrix : {&hop, &send, &receive, &ready}) matrix->assign(n * n, 0);
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t j = 0; j < n; ++j) {
        if (i == j) continue;
        hop[i * n + j] = 100;
        send[i * n + j] = 3;
        receive[i * n + j] = 7;
        ready[i * n + j] = 40;
      }
    }
    return {
        n,   CostUnit::kNanoseconds, hop.data(), send.data(), receive.data(), ready.data(), poller, {}, zero, zero, own,
        zero};
  }
  // On nodes that are packages of their own.
  static Costs placed(Costs at, const uint16_t* node) {
    at.node = at.llc = at.package = node;
    return at;
  }
  Tree star(uint32_t n) {
    Tree tree;
    EXPECT_EQ(make_tree(n, 0, arena, &tree), 0);
    for (uint16_t i = 1; i < n; ++i) append_child(tree, 0, i);
    return tree;
  }
  Schedule of_messages(uint32_t n, uint32_t rounds, std::vector<RoundMessage> messages) {
    Schedule schedule;
    EXPECT_EQ(barrier_schedule(Exchange{n, rounds, static_cast<uint32_t>(messages.size()), messages.data()}, arena,
                               &schedule),
              0);
    return schedule;
  }
  Prediction priced(const Schedule& schedule, const Costs& at) {
    Prediction prediction;
    EXPECT_EQ(predict(schedule, at, arena, &prediction), 0);
    return prediction;
  }
};

TEST_F(Predict, SeparateLinesLeaveOneAfterTheOther) {
  Schedule schedule;
  ASSERT_EQ(broadcast_schedule(star(4), arena, &schedule), 0);
  const Prediction prediction = priced(schedule, costs(4));
  EXPECT_EQ(prediction.done[0], 9);
  EXPECT_EQ(prediction.done[1], 100);
  EXPECT_EQ(prediction.done[2], 103);
  EXPECT_EQ(prediction.makespan, 106);
  EXPECT_EQ(prediction.last, 3);
}

TEST_F(Predict, ASharedLineIsOneStoreAndPollers) {
  const Costs with_pollers = costs(4, 2);
  const Schedule schedule = of_messages(4, 1, {{0, 0, 1}, {0, 0, 2}, {0, 0, 3}});
  const Prediction prediction = priced(schedule, with_pollers);
  EXPECT_EQ(prediction.done[0], 3);
  for (uint32_t i : {1, 2, 3}) EXPECT_EQ(prediction.done[i], 104);
}

// 0 and 1 on one package, 2 and 3 on the other.
TEST_F(Predict, ALineThatIsReadOnBothSidesIsAsFarAsTheFarthestReaderAndACrossing) {
  const uint16_t packages[4] = {5, 5, 2, 2}, one_line[4] = {0, 0, 0, 0};
  Costs apart = placed(costs(4, 2), packages);
  for (uint32_t far : {2, 3}) hop[far] = 150;
  apart.crossing[kLink] = 30;
  Schedule schedule;
  ASSERT_EQ(lined_broadcast_schedule(star(4), one_line, arena, &schedule), 0);
  const Prediction crosses = priced(schedule, apart);
  EXPECT_EQ(crosses.done[0], 3) << "one store";
  for (uint32_t i : {1, 2, 3}) EXPECT_EQ(crosses.done[i], 2 * 2 + 150 + 30) << i;
  apart.crossing[kLink] = 0;
  EXPECT_EQ(priced(schedule, apart).done[1], 2 * 2 + 100) << "nothing crosses";
  // A line for each side: none is read on both.
  apart.crossing[kLink] = 30;
  ASSERT_EQ(lined_broadcast_schedule(star(4), packages, arena, &schedule), 0);
  const Prediction sides = priced(schedule, apart);
  EXPECT_EQ(sides.done[0], 6);
  EXPECT_EQ(sides.done[1], 100);
  for (uint32_t i : {2, 3}) EXPECT_EQ(sides.done[i], 3 + 2 + 150) << i;
}

// The release of a barrier takes a line for each side where one for all would cost more.
TEST_F(Predict, AReleaseAvoidsTheCrossingWhereAStoreIsCheaper) {
  const uint16_t packages[4] = {5, 5, 2, 2};
  Costs apart = placed(costs(4, 2), packages);
  const auto lines_of_root = [&] {
    Schedule schedule;
    EXPECT_EQ(lined_barrier_schedule(star(4), star(4), apart, arena, &schedule), 0);
    return schedule.begin[1] - 1;  // it waits first
  };
  apart.crossing[kLink] = 2;
  EXPECT_EQ(lines_of_root(), 1u) << "a store takes 3";
  apart.crossing[kLink] = 4;
  EXPECT_EQ(lines_of_root(), 2u);
}

TEST_F(Predict, AReceiverInAnExchangeReadsTheSecondMessageWhenItHasSeenTheFirst) {
  const Schedule gather = of_messages(4, 1, {{0, 1, 0}, {0, 2, 0}, {0, 3, 0}});
  EXPECT_EQ(priced(gather, costs(4)).done[0], 100 + 40 + 7);
  // In the order of the step, whichever is there first.
  Costs later = costs(4);
  hop[1 * 4 + 0] = 300;
  EXPECT_EQ(priced(gather, later).done[0], 300 + 40 + 7);
  hop[1 * 4 + 0] = 100, hop[3 * 4 + 0] = 300;
  EXPECT_EQ(priced(gather, later).done[0], 300);
}

TEST_F(Predict, ALoopOfOneRoundTakesMoreForEachMessage) {
  const Costs at = costs(4);
  const auto loop = [&](uint32_t rounds, std::vector<RoundMessage> messages) {
    double ns = 0;
    EXPECT_EQ(steady_price(of_messages(4, rounds, std::move(messages)), at, arena, &ns), 0);
    return ns;
  };
  const std::vector<RoundMessage> ring = {{0, 0, 1}, {0, 1, 2}, {0, 2, 3}, {0, 3, 0}};
  std::vector<RoundMessage> twice = ring;
  for (const RoundMessage& message : ring) twice.push_back({1, message.from, message.to});
  EXPECT_EQ(loop(1, ring), 100 + 3 * 40 * 3 / 8) << "a barrier of four has three messages each";
  EXPECT_EQ(loop(2, twice), 2 * 100);
}

// 0 and 1 on one node, 2 and 3 on the other; a message keeps the link for 20.
TEST_F(Predict, MessagesOfExchangesQueueForALinkInOneDirection) {
  const uint16_t nodes[4] = {5, 5, 2, 2};
  Costs apart = placed(costs(4), nodes);
  const Schedule both_ways = of_messages(4, 1, {{0, 0, 2}, {0, 1, 3}, {0, 2, 0}, {0, 3, 1}});
  EXPECT_EQ(priced(both_ways, apart).makespan, 100) << "crossing costs nothing";
  apart.service[kLink] = 20;
  const Prediction queued = priced(both_ways, apart);
  EXPECT_NEAR(queued.done[0], 100, 1e-4);
  EXPECT_NEAR(queued.done[1], 120, 1e-4);
  EXPECT_NEAR(queued.done[2], 100, 1e-4);
  EXPECT_NEAR(queued.done[3], 120, 1e-4);
  // Inside a node nobody queues, nor for a link to somewhere else.
  EXPECT_NEAR(priced(of_messages(4, 1, {{0, 0, 1}, {0, 1, 0}, {0, 2, 3}, {0, 3, 2}}), apart).makespan, 100, 1e-4);
  const uint16_t three[4] = {0, 0, 1, 2};
  apart.node = apart.package = three;
  EXPECT_NEAR(priced(both_ways, apart).makespan, 100, 1e-4);
}

// Everybody tells the next one, all at once: 0 and 1 are threads of one core, 2 and 3 of another.
TEST_F(Predict, MessagesOfExchangesQueueForWhatTheirDistanceShares) {
  const Schedule ring = of_messages(4, 1, {{0, 0, 2}, {0, 1, 3}, {0, 2, 1}, {0, 3, 0}});
  const uint16_t cores[4] = {8, 8, 3, 3}, apart[4] = {6, 6, 4, 4};
  Costs at = costs(4);
  at.core = cores;
  const auto done = [&](const Costs& with) {
    const Prediction found = priced(ring, with);
    return std::vector<double>(found.done, found.done + 4);
  };
  EXPECT_EQ(done(at), (std::vector<double>{100, 100, 100, 100}));
  // Out of a core, two by two.
  at.service[static_cast<uint32_t>(Distance::kSameCore)] = 5;
  EXPECT_EQ(done(at), (std::vector<double>{105, 100, 100, 105}));
  // Through the one cache, all four; who waits for its core's ports comes to it later.
  at.service[static_cast<uint32_t>(Distance::kSameLlc)] = 10;
  EXPECT_EQ(done(at), (std::vector<double>{130, 120, 100, 110}));
  at.service[static_cast<uint32_t>(Distance::kSameCore)] = 0;
  EXPECT_EQ(done(at), (std::vector<double>{130, 120, 100, 110}));
  // Two caches of one node: out of each.
  at.llc = apart;
  EXPECT_EQ(done(at), (std::vector<double>{100, 100, 100, 100}));
  at.service[static_cast<uint32_t>(Distance::kSameNode)] = 10;
  EXPECT_EQ(done(at), (std::vector<double>{110, 100, 100, 110}));
  // Two nodes of one package: the link.
  at.node = apart;
  EXPECT_EQ(done(at), (std::vector<double>{100, 100, 100, 100}));
  at.service[static_cast<uint32_t>(Distance::kSamePackage)] = 30;
  EXPECT_EQ(done(at), (std::vector<double>{130, 100, 100, 130}));
  // Threads of one core share nothing but the core.
  at = costs(4);
  at.core = zero;
  std::fill_n(at.service, kDistances, 50.0f);
  EXPECT_EQ(done(at), (std::vector<double>{100, 100, 100, 100}));
}

TEST_F(Predict, WhoComesToALinkFirstIsFirst) {
  const uint16_t nodes[4] = {0, 0, 1, 1};
  Costs apart = placed(costs(4), nodes);
  apart.service[kLink] = 90;
  // 0 waits for 1 before it sends, so 1's message to 3 is long through when 0's comes at 100.
  const Prediction found = priced(of_messages(4, 2, {{0, 1, 0}, {1, 0, 2}, {1, 1, 3}}), apart);
  EXPECT_NEAR(found.done[3], 103, 1e-4);
  EXPECT_NEAR(found.done[2], 200, 1e-4);
}

TEST_F(Predict, TreesAreValuedWithoutQueues) {
  const uint16_t nodes[4] = {0, 1, 1, 1};
  Costs apart = placed(costs(4), nodes);
  apart.service[kLink] = 90;
  Schedule schedule;
  ASSERT_EQ(broadcast_schedule(star(4), arena, &schedule), 0);
  EXPECT_EQ(priced(schedule, apart).makespan, 106);
  ASSERT_EQ(barrier_schedule(star(4), star(4), arena, &schedule), 0);
  const double queued = priced(schedule, apart).makespan;
  apart.service[kLink] = 0;
  EXPECT_EQ(queued, priced(schedule, apart).makespan);
}

TEST_F(Predict, AGatherServesInOrderOfArrival) {
  const Costs at = costs(4);
  hop[1 * 4 + 0] = 150;
  Schedule schedule;
  ASSERT_EQ(reduce_schedule(star(4), arena, &schedule), 0);
  // 2 and 3 are visible at 100: 100, 107; then 1 at 150.
  EXPECT_EQ(priced(schedule, at).makespan, 150);
  hop[1 * 4 + 0] = 110;
  EXPECT_EQ(priced(schedule, at).makespan, 114);
}

// Who must take them in one order waits for the first though the others are there.
TEST_F(Predict, WaitsAreWrittenInTheOrderInWhichTheyAreServed) {
  const Costs at = costs(3);
  hop[3] = 150;  // from 1 to 0
  Schedule schedule;
  ASSERT_EQ(reduce_schedule(star(3), arena, &schedule), 0);
  double makespan = 0;
  Trace trace{.order = schedule.peers};
  ASSERT_EQ(price_schedule(schedule, at, arena, &makespan, &trace), 0);
  EXPECT_EQ(schedule.peers[0], 2);
  EXPECT_EQ(schedule.peers[1], 1);
}

TEST_F(Predict, AnOrderedGatherWaitsForItsFirst) {
  Costs at = costs(4);
  hop[3 * 4 + 0] = 500;
  Schedule schedule;
  ASSERT_EQ(fixed_order_schedule(4, 0, 0, arena, &schedule), 0);  // 3, 2, 1
  EXPECT_DOUBLE_EQ(priced(schedule, at).makespan, 500 + 7 + 7);
  ASSERT_EQ(reduce_schedule(star(4), arena, &schedule), 0);
  EXPECT_DOUBLE_EQ(priced(schedule, at).makespan, 500);
}

TEST_F(Predict, TheLastOnesCombineTheirPartWhereFarMessagesAreDear) {
  const uint16_t sockets[4] = {5, 5, 2, 2};
  const Costs near = costs(4), apart = placed(near, sockets);
  const auto parts = [&](uint32_t root, const Costs& at) {
    uint32_t count = 0;
    double makespan = 0;
    EXPECT_EQ(cheapest_fixed_order(4, root, at, arena, &count, &makespan), 0);
    return count;
  };
  EXPECT_EQ(parts(0, apart), 4);
  for (const int far : {2, 3, 6, 7, 8, 9, 12, 13}) hop[far] = 400, receive[far] = 200;
  EXPECT_EQ(parts(0, apart), 3);  // 0, 1, 2 with 3
  EXPECT_EQ(parts(1, apart), 3);
  EXPECT_EQ(parts(2, apart), 4) << "what is on the root's left cannot be combined before it";
  EXPECT_EQ(parts(0, near), 4) << "all on one cache";
}

TEST_F(Predict, AMessageThatIsThereCostsAReadyRead) {
  const Costs at = costs(3);
  // Round 0: 1 tells 0, 2 tells 1 a long way; round 1: 0 tells 1, which comes late and finds it.
  hop[2 * 3 + 1] = 1000;
  const Schedule late = of_messages(3, 2, {{0, 2, 1}, {1, 0, 1}});
  EXPECT_EQ(priced(late, at).done[1], 1040);
  // Half way: it is under way when 1 comes, and seen when it is visible.
  hop[2 * 3 + 1] = 50;
  EXPECT_EQ(priced(late, at).done[1], 100);
}

TEST_F(Predict, WhatCannotBePricedIsRefused) {
  const Schedule schedule = of_messages(3, 2, {{0, 0, 1}, {1, 1, 2}});
  Prediction prediction;
  const size_t left = arena.left();
  EXPECT_EQ(predict(schedule, costs(4), arena, &prediction), -EINVAL) << "another number of participants";
  const Costs at = costs(3);
  EXPECT_EQ(predict(schedule, at, arena, &prediction), 0);
  schedule.peers[0] = 3;
  EXPECT_EQ(predict(schedule, at, arena, &prediction), -EINVAL) << "malformed";
  EXPECT_LE(left - arena.left(), 3 * sizeof(double) + 8);
}

TEST_F(Predict, ADeadlockHasNoPrice) {
  const Costs at = costs(2);
  Schedule schedule = of_messages(2, 1, {{0, 0, 1}, {0, 1, 0}});
  for (uint32_t i : {0, 1}) {  // both wait before they signal
    Step* const program = schedule.steps + schedule.begin[i];
    std::swap(program[0].kind, program[1].kind);
  }
  Prediction prediction;
  const size_t left = arena.left();
  EXPECT_EQ(predict(schedule, at, arena, &prediction), -EDEADLK);
  EXPECT_EQ(arena.left(), left);
  char memory[32];
  Arena tiny(memory, sizeof memory);
  EXPECT_EQ(predict(schedule, at, tiny, &prediction), -ENOMEM);
  EXPECT_EQ(tiny.left(), sizeof memory);
}

TEST_F(Predict, OnlyTheResultStaysInTheArena) {
  const Costs at = costs(4);
  Schedule schedule;
  ASSERT_EQ(broadcast_schedule(star(4), arena, &schedule), 0);
  const size_t before = arena.left();
  priced(schedule, at);
  EXPECT_LE(before - arena.left(), 4 * sizeof(double) + 8);
}

// In a loop the period, not the time from everybody's arrival: trees cost the same, two who share a line cost less.
TEST(SteadyPrice, IsThePeriodOfALoop) {
  MappedArena arena(kBlockBytes);
  const Costs two = make_machine("m", 1, 2, 50, 100, 0, 1).overlap(arena);
  const double hop = two.hop[1], ready = two.ready_read[1];
  Pattern pattern;
  Choice choice;
  double steady = 0;
  ASSERT_EQ(find_pattern("pair", &pattern), 0);
  ASSERT_EQ(build(pattern, Operation::kBarrier, -1, two, arena, &choice), 0);
  ASSERT_EQ(steady_price(choice.schedule, two, arena, &steady), 0);
  EXPECT_NEAR(steady, (hop + ready) / 2, 1e-6);
  ASSERT_EQ(find_pattern("sequential", &pattern), 0);
  ASSERT_EQ(build(pattern, Operation::kBarrier, -1, two, arena, &choice), 0);
  ASSERT_EQ(steady_price(choice.schedule, two, arena, &steady), 0);
  EXPECT_NEAR(steady, 2 * hop, 1e-3);
  ASSERT_EQ(find_pattern("hybrid", &pattern), 0);  // in one cache: gather and release, no exchange of two
  ASSERT_EQ(build(pattern, Operation::kBarrier, -1, two, arena, &choice), 0);
  ASSERT_EQ(steady_price(choice.schedule, two, arena, &steady), 0);
  EXPECT_NEAR(steady, 2 * hop, 1e-3);
  EXPECT_EQ(steady_price(choice.schedule, make_machine("m", 1, 3, 50, 100, 0, 1).overlap(arena), arena, &steady),
            -EINVAL);
}

TEST(SteadyPrice, IsPositiveAndNeverAboveTheMakespan) {
  for (const TestMachine& machine : machines()) {
    if (machine.n > 64) continue;
    MappedArena arena(kBlockBytes);
    for (const Costs& costs : {machine.paper(arena), machine.overlap(arena)}) {
      for (const PatternInfo& info : pattern_registry()) {
        char* const mark = arena.mark();
        Choice choice;
        if (build({&info, info.default_argument}, Operation::kBarrier, -1, costs, arena, &choice) == 0) {
          const size_t left = arena.left();
          double steady = 0;
          ASSERT_EQ(steady_price(choice.schedule, costs, arena, &steady), 0);
          EXPECT_EQ(arena.left(), left);
          // A loop of one round has collisions beside.
          double most = choice.predicted * (1 + 1e-6);
          if (choice.exchange.rounds == 1)
            most += 0.375 * (costs.n - 1) * *std::max_element(costs.ready_read, costs.ready_read + costs.n * costs.n);
          EXPECT_LE(steady, most) << info.name << " on " << machine;
          if (choice.predicted > 0 && machine.n > 1) {
            EXPECT_GT(steady, 0) << info.name << " on " << machine;
          }
        }
        arena.rewind(mark);
      }
    }
  }
}

// The paper's machine, its model, its trees: figures from an independent implementation, in cycles.
TEST(PredictPaper, TheFiguresOfTheIvyBridge) {
  const TestMachine* const machine = find_machine("smelt_ivybridge_2x10");
  if (!machine) GTEST_SKIP() << "smelt_ivybridge_2x10 is not among the machines";
  struct Figure {
    const char* pattern;
    int broadcast, reduce;
  };
  const Figure figures[] = {
      {"binary", 2071, 2474}, {"cluster", 1757, 2937},   {"bad", 7311, 6073},      {"sequential", 3397, 8655},
      {"mst", 2377, 2396},    {"fibonacci", 2121, 2298}, {"adaptive", 1426, 2385},
  };
  MappedArena arena(kBlockBytes);
  const Costs costs = machine->paper(arena);
  Pattern pattern;
  Choice choice;
  for (const Figure& figure : figures) {
    ASSERT_EQ(find_pattern(figure.pattern, &pattern), 0);
    ASSERT_EQ(build(pattern, Operation::kBroadcast, -1, costs, arena, &choice), 0);
    EXPECT_EQ(std::floor(choice.predicted), figure.broadcast) << figure.pattern << " broadcast";
    ASSERT_EQ(build(pattern, Operation::kReduce, -1, costs, arena, &choice), 0);
    EXPECT_EQ(std::floor(choice.predicted), figure.reduce) << figure.pattern << " reduce";
  }
  ASSERT_EQ(find_pattern("adaptive-sorted", &pattern), 0);
  ASSERT_EQ(build(pattern, Operation::kBroadcast, -1, costs, arena, &choice), 0);
  EXPECT_EQ(choice.tree.root, 13);
  EXPECT_EQ(std::floor(choice.predicted), 1363);
}

// Broadcast and reduction in the paper's own words, recursively: nothing of the engine under test.
double paper_broadcast(const Tree& tree, const Costs& costs, uint16_t at) {
  double sent = 0, latest = 0;
  for (uint16_t c = tree.first[at]; c != kNobody; c = tree.next[c]) {
    sent += costs.t_send(at, c);
    latest = std::max(latest, sent + costs.t_receive(at, c) + paper_broadcast(tree, costs, c));
  }
  return latest;
}

double paper_reduce(const Tree& tree, const Costs& costs, uint16_t at) {
  std::vector<std::pair<double, double>> arrivals;  // when, and what receiving costs
  for (uint16_t c = tree.first[at]; c != kNobody; c = tree.next[c]) {
    arrivals.push_back({paper_reduce(tree, costs, c) + costs.t_send(c, at), costs.t_receive(c, at)});
  }
  std::sort(arrivals.begin(), arrivals.end());
  double now = 0;
  for (const auto& [when, receive] : arrivals) now = std::max(now, when) + receive;
  return now;
}

TEST(PredictPaper, TheEngineIsThePapersModelUnderItsCosts) {
  for (const TestMachine& machine : machines()) {
    MappedArena arena(kBlockBytes);
    const Costs costs = machine.paper(arena);
    for (const PatternInfo& info : pattern_registry()) {
      if (!info.tree || is_by_lines(info)) continue;  // the paper has no line that several poll
      char* const mark = arena.mark();
      Choice choice;
      const Pattern pattern{&info, info.default_argument};
      ASSERT_EQ(build(pattern, Operation::kBroadcast, -1, costs, arena, &choice), 0);
      const double broadcast = paper_broadcast(choice.tree, costs, choice.tree.root);
      EXPECT_NEAR(choice.predicted, broadcast, 1e-4 * (1 + broadcast)) << info.name << " on " << machine;
      ASSERT_EQ(build(pattern, Operation::kReduce, -1, costs, arena, &choice), 0);
      const double reduce = paper_reduce(choice.tree, costs, choice.tree.root);
      EXPECT_NEAR(choice.predicted, reduce, 1e-4 * (1 + reduce)) << info.name << " on " << machine;
      arena.rewind(mark);
    }
  }
}

// The latency of a broadcast along a tree by itself, without a schedule. `scratch` has room for n.
double broadcast_latency(const Tree& tree, const Costs& costs, double* scratch) {
  double latest = 0;
  scratch[tree.root] = 0;
  // Depth first along the tree's own links: a node sends to all its children before any of them is visited.
  for (uint16_t i = tree.root;;) {
    double now = scratch[i];
    for (uint16_t c = tree.first[i]; c != kNobody; c = tree.next[c]) {
      const size_t pair = costs.at(i, c);
      scratch[c] = std::max<double>(costs.ready_read[pair], now + costs.hop[pair]);
      now += costs.send_busy[pair];
    }
    latest = std::max(latest, now);
    if (tree.first[i] != kNobody) {
      i = tree.first[i];
      continue;
    }
    while (i != tree.root && tree.next[i] == kNobody) i = tree.parent[i];
    if (i == tree.root) return latest;
    i = tree.next[i];
  }
}

TEST(PredictPaper, ReorderingAndShufflingNeverLoseToAdaptive) {
  for (const TestMachine& machine : machines()) {
    MappedArena arena(kBlockBytes);
    for (const Costs& costs : {machine.paper(arena), machine.overlap(arena)}) {
      std::vector<double> scratch(costs.n);
      Tree plain, sorted;
      ASSERT_EQ(adaptive_tree(costs, 0, -1, arena, &plain), 0);
      ASSERT_EQ(adaptive_sorted_tree(costs, 0, -1, arena, &sorted), 0);
      const double before = broadcast_latency(plain, costs, scratch.data());
      EXPECT_LE(broadcast_latency(sorted, costs, scratch.data()), before * (1 + 1e-6)) << machine;
    }
  }
}

TEST(PredictMachines, BroadcastLatencyIsWhatPredictSays) {
  for (const TestMachine& machine : machines()) {
    MappedArena arena(kBlockBytes);
    std::vector<double> scratch(machine.n);
    for (const Costs& costs : {machine.paper(arena), machine.overlap(arena)}) {
      for (const PatternInfo& info : pattern_registry()) {
        if (!info.tree || is_by_lines(info)) continue;
        char* const mark = arena.mark();
        Choice choice;
        ASSERT_EQ(build({&info, info.default_argument}, Operation::kBroadcast, -1, costs, arena, &choice), 0);
        EXPECT_DOUBLE_EQ(broadcast_latency(choice.tree, costs, scratch.data()), choice.predicted)
            << info.name << " on " << machine;
        arena.rewind(mark);
      }
    }
  }
}

}  // namespace
