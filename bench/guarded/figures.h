/* A table of figures, each by a function that runs its construct so many times and returns the ticks that count. */
#ifndef SMELT_BENCH_GUARDED_FIGURES_H
#define SMELT_BENCH_GUARDED_FIGURES_H

#include "timing.h"

typedef struct {
  const char* name; /* NULL: the table's end */
  double (*loop)(int count);
  int count; /* in a batch; fewer where that would take too long */
} Figure;

extern const Figure edges[]; /* openmp_edges.c */
double parallel(int count);  /* openmp.c: regions of two threads */

static inline void expect(long got, long wanted, const char* what) {
  if (got == wanted) return;
  fprintf(stderr, "%s: %ld instead of %ld\n", what, got, wanted);
  exit(1);
}

/* The quickest of three short trials decides, which warm up as well. */
static inline int calls_in_batch(const Figure* figure) {
  const double longest_batch_ns = 3e6;
  const int few = figure->count / 10, fewest = 10;
  double quickest = figure->loop(few);
  for (int trial = 0; trial < 2; trial++) {
    const double taken = figure->loop(few);
    if (taken < quickest) quickest = taken;
  }
  const double most = longest_batch_ns * ticks_per_ns * few / quickest;
  return most >= figure->count ? figure->count : most > fewest ? (int)most : fewest;
}

static inline void measure_figure(const Figure* figure) {
  const int count = calls_in_batch(figure);
  double ns[kBatches];
  for (int batch = 0; batch < kBatches; batch++) ns[batch] = figure->loop(count) / count / ticks_per_ns;
  printf("%s %.2f\n", figure->name, lower_quartile(ns));
}

/* 0: the table has none of that name. */
static inline int measure_named(const Figure* table, const char* name) {
  for (; table->name; table++) {
    if (strcmp(name, table->name) != 0) continue;
    measure_figure(table);
    return 1;
  }
  return 0;
}

#endif
