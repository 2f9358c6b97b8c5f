// Victims by distance: the nearest first, each thread once and never the thief, and who is equally far in turn.
#include "openmp/victims.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace smelt::openmp {
namespace {

// CPUs in groups of groups: a hop costs the more the larger the group that two are in; `noise` is its spread.
struct GroupedCpus {
  std::vector<float> hop;
  Costs costs;

  GroupedCpus(std::vector<uint32_t> groups, float noise, uint32_t n) : hop(size_t{n} * n) {
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t j = 0; j < n; ++j) {
        float cost = 40;
        uint32_t size = 1;
        for (const uint32_t group : groups) {
          size *= group;
          if (i / size == j / size) break;
          cost *= 2;
        }
        const auto mixed = (i * 2654435761u ^ j * 40503u) >> 8 & 0xff;
        hop[size_t{i} * n + j] = i == j ? 0 : cost * (1 + noise * static_cast<float>(mixed) / 255);
      }
    }
    costs.n = n;
    costs.hop = hop.data();
  }
};

std::vector<uint16_t> first_cpus(uint32_t n) {
  std::vector<uint16_t> members(n);
  std::iota(members.begin(), members.end(), uint16_t{0});
  return members;
}

std::vector<uint32_t> order_of(const Victims* victims, uint32_t me, uint32_t threads) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i + 1 < threads; ++i) order.push_back(victim_of(victims, me, threads, i));
  return order;
}

TEST(Victims, NearestFirst) {
  const GroupedCpus machine({2, 2, 2}, 0, 8);
  Victims* const victims = order_victims(machine.costs, first_cpus(8));
  ASSERT_NE(victims, nullptr);
  EXPECT_EQ(order_of(victims, 0, 8), (std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(order_of(victims, 3, 8), (std::vector<uint32_t>{2, 0, 1, 4, 5, 6, 7}));
  EXPECT_EQ(order_of(victims, 5, 8), (std::vector<uint32_t>{4, 6, 7, 0, 1, 2, 3}));
  EXPECT_EQ(order_of(victims, 6, 8), (std::vector<uint32_t>{7, 4, 5, 0, 1, 2, 3}));
  free_victims(victims);
}

TEST(Victims, EquallyFarInTurn) {
  const uint32_t n = 16;
  const GroupedCpus machine({n}, 0.08f, n);  // as far as measured pairs differ
  Victims* const victims = order_victims(machine.costs, first_cpus(n));
  ASSERT_NE(victims, nullptr);
  for (uint32_t i = 0; i + 1 < n; ++i) {
    std::set<uint32_t> together;
    for (uint32_t me = 0; me < n; ++me) together.insert(victim_of(victims, me, n, i));
    EXPECT_EQ(together.size(), n) << "two thieves begin with the same at " << i;
  }
  free_victims(victims);
}

TEST(Victims, EachOnceAndTheNearerBeforeTheFurther) {
  for (const uint32_t n : {2u, 3u, 7u, 24u, 48u}) {
    const GroupedCpus machine({4, 3, 4}, 0.1f, 48);
    std::vector<uint16_t> members;
    for (uint32_t i = 0; i < n; ++i) members.push_back(static_cast<uint16_t>(i * 29 % 48));  // in no order
    Victims* const victims = order_victims(machine.costs, members);
    ASSERT_NE(victims, nullptr);
    for (uint32_t me = 0; me < n; ++me) {
      const std::vector<uint32_t> order = order_of(victims, me, n);
      EXPECT_EQ(std::set<uint32_t>(order.begin(), order.end()).size(), n - 1);
      float before = 0;
      for (const uint32_t victim : order) {
        ASSERT_LT(victim, n);
        ASSERT_NE(victim, me);
        const float hop = machine.costs.hop[machine.costs.at(members[me], members[victim])];
        EXPECT_GT(hop, before / 1.3f);
        before = hop;
      }
    }
    free_victims(victims);
  }
}

TEST(Victims, WithoutAnOrderTheSuccessors) {
  EXPECT_EQ(order_of(nullptr, 2, 4), (std::vector<uint32_t>{3, 0, 1}));
  const GroupedCpus machine({2, 2}, 0, 4);
  Victims* const victims = order_victims(machine.costs, first_cpus(4));
  EXPECT_EQ(order_of(victims, 2, 3), (std::vector<uint32_t>{0, 1})) << "made for another team";
  free_victims(victims);
  const uint16_t alone[] = {0};
  EXPECT_EQ(order_victims(machine.costs, alone), nullptr);
  free_victims(nullptr);
}

}  // namespace
}  // namespace smelt::openmp
