// The barrier's counting test: increment, cross, compare with threads x (round + 1). Every pattern, 1 to 64 threads,
// more threads than CPUs, every way of waiting, random delays, abandoned episodes.
#include "team/barrier.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/object.h"
#include "counting.h"
#include "generate/registry.h"
#include "profile/profile.h"
#include "sanitized.h"
#include "team/team.h"

namespace smelt {
namespace {

// A machine of n CPUs in last-level caches of `per_llc`: near 50, far 250.
struct FlatMachine {
  explicit FlatMachine(unsigned n, unsigned per_llc)
      : arena(size_t{n} * n * 40 + 65536), send(n * n), receive(n * n), node(n), cpu(n) {
    for (unsigned i = 0; i < n; ++i) {
      cpu[i] = i;
      node[i] = static_cast<uint16_t>(i / per_llc);
      for (unsigned j = 0; j < n; ++j) {
        if (i == j) continue;
        send[i * n + j] = i / per_llc == j / per_llc ? 5 : 30;
        receive[i * n + j] = i / per_llc == j / per_llc ? 45 : 220;
      }
    }
    Costs additive;
    EXPECT_EQ(
        costs_from_send_receive(n, CostUnit::kNanoseconds, send.data(), receive.data(), node.data(), arena, &additive),
        0);
    EXPECT_EQ(overlap_costs_from_additive(additive, arena, &profile.costs), 0);
    profile.header.cpus = n;
    profile.os_cpu = cpu.data();
    profile.package = node.data();
    profile.core = node.data();
  }
  MappedArena arena;
  std::vector<float> send, receive;
  std::vector<uint16_t> node;
  std::vector<uint32_t> cpu;
  Profile profile;
};

std::vector<std::string> barrier_patterns(unsigned n) {
  std::vector<std::string> names = {"best",   "knomial:2", "knomial:3", "dissemination:2", "dissemination:3",
                                    "line:1", "relay:1"};
  for (const PatternInfo& pattern : pattern_registry())
    if (n == 2 || std::string(pattern.name) != "pair") names.push_back(pattern.name);
  return names;
}

struct Made {
  Made(const FlatMachine& machine, const std::string& pattern, bool crowd, const WaitPolicy& policy)
      : arena(generation_bytes(machine.profile.header.cpus)),
        request{&machine.profile, machine.profile.header.cpus, nullptr, pattern.c_str(), crowd} {
    TeamPlan plan;
    EXPECT_EQ(plan_team(request, arena, &plan), 0);
    EXPECT_EQ(make_barrier(plan, policy, &made), 0);
    barrier = made.barrier;
  }
  ~Made() { free_barrier(&made); }

