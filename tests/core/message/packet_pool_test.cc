// The packet pool: nobody gets a packet that another has, none is lost, and an empty pool says so.
#include "message/packet_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "children.h"
#include "shared_pages.h"

namespace smelt::test {
namespace {

struct SharedPool {
  explicit SharedPool(uint32_t packets, bool returned_first = false)
      : pages(sizeof(PacketStack) + packets * 2 * sizeof(uint32_t)) {
    returns.stack = static_cast<PacketStack*>(pages.get());
    returns.next = reinterpret_cast<uint32_t*>(returns.stack + 1);
    holders = reinterpret_cast<std::atomic<uint32_t>*>(returns.next + packets);
    whose = std::vector<std::atomic<uint16_t>>(packets);
    pool.write_full(returns, packets, whose.data(), returned_first);
  }
  // How many packets are to be had now; all different.
  size_t drain() {
    std::set<uint32_t> all;
    for (uint32_t packet; (packet = pool.take()) != kNoPacket;) EXPECT_TRUE(all.insert(packet).second) << packet;
    return all.size();
  }
  SharedPages pages;
  PacketReturns returns;
  std::atomic<uint32_t>* holders;  // of each packet: by how many
  std::vector<std::atomic<uint16_t>> whose;
  PacketPool pool;
};

TEST(PacketPool, GivesEachPacketOnceAndThenNone) {
  SharedPool shared(100);
  EXPECT_EQ(shared.drain(), 100u);
  EXPECT_EQ(shared.pool.take(), kNoPacket);
  for (uint32_t i = 0; i < 50; ++i) shared.pool.give_back(i);
  for (uint32_t i = 50; i < 100; ++i) shared.returns.give_back(i);
  EXPECT_EQ(shared.drain(), 100u);
}

TEST(PacketPool, TheLastPacketComesFirst) {
  SharedPool shared(10);
  const uint32_t a = shared.pool.take(), b = shared.pool.take();
  shared.pool.give_back(b);
  shared.pool.give_back(a);
  EXPECT_EQ(shared.pool.take(), a);
  EXPECT_EQ(shared.pool.take(), b);
}

// To and fro: the same packet, which stays in a cache, and not all of them in turn.
TEST(PacketPool, WhatHasComeBackIsTakenSoon) {
  SharedPool shared(64, true);
  std::set<uint32_t> used;
  for (int i = 0; i < 1000; ++i) {
    const uint32_t packet = shared.pool.take();
    used.insert(packet);
    shared.returns.give_back(packet);
  }
  EXPECT_LE(used.size(), 2u);
  EXPECT_EQ(shared.drain(), 64u);
}

TEST(PacketPool, AThreadTakesFromTheListsOfOthers) {
  SharedPool shared(10);
  EXPECT_NE(shared.pool.take(), kNoPacket);  // the rest is in our list now
  std::thread([&] { EXPECT_EQ(shared.drain(), 9u); }).join();
}

// Threads take and give back both ways, more of them than lists and than packets.
TEST(PacketPool, ManyThreadsNeverShareAPacketNorLoseOne) {
  constexpr uint32_t kPackets = 12;
  SharedPool shared(kPackets);
  std::atomic<uint64_t> wrong{0}, taken{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < PacketPool::kLists + 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 20'000; ++i) {
        const uint32_t packet = shared.pool.take();
        if (packet == kNoPacket) {
          std::this_thread::yield();
          continue;
        }
        taken += 1;
        wrong += shared.holders[packet].fetch_add(1, std::memory_order_relaxed) != 0;
        if (random() % 64 == 0) std::this_thread::yield();
        wrong += shared.holders[packet].fetch_sub(1, std::memory_order_relaxed) != 1;
        if (random() % 2)
          shared.pool.give_back(packet);
        else
          shared.returns.give_back(packet);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(taken, 10'000u);
  EXPECT_EQ(shared.drain(), kPackets);
}

TEST(PacketPool, WhatTheDeadHadIsTakenBack) {
  SharedPool shared(10);
  uint32_t packets[8];
  for (uint32_t i = 0; i < 8; ++i) {
    packets[i] = shared.pool.take();
    if (i < 6) shared.pool.hand_to(packets[i], i % 2);  // two of them nobody has yet
  }
  shared.returns.give_back(packets[1]);
  shared.pool.give_back(packets[0]);
  EXPECT_EQ(shared.pool.reclaim(1), 2u);
  EXPECT_EQ(shared.pool.reclaim(1), 0u);
  EXPECT_EQ(shared.drain(), 6u) << "2 that were never taken, 2 that were returned, 2 of the dead";
}

// The owner fills, receivers in processes of their own return.
TEST(PacketPool, ProcessesReturnWhatTheyWereGiven) {
  constexpr uint32_t kPackets = 16, kReceivers = 3, kTurns = 3'000;
  SharedPool shared(kPackets);
  const SharedPages pages(4096);
  auto* post = static_cast<std::atomic<uint32_t>*>(pages.get());  // [receivers, 16 apart] packet + 1; 0: nothing
  std::vector<pid_t> children;
  for (uint32_t r = 0; r < kReceivers; ++r) {
    children.push_back(fork_child());
    if (children.back() != 0) continue;
    for (;;) {
      uint32_t got;
      while ((got = post[16 * r].load(std::memory_order_acquire)) == 0) std::this_thread::yield();
      if (got > kPackets) _exit(0);
      if (shared.holders[got - 1].exchange(0) != r + 1) _exit(1);
      post[16 * r].store(0, std::memory_order_release);
      shared.returns.give_back(got - 1);
    }
  }
  // False: a receiver has found something wrong.
  const auto wait_until = [&](const auto& done) {
    for (uint32_t i = 1; !done(); ++i) {
      if (i % 1024 == 0 && std::any_of(children.begin(), children.end(), has_failed)) return false;
      std::this_thread::yield();
    }
    return true;
  };
  bool right = true;
  for (uint32_t i = 0; i < kTurns + kReceivers && right; ++i) {
    const uint32_t r = i % kReceivers;
    uint32_t packet = kPackets;  // the end
    if (i < kTurns) right = wait_until([&] { return (packet = shared.pool.take()) != kNoPacket; });
    right = right && wait_until([&] { return post[16 * r].load(std::memory_order_acquire) == 0; });
    if (right && i < kTurns) right = shared.holders[packet].exchange(r + 1) == 0;
    if (right) post[16 * r].store(packet + 1, std::memory_order_release);
  }
  for (const pid_t child : children) {
    if (!right) kill(child, SIGKILL);
    EXPECT_EQ(ended(child), 0);
  }
  EXPECT_TRUE(right);
  EXPECT_EQ(shared.drain(), kPackets);
}

}  // namespace
}  // namespace smelt::test
