// Barriers in one process, ours and others', each paired with a ping-pong.
//
//   barrier/<whose>/<threads>/tight   barrier after barrier
//   barrier/<whose>/<threads>/skew    each thread first works for a random 0..200 ns
//
// Time is per barrier. Counters: median_ns = median over the batches (for skew, less the work; the mean in the Time
// column contains it), hop_ns = one-way hop between two CPUs, mean of one ping-pong right before and one right after,
// x_hop = median_ns / hop_ns: the figure to quote, since a virtual machine's CPUs may be near now and far in a minute.
//
// Skew: the work of round r is known in advance for every thread, so the least possible time is that of the longest
// work of each round. That is what one thread alone takes for a table of those maxima, measured in the same repetition,
// and subtracted. With more threads than CPUs the work cannot all run at once, and the rest stays in the figure.
//
// Threads are pinned round-robin to the CPUs of the process. With more threads than CPUs the textbook barriers yield in
// their loops (peers.h); the libraries do what they do by default.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "measure/pair.h"
#include "peers.h"
#include "profile/text/statistics.h"
#include "smelt_barrier.h"

namespace {

using namespace smelt::bench;
using Clock = std::chrono::steady_clock;

constexpr double kLongestSkewNs = 200;
constexpr uint32_t kWarmUp = 32;      // barriers of a batch before its clock starts
constexpr size_t kSkewRounds = 1024;  // length of the skew tables

std::vector<int> cpus;  // of the process, ascending

void pin_self(uint32_t thread) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(cpus[thread % cpus.size()]), &one);
  sched_setaffinity(0, sizeof one, &one);
}

