// Loops in shares without any OpenMP runtime: the arithmetic up to the types' limits, and threads that take and steal.
#include "openmp/shares.h"

#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <climits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace smelt::openmp {
namespace {

using Shares = std::unique_ptr<Share[]>;
Shares shares_for(uint32_t threads) { return std::make_unique<Share[]>(threads); }

TEST(Iterations, OfSignedLoops) {
  EXPECT_EQ(iterations_of(true, 0L, 10L, 3L), 4u);
  EXPECT_EQ(iterations_of(true, 0L, 9L, 3L), 3u);
  EXPECT_EQ(iterations_of(true, 10L, 10L, 1L), 0u);
  EXPECT_EQ(iterations_of(true, 11L, 10L, 1L), 0u);
  EXPECT_EQ(iterations_of(false, 10L, 0L, -3L), 4u);
  EXPECT_EQ(iterations_of(false, 0L, 10L, -3L), 0u);
  EXPECT_EQ(iterations_of(true, LONG_MIN, LONG_MAX, 1L), ~uint64_t{0});
  EXPECT_EQ(iterations_of(false, LONG_MAX, LONG_MIN, -1L), ~uint64_t{0});
  EXPECT_EQ(iterations_of(false, LONG_MAX, LONG_MIN, LONG_MIN), 2u);
}

TEST(Iterations, OfUnsignedLoops) {
  const uint64_t most = ~uint64_t{0};
  EXPECT_EQ(iterations_of(true, uint64_t{0}, most, uint64_t{1}), most);
  EXPECT_EQ(iterations_of(true, most, uint64_t{0}, uint64_t{1}), 0u);
  EXPECT_EQ(iterations_of(false, most, uint64_t{0}, most), most) << "step -1";
  EXPECT_EQ(iterations_of(false, most, most - 7, most - 2), 3u) << "step -3";
}

struct Case {
  SharedLoop loop;
  const char* what;
};

// One thread of several takes all it can get, the others have dealt and take nothing: the ranges cover the loop.
void cover(const Case& c, uint32_t threads) {
  SCOPED_TRACE(c.what);
  const Shares shares = shares_for(threads);
  for (uint32_t me = 0; me < threads; me++) ASSERT_TRUE(open_share(shares.get(), me, threads, 1, c.loop));
  uint64_t covered = 0;
  std::vector<ShareRange> ranges;
  // Whoever runs the last unit gets no other, so somebody else goes on.
  ShareRange range;
  for (uint32_t me = 0; me < threads; me++)
    while (take_share(shares.get(), me, threads, nullptr, &range)) ranges.push_back(range);
  for (const ShareRange& r : ranges) {
    const uint64_t length = (r.end - r.begin) / c.loop.step + ((r.end - r.begin) % c.loop.step != 0);
    covered += length;
    if (r.end == c.loop.end) continue;
    EXPECT_EQ(length % c.loop.chunk, 0u) << "whole chunks";
  }
  EXPECT_EQ(covered, c.loop.iterations);
}

TEST(Ranges, CoverTheLoop) {
  const uint64_t most = ~uint64_t{0};
  for (const uint32_t threads : {2u, 3u, 7u})
    for (const Case& c : {
             Case{{0, 100, 1, 100, 1}, "small"},
             Case{{0, 100, 1, 100, 9}, "chunks that do not fit"},
             Case{{0, 100, 1, 100, most}, "one chunk"},
             Case{{5, 5, 1, 0, 1}, "none"},
             Case{{most - 9, most, 1, 9, 2}, "at the end of the numbers"},
             Case{{0, most, 1, most, 1}, "2^64 - 1 iterations"},
             Case{{0, most, 1, most, uint64_t{1} << 62}, "of these, large chunks"},
             Case{{0, most, most / 2, 3, 1}, "large steps"},
             Case{{0, 3000001, 1, 3000001, 1}, "more chunks than a word can name"},
         })
      cover(c, threads);
}

TEST(Ranges, RunDown) {
  const Shares shares = shares_for(2);
  const SharedLoop loop{10, 0, ~uint64_t{2}, 4, 1};  // 10, 7, 4, 1
  for (const uint32_t me : {0u, 1u}) ASSERT_TRUE(open_share(shares.get(), me, 2, 1, loop));
  ShareRange range;
  ASSERT_TRUE(take_share(shares.get(), 0, 2, nullptr, &range));
  EXPECT_EQ(range.begin, 10u);
  EXPECT_EQ(range.end, 7u);
  ASSERT_TRUE(take_share(shares.get(), 1, 2, nullptr, &range));
  EXPECT_EQ(range.begin, 4u);
  ASSERT_TRUE(take_share(shares.get(), 1, 2, nullptr, &range));
  EXPECT_EQ(range.begin, 1u);
  EXPECT_EQ(range.end, 0u) << "the loop's own end";
}

TEST(Stealing, TakesTheBackHalf) {
  const Shares shares = shares_for(2);
  const SharedLoop loop{0, 20, 1, 20, 1};
  ASSERT_TRUE(open_share(shares.get(), 0, 2, 1, loop));
  ShareRange range;
  for (uint64_t i = 0; i < 10; i++) {
    ASSERT_TRUE(take_share(shares.get(), 0, 2, nullptr, &range));
    EXPECT_EQ(range.begin, i);
  }
  ASSERT_TRUE(open_share(shares.get(), 1, 2, 1, loop));
  ASSERT_TRUE(take_share(shares.get(), 0, 2, nullptr, &range));
  EXPECT_EQ(range.begin, 15u);
  ASSERT_TRUE(take_share(shares.get(), 1, 2, nullptr, &range));
  EXPECT_EQ(range.begin, 10u);
}

TEST(Stealing, EndsWithTheLastUnit) {
  const Shares shares = shares_for(2);
  const SharedLoop loop{0, 2, 1, 2, 1};
  for (const uint32_t me : {0u, 1u}) ASSERT_TRUE(open_share(shares.get(), me, 2, 1, loop));
  ShareRange range;
  ASSERT_TRUE(take_share(shares.get(), 1, 2, nullptr, &range));
  EXPECT_EQ(range.begin, 1u);
  EXPECT_FALSE(take_share(shares.get(), 1, 2, nullptr, &range)) << "lastprivate";
  ASSERT_TRUE(take_share(shares.get(), 0, 2, nullptr, &range));
  EXPECT_EQ(range.begin, 0u);
}

// Thread `me` of two takes `count` units, which must be `first`, `first` + 1, ...
void take_units(const Shares& shares, uint32_t me, uint64_t first, uint64_t count) {
  ShareRange range;
  for (uint64_t i = 0; i < count; i++) {
    ASSERT_TRUE(take_share(shares.get(), me, 2, nullptr, &range));
    EXPECT_EQ(range.begin, first + i);
  }
}

TEST(Dealing, ForOneThatIsLate) {
  const Shares shares = shares_for(2);
  const SharedLoop loop{0, 20, 1, 20, 1};
  ShareRange range;
  ASSERT_TRUE(open_share(shares.get(), 0, 2, 1, loop));
  take_units(shares, 0, 0, 10);
  take_units(shares, 0, 15, 4);  // the back half of the other's
  take_units(shares, 0, 12, 1);  // before the last unit, what is left there
  ASSERT_TRUE(open_share(shares.get(), 1, 2, 1, loop));
  take_units(shares, 1, 10, 2);
  take_units(shares, 1, 14, 1);  // steals back
  take_units(shares, 0, 13, 1);
  take_units(shares, 1, 19, 1);
  for (const uint32_t me : {0u, 1u}) EXPECT_FALSE(take_share(shares.get(), me, 2, nullptr, &range));
}

// Who has the last unit may yet help others: it is set aside, by one loop at a time.
TEST(Last, IsSetAside) {
  const Shares shares = shares_for(2);
  const SharedLoop loop{0, 20, 1, 20, 1};
  ShareRange range;
  for (const uint32_t me : {0u, 1u}) ASSERT_TRUE(open_share(shares.get(), me, 2, 1, loop));
  take_units(shares, 1, 10, 9);
  take_units(shares, 1, 5, 5);
  EXPECT_EQ(shares[0].set_aside, shares[1].opened);
  take_units(shares, 0, 0, 2);
  ASSERT_TRUE(take_share(shares.get(), 1, 2, nullptr, &range));
  EXPECT_EQ(range.begin, 3u);
  ASSERT_TRUE(take_share(shares.get(), 1, 2, nullptr, &range));
  EXPECT_EQ(range.begin, 4u);
  take_units(shares, 0, 2, 1);
  take_units(shares, 1, 19, 1);
  for (const uint32_t me : {0u, 1u}) EXPECT_FALSE(take_share(shares.get(), me, 2, nullptr, &range));
  EXPECT_EQ(shares[0].set_aside, 0u);

  shares[0].set_aside = 1;  // another loop's
  for (const uint32_t me : {0u, 1u}) ASSERT_TRUE(open_share(shares.get(), me, 2, 1, loop));
  take_units(shares, 1, 10, 10);
  EXPECT_FALSE(take_share(shares.get(), 1, 2, nullptr, &range)) << "it has run the last";
  take_units(shares, 0, 0, 10);
}

TEST(Dealing, OneLoopAfterTheOther) {
  const Shares shares = shares_for(2);
  const SharedLoop loop{0, 2, 1, 2, 1};
  ShareRange range;
  // The second thread's unit of each loop: dealt and stolen, and at once the loop's last.
  for (int i = 0; i < 3; i++) {
    ASSERT_TRUE(open_share(shares.get(), 0, 2, 1, loop));
    take_units(shares, 0, 0, 2);
  }
  for (int i = 0; i < 3; i++) {
    ASSERT_TRUE(open_share(shares.get(), 1, 2, 1, loop));
    EXPECT_FALSE(take_share(shares.get(), 1, 2, nullptr, &range));
  }
  ASSERT_TRUE(open_share(shares.get(), 1, 2, 1, loop));
  take_units(shares, 1, 0, 2);  // the other, late now, has not had its unit
}

TEST(Dealing, NotBeforeTheLoopBeforeIsOver) {
  const Shares shares = shares_for(2);
  const SharedLoop loop{0, 20, 1, 20, 1};
  ShareRange range;
  ASSERT_TRUE(open_share(shares.get(), 1, 2, 1, loop));
  for (int i = 0; i < 2; i++) {
    ASSERT_TRUE(open_share(shares.get(), 0, 2, 1, loop));
    if (i == 0) continue;  // as if it had run the loop's last unit
    take_units(shares, 0, 0, 10);
    EXPECT_FALSE(take_share(shares.get(), 0, 2, nullptr, &range)) << "the other is in the loop before";
  }
  // And not a loop too far: the other has not come to this episode's first.
  const Shares more = shares_for(2);
  ASSERT_TRUE(open_share(more.get(), 0, 2, 1, loop));
  ASSERT_TRUE(open_share(more.get(), 0, 2, 1, loop));
  take_units(more, 0, 0, 10);
  EXPECT_FALSE(take_share(more.get(), 0, 2, nullptr, &range));
  ASSERT_TRUE(open_share(more.get(), 1, 2, 1, loop));
  take_units(more, 1, 10, 10);
}

// Dealt a later loop while it is still at work in an earlier one: what it steals there must not get lost.
TEST(Dealing, ForOneThatIsAhead) {
  const Shares shares = shares_for(3);
  const SharedLoop loop{0, 30, 1, 30, 1};
  ShareRange range;
  for (const uint32_t me : {0u, 1u, 2u}) ASSERT_TRUE(open_share(shares.get(), me, 3, 1, loop));
  for (uint64_t i = 0; i < 10; i++) ASSERT_TRUE(take_share(shares.get(), 1, 3, nullptr, &range));  // 10 .. 19
  ASSERT_TRUE(open_share(shares.get(), 0, 3, 1, loop));  // with units left in its word, which is not allowed but here
  for (uint64_t i = 0; i < 10; i++) ASSERT_TRUE(take_share(shares.get(), 0, 3, nullptr, &range));
  EXPECT_TRUE(take_share(shares.get(), 0, 3, nullptr, &range));  // deals for 1, whose word is empty
  EXPECT_EQ(range.begin, 15u);
  std::vector<bool> ran(30);
  while (take_share(shares.get(), 1, 3, nullptr, &range)) ran[range.begin] = true;
  while (take_share(shares.get(), 2, 3, nullptr, &range)) ran[range.begin] = true;
  for (uint64_t i = 20; i < 30; i++) EXPECT_TRUE(ran[i]) << i;
  ASSERT_TRUE(open_share(shares.get(), 1, 3, 1, loop));
  ASSERT_TRUE(take_share(shares.get(), 1, 3, nullptr, &range));
  EXPECT_EQ(range.begin, 10u) << "the front half of what was dealt";
}

TEST(Numbers, BeginAnewWithEveryEpisode) {
  const Shares shares = shares_for(2);
  const SharedLoop loop{0, 4, 1, 4, 1};
  for (uint64_t i = 0; i < kMostLoops; i++) {
    ASSERT_TRUE(open_share(shares.get(), 0, 2, 7, loop));
    take_units(shares, 0, 0, 2);
  }
  EXPECT_FALSE(open_share(shares.get(), 0, 2, 7, loop)) << "no number is left";
  EXPECT_FALSE(open_share(shares.get(), 0, 2, 7, loop));
  EXPECT_TRUE(open_share(shares.get(), 0, 2, 8, loop));
  take_units(shares, 0, 0, 2);
}

// The episodes' numbers in the words wrap: one that is so much older that its bits are the same again.
TEST(Numbers, Wrap) {
  const SharedLoop loop{0, 20, 1, 20, 1};
  constexpr uint64_t kEpisodes = uint64_t{1} << (kNumberBits - kPlaceBits);
  for (const uint64_t later :
       {uint64_t{1}, kEpisodes / 2 - 1, kEpisodes / 2, kEpisodes - 1, kEpisodes, kEpisodes + 1, 5 * kEpisodes}) {
    for (const uint32_t loops : {1u, 3u}) {
      SCOPED_TRACE(later);
      const Shares shares = shares_for(2);
      ShareRange range;
      for (uint32_t i = 0; i < loops; i++) {
        for (const uint32_t me : {0u, 1u}) ASSERT_TRUE(open_share(shares.get(), me, 2, 9, loop));
        for (const uint32_t me : {0u, 1u}) take_units(shares, me, 10 * me, 10);
      }
      uint32_t ran = 0;
      for (const uint32_t me : {0u, 1u})
        for (uint32_t i = 0; i < loops + 1; i++) {
          ASSERT_TRUE(open_share(shares.get(), me, 2, 9 + later, loop));
          while (take_share(shares.get(), me, 2, nullptr, &range)) ++ran;
        }
      EXPECT_EQ(ran, 20 * (loops + 1));
    }
  }
}

TEST(Order, OfVictims) {
  struct {
    Victims head;
    uint16_t order[3 * 2];
  } victims{{sizeof victims, 3}, {2, 1, 0, 2, 1, 0}};
  const Shares shares = shares_for(3);
  const SharedLoop loop{0, 30, 1, 30, 1};
  for (const uint32_t me : {0u, 1u, 2u}) ASSERT_TRUE(open_share(shares.get(), me, 3, 1, loop));
  ShareRange range;
  for (int i = 0; i < 11; i++) ASSERT_TRUE(take_share(shares.get(), 0, 3, &victims.head, &range));
  EXPECT_EQ(range.begin, 25u) << "of the nearest, not of the next";
}

// Threads in many loops, some late, with a barrier after some: every iteration once.
TEST(Threads, RunEveryIterationOnce) {
  for (const uint32_t threads : {2u, 3u, 4u}) {
    constexpr uint32_t kLoops = 300, kMost = 400;
    std::mt19937 random(threads);
    struct Plan {
      SharedLoop loop;
      bool barrier;
    };
    std::vector<Plan> plans;
    for (uint32_t i = 0; i < kLoops; i++) {
      const uint64_t n = random() % kMost, step = 1 + random() % 3;
      plans.push_back({{i, i + n * step, step, n, 1 + random() % 4}, random() % 3 == 0});
    }
    std::vector<std::vector<std::atomic<uint32_t>>> ran(kLoops);
    for (uint32_t i = 0; i < kLoops; i++) ran[i] = std::vector<std::atomic<uint32_t>>(plans[i].loop.iterations);
    const Shares shares = shares_for(threads);
    std::barrier barrier(threads);
    std::vector<std::jthread> team;
    for (uint32_t me = 0; me < threads; me++)
      team.emplace_back([&, me] {
        uint64_t episode = 5;
        std::minstd_rand own(me + 1);
        for (uint32_t i = 0; i < kLoops; i++) {
          const SharedLoop& loop = plans[i].loop;
          if (own() % 16 == 0) std::this_thread::yield();
          if (own() % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
          if (!open_share(shares.get(), me, threads, episode, loop)) std::abort();
          ShareRange range;
          while (take_share(shares.get(), me, threads, nullptr, &range)) {
            if (own() % 32 == 0) std::this_thread::yield();
            for (uint64_t at = range.begin; at < range.end; at += loop.step) ran[i][(at - i) / loop.step].fetch_add(1);
          }
          if (plans[i].barrier) {
            barrier.arrive_and_wait();
            episode += i % 17 == 0 ? 4096 : i % 7 == 0 ? 2048 : 1;  // many without loops
          }
        }
      });
    team.clear();  // joins
    for (uint32_t i = 0; i < kLoops; i++)
      for (auto& times : ran[i]) ASSERT_EQ(times, 1u) << threads << " threads, loop " << i;
  }
}

}  // namespace
}  // namespace smelt::openmp
