// Dynamic loops by shares, without any OpenMP runtime: which thread is given which unit, in any order of coming, and
// the last unit.
#include "openmp/shares.h"

#include <gtest/gtest.h>

#include <memory>

#include "plans.h"

namespace smelt::openmp {
namespace {

struct Team {
  explicit Team(uint32_t threads)
      : counters(std::make_unique<LoopCounter[]>(kLoops)),
        threads(std::make_unique<LoopThread[]>(threads)),
        n(threads) {}

  bool open(uint32_t me, const DynamicLoop& loop, uint64_t episode = 1) {
    return open_shares(counters.get(), threads.get(), me, n, episode, loop);
  }
  bool take(uint32_t me, Chunk* chunk) { return take_of_shares(threads.get(), me, chunk); }
  // Thread `me` is given the chunks of one iteration `first`, ... `end` - 1.
  void expect(uint32_t me, uint64_t first, uint64_t end) {
    for (Chunk chunk; first < end; first++) {
      ASSERT_TRUE(take(me, &chunk)) << first;
      EXPECT_EQ(chunk.begin, first);
      EXPECT_EQ(chunk.end, first + 1);
    }
  }
  void expect_end(uint32_t me) {
    Chunk chunk;
    for (int times = 0; times < 3; times++) EXPECT_FALSE(take(me, &chunk)) << chunk.begin;
  }

  std::unique_ptr<LoopCounter[]> counters;
  std::unique_ptr<LoopThread[]> threads;
  uint32_t n;
};

DynamicLoop loop_of(uint64_t n, uint64_t chunk = 1) { return {0, n, 1, n, chunk}; }

TEST(Shares, EveryThreadBeginsWithItsOwn) {
  Team team(3);
  for (uint32_t me = 0; me < 3; me++) ASSERT_TRUE(team.open(me, loop_of(11)));
  team.expect(1, 4, 6);
  team.expect(0, 0, 2);
  team.expect(2, 8, 10);
  team.expect(1, 6, 8);
  team.expect(1, 2, 4);  // of thread 2 it has taken the last one, and helps thread 0 before it runs that
  team.expect(1, 10, 11);
}

TEST(Shares, WhoHasNoneLeftTakesOfTheNext) {
  Team team(3);
  for (uint32_t me = 0; me < 2; me++) ASSERT_TRUE(team.open(me, loop_of(9)));
  team.expect(0, 0, 3);
  team.expect(0, 3, 5);
  team.expect(1, 5, 6);
  team.expect(1, 6, 8);  // of a thread that has not come yet
  team.expect(0, 8, 9);
  team.expect_end(0);
  team.expect_end(1);
  ASSERT_TRUE(team.open(2, loop_of(9)));
  team.expect_end(2);
}

TEST(Shares, TheLastUnitIsRunWhenNothingElseIsLeft) {
  Team team(2);
  for (uint32_t me = 0; me < 2; me++) ASSERT_TRUE(team.open(me, loop_of(8)));
  team.expect(1, 4, 7);
  team.expect(0, 0, 1);
  team.expect(1, 1, 4);  // it has the last one, and helps first
  team.expect_end(0);
  team.expect(1, 7, 8);
  team.expect_end(1);
}

TEST(Shares, FewerUnitsThanThreads) {
  Team team(4);
  for (uint32_t me = 0; me < 4; me++) ASSERT_TRUE(team.open(me, loop_of(2)));
  team.expect(3, 0, 1);
  team.expect(2, 1, 2);
  for (uint32_t me = 0; me < 4; me++) team.expect_end(me);
  for (uint32_t me = 0; me < 4; me++) ASSERT_TRUE(team.open(me, loop_of(0)));
  for (uint32_t me = 0; me < 4; me++) team.expect_end(me);
}

TEST(Shares, NoMoreLoopsThanCounters) {
  Team team(2);
  for (uint32_t i = 0; i < kLoops; i++) {
    ASSERT_TRUE(team.open(0, loop_of(1), 7));
    team.expect(0, 0, 1);
    team.expect_end(0);
  }
  EXPECT_FALSE(team.open(0, loop_of(1), 7));
  EXPECT_TRUE(team.open(0, loop_of(1), 8));
  team.expect(0, 0, 1);
}

TEST(Shares, MoreChunksThanUnits) {
  Team team(2);
  const uint64_t n = 40 * 1000 * 1000;
  for (uint32_t me = 0; me < 2; me++) ASSERT_TRUE(team.open(me, loop_of(n)));
  uint64_t seen = 0, end = 0;
  Chunk chunk;
  while (team.take(0, &chunk)) {
    ASSERT_EQ(chunk.begin, end);
    end = chunk.end;
    seen += end - chunk.begin;
  }
  EXPECT_EQ(seen, n);
  EXPECT_EQ(end, n);
}

TEST(Shares, EveryIterationIsRunOnce) {
  run_plans<Team>({.count = 400, .most = 300, .various = false, .last_is_last = true},
                  [](Team& team, uint32_t me, const DynamicLoop& loop, uint64_t episode, std::minstd_rand&) {
                    return team.open(me, loop, episode);
                  });
}

}  // namespace
}  // namespace smelt::openmp