// A chain of dependent multiplications: a turn costs a latency, which does not depend on what else the core does.
void work(uint32_t turns) {
  uint64_t chain = turns;
  for (uint32_t i = 0; i < turns; i++) benchmark::DoNotOptimize(chain *= 0x9e3779b1u);
}

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double ns_per_turn() {
  double least = 1e9;
  for (int i = 0; i < 20; i++) {
    const auto start = Clock::now();
    work(10'000);
    least = std::min(least, ns_since(start) / 10'000);
  }
  return least;
}

// Turns of work of each thread in each round; empty: none (tight).
struct Skew {
  std::vector<std::vector<uint32_t>> of_thread;
  std::vector<uint32_t> longest;  // of each round
};

Skew make_skew(uint32_t threads) {
  static const double turn_ns = ns_per_turn();
  std::mt19937 random(20161102);  // the same for all barriers
  std::uniform_int_distribution<uint32_t> turns(0, static_cast<uint32_t>(kLongestSkewNs / turn_ns));
  Skew skew{std::vector(threads, std::vector<uint32_t>(kSkewRounds)), std::vector<uint32_t>(kSkewRounds)};
  for (auto& table : skew.of_thread)
    for (size_t round = 0; round < kSkewRounds; round++) {
      table[round] = turns(random);
      skew.longest[round] = std::max(skew.longest[round], table[round]);
    }
  return skew;
}

// The part of every thread of a batch. Returns nanoseconds per round; only thread 0's counts.
template <typename Wait>
double rounds_of(uint32_t rounds, const std::vector<uint32_t>* skew, const Wait& wait) {
  for (uint32_t i = 0; i < kWarmUp; i++) wait();
  const auto start = Clock::now();
  if (skew) {
    for (uint32_t i = 0; i < rounds; i++) {
      work((*skew)[i % kSkewRounds]);
      wait();
    }
  } else {
    for (uint32_t i = 0; i < rounds; i++) wait();
  }
  return ns_since(start) / rounds;
}

const std::vector<uint32_t>* table_of(const Skew& skew, uint32_t thread) {
  return skew.of_thread.empty() ? nullptr : &skew.of_thread[thread];
}

// One batch: nanoseconds per round.
using Batch = std::function<double(uint32_t rounds, const Skew& skew)>;

template <typename Barrier>
Batch batch_of(uint32_t threads, std::shared_ptr<Barrier> barrier) {
  return [=](uint32_t rounds, const Skew& skew) {
    double result = 0;
    std::vector<std::jthread> team;
    for (uint32_t thread = 0; thread < threads; thread++)
      team.emplace_back([&, thread] {
        pin_self(thread);
        const double ns = rounds_of(rounds, table_of(skew, thread), [&] { barrier->wait(thread); });
        if (thread == 0) result = ns;
      });
    team.clear();  // joins
    return result;
  };
}

// libgomp's, inside one region per batch. The calling thread is thread 0 and gets its affinity back.
Batch openmp_batch(uint32_t threads) {
  return [=](uint32_t rounds, const Skew& skew) {
    double result = 0;
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
#pragma omp parallel num_threads(static_cast <int>(threads))
    {
      const auto thread = static_cast<uint32_t>(omp_get_thread_num());
      pin_self(thread);
      const double ns = rounds_of(rounds, table_of(skew, thread), [] {
#pragma omp barrier
      });
      if (thread == 0) result = ns;
    }
    sched_setaffinity(0, sizeof before, &before);
    return result;
  };
}

double hop_ns() { return cpus.size() < 2 ? 0 : smelt::median(smelt::measure_hops(cpus[0], cpus[1])); }

void measure(benchmark::State& state, uint32_t threads, bool skewed, const Batch& batch) {
  const uint32_t rounds = threads <= cpus.size() ? 4096 : 256;
  const Skew skew = skewed ? make_skew(threads) : Skew{};
  std::vector<double> per_barrier;
  const double hop_before = hop_ns();
  double work_ns = 0;
  if (skewed) {
    std::vector<double> alone;
    for (int i = 0; i < 9; i++) alone.push_back(rounds_of(rounds, &skew.longest, [] {}));
    work_ns = smelt::median(alone);
  }
  while (state.KeepRunningBatch(rounds)) {
    const double ns = batch(rounds, skew);
    state.SetIterationTime(ns * rounds * 1e-9);
    per_barrier.push_back(ns - work_ns);
  }
  const double hop = (hop_before + hop_ns()) / 2;
  state.counters["median_ns"] = smelt::median(per_barrier);
  state.counters["hop_ns"] = hop;
  if (hop > 0) state.counters["x_hop"] = smelt::median(per_barrier) / hop;
  if (skewed) state.counters["work_ns"] = work_ns;
}

template <typename Barrier>
void measure_peer(benchmark::State& state, uint32_t threads, bool skewed) {
  measure(state, threads, skewed, batch_of(threads, std::make_shared<Barrier>(threads, threads > cpus.size())));
}

void measure_openmp(benchmark::State& state, uint32_t threads, bool skewed) {
  measure(state, threads, skewed, openmp_batch(threads));
}

void measure_smelt(benchmark::State& state, uint32_t threads, bool skewed) {
  const auto barrier = std::make_shared<SmeltBarrier>();
  if (const int error = barrier->open(threads, cpus); error != 0) {
    state.SkipWithError(fmt::format("smelt_context_create or smelt_barrier_create: errno {}", -error).c_str());
    return;
  }
  state.SetLabel(barrier->pattern());
  measure(state, threads, skewed, batch_of(threads, barrier));
}

struct Contestant {
  const char* name;
  void (*measure)(benchmark::State&, uint32_t threads, bool skewed);
};

constexpr Contestant kContestants[] = {
    {"smelt", measure_smelt},
    {"libgomp", measure_openmp},
    {"std", measure_peer<StdBarrier>},
    {"pthread", measure_peer<PthreadBarrier>},
    {"central", measure_peer<CentralBarrier>},
    {"dissemination", measure_peer<DisseminationBarrier>},
    {"mcs", measure_peer<McsBarrier>},
    {"tree", measure_peer<TreeBarrier>},
};

// 2, 4, 8, and one thread on every CPU. Contestants of one size and mode stand side by side in time.
void register_all() {
  std::vector<uint32_t> sizes{2, 4, 8};
  if (std::ranges::count(sizes, cpus.size()) == 0 && cpus.size() > 1)
    sizes.push_back(static_cast<uint32_t>(cpus.size()));
  for (const uint32_t threads : sizes)
    for (const bool skewed : {false, true})
      for (const Contestant& contestant : kContestants)
        benchmark::RegisterBenchmark(
            fmt::format("barrier/{}/{}/{}", contestant.name, threads, skewed ? "skew" : "tight").c_str(),
            contestant.measure, threads, skewed)
            ->UseManualTime();
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("OMP_PROC_BIND") || std::getenv("OMP_PLACES") || std::getenv("GOMP_CPU_AFFINITY")) {
    fmt::print(stderr,
               "barrier_bench: unset OMP_PROC_BIND, OMP_PLACES and GOMP_CPU_AFFINITY: it pins its threads itself\n");
    return 2;
  }
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
      if (CPU_ISSET(static_cast<size_t>(cpu), &allowed)) cpus.push_back(cpu);
  if (cpus.empty()) {
    fmt::print(stderr, "barrier_bench: the CPUs of this process are not known\n");
    return 1;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
