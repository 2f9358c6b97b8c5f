// A region's account without any OpenMP runtime: the word that is handed to threads, and which barrier serves an
// episode in which somebody makes a task.
#include "openmp/episodes.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <random>
#include <thread>
#include <vector>

#include "base/arena.h"
#include "base/os/os.h"
#include "policy/wait.h"
#include "profile/api.h"
#include "team/team.h"

namespace smelt::openmp {
namespace {

TEST(Word, HoldsAddressAndEpisode) {
  alignas(64) static const char block[64] = {};
  for (const uint64_t since : {uint64_t{0}, uint64_t{1}, kTagMask - 1, kTagMask, uint64_t{1} << 40}) {
    for (const uint64_t later : {uint64_t{0}, uint64_t{1}, uint64_t{63}, uint64_t{64}, kTagMask}) {
      void* const word = tagged_word(block, since + later);
      EXPECT_EQ(address_in(word), block);
      EXPECT_EQ(epoch_in(word, since), since + later);
    }
  }
  EXPECT_NE(epoch_in(tagged_word(block, kTagMask + 1), 0), kTagMask + 1) << "one too far is not told";
}

TEST(Mark, OnlyForward) {
  std::atomic<uint64_t> real_epoch{0};
  EXPECT_TRUE(mark(real_epoch, 5));
  EXPECT_FALSE(mark(real_epoch, 5));
  EXPECT_FALSE(mark(real_epoch, 4));
  EXPECT_TRUE(is_real(real_epoch, 5));
  EXPECT_FALSE(is_real(real_epoch, 4));
  EXPECT_TRUE(mark(real_epoch, 6));
  EXPECT_FALSE(is_real(real_epoch, 5));
}

struct Crew {
  explicit Crew(uint32_t n) : size(n), region(static_cast<RegionRecord*>(os::map_pages(sizeof(RegionRecord)))) {
    MappedArena arena(generation_bytes(n));
    TeamRequest request;
    request.n = n;
    request.crowded = true;
    TeamPlan plan;
    EXPECT_EQ(plan_team(request, arena, &plan), 0);
    EXPECT_EQ(make_barrier(plan, wait_policy(true, n), &made), 0);
    pthread_barrier_init(&real, nullptr, n);
  }
  ~Crew() {
    pthread_barrier_destroy(&real);
    free_barrier(&made);
    os::unmap_pages(region, sizeof(RegionRecord));
  }
  uint32_t size;
  RegionRecord* region;
  TeamBarrier made;
  pthread_barrier_t real;
};

// Any thread may mark its next episode: then the runtime's barrier, here a standard one, serves it for all of them.
TEST(Episodes, AllThreadsAgreeWhichBarrier) {
  constexpr uint64_t kEpisodes = 2000;
  for (const uint32_t n : {2u, 3u, 5u}) {
    SCOPED_TRACE(n);
    Crew team(n);
    std::vector<std::vector<char>> real(n, std::vector<char>(kEpisodes));
    std::vector<std::thread> threads;
    for (uint32_t me = 0; me < n; ++me) {
      threads.emplace_back([&, me] {
        std::minstd_rand random(me + 1);
        Position position{1, me, &team.region->real_epoch, 0, nullptr, team.made.barrier, team.region, 1};
        for (uint64_t e = 0; e < kEpisodes; ++e) {
          if (random() % 16 == 0 && mark(*position.real_epoch, position.epoch + 1)) position.barrier->wake_all();
          pass(position, [&] {
            real[me][e] = 1;
            pthread_barrier_wait(&team.real);
            return true;
          });
        }
        EXPECT_EQ(position.epoch, kEpisodes);
      });
    }
    for (auto& thread : threads) thread.join();
    uint64_t served = 0;
    for (uint64_t e = 0; e < kEpisodes; ++e) {
      served += real[0][e];
      for (uint32_t i = 1; i < n; ++i) ASSERT_EQ(real[i][e], real[0][e]) << "episode " << e;
    }
    EXPECT_EQ(team.region->counters.real.load(), served);
    EXPECT_GT(served, 0u);
    EXPECT_LT(served, kEpisodes);
  }
}

}  // namespace
}  // namespace smelt::openmp
