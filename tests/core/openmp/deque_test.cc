// The deque of work stealing: order at both ends, what does not fit, and every entry had once under thieves.
#include "openmp/deque.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace smelt::openmp {
namespace {

struct Entry {
  int number;
  int had;
};

using Small = Deque<Entry, 4>;
constexpr auto kAny = [](const Entry&) { return true; };

TEST(Deque, OwnerTakesNewestThiefOldest) {
  Small deque{};
  Entry entries[] = {{0, 0}, {1, 0}, {2, 0}};
  for (Entry& entry : entries) EXPECT_TRUE(deque.push(&entry));
  EXPECT_TRUE(deque.holds(3));
  EXPECT_FALSE(deque.holds(4));
  EXPECT_EQ(deque.take(kAny), &entries[2]);
  EXPECT_EQ(deque.steal(kAny), &entries[0]);
  EXPECT_EQ(deque.take(kAny), &entries[1]);
  EXPECT_EQ(deque.take(kAny), nullptr);
  EXPECT_EQ(deque.steal(kAny), nullptr);
  EXPECT_FALSE(deque.holds(1));
}

TEST(Deque, FullRefusesAndHasRoomAgain) {
  Small deque{};
  Entry entries[5] = {};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(deque.push(&entries[i]));
  EXPECT_FALSE(deque.push(&entries[4]));
  for (int round = 0; round < 10; ++round) {
    Entry* const oldest = deque.steal(kAny);
    ASSERT_NE(oldest, nullptr);
    EXPECT_TRUE(deque.push(oldest));
    EXPECT_FALSE(deque.push(&entries[4]));
  }
}

TEST(Deque, WhatDoesNotFitStays) {
  Small deque{};
  Entry entries[] = {{0, 0}, {1, 0}};
  for (Entry& entry : entries) EXPECT_TRUE(deque.push(&entry));
  const auto none = [](const Entry&) { return false; };
  EXPECT_EQ(deque.take(none), nullptr);
  EXPECT_EQ(deque.steal(none), nullptr);
  EXPECT_EQ(deque.take([](const Entry& entry) { return entry.number == 0; }), nullptr);
  EXPECT_EQ(deque.steal([](const Entry& entry) { return entry.number == 1; }), nullptr);
  EXPECT_TRUE(deque.holds(2));
  EXPECT_FALSE(deque.holds(3));
  EXPECT_EQ(deque.take([](const Entry& entry) { return entry.number == 1; }), &entries[1]);
  EXPECT_EQ(deque.steal([](const Entry& entry) { return entry.number == 0; }), &entries[0]);
}

// Whoever has an entry writes to it, without atomics: under ThreadSanitizer an entry had twice, or too early, is a
// race.
TEST(Deque, EveryEntryOnceUnderThieves) {
  constexpr int kEntries = 300000;
  auto deque = std::make_unique<Deque<Entry, 8>>();
  std::vector<Entry> entries(kEntries);
  std::atomic<bool> over{false};
  std::atomic<int> stolen{0};
  std::vector<std::thread> thieves;
  for (int i = 0; i < 3; ++i) {
    thieves.emplace_back([&] {
      for (uint32_t turns = 0; !over.load(std::memory_order_acquire); ++turns) {
        if (Entry* const entry = deque->steal(kAny)) {
          ++entry->had;
          stolen.fetch_add(1, std::memory_order_relaxed);
        } else if (turns % 64 == 0) {
          std::this_thread::yield();
        }
      }
    });
  }
  for (int i = 0; i < kEntries; ++i) {
    entries[i].number = i;
    // Now and then a full deque is left to the thieves: they are there, and at work.
    while (!deque->push(&entries[i])) {
      if (i % 16 < 4) {
        std::this_thread::yield();
        continue;
      }
      if (Entry* const entry = deque->take(kAny)) ++entry->had;
    }
    // Empties it to the last one often, where owner and thieves meet.
    if (i % 3 == 0) {
      for (int k = 0; k < 2; ++k) {
        if (Entry* const entry = deque->take(kAny)) ++entry->had;
      }
    }
    if (i % 1000 == 0) std::this_thread::yield();
  }
  while (Entry* const entry = deque->take(kAny)) ++entry->had;
  over.store(true, std::memory_order_release);
  for (std::thread& thief : thieves) thief.join();
  for (const Entry& entry : entries) ASSERT_EQ(entry.had, 1) << entry.number;
  EXPECT_GT(stolen.load(), 1000);
}

}  // namespace
}  // namespace smelt::openmp
