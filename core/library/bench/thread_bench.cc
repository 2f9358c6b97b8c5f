// The cost of user-level threads.
//
//   switch          from one stack to another by Boost.Context, there and back, per switch: nothing can be faster
//   yield T         T threads of one worker that yield in turn: per yield
//   signal T        one signals T others, which wait: per signal, without what they do then
//   hand-over       two threads of one worker that signal and wait in turn: per hand-over
//   across          the same, a worker each: what a line takes between CPUs, and the search for work
//   spawn and join  threads that do nothing, 64 at a time on one worker: per thread
//   alive           a page or so: bytes of memory for each of T threads that wait, on 4 workers
//   pthread         hand-over between two kernel threads of one CPU, by semaphores
//   hop             a line from one process's CPU to another's, one way
//   messages T      T threads in each of the two processes, a worker each, that send 8 bytes to and fro in pairs: per
//                   message
//
// ns: the smallest and the median of the batches. `--quick`: few of everything; `--messages`: the last two only.
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
#include <smelt/message.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <smelt/thread.hpp>

#include "bench/allowed_cpus.h"
#include "library/thread/switch.h"

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

// --- two processes ---

struct Court {
  std::atomic<uint32_t> joined{0};
  alignas(128) std::atomic<uint32_t> ball{0};
};

// This process stays on the first CPU it may use, the other one on the last.
void stay(bool on_last) {
  const std::vector<uint32_t> cpus = smelt::allowed_cpus();
  if (cpus.empty()) give_up("no CPU");
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(on_last ? cpus.back() : cpus.front(), &one);
  sched_setaffinity(0, sizeof one, &one);
}

void hops(unsigned me, std::atomic<uint32_t>& ball) {
  const uint32_t rounds = quick ? 200 : 5000;
  std::vector<double> times;
  uint32_t mine = me;  // the one that has seen this number plays
  for (int b = 0; b < batches(); ++b) {
    const auto start = Clock::now();
    for (uint32_t i = 0; i < rounds; ++i, mine += 2) {
      for (int spins = 0; ball.load(std::memory_order_relaxed) != mine;)
        if (++spins % 1000 == 0) std::this_thread::yield();
      ball.store(mine + 1, std::memory_order_relaxed);
    }
    times.push_back(since(start) / (2.0 * rounds));
  }
  if (me == 0) row("hop", times);
}

// Thread 0 takes the time of its own rounds, in which all the others have theirs.
void messages(unsigned me, smelt_endpoint* endpoint, int threads) {
  smelt::Scheduler scheduler = scheduler_of(1);
  smelt_messages* messages = nullptr;
  if (smelt_messages_open(scheduler.get(), endpoint, 0, &messages) != 0) give_up("no messages");
  const int rounds = std::max(4, (quick ? 500 : 10'000) / threads);
  std::vector<double> times;
  run(scheduler, threads, [&](int key) {
    uint64_t word = 0;
    for (int b = 0; b < batches(); ++b) {
      const auto start = Clock::now();
      for (int i = 0; i < 2 * rounds; ++i)
        if (unsigned(i) % 2 == me ? smelt_message_send(messages, 1 - me, key, &word, sizeof word)
                                  : smelt_message_receive(messages, 1 - me, key, &word, sizeof word, nullptr))
          give_up("a message was lost");
      if (key == 0) times.push_back(since(start) / (2.0 * rounds * threads));
    }
  });
  smelt_messages_close(messages);
  if (me == 0) row(fmt::format("messages {}", threads), times);
}

void between_processes() {
  smelt_endpoint_ticket ticket;
  smelt_endpoint* endpoint = nullptr;
  void* const shared = mmap(nullptr, sizeof(Court), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || smelt_endpoint_offer(2, &ticket, &endpoint) != 0) give_up("no shared memory");
  Court& court = *new (shared) Court;
  const pid_t child = fork();
  if (child < 0) give_up("no process");
  const unsigned me = child == 0;
  if (me == 1) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (smelt_endpoint_join(&ticket, 2, 1, &endpoint) != 0) give_up("no endpoint");
  }
  stay(me == 1);
  for (court.joined += 1; court.joined < 2; std::this_thread::yield())
    if (me == 0 && waitpid(child, nullptr, WNOHANG) != 0) give_up("the other process has died");
  hops(me, court.ball);
  for (const int threads : {1, 64, 512, 4096})
    if (!quick || threads <= 64) messages(me, endpoint, threads);
  smelt_endpoint_leave(endpoint, 1);
  if (me == 1) _exit(0);
  int how = 0;
  if (waitpid(child, &how, 0) != child || how != 0) give_up("the other process failed");
}

}  // namespace

int main(int argc, char** argv) {
  bool only_messages = false, good = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--quick")
      quick = true;
    else if (word == "--messages")
      only_messages = true;
    else
      good = false;
  }
  if (!good) {
    fmt::print(stderr, "usage: thread_bench [--quick] [--messages]\n");
    return 2;
  }
  if (!smelt::thread::kCanSwitch) give_up("Smelt was built without Boost.Context");
  if (!only_messages) {
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
  between_processes();
}
