// What user-level threads cost.
//
//   switch          from one stack to another by Boost.Context, there and back, per switch: nothing can be faster
//   yield T         T threads of one worker that yield in turn: per yield
//   signal T        one signals T others, which wait: per signal, without what they do then
//   hand-over       two threads of one worker that signal and wait in turn: per hand-over
//   across          the same, a worker each: what a line takes between CPUs, and the search for work
//   spawn and join  threads that do nothing, 64 at a time on one worker: per thread
//   alive           a page or so: bytes of memory for each of T threads that wait, on 4 workers
//   pthread         hand-over between two kernel threads of one CPU, by semaphores
//
// ns: the smallest and the median of the batches. `--quick`: few of everything.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>

#include <smelt/thread.hpp>

#include "thread/switch.h"

namespace {

using Clock = std::chrono::steady_clock;

bool quick = false;

double since(Clock::time_point start) { return std::chrono::duration<double, std::nano>(Clock::now() - start).count(); }

void row(std::string_view name, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  fmt::print("{:<20} {:10.1f} {:10.1f} ns\n", name, times.front(), times[times.size() / 2]);
  std::fflush(stdout);
}

int batches() { return quick ? 5 : 101; }

[[noreturn]] void give_up(const char* what) {
  fmt::print(stderr, "thread_bench: {}\n", what);
  _exit(1);
}

smelt::Scheduler scheduler_of(unsigned workers, unsigned flags = 0) {
  smelt::Scheduler scheduler;
  if (smelt::Scheduler::create(scheduler, workers, 0, flags) != 0) give_up("no scheduler");
  return scheduler;
}

void run(smelt::Scheduler& scheduler, int count, const std::function<void(int)>& body) {
  std::vector<smelt::Thread> threads(count);
  for (int i = 0; i < count; ++i)
    if (scheduler.spawn([&body, i] { body(i); }, threads[i], 0) != 0) give_up("no thread");
}

void switches() {
  static char stack[65536];
  void* other = smelt::thread::make_context(stack + sizeof stack, sizeof stack, [](smelt::thread::Transfer transfer) {
    for (;;) transfer = smelt::thread::jump(transfer.from, nullptr);
  });
  const int rounds = quick ? 1000 : 20'000;
  std::vector<double> times;
  for (int b = 0; b < batches(); ++b) {
    const auto start = Clock::now();
    for (int i = 0; i < rounds; ++i) other = smelt::thread::jump(other, nullptr).from;
    times.push_back(since(start) / (2.0 * rounds));
  }
  row("switch", times);
}

// Thread 0 takes the time of whole rounds of all.
void yields(int threads) {
  smelt::Scheduler scheduler = scheduler_of(1);
  const int rounds = std::max(1, (quick ? 1000 : 20'000) / threads);
  std::vector<double> times;
  int there = 0;
  bool over = false;
  run(scheduler, threads, [&](int me) {
    ++there;
    while (there < threads) smelt_thread_yield();
    if (me != 0) {
      while (!over) smelt_thread_yield();
      return;
    }
    for (int b = 0; b < batches(); ++b) {
      const auto start = Clock::now();
      for (int i = 0; i < rounds; ++i) smelt_thread_yield();
      times.push_back(since(start) / (double(rounds) * threads));
    }
    over = true;
  });
  row(fmt::format("yield {}", threads), times);
}

void signals(int threads) {
  smelt::Scheduler scheduler = scheduler_of(1);
  std::vector<smelt_thread*> waiting;
  std::vector<double> times;
  bool over = false;
  run(scheduler, threads + 1, [&](int me) {
    if (me > 0) {
      waiting.push_back(smelt_thread_self());
      do smelt_thread_wait();
      while (!over);
      return;
    }
    while (waiting.size() < size_t(threads)) smelt_thread_yield();
    for (int b = 0; b <= batches(); ++b) {
      smelt_thread_yield();  // all of them wait again
      over = b == batches();
      const auto start = Clock::now();
      for (smelt_thread* thread : waiting) smelt_thread_signal(thread);
      if (!over) times.push_back(since(start) / threads);
    }
  });
  row(fmt::format("signal {}", threads), times);
}

void hand_overs(unsigned workers) {
  smelt::Scheduler scheduler = scheduler_of(workers, SMELT_NO_STEALING);
  const int rounds = quick ? 200 : 5000;
  smelt_thread* pair[2] = {};
  std::vector<double> times;
  const auto play = [&](int me) {
    for (int b = 0; b < batches(); ++b) {
      const auto start = Clock::now();
      for (int i = 0; i < rounds; ++i) {
        if (me == 0) smelt_thread_signal(pair[1]);
        smelt_thread_wait();
        if (me == 1) smelt_thread_signal(pair[0]);
      }
      if (me == 0) times.push_back(since(start) / (2.0 * rounds));
    }
  };
  smelt::Thread threads[2];
  for (const int me : {0, 1})
    if (scheduler.spawn(
            [&play, me] {
              smelt_thread_wait();  // both are known
              play(me);
            },
            threads[me], workers == 1 ? 0 : me) != 0)
      give_up("no thread");
  for (const int me : {0, 1}) pair[me] = threads[me].get();
  for (const int me : {1, 0}) threads[me].signal();
  for (const int me : {1, 0}) threads[me].join();
  row(workers == 1 ? "hand-over" : "across", times);
}

void spawns() {
  smelt::Scheduler scheduler = scheduler_of(1);
  constexpr int kAtATime = 64;
  const int rounds = quick ? 10 : 200;
  std::vector<double> times;
  run(scheduler, 1, [&](int) {
    for (int b = 0; b < batches(); ++b) {
      const auto start = Clock::now();
      for (int i = 0; i < rounds; ++i) {
        smelt_thread* threads[kAtATime];
        for (smelt_thread*& thread : threads)
          if (smelt_thread_spawn(
                  nullptr, [](void*) -> void* { return nullptr; }, nullptr, 0, &thread) != 0)
            give_up("no thread");
        for (smelt_thread* thread : threads) smelt_thread_join(thread, nullptr);
      }
      times.push_back(since(start) / (double(rounds) * kAtATime));
    }
  });
  row("spawn and join", times);
}

long resident() {
  long all = 0, pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file || std::fscanf(file, "%ld %ld", &all, &pages) != 2) pages = 0;
  if (file) std::fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

void alive(int threads) {
  const long before = resident();
  const auto start = Clock::now();
  smelt::Scheduler scheduler = scheduler_of(4);
  std::vector<smelt_thread*> all(threads);
  std::atomic<int> begun{0};
  const auto body = [](void* count) -> void* {
    static_cast<std::atomic<int>*>(count)->fetch_add(1, std::memory_order_relaxed);
    smelt_thread_wait();
    return nullptr;
  };
  for (smelt_thread*& thread : all)
    if (smelt_thread_spawn(scheduler.get(), body, &begun, SMELT_ANY_WORKER, &thread) != 0) give_up("no thread");
  while (begun.load(std::memory_order_relaxed) < threads) std::this_thread::yield();
  const long taken = resident() - before;
  for (smelt_thread* thread : all) smelt_thread_signal(thread);
  for (smelt_thread* thread : all) smelt_thread_join(thread, nullptr);
  fmt::print("{:<20} {:10.0f} bytes {:10.1f} ns from spawn to join\n", fmt::format("alive {}", threads),
             double(taken) / threads, since(start) / threads);
  std::fflush(stdout);
}

void kernel_threads() {
  const int rounds = quick ? 200 : 5000;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sem_t turn[2];
  for (sem_t& each : turn) sem_init(&each, 0, 0);
  std::vector<double> times;
  std::thread threads[2];
  for (const int me : {0, 1})
    threads[me] = std::thread([&, me] {
      pthread_setaffinity_np(pthread_self(), sizeof one, &one);
      for (int b = 0; b < batches(); ++b) {
        const auto start = Clock::now();
        for (int i = 0; i < rounds; ++i) {
          if (me == 0) sem_post(&turn[1]);
          sem_wait(&turn[me]);
          if (me == 1) sem_post(&turn[0]);
        }
        if (me == 0) times.push_back(since(start) / (2.0 * rounds));
      }
    });
  for (std::thread& thread : threads) thread.join();
  row("pthread", times);
}

}  // namespace

int main(int argc, char** argv) {
  quick = argc == 2 && std::string_view(argv[1]) == "--quick";
  if (argc > 2 || (argc == 2 && !quick)) {
    fmt::print(stderr, "usage: thread_bench [--quick]\n");
    return 2;
  }
  if (!smelt::thread::kCanSwitch) give_up("Smelt was built without Boost.Context");
  switches();
  for (const int threads : {2, 64, 512, 4096, 16384})
    if (!quick || threads <= 512) yields(threads);
  for (const int threads : {64, 4096})
    if (!quick || threads <= 512) signals(threads);
  hand_overs(1);
  hand_overs(2);
  spawns();
  alive(quick ? 1000 : 1'000'000);
  kernel_threads();
}
