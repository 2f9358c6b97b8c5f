#include "generate/shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "generate/spread.h"
#include "machines.h"
#include "schedule/predict.h"
#include "schedule/schedule.h"
#include "schedule/validate.h"

using namespace smelt;
using namespace smelt::test;

namespace {

// `clusters` of so many cores each, in their order.
struct Even {
  std::vector<uint16_t> of, member;
  std::vector<uint32_t> begin;
  Clusters clusters;

  Even(uint32_t count, uint32_t cores) : of(count * cores), member(count * cores), begin(count + 1) {
    std::iota(member.begin(), member.end(), uint16_t{0});
    for (uint32_t i = 0; i < of.size(); ++i) of[i] = static_cast<uint16_t>(i / cores);
    for (uint32_t c = 0; c <= count; ++c) begin[c] = c * cores;
    clusters = {count, of.data(), member.data(), begin.data()};
  }
};

// Each message once, between cores of the right clusters; those that are seen first in front.
void expect_whole(const Shares& shares, const Clusters& clusters) {
  const uint32_t count = clusters.count, across = count * (count - 1);
  std::vector<uint32_t> seen(shares.order, shares.order + across), all;
  for (uint32_t pair = 0; pair < count * count; ++pair) {
    if (pair / count == pair % count) continue;
    all.push_back(pair);
    EXPECT_EQ(clusters.of[shares.sends[pair]], pair / count);
    EXPECT_EQ(clusters.of[shares.hears[pair]], pair % count);
  }
  for (uint32_t k = 1; k < across; ++k) EXPECT_LE(shares.visible[seen[k - 1]], shares.visible[seen[k]]);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, all);
}

std::string text(const Shares& shares, uint32_t count) {
  std::string out;
  for (uint32_t k = 0; k < count * (count - 1); ++k)
    out += std::to_string(shares.sends[shares.order[k]]) + '>' + std::to_string(shares.hears[shares.order[k]]) + ' ';
  return out;
}

double price(const Costs& costs, uint32_t width, const ShareSearch& search, Arena& arena) {
  char* const mark = arena.mark();
  Exchange exchange;
  Schedule schedule;
  double makespan = -1;
  EXPECT_EQ(spread_with(costs, width, search, arena, &exchange), 0);
  EXPECT_EQ(barrier_schedule(exchange, arena, &schedule, &costs), 0);
  EXPECT_EQ(check_schedule(schedule, arena), 0);
  EXPECT_EQ(price_schedule(schedule, costs, arena, &makespan), 0);
  arena.rewind(mark);
  return makespan;
}

TEST(Shares, AreByTurnsRoundTheRing) {
  MappedArena arena(1 << 22);
  const Even even(4, 2);
  Shares shares;
  ASSERT_EQ(share_clusters(make_machine("m", 4, 2, 100, 600, 0, 1).paper(arena), even.clusters, {}, arena, &shares), 0);
  // A core's messages go one after the other: its third cluster hears it after its first.
  expect_whole(shares, even.clusters);
  for (uint32_t from = 0; from < 4; ++from)
    for (uint32_t distance = 1; distance < 4; ++distance) {
      const uint32_t to = (from + distance) % 4;
      EXPECT_EQ(shares.sends[from * 4 + to], 2 * from + (distance - 1) % 2);
      EXPECT_EQ(shares.hears[from * 4 + to], 2 * to + (distance - 1) % 2);
    }
}

TEST(Shares, OfTheSearchAreWholeTheSameForEverybodyAndCheaper) {
  MappedArena arena(kBlockBytes);
  for (const uint32_t count : {12u, 20u}) {
    const Even even(count, 4);
    const Costs costs = make_machine("m", count, 4, 40, 300, 0.4f, count).overlap(arena);
    Shares turns, first, second;
    ASSERT_EQ(share_clusters(costs, even.clusters, {}, arena, &turns), 0);
    ASSERT_EQ(share_clusters(costs, even.clusters, {3000}, arena, &first), 0);
    ASSERT_EQ(share_clusters(costs, even.clusters, {3000}, arena, &second), 0);
    expect_whole(turns, even.clusters);
    expect_whole(first, even.clusters);
    EXPECT_EQ(text(first, count), text(second, count));
    EXPECT_NE(text(first, count), text(turns, count));
    EXPECT_LT(price(costs, 3, {3000}, arena), 0.95 * price(costs, 3, {}, arena)) << count;
  }
}

// What is worse for a while leads to what is better than all that downhill alone finds.
TEST(Shares, OfAnAnnealingAreCheaperAndTheSameForEverybody) {
  MappedArena arena(kBlockBytes);
  const Even even(20, 4);
  const Costs costs = make_machine("m", 20, 4, 40, 300, 0.4f, 20).overlap(arena);
  const auto latest = [&](const ShareSearch& search) {
    Shares shares;
    EXPECT_EQ(share_clusters(costs, even.clusters, search, arena, &shares), 0);
    expect_whole(shares, even.clusters);
    return *std::max_element(shares.done, shares.done + costs.n);
  };
  const float downhill = std::min(latest({50000, 0, 1}), latest({50000, 0, 2}));
  EXPECT_LT(latest({50000, 1, 1}), downhill);
  EXPECT_LT(latest({50000, 1, 2}), downhill);
  Shares first, second, other;
  ASSERT_EQ(share_clusters(costs, even.clusters, {3000, 1, 1}, arena, &first), 0);
  ASSERT_EQ(share_clusters(costs, even.clusters, {3000, 1, 1}, arena, &second), 0);
  ASSERT_EQ(share_clusters(costs, even.clusters, {3000, 1, 2}, arena, &other), 0);
  EXPECT_EQ(text(first, 20), text(second, 20));
  EXPECT_NE(text(first, 20), text(other, 20)) << "another seed";
}

