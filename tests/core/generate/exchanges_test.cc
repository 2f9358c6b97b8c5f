#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generate/patterns.h"
#include "generate/registry.h"
#include "generate/spread.h"
#include "machines.h"

using namespace smelt;
using namespace smelt::test;

namespace {

// "0: 0>1 1>2 | 1: ..." : all messages by round.
std::string text(const Exchange& exchange) {
  std::string out;
  for (uint32_t m = 0; m < exchange.count; ++m) {
    const RoundMessage& message = exchange.messages[m];
    if (m > 0) out += message.round == exchange.messages[m - 1].round ? " " : " | ";
    out += std::to_string(message.from) + '>' + std::to_string(message.to);
  }
  return out;
}

Costs alike(uint32_t n, Arena& arena) { return make_machine("alike", 1, n, 100, 100, 0, 1).paper(arena); }

TEST(Exchanges, Dissemination) {
  MappedArena arena(1 << 22);
  Exchange exchange;
  ASSERT_EQ(dissemination(alike(3, arena), 1, arena, &exchange), 0);
  EXPECT_EQ(text(exchange), "0>1 1>2 2>0 | 0>2 1>0 2>1");
  EXPECT_EQ(exchange.rounds, 2u);
  // Two at a time, five participants: round 1 has the distances 3 and 6, and 6 leads round the circle.
  ASSERT_EQ(dissemination(alike(5, arena), 2, arena, &exchange), 0);
  EXPECT_EQ(exchange.rounds, 2u);
  EXPECT_EQ(exchange.count, 15u);
  ASSERT_EQ(dissemination(alike(1, arena), 1, arena, &exchange), 0);
  EXPECT_EQ(exchange.rounds, 0u);
  EXPECT_EQ(exchange.count, 0u);
  EXPECT_EQ(dissemination(alike(5, arena), 0, arena, &exchange), -EINVAL);
}

TEST(Exchanges, DisseminationNeedsTheLogarithmOfRoundsAndNoMore) {
  for (uint32_t n : {1u, 2u, 3u, 4u, 5u, 8u, 9u, 16u, 17u, 64u, 65u, 1000u, 1024u}) {
    for (uint32_t width : {1u, 2u, 3u, 4u, 7u, 1023u}) {
      uint32_t expected = 0;
      for (uint64_t reach = 1; reach < n; reach *= width + 1) ++expected;
      EXPECT_EQ(dissemination_rounds(n, width), expected) << n << ' ' << width;
    }
  }
}

TEST(Exchanges, PairIsForTwo) {
  MappedArena arena(1 << 20);
  Exchange exchange;
  ASSERT_EQ(pair_exchange(alike(2, arena), 0, arena, &exchange), 0);
  EXPECT_EQ(text(exchange), "0>1 1>0");
  EXPECT_EQ(pair_exchange(alike(1, arena), 0, arena, &exchange), -EINVAL);
  EXPECT_EQ(pair_exchange(alike(3, arena), 0, arena, &exchange), -EINVAL);
}

TEST(Exchanges, AllToAllIsOneRoundOfEverything) {
  for (uint32_t n : {1u, 2u, 3u, 20u}) {
    MappedArena arena(1 << 20);
    Exchange exchange;
    ASSERT_EQ(all_to_all(alike(n, arena), 0, arena, &exchange), 0);
    EXPECT_EQ(exchange.rounds, n > 1 ? 1u : 0u);
    EXPECT_EQ(exchange.count, n * (n - 1));
  }
}

// Every cluster gathers up one tree and releases down another; between clusters there is a message each way, no more.
TEST(Exchanges, ForestsGatherExchangeAndRelease) {
  for (const auto& [clusters, cores] : {std::pair{2u, 24u}, {2u, 3u}, {3u, 16u}, {1u, 20u}, {16u, 1u}, {1u, 1u}}) {
    SCOPED_TRACE(std::to_string(clusters) + " x " + std::to_string(cores));
    TestMachine machine = make_machine("m", clusters, cores, 100, 600, 0, 1);
    MappedArena arena(1 << 24);
    const Costs costs = machine.paper(arena);
    Exchange exchange;
    ASSERT_EQ(forest_exchange(costs, 0, arena, &exchange), 0);
    const uint32_t n = clusters * cores;
    ASSERT_EQ(exchange.count, 2 * (n - clusters) + clusters * (clusters - 1)) << text(exchange);
    std::vector<int> sent(n, -1), released(n, -1);
    std::set<uint16_t> roots;
    uint32_t first_across = exchange.rounds, last_across = 0;
    for (uint32_t m = 0; m < exchange.count; ++m) {
      const auto [round, from, to] = exchange.messages[m];
      ASSERT_LT(round, exchange.rounds);
      if (m > 0) {
        EXPECT_LE(exchange.messages[m - 1].round, round);
      }
      if (costs.node[from] == costs.node[to]) continue;
      roots.insert(from);
      first_across = std::min<uint32_t>(first_across, round);
      last_across = std::max<uint32_t>(last_across, round);
    }
    EXPECT_EQ(roots.size(), clusters > 1 ? clusters : 0);
    for (uint32_t m = 0; m < exchange.count; ++m) {
      const auto [round, from, to] = exchange.messages[m];
      if (costs.node[from] != costs.node[to]) continue;
      if (m < n - clusters) {
        if (clusters > 1) {
          EXPECT_LT(round, first_across);
        }
        EXPECT_EQ(sent[from], -1) << from;
        EXPECT_FALSE(roots.count(from));
        sent[from] = round;
        EXPECT_EQ(sent[to], -1) << to << " tells its parent before it has heard from " << from;
      } else {
        if (clusters > 1) {
          EXPECT_GT(round, last_across);
        }
        EXPECT_EQ(released[to], -1) << to;
        EXPECT_TRUE(released[from] >= 0 || (sent[from] < 0)) << from << " tells others before it knows";
        EXPECT_LT(released[from], int{round});
        released[to] = round;
      }
    }
  }
}

TEST(Exchanges, HybridInOneCacheIsGatherAndRelease) {
  MappedArena arena(1 << 20);
  TestMachine machine = make_machine("m", 1, 4, 100, 100, 0, 1);
  // 2 is near everybody, and 3 is nearer to it than 0 and 1 are.
  for (uint32_t i = 0; i < 4; ++i) {
    if (i == 2) continue;
    machine.t_receive[i * 4 + 2] = i == 3 ? 10 : 50;
    machine.t_receive[2 * 4 + i] = 50;
  }
  Exchange exchange;
  ASSERT_EQ(hybrid_exchange(machine.paper(arena), 0, arena, &exchange), 0);
  EXPECT_EQ(text(exchange), "3>2 0>2 1>2 | 2>3 2>0 2>1");
  EXPECT_EQ(exchange.rounds, 2u);
}

TEST(Exchanges, HybridLeadersExchangeAndOnlyTheyCrossCaches) {
  MappedArena arena(1 << 20);
  const Costs two = make_machine("m", 2, 2, 100, 600, 0, 1).paper(arena);
  Exchange exchange;
  ASSERT_EQ(hybrid_exchange(two, 0, arena, &exchange), 0);
  EXPECT_EQ(text(exchange), "1>0 3>2 | 0>2 2>0 | 0>1 2>3");
  for (const TestMachine& machine : machines()) {
    MappedArena own(kBlockBytes);
    const Costs costs = machine.overlap(own);
    ASSERT_EQ(hybrid_exchange(costs, 0, own, &exchange), 0);
    std::map<uint16_t, std::set<uint16_t>> leaders;
    for (uint32_t m = 0; m < exchange.count; ++m) {
      const RoundMessage& message = exchange.messages[m];
      if (costs.llc[message.from] != costs.llc[message.to]) leaders[costs.llc[message.from]].insert(message.from);
    }
    for (const auto& [cache, who] : leaders) EXPECT_EQ(who.size(), 1u) << machine;
  }
}

TEST(Exchanges, ManyHybridLeadersTakeRounds) {
  MappedArena arena(1 << 22);
  Exchange exchange;
  ASSERT_EQ(hybrid_exchange(make_machine("m", 16, 2, 100, 600, 0, 1).paper(arena), 0, arena, &exchange), 0);
  EXPECT_EQ(exchange.rounds, 3u);
  EXPECT_EQ(exchange.count, 16u + 16 * 15 + 16);
  ASSERT_EQ(hybrid_exchange(make_machine("m", 17, 2, 100, 600, 0, 1).paper(arena), 0, arena, &exchange), 0);
  EXPECT_EQ(exchange.rounds, 4u);
  // Every participant its own cache: no gather, no release.
  ASSERT_EQ(hybrid_exchange(make_machine("m", 8, 1, 100, 600, 0, 1).paper(arena), 0, arena, &exchange), 0);
  EXPECT_EQ(exchange.rounds, 1u);
  ASSERT_EQ(hybrid_exchange(make_machine("m", 1, 1, 100, 600, 0, 1).paper(arena), 0, arena, &exchange), 0);
  EXPECT_EQ(exchange.rounds, 0u);
}

TEST(Exchanges, HierarchicalMeetsNearFirstAndCounterpartsThen) {
  MappedArena arena(1 << 20);
  Exchange exchange;
  const Costs two = make_machine("m", 2, 2, 100, 600, 0, 1).paper(arena);
  ASSERT_EQ(hierarchical_exchange(two, 1, arena, &exchange), 0);
  EXPECT_EQ(text(exchange), "1>0 0>1 3>2 2>3 | 2>0 3>1 0>2 1>3");
  // Three caches at once with width 2: each hears from its counterparts in both others in one round.
  ASSERT_EQ(hierarchical_exchange(make_machine("m", 3, 2, 100, 600, 0, 1).paper(arena), 2, arena, &exchange), 0);
  EXPECT_EQ(exchange.rounds, 2u);
  EXPECT_EQ(exchange.count, 6u + 6 * 2);
  // All alike: one level, plain dissemination.
  ASSERT_EQ(hierarchical_exchange(alike(5, arena), 1, arena, &exchange), 0);
  EXPECT_EQ(exchange.rounds, 3u);
  ASSERT_EQ(hierarchical_exchange(alike(1, arena), 1, arena, &exchange), 0);
  EXPECT_EQ(exchange.count, 0u);
  EXPECT_EQ(hierarchical_exchange(two, 0, arena, &exchange), -EINVAL);
}

// A smaller group's members answer for several of a larger one, and everybody still hears of everybody (choose_test
// validates it).
TEST(Exchanges, HierarchicalUsesTheSmallerGroupsPlacesAgain) {
  MappedArena arena(1 << 20);
  const Costs whole = make_machine("m", 2, 3, 100, 600, 0, 1).paper(arena);
  const uint16_t some[] = {0, 1, 2, 3};  // three of one cache, one of the other
  Costs costs;
  ASSERT_EQ(subset_costs(whole, some, arena, &costs), 0);
  Exchange exchange;
  ASSERT_EQ(hierarchical_exchange(costs, 7, arena, &exchange), 0);
  EXPECT_EQ(text(exchange), "2>0 1>0 0>1 2>1 1>2 0>2 | 3>0 3>1 3>2 0>3");
}

TEST(Exchanges, SpreadDividesTheOtherClustersOverTheCores) {
  MappedArena arena(1 << 20);
  Exchange exchange;
  ASSERT_EQ(spread_with(make_machine("m", 3, 2, 100, 600, 0, 1).paper(arena), 1, {}, arena, &exchange), 0);
  EXPECT_EQ(text(exchange), "0>1 1>0 2>3 3>2 4>5 5>4 | 0>2 2>4 4>0 1>5 3>1 5>3 | 0>1 1>0 2>3 3>2 4>5 5>4");
  ASSERT_EQ(spread_exchange(alike(5, arena), 4, arena, &exchange), 0);
  EXPECT_EQ(exchange.rounds, 1u) << "one cluster has nobody else to hear from";
  EXPECT_EQ(spread_exchange(alike(5, arena), 0, arena, &exchange), -EINVAL);
  // Behind one cache the cores are the clusters, whatever the system calls them.
  Costs cores = make_machine("m", 3, 2, 100, 600, 0, 1).overlap(arena);
  const uint16_t zeros[6] = {};
  cores.node = cores.llc = cores.package = zeros;
  ASSERT_EQ(spread_with(cores, 1, {}, arena, &exchange), 0);
  EXPECT_EQ(text(exchange), "0>1 1>0 2>3 3>2 4>5 5>4 | 0>2 2>4 4>0 1>5 3>1 5>3 | 0>1 1>0 2>3 3>2 4>5 5>4");
  for (const TestMachine& machine : machines()) {
    MappedArena own(kBlockBytes);
    const Costs costs = machine.overlap(own);
    ASSERT_EQ(spread_exchange(costs, 3, own, &exchange), 0);
    std::map<std::pair<uint16_t, uint16_t>, uint32_t> crossings;
    for (uint32_t m = 0; m < exchange.count; ++m) {
      const RoundMessage& message = exchange.messages[m];
      if (costs.llc[message.from] != costs.llc[message.to])
        ++crossings[{costs.llc[message.from], costs.llc[message.to]}];
    }
    for (const auto& [pair, count] : crossings) EXPECT_EQ(count, 1u) << machine;
  }
}

TEST(Exchanges, NobodyTellsItselfOrTheSameTwiceInARound) {
  for (const TestMachine& machine : machines()) {
    if (machine.n > 128) continue;  // the sets below grow with n squared
    MappedArena base(kBlockBytes);
    const Costs costs = machine.overlap(base);
    for (const PatternInfo& info : pattern_registry()) {
      if (!info.exchange) continue;
      std::vector<uint32_t> arguments{info.default_argument};
      if (info.argument) arguments = {1, 2, 3, 4, 7, 16, 1023};
      for (uint32_t argument : arguments) {
        MappedArena arena(kBlockBytes);
        Exchange exchange;
        const int error = info.exchange(costs, argument, arena, &exchange);
        if (error == -EINVAL && std::string(info.name) == "pair") continue;
        ASSERT_EQ(error, 0) << info.name << " on " << machine;
        std::set<std::vector<uint16_t>> seen;
        for (uint32_t m = 0; m < exchange.count; ++m) {
          const RoundMessage& message = exchange.messages[m];
          ASSERT_NE(message.from, message.to) << info.name << ':' << argument << " on " << machine;
          ASSERT_LT(message.round, exchange.rounds) << info.name << ':' << argument << " on " << machine;
          ASSERT_TRUE(seen.insert({message.round, message.from, message.to}).second)
              << info.name << ':' << argument << " on " << machine;
        }
      }
    }
  }
}

TEST(Exchanges, AFullArenaIsReported) {
  MappedArena arena(1 << 22);
  const Costs costs = alike(40, arena);
  for (const PatternInfo& info : pattern_registry()) {
    if (!info.exchange || std::string(info.name) == "pair") continue;
    char memory[64];
    Arena tiny(memory, sizeof memory);
    Exchange exchange;
    EXPECT_EQ(info.exchange(costs, info.default_argument, tiny, &exchange), -ENOMEM) << info.name;
  }
}

}  // namespace
