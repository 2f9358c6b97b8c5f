// The counters of a shim's work, for SMELT_STATS=1 and smelt_openmp_counters().
//
// Counters belong to a master's regions of one nesting depth and are written by that master alone (plain increments in
// its own line). Other threads count on slow paths only. So counting costs the hot path one increment.
#pragma once

#include <atomic>
#include <cstdint>

#include <smelt/openmp.h>

#include "base/arch/cpu.h"

namespace smelt::openmp {

struct alignas(kLineBytes) Counters {
  // Only the master writes it.
  std::atomic<uint64_t> passed{0};         // episodes of the team, served by Smelt or the runtime
  std::atomic<uint64_t> real{0};           // of these, by the runtime's barrier
  std::atomic<uint64_t> regions{0};        // entered
  std::atomic<uint64_t> hot{0};            // of these, by a hot team
  std::atomic<uint64_t> starts{0};         // hot teams made
  std::atomic<uint64_t> ends{0};           // of these, ended before their master
  std::atomic<uint64_t> dynamic_loops{0};  // whose chunks the shim handed out
  // Any thread may write it.
  alignas(kLineBytes) std::atomic<uint64_t> abandoned{0};  // by whoever marked the barrier
  // Tasks that were not the runtime's. Every thread that has made some adds to them at every barrier, and in one word
  // for all would wait for the others.
  static constexpr uint32_t kStripes = 8;
  struct alignas(kLineBytes) Stripe {
    std::atomic<uint64_t> tasks{0};
  } made[kStripes];

  Counters* next = nullptr;  // all that are alive; guarded by a lock in counters.cc
};

// Only the one writer calls it.
inline void count(std::atomic<uint64_t>& counter, uint64_t by = 1) {
  // Relaxed, load and store apart: nobody else writes, and readers want a recent number, no order.
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

// Tasks of that thread's.
inline void count_tasks(Counters& counters, uint32_t thread, uint64_t by) {
  // Relaxed: a sum.
  counters.made[thread % Counters::kStripes].tasks.fetch_add(by, std::memory_order_relaxed);
}

// Counts a region that was handed to another runtime of the process. Any thread may call it.
void count_elsewhere();

void add_counters(Counters* counters);
void remove_counters(Counters* counters);  // their sums are kept
void counters_lock();                      // around fork: a child must not inherit a held lock
void counters_unlock();

void forget_counts();  // in a child of fork, which has one thread

void sum_counters(smelt_openmp_counts* sum);

}  // namespace smelt::openmp