  MappedArena arena;
  const TeamRequest request;
  TeamBarrier made;
  Barrier* barrier;
};

class Patterns : public testing::TestWithParam<unsigned> {};

TEST_P(Patterns, EveryOneCounts) {
  const unsigned n = GetParam();
  FlatMachine machine(n, 4);
  for (const auto& pattern : barrier_patterns(n)) {
    SCOPED_TRACE(pattern);
    const Made made(machine, pattern, false, wait_policy(false, n));
    std::vector<uint64_t> epoch(n * 16);
    // The pattern proper, oversubscribed or not: spinning first, then asleep.
    count_and_cross(n, rounds_for(n), [&](unsigned me) { made.barrier->arrive_and_wait(me, ++epoch[me * 16]); });
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Patterns, testing::Values(1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 32, 64));

TEST(Crowd, CountsFromOneTo64) {
  for (unsigned n : {1u, 2u, 3u, 4u, 8u, 16u, 33u, 64u}) {
    void* memory = os::map_pages(Barrier::crowd_bytes(n));
    Barrier* barrier = Barrier::create_crowd(n, {0, 200'000}, memory);
    std::vector<uint64_t> epoch(n * 16);
    count_and_cross(n, rounds_for(n), [&](unsigned me) { barrier->arrive_and_wait(me, ++epoch[me * 16]); });
    os::unmap_pages(memory, Barrier::crowd_bytes(n));
  }
}

// A thread that goes to sleep and the one that comes last look at each other's words: without a fence between its store
// and its look, either may see nothing, for as long as a line takes (transport/line.h). Any distance is tried.
TEST(Crowd, ForgetsNobodyWhoSleeps) {
  void* memory = os::map_pages(Barrier::crowd_bytes(2));
  Barrier* barrier = Barrier::create_crowd(2, {0, 0, PostOrder::kFenced}, memory);
  std::atomic<unsigned> passed[2] = {}, last{test::kSanitized ? 5'000u : 20'000u};
  unsigned forgotten = 0;
  std::thread watchman([&] {
    for (unsigned before = 0, vain = 0; passed[0] + passed[1] < 2 * last;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const unsigned now = passed[0] + passed[1];
      vain = now == before ? vain + 1 : 0;
      before = now;
      if (vain < 1000) continue;
      forgotten = last = now / 2 + 2;  // that both come to
      barrier->wake_all();
    }
  });
  run_threads(2, [&](unsigned me) {
    std::minstd_rand random(me + 1);
    for (unsigned r = 1; r <= last; ++r) {
      while (passed[1 - me] + 1 < r) cpu_pause();
      for (unsigned spin = random() % 64; spin > 0; --spin) cpu_pause();
      barrier->arrive_and_wait(me, r);
      passed[me] = r;
    }
  });
  watchman.join();
  EXPECT_EQ(forgotten, 0u);
  os::unmap_pages(memory, Barrier::crowd_bytes(2));
}

// A page lies where it is touched first: neither the barrier's maker nor another node may touch a node's lines before.
TEST(Places, ANodesOwnThreadsTouchItsLinesFirst) {
  FlatMachine machine(4, 2);
  for (const auto& pattern : barrier_patterns(4)) {
    const Made made(machine, pattern, false, {});
    for (const long pages : {1, 2}) {
      unsigned char resident[16] = {};
      ASSERT_EQ(mincore(made.barrier, made.made.mapped_bytes, resident), 0);
      EXPECT_EQ(std::count(resident, resident + 16, 1), pages) << pattern;
      for (uint32_t i = 2; i < 4; ++i) made.barrier->publish_cpu(i);
    }
  }
}

class Waiting : public testing::TestWithParam<WaitPolicy> {};

TEST_P(Waiting, CountsHoweverItWaits) {
  for (unsigned n : {2u, 4u}) {
    FlatMachine machine(n, 4);
    const Made made(machine, "best", false, GetParam());
    std::vector<uint64_t> epoch(n * 16);
    // Long pauses of one thread send the others to sleep, in every phase of it.
    std::minstd_rand random(n);
    count_and_cross(n, 600, [&](unsigned me) {
      if (me == 0 && random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 150));
      made.barrier->arrive_and_wait(me, ++epoch[me * 16]);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, Waiting,
                         testing::Values(WaitPolicy{0, 0}, WaitPolicy{1000, 0}, WaitPolicy{50'000, 0},
                                         WaitPolicy{0, 20'000}, WaitPolicy{20'000, 20'000},
                                         WaitPolicy{0, 0, PostOrder::kFenced},
                                         WaitPolicy{0, 20'000, PostOrder::kFenced}));

// The protocol of openmp/episodes.h in small: any thread may declare its next episode abandoned; then all leave it by
// another way (here a standard barrier), none through ours.
TEST(Abandon, AllOrNobody) {
  for (const char* pattern : {"best", "dissemination", "hybrid", "mst", "crowd"}) {
    for (unsigned n : {2u, 3u, 5u}) {
      SCOPED_TRACE(std::string(pattern) + " " + std::to_string(n));
      FlatMachine machine(n, 2);
      const bool crowd = std::string(pattern) == "crowd";
      const Made made(machine, crowd ? "best" : pattern, crowd, wait_policy(crowd, n));
      std::atomic<uint64_t> real{0};
      std::atomic<unsigned> abandoned{0}, wrong{0};
      pthread_barrier_t other;
      pthread_barrier_init(&other, nullptr, n);
      constexpr uint64_t kRounds = 1500;
      std::vector<std::vector<char>> way(n, std::vector<char>(kRounds + 1));
      run_threads(n, [&](unsigned me) {
        std::minstd_rand random(me + 1);
        for (uint64_t e = 1; e <= kRounds; ++e) {
          if (random() % 16 == 0) {
            uint64_t marked = real.load();
            while (marked < e && !real.compare_exchange_weak(marked, e)) {
            }
            made.barrier->wake_all();
          }
          const bool ours = real.load() != e && made.barrier->arrive_and_wait(me, e, &real);
          if (!ours) {
            pthread_barrier_wait(&other);
            ++abandoned;
          }
          way[me][e] = ours;
        }
      });
      for (uint64_t e = 1; e <= kRounds; ++e)
        for (unsigned i = 1; i < n; ++i) wrong += way[i][e] != way[0][e];
      EXPECT_EQ(wrong, 0u);
      EXPECT_GT(abandoned, 0u);
      EXPECT_LT(abandoned, n * kRounds);
      pthread_barrier_destroy(&other);
    }
  }
}

// One tells all others before the next episode, which some mark: all are told, or all go the other way first.
TEST(Tell, AllAreToldOrAllTurnBack) {
  for (const char* pattern : {"best", "dissemination", "crowd"}) {
    for (unsigned n : {2u, 3u, 5u}) {
      SCOPED_TRACE(std::string(pattern) + " " + std::to_string(n));
      FlatMachine machine(n, 2);
      const bool crowd = std::string(pattern) == "crowd";
      const Made made(machine, crowd ? "best" : pattern, crowd, {1000, crowd ? 20'000 : 0});
      Barrier& barrier = *made.barrier;
      std::atomic<uint64_t> real{0};
      pthread_barrier_t other;
      pthread_barrier_init(&other, nullptr, n);
      constexpr uint64_t kRounds = 500;
      std::vector<std::vector<char>> told(n, std::vector<char>(kRounds));
      std::vector<uint64_t> data(kRounds);  // ordinary on purpose
      std::atomic<unsigned> wrong{0};
      run_threads(n, [&](unsigned me) {
        std::minstd_rand random(me + 1);
        uint64_t e = 1;
        const auto mark = [&] {
          if (random() % 8 != 0) return;
          for (uint64_t marked = real.load(); marked < e && !real.compare_exchange_weak(marked, e);) {
          }
          barrier.wake_all();
        };
        const auto pass = [&] {
          if (real.load() == e || !barrier.arrive_and_wait(me, e, &real)) pthread_barrier_wait(&other);
          ++e;
        };
        for (uint64_t r = 0; r < kRounds; ++r) {
          mark();
          for (unsigned spin = random() % 500; spin > 0; --spin) cpu_pause();
          void* word = &data[r];
          if (me == r % n) {
            data[r] = e;
            told[me][r] = barrier.tell(me, e, word);
          } else {
            word = nullptr;
            told[me][r] = barrier.hear(me, e, real, &word);
          }
          if (!told[me][r]) {
            wrong += real.load() != e;  // a mark that the teller has not seen
            pass();
            word = &data[r];
          }
          wrong += word != &data[r] || *static_cast<uint64_t*>(word) == 0;
          pass();
        }
      });
      uint64_t back = 0;
      for (uint64_t r = 0; r < kRounds; ++r) {
        back += !told[0][r];
        for (unsigned i = 1; i < n; ++i) wrong += told[i][r] != told[0][r];
      }
      EXPECT_EQ(wrong, 0u);
      EXPECT_GT(back, 0u);
      EXPECT_LT(back, kRounds);
      pthread_barrier_destroy(&other);
    }
  }
}

TEST(Gaps, EpisodeNumbersMayJump) {
  FlatMachine machine(3, 4);
  const Made made(machine, "best", false, wait_policy(false, 3));
  std::vector<uint64_t> epoch(3 * 16, 1ull << 40);
  count_and_cross(3, 2000, [&](unsigned me) { made.barrier->arrive_and_wait(me, epoch[me * 16] += 7); });
}

}  // namespace
}  // namespace smelt
