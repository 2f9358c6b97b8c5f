// The finest clock of the core we run on. It is for differences taken by one thread on one core, and never compared
// between cores.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/os/os.h"

namespace smelt {

// Fenced on both sides: reads and stores before it are done, later ones have not begun.
inline uint64_t ticks() {
#if defined(__x86_64__)
  _mm_lfence();  // RDTSC itself waits for nothing (Intel SDM, "RDTSC")
  const uint64_t now = __rdtsc();
  _mm_lfence();
  return now;
#elif defined(__aarch64__)
  uint64_t now;
  asm volatile("dsb ish\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now)::"memory");
  return now;
#else
  return static_cast<uint64_t>(os::now_ns());
#endif
}

// The same without the fences, so cheaper and only about right: for waiting until some ticks are over.
inline uint64_t unfenced_ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#else
  return static_cast<uint64_t>(os::now_ns());
#endif
}

}  // namespace smelt
