// The clock of a simulated machine, which all its cores share, and what a waiting loop and a measurement need of the
// architecture. AArch64's counter tells nanoseconds there (gem5.patch).
#pragma once

#include <stdint.h>
#include <stdlib.h>

#ifdef __x86_64__
#include <x86intrin.h>

static inline uint64_t cycles(void) { return __rdtsc(); }
static inline void relax(void) { _mm_pause(); }
static inline void finish_loads(void) { _mm_lfence(); }
static inline void finish_stores(void) { _mm_mfence(); }
// From here on time counts: the simulator's own instruction, for which one that was told to start quickly waits
// (machine.py). One thread calls this, while no other sleeps in the kernel.
static inline void end_quick_start(void) {
  if (getenv("QUICK_START")) __asm__ volatile(".byte 0x0f, 0x04, 0x52, 0" ::: "memory");
}

#else

static inline uint64_t cycles(void) {
  uint64_t ns = 0;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ns)::"memory");
  return 3 * ns;  // 3 GHz
}
static inline void relax(void) { __asm__ volatile("yield" ::: "memory"); }
static inline void finish_loads(void) { __asm__ volatile("dsb ishld\n\tisb" ::: "memory"); }
static inline void finish_stores(void) { __asm__ volatile("dsb ish" ::: "memory"); }
static inline void end_quick_start(void) {}  // Nobody has tried it there.

#endif
