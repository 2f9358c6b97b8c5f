// The barriers that ours is measured against: the textbook's, written here from their descriptions, and the libraries'.
//
// All offer `wait(thread)`, reusable at once, with thread 0 .. n-1 used by one thread at a time, and order memory like
// a barrier: a thread's actions before its wait happen before any thread's after it.
//
// Epochs instead of sense reversal: a flag holds the number of the last episode for which it was raised, so nothing is
// ever reset, and a sender that is one episode ahead does no harm.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/arch/cpu.h"

namespace smelt::bench {

// With more threads than CPUs a textbook barrier that only spins burns the time slice of the thread it waits for, and
// takes milliseconds. To compare algorithms rather than that, it then yields in its loops.
class Spinner {
 public:
  explicit Spinner(bool crowded) : crowded_(crowded) {}
  void turn() const {
    if (crowded_)
      sched_yield();
    else
      cpu_pause();
  }

 private:
  bool crowded_;
};

// Written by one thread, polled by one other (or few), alone on its line.
struct alignas(kLineBytes) Flag {
  std::atomic<uint32_t> epoch{0};

  void raise(uint32_t to) { epoch.store(to, std::memory_order_release); }
  void await(uint32_t wanted, const Spinner& spinner) const {
    while (static_cast<int32_t>(epoch.load(std::memory_order_acquire) - wanted) < 0) spinner.turn();
  }
};

// A thread's own count of episodes.
struct alignas(kLineBytes) Count {
  uint32_t episodes = 0;
};

// Central counter with sense reversal: Mellor-Crummey and Scott, "Algorithms for Scalable Synchronization on
// Shared-Memory Multiprocessors", ACM TOCS 9(1), 1991, algorithm 7. All decrement one counter; the last resets it and
// flips the sense.
class CentralBarrier {
 public:
  CentralBarrier(uint32_t n, bool crowded) : n_(n), spinner_(crowded), left_(n) {}

  void wait(uint32_t) {
    // Cannot change before this thread has arrived, so it may be read here instead of being kept per thread.
    const bool before = sense_.load(std::memory_order_relaxed);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      left_.store(n_, std::memory_order_relaxed);  // seen by all through the store that follows
      sense_.store(!before, std::memory_order_release);
    } else {
      while (sense_.load(std::memory_order_acquire) == before) spinner_.turn();
    }
  }

 private:
  const uint32_t n_;
  const Spinner spinner_;
  alignas(kLineBytes) std::atomic<uint32_t> left_;
  alignas(kLineBytes) std::atomic<bool> sense_{false};
};

// Dissemination: Hensgen, Finkel and Manber 1988; the 1991 paper's algorithm 9. In round k thread p signals p + 2^k and
// waits for p - 2^k (modulo n): after ceil(log2 n) rounds everybody has heard of everybody.
class DisseminationBarrier {
 public:
  DisseminationBarrier(uint32_t n, bool crowded) : n_(n), spinner_(crowded), counts_(n) {
    for (uint32_t distance = 1; distance < n; distance *= 2) rounds_++;
    flags_ = std::vector<Flag>(size_t{n} * rounds_);
  }

  void wait(uint32_t thread) {
    const uint32_t epoch = ++counts_[thread].episodes;
    for (uint32_t round = 0; round < rounds_; round++) {
      const uint32_t to = (thread + (1u << round)) % n_;
      flags_[size_t{to} * rounds_ + round].raise(epoch);
      flags_[size_t{thread} * rounds_ + round].await(epoch, spinner_);
    }
  }

 private:
  const uint32_t n_;
  uint32_t rounds_ = 0;
  const Spinner spinner_;
  std::vector<Flag> flags_;  // [receiver * rounds + round]
  std::vector<Count> counts_;
};

// The 1991 paper's tree barrier (algorithm 11): arrival up a 4-ary tree whose four children mark bytes of one line of
// their parent, wake-up down a binary tree, one line each.
class McsBarrier {
 public:
  McsBarrier(uint32_t n, bool crowded) : n_(n), spinner_(crowded), arrivals_(n), wakeups_(n), counts_(n) {}

  void wait(uint32_t thread) {
    const uint32_t epoch = ++counts_[thread].episodes;
    const auto mark = static_cast<uint8_t>(epoch);  // nobody is ever two episodes ahead, let alone 256
    for (uint32_t i = 0; i < 4 && 4 * thread + 1 + i < n_; i++)
      while (arrivals_[thread].child[i].load(std::memory_order_acquire) != mark) spinner_.turn();
    if (thread > 0) {
      arrivals_[(thread - 1) / 4].child[(thread - 1) % 4].store(mark, std::memory_order_release);
      wakeups_[thread].await(epoch, spinner_);
    }
    for (uint32_t child = 2 * thread + 1; child <= 2 * thread + 2 && child < n_; child++) wakeups_[child].raise(epoch);
  }

 private:
  struct alignas(kLineBytes) Arrival {
    std::atomic<uint8_t> child[4]{};
  };
  const uint32_t n_;
  const Spinner spinner_;
  std::vector<Arrival> arrivals_;
  std::vector<Flag> wakeups_;
  std::vector<Count> counts_;
};

// Reduction to a root followed by a broadcast from it, as in Smelt's paper (OSDI 2016), over a binary tree, with
// one line per message and direction.
class TreeBarrier {
 public:
  TreeBarrier(uint32_t n, bool crowded) : n_(n), spinner_(crowded), up_(n), down_(n), counts_(n) {}

  void wait(uint32_t thread) {
    const uint32_t epoch = ++counts_[thread].episodes;
    const uint32_t first = 2 * thread + 1;
    for (uint32_t child = first; child < first + 2 && child < n_; child++) up_[child].await(epoch, spinner_);
    if (thread > 0) {
      up_[thread].raise(epoch);
      down_[thread].await(epoch, spinner_);
    }
    for (uint32_t child = first; child < first + 2 && child < n_; child++) down_[child].raise(epoch);
  }

 private:
  const uint32_t n_;
  const Spinner spinner_;
  std::vector<Flag> up_, down_;  // [child]
  std::vector<Count> counts_;
};

class StdBarrier {
 public:
  StdBarrier(uint32_t n, bool) : barrier_(n) {}
  void wait(uint32_t) { barrier_.arrive_and_wait(); }

 private:
  std::barrier<> barrier_;
};

class PthreadBarrier {
 public:
  PthreadBarrier(uint32_t n, bool) { pthread_barrier_init(&barrier_, nullptr, n); }
  ~PthreadBarrier() { pthread_barrier_destroy(&barrier_); }
  PthreadBarrier(const PthreadBarrier&) = delete;
  PthreadBarrier& operator=(const PthreadBarrier&) = delete;
  void wait(uint32_t) { pthread_barrier_wait(&barrier_); }

 private:
  pthread_barrier_t barrier_;
};

}  // namespace smelt::bench
