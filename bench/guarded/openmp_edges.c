/* The edges beside the constructs that are mostly measured: regions of one thread, sizes by turns, clauses, teams and
 * target on the host, constructs outside any region and in teams of one. Every batch checks what its construct has
 * computed.
 */
#include <omp.h>
#include <string.h>

#include "figures.h"

enum { kIterations = 64, kDeep = 7, kMostThreads = 16 };

/* Each function runs its construct `count` times and returns the ticks that count. */
#define FIGURE(name, what, wanted, ...)       \
  static double name(int count) {             \
    long seen = 0;                            \
    const uint64_t start = ticks();           \
    for (int i = 0; i < count; i++) {         \
      __VA_ARGS__                             \
    }                                         \
    const uint64_t end = ticks();             \
    expect(seen, (long)count*(wanted), what); \
    return (double)(end - start);             \
  }
#define OMP(directive) _Pragma(#directive)

FIGURE(if_false, "regions that are serial", 1, OMP(omp parallel if (i < 0)) seen += omp_get_num_threads();)
FIGURE(one_thread, "regions of one thread", 1, OMP(omp parallel num_threads(1)) seen += omp_get_num_threads();)
FIGURE(one_for, "loops of one thread", kIterations,
       OMP(omp parallel for if (i < 0)) for (int k = 0; k < kIterations; k++) seen++;)
FIGURE(
    one_with_task, "tasks of one thread", 1, OMP(omp parallel if (i < 0) shared(seen)) {
      OMP(omp task shared(seen)) seen++;
    })

/* A library's regions inside a region of the program, where one level may be active: the time of one. */
static double inner(int count) {
  long seen = 0;
  const uint64_t start = ticks();
#pragma omp parallel num_threads(2) reduction(+ : seen)
  for (int i = 0; i < count; i++) {
#pragma omp parallel reduction(+ : seen)
    seen += omp_get_num_threads();
  }
  const uint64_t end = ticks();
  expect(seen, 2L * count, "inner regions");
  return (double)(end - start);
}

/* Sizes by turns. */
static double turns(int count, int one, int other) {
  static struct { _Alignas(128) long regions; } by[kMostThreads];
  memset(by, 0, sizeof by);
  const uint64_t start = ticks();
  for (int i = 0; i < count; i++) {
#pragma omp parallel num_threads(i & 1 ? one : other)
    by[omp_get_thread_num()].regions++;
  }
  const uint64_t end = ticks();
  long seen = 0;
  for (int i = 0; i < kMostThreads; i++) seen += by[i].regions;
  expect(seen, (long)(count / 2) * one + (long)(count - count / 2) * other, "sizes by turns");
  return (double)(end - start);
}
static double turns_2_1(int count) { return turns(count, 2, 1); }
static double turns_2_4(int count) { return turns(count, 2, 4); }

static double guided(int count) {
  long seen = 0;
  const uint64_t start = ticks();
#pragma omp parallel num_threads(2) reduction(+ : seen)
  for (int i = 0; i < count; i++) {
#pragma omp for schedule(guided)
    for (int k = 0; k < kIterations; k++) seen += k;
  }
  const uint64_t end = ticks();
  expect(seen, (long)count * kIterations * (kIterations - 1) / 2, "for schedule(guided)");
  return (double)(end - start);
}

/* A clause that asks for what the threads have already. */
static double close_by(int count) {
  static struct { _Alignas(128) long regions; } by[2];
  by[0].regions = by[1].regions = 0;
  const uint64_t start = ticks();
  for (int i = 0; i < count; i++) {
#pragma omp parallel num_threads(2) proc_bind(close)
    by[omp_get_thread_num()].regions++;
  }
  const uint64_t end = ticks();
  expect(by[0].regions + by[1].regions, 2L * count, "regions with proc_bind(close)");
  return (double)(end - start);
}

static double after_target(int count) {
  static int done = 0;
  if (!done) {
#pragma omp target map(tofrom : done)
    done = 1;
  }
  return parallel(count);
}

FIGURE(teams, "teams of one", 2, OMP(omp teams num_teams(1) thread_limit(2) reduction(+ : seen)) {
  OMP(omp parallel num_threads(2) reduction(+ : seen)) seen++;
})
FIGURE(target, "target regions", 1, OMP(omp target map(tofrom : seen)) seen++;)

/* Outside any region. */
FIGURE(orphan_barrier, "barriers outside", 1, OMP(omp barrier) seen++;)
FIGURE(orphan_single, "singles outside", 1, OMP(omp single) seen++;)
FIGURE(orphan_critical, "critical sections outside", 1, OMP(omp critical) seen++;)
FIGURE(orphan_for, "loops outside", kIterations,
       OMP(omp for schedule(dynamic, 16)) for (int k = 0; k < kIterations; k++) seen++;)
FIGURE(orphan_task, "tasks outside", 1, OMP(omp task shared(seen)) seen++;)
FIGURE(set_threads, "settings", 1, omp_set_num_threads(2); seen++;)

/* In a team of one. */
static double one_task(int count) {
  long seen = 0;
  uint64_t start = 0, end = 0;
#pragma omp parallel num_threads(1)
  {
    start = ticks();
    for (int i = 0; i < count; i++) {
#pragma omp task shared(seen)
      seen++;
#pragma omp taskwait
    }
    end = ticks();
  }
  expect(seen, count, "tasks in a team of one");
  return (double)(end - start);
}

static long tree(int depth) {
  long left, right;
  if (depth == 0) return 1;
#pragma omp task shared(left)
  left = tree(depth - 1);
#pragma omp task shared(right)
  right = tree(depth - 1);
#pragma omp taskwait
  return left + right;
}

/* The time of one task of a tree. */
static double one_tree(int count) {
  const int trees = count / (2 << kDeep) + 1;
  long seen = 0;
  const uint64_t start = ticks();
#pragma omp parallel num_threads(1)
  for (int i = 0; i < trees; i++) seen += tree(kDeep);
  const uint64_t end = ticks();
  expect(seen, (long)trees << kDeep, "a tree of tasks in a team of one");
  return (double)(end - start) * count / ((double)trees * ((2 << kDeep) - 2));
}

static double one_critical(int count) {
  long seen = 0;
  const uint64_t start = ticks();
#pragma omp parallel num_threads(1)
  for (int i = 0; i < count; i++) {
#pragma omp critical
    seen++;
  }
  const uint64_t end = ticks();
  expect(seen, count, "critical sections in a team of one");
  return (double)(end - start);
}

const Figure edges[] = {{"if-false", if_false, 3000},
                        {"one-thread", one_thread, 3000},
                        {"one-for", one_for, 3000},
                        {"one-with-task", one_with_task, 2000},
                        {"inner", inner, 2000},
                        {"turns-2-1", turns_2_1, 1000},
                        {"turns-2-4", turns_2_4, 100},
                        {"guided", guided, 500},
                        {"close", close_by, 1000},
                        {"orphan-barrier", orphan_barrier, 20000},
                        {"orphan-single", orphan_single, 20000},
                        {"orphan-critical", orphan_critical, 20000},
                        {"orphan-for", orphan_for, 2000},
                        {"orphan-task", orphan_task, 20000},
                        {"set-num-threads", set_threads, 20000},
                        {"one-task", one_task, 5000},
                        {"one-tree", one_tree, 5000},
                        {"one-critical", one_critical, 20000},
                        {"teams", teams, 500},
                        {"target", target, 5000},
                        {"after-target", after_target, 1000},
                        {0}};
