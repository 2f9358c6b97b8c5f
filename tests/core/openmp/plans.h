// Threads in many random loops, some late, with a barrier after some: every iteration must be run once.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "openmp/chunks.h"

namespace smelt::openmp {

struct Plan {
  DynamicLoop loop;
  bool barrier;
  bool in_turns;  // an iteration waits for the one before
};

// What plans there are: of how many, the loops' lengths; some of them guided, and in turns; and whether a thread that
// has been given a loop's last chunk is given no other one.
struct Plans {
  uint32_t count, most;
  bool various, last_is_last;

  std::vector<Plan> make(uint32_t seed) const {
    std::mt19937 random(seed);
    std::vector<Plan> plans;
    for (uint32_t i = 0; i < count; i++) {
      const uint64_t n = random() % most, step = 1 + random() % 3;
      const bool is_guided = various && random() % 4 == 0;
      const bool in_turns = various && random() % 4 == 0;
      plans.push_back({{i, i + n * step, step, n, 1 + random() % 4, is_guided}, random() % 3 == 0, in_turns});
    }
    return plans;
  }
};

// `open(team, me, loop, episode, random)` and `team.take(me, &chunk)` are a thread's.
template <typename Team, typename Open>
void run_plans(const Plans& of, Open open) {
  for (const uint32_t threads : {2u, 3u, 4u}) {
    const std::vector<Plan> plans = of.make(threads);
    std::vector<std::vector<std::atomic<uint32_t>>> ran;
    for (const Plan& plan : plans) ran.emplace_back(plan.loop.iterations + 1);
    Team team(threads);
    std::barrier barrier(threads);
    std::vector<std::jthread> running;
    for (uint32_t me = 0; me < threads; me++)
      running.emplace_back([&, me] {
        uint64_t episode = 5;
        uint32_t since = 0;
        std::minstd_rand own(me + 1);
        for (uint32_t i = 0; i < of.count; i++) {
          const DynamicLoop& loop = plans[i].loop;
          if (own() % 16 == 0) std::this_thread::yield();
          if (own() % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
          if (!open(team, me, loop, episode, own)) std::abort();
          bool has_had_last = false;
          Chunk chunk;
          while (team.take(me, &chunk)) {
            if (of.last_is_last && has_had_last) std::abort();
            has_had_last = chunk.end == loop.end;
            if (own() % 32 == 0) std::this_thread::yield();
            for (uint64_t at = chunk.begin; at < chunk.end; at += loop.step) {
              const uint64_t k = (at - i) / loop.step;
              while (plans[i].in_turns && k > 0 && ran[i][k - 1] == 0) std::this_thread::yield();
              ran[i][k].fetch_add(1);
            }
          }
          if (plans[i].barrier || ++since == kLoops) {
            barrier.arrive_and_wait();
            since = 0;
            episode += i % 17 == 0 ? 4096 : 1;
          }
        }
      });
    running.clear();  // joins
    for (uint32_t i = 0; i < of.count; i++)
      for (uint64_t k = 0; k <= plans[i].loop.iterations; k++)
        ASSERT_EQ(ran[i][k], k < plans[i].loop.iterations) << threads << " threads, loop " << i;
  }
}

}  // namespace smelt::openmp
