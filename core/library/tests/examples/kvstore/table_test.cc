// The table of a replica against std::map; and who is a member.
#include "kvstore/table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "kvstore/load.h"
#include "kvstore/members.h"

namespace kvstore::test {
namespace {

TEST(Table, NothingThere) {
  const Table table(4);
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(5), nullptr);
}

TEST(Table, AgainstMap) {
  std::mt19937_64 random(1);
  Table table(2);  // so that it grows
  std::map<uint64_t, std::pair<std::vector<uint8_t>, uint64_t>> map;
  for (uint64_t position = 1; position <= 20'000; ++position) {
    // Key 0, neighbours, and keys of which the low bits agree.
    const uint64_t key = random() % 3 == 0 ? random() % 500 : (random() % 500) << 32;
    const size_t lengths[] = {0, 1, 15, 16, 17, 100, 3000};
    std::vector<uint8_t> value(lengths[random() % 7]);
    for (uint8_t& byte : value) byte = static_cast<uint8_t>(random());
    table.set(key, value, position);
    map[key] = {value, position};
    const uint64_t other = random() % 1000;
    const Table::Entry* found = table.find(other);
    ASSERT_EQ(found != nullptr, map.contains(other));
  }
  EXPECT_EQ(table.size(), map.size());
  for (const auto& [key, expected] : map) {
    const Table::Entry* found = table.find(key);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->position, expected.second);
    ASSERT_TRUE(std::ranges::equal(found->value(), expected.first)) << key;
  }
}

TEST(Members, CommittedIsTheLeastOfTheMembers) {
  Members members(3);
  EXPECT_EQ(members.view().committed, 0u);
  members.publish(0, 7);
  members.publish(1, 5);
  EXPECT_EQ(members.view().committed, 0u);
  members.publish(2, 6);
  EXPECT_EQ(members.view().committed, 5u);
  EXPECT_TRUE(members.exclude(0, 1));
  EXPECT_EQ(members.view().committed, 6u);
}

TEST(Members, OneIsLeft) {
  Members members(3);
  EXPECT_TRUE(members.exclude(0, 1));
  EXPECT_FALSE(members.exclude(0, 1));  // is already
  EXPECT_FALSE(members.exclude(1, 0));  // has no say
  EXPECT_TRUE(members.exclude(2, 0));
  EXPECT_FALSE(members.exclude(0, 2));
  EXPECT_FALSE(members.exclude(1, 2));
  EXPECT_FALSE(members.is_excluded(2));
}

TEST(Members, OneIsLeftHoweverManyTryAtOnce) {
  for (int round = 0; round < 300; ++round) {
    Members members(4);
    std::vector<std::thread> threads;
    for (unsigned me = 0; me < 4; ++me)
      threads.emplace_back([&, me] {
        for (unsigned other = 1; other < 4; ++other) members.exclude(me, (me + other) % 4);
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::popcount(members.excluded()), 3);
  }
}

TEST(Members, WhoReturnsLearnsHowFarTheOthersAre) {
  Members members(3);
  members.publish(0, 9);
  members.publish(1, 8);
  members.publish(2, 4);
  EXPECT_TRUE(members.exclude(0, 2));
  EXPECT_EQ(members.view().committed, 8u);
  EXPECT_EQ(members.return_of(2), 9u);
  EXPECT_FALSE(members.is_excluded(2));
  EXPECT_EQ(members.view().committed, 4u);
}

// The store buffers between step 1 and 2 of a return: whatever a member has committed without the other, that other
// learns of when it returns.
TEST(Members, NothingIsCommittedBehindOnesBack) {
  constexpr uint64_t kRounds = 30'000;
  Members members(2);
  members.publish(1, 0);
  std::atomic<uint64_t> round{0}, ended{0};
  const auto meet = [&](std::atomic<uint64_t>& at, uint64_t until) {
    at.fetch_add(1);
    // Both leave at once where both run; on a crowded machine this thread gives its CPU away in the end.
    for (unsigned spins = 0; at.load() < until; ++spins)
      if (spins > 2000) std::this_thread::yield();
  };
  std::vector<uint64_t> alone(kRounds), learned(kRounds);
  std::thread member([&] {
    for (uint64_t i = 0; i < kRounds; ++i) {
      meet(round, 2 * (i + 1));
      members.publish(0, i + 1);
      alone[i] = members.view().committed;
      meet(ended, 2 * (i + 1));
    }
  });
  for (uint64_t i = 0; i < kRounds; ++i) {
    members.exclude(0, 1);
    meet(round, 2 * (i + 1));
    learned[i] = members.return_of(1);
    meet(ended, 2 * (i + 1));
  }
  member.join();
  for (uint64_t i = 0; i < kRounds; ++i) ASSERT_LE(alone[i], learned[i]);
}

TEST(Load, HistogramQuantiles) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0u);
  for (int64_t ns = 1; ns <= 100'000; ++ns) histogram.add(ns);
  EXPECT_EQ(histogram.total(), 100'000u);
  for (const double part : {0.001, 0.01, 0.5, 0.99, 1.0}) {
    const double exact = part * 100'000, found = static_cast<double>(histogram.quantile(part));
    EXPECT_GE(found, exact);
    EXPECT_LE(found, exact * (1 + 1.0 / 16) + 1);
  }
  Histogram small, large;
  small.add(3);
  EXPECT_EQ(small.quantile(1), 3u);
  large.add(INT64_MAX);
  EXPECT_EQ(large.quantile(1), static_cast<uint64_t>(INT64_MAX));
}

TEST(Load, ValuesDiffer) {
  std::vector<Value> seen;
  std::vector<uint8_t> value;
  for (unsigned client = 0; client < 20; ++client)
    for (uint64_t n = 0; n < 20; ++n)
      for (const size_t bytes : {8, 16, 17, 200}) {
        make_value(client, n, bytes, &value);
        ASSERT_EQ(value.size(), bytes);
        seen.push_back(fingerprint(value.data(), value.size()));
      }
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
}

}  // namespace
}  // namespace kvstore::test
