// The counting test of a barrier: every thread increments, crosses, and compares the others' counts with its own.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "base/arch/cpu.h"

namespace smelt {

inline void run_threads(unsigned n, const std::function<void(unsigned)>& body) {
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < n; ++i) threads.emplace_back(body, i);
  body(0);
  for (auto& thread : threads) thread.join();
}

// Counts per round modulo three: a thread one round ahead writes another slot than the one being compared.
inline void count_and_cross(unsigned n, unsigned rounds, const std::function<void(unsigned)>& cross) {
  // Ordinary variables on purpose: that the values are seen, and ThreadSanitizer is silent, proves the ordering.
  struct alignas(128) Slot {
    unsigned count[3] = {};
  };
  std::vector<Slot> slots(n);
  std::atomic<unsigned> wrong{0};
  run_threads(n, [&](unsigned me) {
    std::minstd_rand random(me + 1);
    for (unsigned r = 0; r < rounds; ++r) {
      if (random() % 8 == 0)
        for (unsigned spin = random() % 500; spin > 0; --spin) cpu_pause();
      slots[me].count[r % 3] = r + 1;
      cross(me);
      for (unsigned other = 0; other < n; ++other) wrong += slots[other].count[r % 3] != r + 1;
    }
  });
  EXPECT_EQ(wrong, 0u);
}

inline unsigned rounds_for(unsigned n) {
#if defined(__SANITIZE_THREAD__)
  return n <= 2 ? 2000 : 30;
#else
  return n <= 2 ? 20000 : n <= 4 ? 1000 : n <= 16 ? 500 : 100;
#endif
}

}  // namespace smelt
