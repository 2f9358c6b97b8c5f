// The clock of a simulated machine, which all its cores share, and what a waiting loop and a measurement need of the
// architecture. AArch64's counter tells nanoseconds there (gem5.patch).
#pragma once

#include <stdint.h>

#ifdef __x86_64__
#include <x86intrin.h>

static inline uint64_t cycles(void) { return __rdtsc(); }
static inline void relax(void) { _mm_pause(); }
static inline void finish_loads(void) { _mm_lfence(); }
static inline void finish_stores(void) { _mm_mfence(); }

#else

static inline uint64_t cycles(void) {
  uint64_t ns = 0;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ns)::"memory");
  return 3 * ns;  // 3 GHz
}
static inline void relax(void) { __asm__ volatile("yield" ::: "memory"); }
static inline void finish_loads(void) { __asm__ volatile("dsb ishld\n\tisb" ::: "memory"); }
static inline void finish_stores(void) { __asm__ volatile("dsb ish" ::: "memory"); }

#endif
