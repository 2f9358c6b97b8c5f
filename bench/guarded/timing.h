/* The programs of bench/guard share this: a clock of a few ns, the figure of several batches, and times to stay away.
 *
 * A figure is the lower quartile over kBatches batches of a fraction of a millisecond each. A batch that loses its CPU
 * is only slower, and on a busy machine more than half of the batches may lose theirs.
 *
 * In a loop of nothing but barriers the threads arrive almost together, which they seldom do in a program. In the
 * skewed figures each thread therefore stays away for a time of its own before each barrier, and only the time after
 * the longest stay counts. The stays are drawn from a fixed seed, so both sides meet the same.
 */
#ifndef SMELT_BENCH_GUARDED_TIMING_H
#define SMELT_BENCH_GUARDED_TIMING_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kBatches = 25 };

static inline double clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void pause_cpu(void) {
#if defined __x86_64__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("isb" ::: "memory");
#endif
}

/* A stay must end to the ns: on x86-64 the time-stamp counter is read in a third of the clock's time. */
static inline uint64_t ticks(void) {
#ifdef __x86_64__
  return __builtin_ia32_rdtsc();
#else
  return (uint64_t)clock_ns();
#endif
}

static double ticks_per_ns = 1;

/* Over 3 ms, which makes the error one part in 10^5. */
static inline void find_ticks_per_ns(void) {
  const double begin = clock_ns();
  const uint64_t from = ticks();
  double end;
  do {
    end = clock_ns();
  } while (end - begin < 3e6);
  ticks_per_ns = (double)(ticks() - from) / (end - begin);
}

static inline int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static inline double lower_quartile(double of[kBatches]) {
  qsort(of, kBatches, sizeof *of, by_value);
  return of[kBatches / 4];
}

static inline void stay_away(uint32_t time) {
  const uint64_t since = ticks();
  while (ticks() - since < time) {
  }
}

/* A time in ticks, at most `most_ns`, for each of `parties` at each of `count` occasions. Those of party p begin at
 * p * count. */
static inline uint32_t* draw_stays(int count, int parties, double most_ns) {
  uint32_t* stays = malloc((size_t)count * (size_t)parties * sizeof *stays);
  uint64_t state = 88172645463325252u; /* xorshift64 */
  for (int i = 0; stays && i < count * parties; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    stays[i] = (uint32_t)((double)(state % 1024) / 1024 * most_ns * ticks_per_ns);
  }
  if (!stays) {
    fprintf(stderr, "no memory\n");
    exit(1);
  }
  return stays;
}

/* The sum over the occasions of the longest of two stays, in ticks. */
static inline double longest_stays(const uint32_t* one, const uint32_t* other, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += one[i] > other[i] ? one[i] : other[i];
  return sum;
}

/* The figures that the program's arguments name, each printed by `measure`; 0 from it: there is none of that name.
 * `hop` is the one-way hop. Returns the program's exit status. */
static inline int measure_all(int argc, char** argv, int (*measure)(const char* name), double (*one_way_hop)(void)) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "hop") == 0) {
      printf("hop %.1f\n", one_way_hop());
    } else if (!measure(argv[i])) {
      fprintf(stderr, "there is no figure %s\n", argv[i]);
      return 2;
    }
  }
  return 0;
}

#endif
