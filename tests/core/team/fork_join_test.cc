// Fork and join: every worker runs what was said, exactly once a region, and the master sees all of it; over trees of
// every shape, with more threads than CPUs, asleep, and abandoned half-way.
#include "team/fork_join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "generate/tree.h"
#include "team/team.h"

namespace smelt {
namespace {

struct Made {
  MappedArena arena{1 << 20};
  TeamFork team;
  ForkJoin* fork = nullptr;

  // Every participant's parent is `up(i)` in the join and `down(i)` in the fork.
  using Parent = uint16_t (*)(uint32_t);
  Made(uint32_t n, const WaitPolicy& policy, Parent up, Parent down) {
    ForkPlan plan;
    for (auto [tree, parent] : {std::pair(&plan.gather, up), std::pair(&plan.tree, down)}) {
      EXPECT_EQ(make_tree(n, 0, arena, tree), 0);
      for (uint32_t i = 1; i < n; ++i) append_child(*tree, parent(i), static_cast<uint16_t>(i));
    }
    EXPECT_EQ(make_fork(plan, policy, &team), 0);
    fork = team.fork;
  }
  ~Made() { free_fork(&team); }
};

uint16_t flat(uint32_t) { return 0; }
uint16_t chain(uint32_t i) { return static_cast<uint16_t>(i - 1); }
uint16_t binary(uint32_t i) { return static_cast<uint16_t>((i - 1) / 2); }
constexpr Made::Parent kShapes[] = {flat, chain, binary};

uint32_t regions_for(uint32_t n) {
#if defined(__SANITIZE_THREAD__)
  return n <= 2 ? 2000 : 30;
#else
  return n <= 2 ? 20000 : n <= 4 ? 1000 : 100;
#endif
}

// What a region's threads share: ordinary variables on purpose, ThreadSanitizer watches the ordering.
struct Work {
  struct alignas(128) Slot {
    uint64_t sum = 0;
  };
  Slot slots[64];
  uint64_t number = 0;
  const void* extra = nullptr;  // as the message has it
};
thread_local uint32_t self;

void add(void* data) {
  auto* work = static_cast<Work*>(data);
  work->slots[self].sum += work->number;
}
void add_twice(void* data) {
  add(data);
  add(data);
}

void run_regions(ForkJoin& fork, uint32_t n) {
  const uint32_t regions = regions_for(n);
  Work work[2];
  std::vector<std::thread> workers;
  for (uint32_t me = 1; me < n; ++me) {
    workers.emplace_back([&fork, me] {
      self = me;
      std::minstd_rand random(me);
      ForkMessage message;
      for (uint64_t epoch = 1;; ++epoch) {
        ASSERT_TRUE(fork.await(me, epoch, nullptr, &message));
        if (!message.function) return;
        ASSERT_EQ(message.extra, static_cast<const Work*>(message.data)->extra);
        if (random() % 16 == 0)
          for (uint32_t spin = random() % 500; spin > 0; --spin) cpu_pause();
        message.function(message.data);
        ASSERT_TRUE(fork.arrive(me, epoch + 1, nullptr));
      }
    });
  }
  self = 0;
  uint64_t expected[2] = {0, 0};
  uint64_t epoch = 1;
  for (uint32_t r = 0; r < regions; ++r, ++epoch) {
    Work& mine = work[r / 3 % 2];  // the same message several times, then another
    mine.number = r;
    mine.extra = r % 7 < 2 ? &work[r % 7] : nullptr;  // each word of it changes alone, too
    const auto function = r % 5 == 4 ? add_twice : add;
    fork.fork(epoch, {function, &mine, mine.extra});
    function(&mine);
    ASSERT_TRUE(fork.gather(epoch + 1, nullptr));
    expected[r / 3 % 2] += r % 5 == 4 ? 2 * r : r;
    for (uint32_t i = 0; i < n; ++i)
      ASSERT_EQ(mine.slots[i].sum, expected[r / 3 % 2]) << "thread " << i << ", region " << r;
  }
  fork.fork(epoch, {nullptr, nullptr, nullptr});
  for (auto& worker : workers) worker.join();
}

TEST(ForkJoin, EveryWorkerRunsEveryRegionOnce) {
  for (uint32_t n : {1u, 2u, 3u, 4u, 8u, 17u}) {
    for (auto up : kShapes) {
      for (auto down : kShapes) {
        if (n > 4 && up == down) continue;  // many threads take long
        Made made(n, wait_policy(n > 2, n), up, down);
        run_regions(*made.fork, n);
      }
    }
  }
}

TEST(ForkJoin, AsleepToo) {
  const WaitPolicy sleeping{0, 0, PostOrder::kFenced};
  for (uint32_t n : {2u, 5u}) {
    Made made(n, sleeping, binary, chain);
    run_regions(*made.fork, n);
  }
}

// A worker that has arrived leaves its wait when the episode is marked, awake or asleep, and the fork that follows is
// not lost.
TEST(ForkJoin, AWaitIsAbandonedWhenItsEpisodeIsMarked) {
  for (const WaitPolicy& policy :
       {WaitPolicy{kSpinForever, 0, PostOrder::kUnfenced}, WaitPolicy{0, 0, PostOrder::kFenced}}) {
    Made made(3, policy, chain, chain);
    ForkJoin& fork = *made.fork;
    std::atomic<uint64_t> stop{0};
    std::atomic<int> left{0};
    std::vector<std::thread> workers;
    for (uint32_t me = 1; me < 3; ++me) {
      workers.emplace_back([&, me] {
        ForkMessage message;
        for (uint64_t epoch = 1; epoch <= 200; ++epoch) {
          // Participant 2 arrives, 1 waits for it and arrives; then both wait for a fork.
          if (fork.arrive(me, epoch, &stop)) {
            if (epoch % 2 == 1) {
              ASSERT_TRUE(fork.await(me, epoch, nullptr, &message));
              ASSERT_EQ(message.data, reinterpret_cast<void*>(epoch));
              continue;
            }
            ASSERT_FALSE(fork.await(me, epoch, &stop, &message));
          }
          left.fetch_add(1);  // the real barrier: all have come, in this episode and those before
          while (left.load() < static_cast<int>(epoch)) std::this_thread::yield();
          ASSERT_TRUE(fork.await(me, epoch, nullptr, &message));  // after the real barrier, the same fork
          ASSERT_EQ(message.data, reinterpret_cast<void*>(epoch));
        }
      });
    }
    for (uint64_t epoch = 1; epoch <= 200; ++epoch) {
      if (epoch % 2 == 1) {
        ASSERT_TRUE(fork.gather(epoch, &stop));
      } else {
        if (epoch % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        stop.store(epoch);
        full_fence();
        fork.wake_all();
        while (left.load() < static_cast<int>(epoch)) std::this_thread::yield();
      }
      fork.fork(epoch, {nullptr, reinterpret_cast<void*>(epoch), nullptr});
    }
    for (auto& worker : workers) worker.join();
  }
}

// What everybody brings to a reduction; an ordinary variable of its thread, which may go as soon as it may leave.
struct Brought {
  uint64_t sum;
  uint32_t values;
};

// Values of `n` participants, `rounds` times; every `marked`-th episode is marked by a thread on its way to it, and
// whoever is stopped meets all others at a barrier, once, and goes on.
void reduce(ForkJoin& fork, uint32_t n, uint32_t rounds, uint64_t marked) {
  std::atomic<uint64_t> stop{0};
  std::atomic<uint64_t> met{0};  // at the real barrier, by all, in all marked episodes
  uint64_t result = 0;
  const auto thread = [&](uint32_t me) {
    std::minstd_rand random(me + 1);
    uint64_t barriers = 0;
    for (uint64_t epoch = 1; epoch <= rounds; ++epoch) {
      const bool is_marked = marked && epoch % marked == 0;
      if (random() % 8 == 0) std::this_thread::yield();
      if (is_marked && epoch / marked % n == me) {
        if (epoch % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // others have gone to sleep
        stop.store(epoch);
        full_fence();
        fork.wake_all();
      }
      Brought mine{epoch * (me + 1), 1};
      const std::atomic<uint64_t>* look = &stop;
      const auto stopped = [&] {
        ASSERT_TRUE(look && is_marked);
        look = nullptr;
        ++barriers;
        met.fetch_add(1);
        while (met.load() < barriers * n) std::this_thread::yield();
      };
      if (stop.load() == epoch) stopped();
      uint32_t combined = 0;
      const auto combine = [](void* into, void* from) {
        static_cast<Brought*>(into)->sum += static_cast<Brought*>(from)->sum;
        static_cast<Brought*>(into)->values += static_cast<Brought*>(from)->values;
      };
      while (!fork.combine_below(me, epoch, look, &mine, combine, &combined)) stopped();
      if (me == 0) {
        ASSERT_EQ(mine.values, n) << "episode " << epoch;
        result = mine.sum;
        fork.fork(epoch, {nullptr, reinterpret_cast<void*>(epoch), nullptr});
      } else {
        fork.arrive_with(me, epoch, &mine);
        ForkMessage message;
        while (!fork.await(me, epoch, look, &message)) stopped();
        ASSERT_EQ(message.data, reinterpret_cast<void*>(epoch));
      }
      ASSERT_EQ(result, epoch * n * (n + 1) / 2) << "episode " << epoch;
      ASSERT_EQ(look == nullptr, is_marked) << "episode " << epoch;
      mine = {~uint64_t{0}, 0};
    }
  };
  std::vector<std::thread> workers;
  for (uint32_t me = 1; me < n; ++me) workers.emplace_back(thread, me);
  thread(0);
  for (auto& worker : workers) worker.join();
}

TEST(ForkJoin, AReductionTakesUpEveryValueOnce) {
  for (uint32_t n : {1u, 2u, 3u, 7u}) {
    SCOPED_TRACE(n);
    for (auto up : kShapes) {
      for (const WaitPolicy& policy : {wait_policy(n > 2, n), WaitPolicy{0, 0, PostOrder::kFenced}}) {
        for (const uint64_t marked : {0, 1, 3}) {
          Made made(n, policy, up, marked == 1 ? up : flat);
          reduce(*made.fork, n, std::min(regions_for(n), 40u), marked);
        }
      }
    }
  }
}

}  // namespace
}  // namespace smelt
