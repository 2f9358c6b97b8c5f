/* The parts of an exchange by hand: lines that one thread writes and others poll, an epoch in each. */
#ifndef SMELT_BENCH_BY_HAND_LINE_H
#define SMELT_BENCH_BY_HAND_LINE_H

#include <stdatomic.h>
#include <stdint.h>

#include "timing.h"

typedef struct {
  _Alignas(128) _Atomic uint64_t epoch;
  double value;
} line;

/* release: what was written before, the value among it; acquire by the waiter. */
static inline void post(line* mine, uint64_t epoch) {
  atomic_store_explicit(&mine->epoch, epoch, memory_order_release);
}
static inline void await(line* theirs, uint64_t epoch) {
  while (atomic_load_explicit(&theirs->epoch, memory_order_acquire) < epoch) pause_cpu();
}

#endif
