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
#include "generate/registry.h"
#include "policy/wait.h"
#include "profile/profile.h"
#include "team/team.h"

namespace smelt::openmp {

bool smelt_openmp_several = false;  // callers.cc, which is not here

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
// And where all are marked, it soon serves without a mark, and ours again after they have come to an end.
TEST(Episodes, AllThreadsAgreeWhichBarrier) {
  constexpr uint64_t kEpisodes = 4000;
  for (const uint32_t n : {2u, 3u, 5u}) {
    SCOPED_TRACE(n);
    Crew team(n);
    std::vector<std::vector<char>> real(n, std::vector<char>(kEpisodes)), wanted = real, marked = real;
    std::vector<std::thread> threads;
    for (uint32_t me = 0; me < n; ++me) {
      threads.emplace_back([&, me] {
        std::minstd_rand random(me + 1), phases(7);  // the same phases in all threads: often, always, never
        Position position{1, me, &team.region->real_epoch, 0, nullptr, team.made.barrier, team.region, 1};
        uint64_t phase = 0, until = 0;
        for (uint64_t e = 0; e < kEpisodes; ++e) {
          if (e == until) phase = phases() % 3, until = e + phases() % 200;
          if (phase == 1 ? (e + me) % n == 0 || random() % 4 == 0 : phase == 0 && random() % 16 == 0) {
            wanted[me][e] = 1;
            if (position.unmarked) {
              marked[me][e] = 1;
              position.unmarked = 0;
              if (mark(*position.real_epoch, position.epoch + 1)) position.barrier->wake_all();
            }
          }
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
    uint64_t served = 0, unwanted = 0, asked = 0, called = 0;
    for (uint64_t e = 0; e < kEpisodes; ++e) {
      bool any = false;
      for (uint32_t i = 0; i < n; ++i) {
        ASSERT_EQ(real[i][e], real[0][e]) << "episode " << e;
        any |= wanted[i][e];
        called += static_cast<uint64_t>(wanted[i][e]);
        asked += static_cast<uint64_t>(marked[i][e]);
      }
      ASSERT_TRUE(real[0][e] || !any) << "episode " << e;
      served += static_cast<uint64_t>(real[0][e]);
      unwanted += real[0][e] && !any;
    }
    EXPECT_EQ(team.region->counters.real.load(), served);
    EXPECT_GT(served, 0u);
    EXPECT_LT(served, kEpisodes);
    EXPECT_LT(unwanted, served / 2 + 1);  // at worst as many as were wanted before
    EXPECT_LT(asked, called / 2);         // the marks that are saved
  }
}

}  // namespace
}  // namespace smelt::openmp