// Lists that are nearly full change places, too.
TEST(Shares, OfASearchWithLittleRoomAreWhole) {
  MappedArena arena(kBlockBytes);
  const Even even(60, 2);
  const Costs costs = make_machine("m", 60, 2, 40, 300, 0.4f, 3).overlap(arena);
  Shares shares;
  ASSERT_EQ(share_clusters(costs, even.clusters, {20000}, arena, &shares), 0);
  expect_whole(shares, even.clusters);
  std::vector<uint32_t> tells(120), hears(120);
  for (uint32_t k = 0; k < 60 * 59; ++k) {
    ++tells[shares.sends[shares.order[k]]];
    ++hears[shares.hears[shares.order[k]]];
  }
  EXPECT_EQ(std::max(*std::max_element(tells.begin(), tells.end()), *std::max_element(hears.begin(), hears.end())), 32u)
      << "as many as there is room for";
}

// More for one core than there is room for: by turns, whatever the tries.
TEST(Shares, OfManyClustersAreNotSearchedFor) {
  MappedArena arena(kBlockBytes);
  const Even even(40, 1);
  const Costs costs = make_machine("m", 40, 1, 40, 300, 0.4f, 1).overlap(arena);
  Shares turns, searched;
  ASSERT_EQ(share_clusters(costs, even.clusters, {}, arena, &turns), 0);
  ASSERT_EQ(share_clusters(costs, even.clusters, {1000}, arena, &searched), 0);
  EXPECT_EQ(text(turns, 40), text(searched, 40));
}

TEST(Shares, WithLittleMemoryThereAreNone) {
  MappedArena arena(kBlockBytes);
  const Even even(12, 4);
  const Costs costs = make_machine("m", 12, 4, 40, 300, 0.4f, 1).overlap(arena);
  for (const size_t bytes : {0u, 100u, 1000u, 3000u}) {
    Arena part(arena.make<char>(0), bytes);
    Shares shares;
    EXPECT_EQ(share_clusters(costs, even.clusters, {10}, part, &shares), -ENOMEM) << bytes;
  }
}

// A late core is heard last, by everybody in its cluster.
TEST(Spread, TheLastMergeReadsInTheOrderOfTheShares) {
  MappedArena arena(kBlockBytes);
  const Even even(12, 4);
  const Costs costs = make_machine("m", 12, 4, 40, 300, 0.4f, 12).overlap(arena);
  Shares shares;
  Exchange exchange;
  ASSERT_EQ(share_clusters(costs, even.clusters, {100}, arena, &shares), 0);
  ASSERT_EQ(spread_with(costs, 3, {100}, arena, &exchange), 0);
  ASSERT_EQ(exchange.rounds, 3u);
  std::vector<float> before(costs.n, -1);
  uint32_t heard = 0;
  for (uint32_t m = 0; m < exchange.count; ++m) {
    const RoundMessage& message = exchange.messages[m];
    if (message.round < 2) continue;
    EXPECT_GE(shares.done[message.from], before[message.to]) << message.to;
    before[message.to] = shares.done[message.from];
    ++heard;
  }
  EXPECT_EQ(heard, 12u * 4 * 3);
}

// Threads of a core, by their hops alone: they tell each other before anybody tells other cores.
TEST(Spread, SiblingsMergeFirstWhereOneRoundIsNotEnough) {
  MappedArena arena(kBlockBytes);
  const uint32_t n = 32;  // 2 clusters of 8 cores of 2
  Costs costs = make_machine("m", 2, 16, 40, 300, 0, 1).overlap(arena);
  std::vector<float> hop(costs.hop, costs.hop + n * n);
  for (uint32_t i = 0; i < n; ++i) hop[costs.at(i, i ^ 1)] = 10;
  costs.hop = hop.data();
  Exchange exchange;
  ASSERT_EQ(spread_with(costs, 7, {}, arena, &exchange), 0);
  EXPECT_EQ(exchange.rounds, 5u) << "cores, clusters, across, and again";
  for (uint32_t m = 0; m < exchange.count; ++m) {
    const RoundMessage& message = exchange.messages[m];
    const bool siblings = (message.from ^ 1) == message.to;
    EXPECT_EQ(siblings, message.round == 0 || message.round == 3) << m;
  }
  ASSERT_EQ(spread_with(costs, 15, {}, arena, &exchange), 0);
  EXPECT_EQ(exchange.rounds, 3u) << "one round does for 16";
  EXPECT_GT(price(costs, 7, {}, arena), 0);
  // Cores of one thread, of two and of three in one cluster: still everybody hears of everybody.
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t k = 0; k < n; ++k)
      if (i != k && i / 16 == k / 16) hop[costs.at(i, k)] = i % 16 / 3 == k % 16 / 3 && i % 16 > 3 ? 10 : 40;
  for (const uint32_t width : {1u, 2u, 3u, 7u}) EXPECT_GT(price(costs, width, {100}, arena), 0) << width;
}

}  // namespace
