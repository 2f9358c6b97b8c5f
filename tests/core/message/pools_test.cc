// The pools of packets and of pieces: nobody gets one that another has, none is lost, and an empty pool says so.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "children.h"
#include "message/packet_pool.h"
#include "message/piece_pool.h"
#include "shared_pages.h"

namespace smelt::test {
namespace {

// Each pool, its returns in shared memory, and whoever else has a part of it.
struct Packets {
  using Pool = PacketPool;
  static constexpr uint64_t kBytes = sizeof(PacketStack) + 128 * sizeof(uint32_t);
  explicit Packets(void* at)
      : returns{static_cast<PacketStack*>(at), reinterpret_cast<uint32_t*>(static_cast<PacketStack*>(at) + 1)} {}
  PacketReturns* operator->() { return &returns; }
  PacketReturns made() { return returns; }
  PacketReturns returns;
};
struct Pieces {
  using Pool = PiecePool;
  static constexpr uint64_t kBytes = sizeof(PieceReturns);
  explicit Pieces(void* at) : returns(static_cast<PieceReturns*>(at)) {}
  PieceReturns* operator->() { return returns; }
  PieceReturns* made() { return returns; }
  PieceReturns* returns;
};

template <typename Kind>
struct SharedPool {
  explicit SharedPool(uint32_t packets)
      : pages(Kind::kBytes + packets * sizeof(uint32_t)),
        returns(pages.get()),
        holders(reinterpret_cast<std::atomic<uint32_t>*>(static_cast<char*>(pages.get()) + Kind::kBytes)),
        whose(packets) {
    pool.write_full(returns.made(), packets, whose.data());
  }
  // As an owner gives a packet away.
  uint32_t hand_out(uint16_t member = 0) {
    const uint32_t packet = pool.take();
    if (packet != kNoPacket) pool.hand_to(packet, member);
    return packet;
  }
  // How many packets are to be had now; all different.
  size_t drain() {
    std::set<uint32_t> all;
    for (uint32_t packet; (packet = pool.take()) != kNoPacket;) EXPECT_TRUE(all.insert(packet).second) << packet;
    return all.size();
  }
  SharedPages pages;
  Kind returns;
  std::atomic<uint32_t>* holders;  // of each packet: by how many
  std::vector<std::atomic<uint16_t>> whose;
  typename Kind::Pool pool;
};

template <typename Kind>
struct Pools : testing::Test {};
using Kinds = testing::Types<Packets, Pieces>;
TYPED_TEST_SUITE(Pools, Kinds);

TYPED_TEST(Pools, GiveEachPacketOnceAndThenNone) {
  SharedPool<TypeParam> shared(30);
  for (uint32_t i = 0; i < 30; ++i) EXPECT_NE(shared.hand_out(), kNoPacket);
  EXPECT_EQ(shared.pool.take(), kNoPacket);
  for (uint32_t i = 0; i < 20; ++i) shared.returns->give_back(i);
  EXPECT_EQ(shared.drain(), 20u);
  for (uint32_t i = 0; i < 10; ++i) shared.pool.give_back(i);
  EXPECT_EQ(shared.drain(), 10u);
}

TEST(PacketPool, TheLastPacketComesFirst) {
  SharedPool<Packets> shared(10);
  const uint32_t a = shared.pool.take(), b = shared.pool.take();
  shared.pool.give_back(b);
  shared.pool.give_back(a);
  EXPECT_EQ(shared.pool.take(), a);
  EXPECT_EQ(shared.pool.take(), b);
}

// Each is written long after it was last read, although they are back at once.
TEST(PiecePool, AllGoRound) {
  SharedPool<Pieces> shared(8);
  std::vector<uint32_t> taken;
  for (int i = 0; i < 24; ++i) {
    taken.push_back(shared.hand_out());
    shared.returns->give_back(taken.back());
  }
  for (int i = 0; i < 24; ++i) EXPECT_EQ(taken[i], i % 8u);
}

// What is returned counts for once, and only after it was handed out again.
TEST(PiecePool, APieceThatHasComeBackAndGoneAgainIsAway) {
  SharedPool<Pieces> shared(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(shared.hand_out(), 0u);
    EXPECT_EQ(shared.pool.take(), kNoPacket);
    shared.returns->give_back(0);
  }
}

TEST(PiecePool, AsManyAsItCanHave) {
  SharedPool<Pieces> shared(PiecePool::kMost);
  for (uint32_t i = 0; i < PiecePool::kMost; ++i) EXPECT_EQ(shared.hand_out(), i);
  for (uint32_t i = 0; i < PiecePool::kMost; ++i) shared.returns->give_back(i);
  EXPECT_EQ(shared.drain(), PiecePool::kMost);
}

TEST(PacketPool, AThreadTakesFromTheListsOfOthers) {
  SharedPool<Packets> shared(10);
  EXPECT_NE(shared.pool.take(), kNoPacket);  // the rest is in our list now
  std::thread([&] { EXPECT_EQ(shared.drain(), 9u); }).join();
}

// Threads take and give back both ways, more of them than lists and than packets.
TYPED_TEST(Pools, ManyThreadsNeverShareAPacketNorLoseOne) {
  constexpr uint32_t kPackets = 12;
  SharedPool<TypeParam> shared(kPackets);
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
        if (random() % 2) {
          shared.pool.give_back(packet);
        } else {
          shared.pool.hand_to(packet, 0);
          shared.returns->give_back(packet);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(taken, 10'000u);
  EXPECT_EQ(shared.drain(), kPackets);
}

TYPED_TEST(Pools, WhatTheDeadHadIsTakenBack) {
  SharedPool<TypeParam> shared(10);
  uint32_t packets[8];
  for (uint32_t i = 0; i < 8; ++i) {
    packets[i] = shared.pool.take();
    if (i < 6) shared.pool.hand_to(packets[i], i % 2);  // two of them nobody has yet
  }
  shared.returns->give_back(packets[2]);
  shared.pool.give_back(packets[7]);
  EXPECT_EQ(shared.pool.reclaim(1), 3u);
  EXPECT_EQ(shared.pool.reclaim(1), 0u);
  EXPECT_EQ(shared.drain(), 7u) << "2 that were never taken, 2 that came back, 3 of the dead";
}

// The owner fills, receivers in processes of their own return.
TYPED_TEST(Pools, ProcessesReturnWhatTheyWereGiven) {
  constexpr uint32_t kPackets = 16, kReceivers = 3, kTurns = 3'000;
  SharedPool<TypeParam> shared(kPackets);
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
      shared.returns->give_back(got - 1);
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
    if (right && i < kTurns) shared.pool.hand_to(packet, static_cast<uint16_t>(r));
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
