// Loops in shares without any OpenMP runtime: the arithmetic up to the types' limits, and threads that take and steal.
#include "openmp/shares.h"

#include <gtest/gtest.h>

#include <barrier>
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
    while (take_share(shares.get(), me, threads, &range)) ranges.push_back(range);
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
  ASSERT_TRUE(take_share(shares.get(), 0, 2, &range));
  EXPECT_EQ(range.begin, 10u);
  EXPECT_EQ(range.end, 7u);
  ASSERT_TRUE(take_share(shares.get(), 1, 2, &range));
  EXPECT_EQ(range.begin, 4u);
  ASSERT_TRUE(take_share(shares.get(), 1, 2, &range));
  EXPECT_EQ(range.begin, 1u);
  EXPECT_EQ(range.end, 0u) << "the loop's own end";
}

TEST(Stealing, TakesTheBackHalf) {
  const Shares shares = shares_for(2);
  const SharedLoop loop{0, 20, 1, 20, 1};
  ASSERT_TRUE(open_share(shares.get(), 0, 2, 1, loop));
  ShareRange range;
  for (uint64_t i = 0; i < 10; i++) {
    ASSERT_TRUE(take_share(shares.get(), 0, 2, &range));
    EXPECT_EQ(range.begin, i);
  }
  EXPECT_FALSE(take_share(shares.get(), 0, 2, &range)) << "the other has not come";
  ASSERT_TRUE(open_share(shares.get(), 1, 2, 1, loop));
  ASSERT_TRUE(take_share(shares.get(), 0, 2, &range));
  EXPECT_EQ(range.begin, 15u);
  ASSERT_TRUE(take_share(shares.get(), 1, 2, &range));
  EXPECT_EQ(range.begin, 10u);
}

TEST(Stealing, EndsWithTheLastUnit) {
  const Shares shares = shares_for(2);
  const SharedLoop loop{0, 2, 1, 2, 1};
  for (const uint32_t me : {0u, 1u}) ASSERT_TRUE(open_share(shares.get(), me, 2, 1, loop));
  ShareRange range;
  ASSERT_TRUE(take_share(shares.get(), 1, 2, &range));
  EXPECT_EQ(range.begin, 1u);
  EXPECT_FALSE(take_share(shares.get(), 1, 2, &range)) << "lastprivate";
  ASSERT_TRUE(take_share(shares.get(), 0, 2, &range));
  EXPECT_EQ(range.begin, 0u);
}

TEST(Stealing, FromTheSameLoopOnly) {
  const Shares shares = shares_for(2);
  const SharedLoop loop{0, 20, 1, 20, 1};
  ShareRange range;
  for (int i = 0; i < 2; i++) {
    ASSERT_TRUE(open_share(shares.get(), 0, 2, 1, loop));
    for (int taken = 0; taken < 10; taken++) ASSERT_TRUE(take_share(shares.get(), 0, 2, &range));
  }
  ASSERT_TRUE(open_share(shares.get(), 1, 2, 1, loop));
  EXPECT_FALSE(take_share(shares.get(), 0, 2, &range)) << "the other is in the loop before";
}

TEST(Numbers, BeginAnewWithEveryEpisode) {
  const Shares shares = shares_for(2);
  const SharedLoop loop{0, 4, 1, 4, 1};
  ASSERT_TRUE(open_share(shares.get(), 0, 2, 7, loop));
  shares[0].number = kMostLoops - 1;
  EXPECT_TRUE(open_share(shares.get(), 0, 2, 7, loop));
  EXPECT_FALSE(open_share(shares.get(), 0, 2, 7, loop)) << "no number is left";
  EXPECT_TRUE(open_share(shares.get(), 0, 2, 8, loop));
  EXPECT_EQ(shares[0].number, 1u);
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
          if (!open_share(shares.get(), me, threads, episode, loop)) std::abort();
          ShareRange range;
          while (take_share(shares.get(), me, threads, &range)) {
            if (own() % 32 == 0) std::this_thread::yield();
            for (uint64_t at = range.begin; at < range.end; at += loop.step) ran[i][(at - i) / loop.step].fetch_add(1);
          }
          if (plans[i].barrier) {
            barrier.arrive_and_wait();
            episode++;
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
