/* openmp FIGURE...: the costs of OpenMP's constructs for a team of two. Prints a line "FIGURE ns" for each.
 *
 * This is an ordinary OpenMP program, and openmp_edges.c belongs to it; bench/guard runs it under the shims of two
 * builds in turn. The figure `hop` is the one-way hop between the two CPUs. Every batch checks what its construct has
 * computed.
 */
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "common.h"
#include "figures.h"

enum { kTasks = 64, kIterations = 64, kMostStays = 1000 };
#define MOST_AWAY_NS 300.0

static int team(void) {
  int threads = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  threads = omp_get_num_threads();
  return threads;
}

/* Each function runs its construct `count` times and returns the ticks that count. */

static double barrier(int count) {
  const uint64_t start = ticks();
#pragma omp parallel num_threads(2)
  for (int i = 0; i < count; i++) {
#pragma omp barrier
  }
  return (double)(ticks() - start);
}

static double barrier_skewed(int count) {
  static uint32_t* stays;
  if (!stays) stays = draw_stays(kMostStays, 2, MOST_AWAY_NS);
  const uint64_t start = ticks();
#pragma omp parallel num_threads(2)
  {
    const uint32_t* mine = stays + omp_get_thread_num() * kMostStays;
    for (int i = 0; i < count; i++) {
      stay_away(mine[i]);
#pragma omp barrier
    }
  }
  const uint64_t end = ticks();
  return (double)(end - start) - longest_stays(stays, stays + kMostStays, count);
}

double parallel(int count) {
  static struct { _Alignas(128) long regions; } by[2];
  by[0].regions = by[1].regions = 0;
  const uint64_t start = ticks();
  for (int i = 0; i < count; i++) {
#pragma omp parallel num_threads(2)
    by[omp_get_thread_num()].regions++;
  }
  const uint64_t end = ticks();
  expect(by[0].regions, count, "regions of thread 0");
  expect(by[1].regions, count, "regions of thread 1");
  return (double)(end - start);
}

static double parallel_skewed(int count) {
  static uint32_t* bodies;
  if (!bodies) bodies = draw_stays(kMostStays, 3, MOST_AWAY_NS);
  const uint32_t* const serial = bodies + 2 * kMostStays;
  const uint64_t start = ticks();
  for (int i = 0; i < count; i++) {
    stay_away(serial[i]);
#pragma omp parallel num_threads(2)
    stay_away(bodies[omp_get_thread_num() * kMostStays + i]);
  }
  const uint64_t end = ticks();
  return (double)(end - start) - longest_stays(serial, serial, count) -
         longest_stays(bodies, bodies + kMostStays, count);
}

static double single(int count) {
  long taken = 0;
  const uint64_t start = ticks();
#pragma omp parallel num_threads(2)
  for (int i = 0; i < count; i++) {
#pragma omp single
    taken++;
  }
  const uint64_t end = ticks();
  expect(taken, count, "single");
  return (double)(end - start);
}

static double copyprivate(int count) {
  const uint64_t start = ticks();
#pragma omp parallel num_threads(2)
  for (int i = 0; i < count; i++) {
    long value = -1;
#pragma omp single copyprivate(value)
    value = i;
    expect(value, i, "copyprivate");
  }
  return (double)(ticks() - start);
}

static double sections(int count) {
  static struct { _Alignas(128) int one, other; } by[2];
  by[0].one = by[0].other = by[1].one = by[1].other = 0;
  const uint64_t start = ticks();
#pragma omp parallel num_threads(2)
  for (int i = 0; i < count; i++) {
#pragma omp sections
    {
#pragma omp section
      by[omp_get_thread_num()].one++;
#pragma omp section
      by[omp_get_thread_num()].other++;
    }
  }
  const uint64_t end = ticks();
  expect(by[0].one + by[1].one, count, "first sections");
  expect(by[0].other + by[1].other, count, "second sections");
  return (double)(end - start);
}

static double reduction(int count) {
  long sum = 0;
  const uint64_t start = ticks();
  for (int i = 0; i < count; i++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += omp_get_thread_num() + 1;
  }
  const uint64_t end = ticks();
  expect(sum, 3L * count, "reduction");
  return (double)(end - start);
}

static double dynamic(int count) {
  long sum = 0;
  const uint64_t start = ticks();
#pragma omp parallel num_threads(2) reduction(+ : sum)
  for (int i = 0; i < count; i++) {
#pragma omp for schedule(dynamic)
    for (int k = 0; k < kIterations; k++) sum += k;
  }
  const uint64_t end = ticks();
  expect(sum, (long)count * kIterations * (kIterations - 1) / 2, "for schedule(dynamic)");
  return (double)(end - start);
}

/* The thread that opens the regions of two is in a region of its own. */
static double nested(int count) {
  long sum = 0;
  const uint64_t start = ticks();
#pragma omp parallel num_threads(1)
  for (int i = 0; i < count; i++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += omp_get_thread_num() + 1;
  }
  const uint64_t end = ticks();
  expect(sum, 3L * count, "nested regions");
  return (double)(end - start);
}

/* One thread makes tasks, and both run them. */
static double tasks(int count) {
  static struct { _Alignas(128) long run; } by[2];
  by[0].run = by[1].run = 0;
  const uint64_t start = ticks();
#pragma omp parallel num_threads(2)
  for (int i = 0; i < count; i++) {
#pragma omp master
    for (int k = 0; k < kTasks; k++) {
#pragma omp task
      {
        stay_away((uint32_t)(100 * ticks_per_ns));
        by[omp_get_thread_num()].run++;
      }
    }
#pragma omp barrier
  }
  const uint64_t end = ticks();
  expect(by[0].run + by[1].run, (long)count * kTasks, "tasks");
  return (double)(end - start);
}

/* Thread 0 makes a task, and goes on when the other has run it. */
static double task_taken(int count) {
  static struct { _Alignas(128) _Atomic int done; } task;
  int own = 0;
  /* relaxed: the region begins after it */
  atomic_store_explicit(&task.done, 0, memory_order_relaxed);
  const uint64_t start = ticks();
#pragma omp parallel num_threads(2)
  for (int i = 1; i <= count; i++) {
#pragma omp master
    {
#pragma omp task shared(own) firstprivate(i)
      {
        own += omp_get_thread_num() == 0;
        /* relaxed: nothing is read on the strength of it */
        atomic_store_explicit(&task.done, i, memory_order_relaxed);
      }
      while (atomic_load_explicit(&task.done, memory_order_relaxed) < i) pause_cpu();
    }
#pragma omp barrier
  }
  const uint64_t end = ticks();
  expect(own, 0, "tasks that their maker ran");
  return (double)(end - start);
}

static double task_loop(int count) {
  static struct { _Alignas(128) long run; } by[2];
  by[0].run = by[1].run = 0;
  const uint64_t start = ticks();
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int i = 0; i < count; i++) {
#pragma omp taskloop grainsize(1)
    for (int k = 0; k < kTasks; k++) {
      stay_away((uint32_t)(100 * ticks_per_ns));
      by[omp_get_thread_num()].run++;
    }
  }
  const uint64_t end = ticks();
  expect(by[0].run + by[1].run, (long)count * kTasks, "the tasks of loops");
  return (double)(end - start);
}

static const Figure figures[] = {{"barrier", barrier, 2000},     {"barrier-skewed", barrier_skewed, 1000},
                                 {"parallel", parallel, 1000},   {"parallel-skewed", parallel_skewed, 500},
                                 {"single", single, 1500},       {"copyprivate", copyprivate, 1000},
                                 {"reduction", reduction, 1000}, {"dynamic", dynamic, 200},
                                 {"nested", nested, 2000},       {"tasks", tasks, 20},
                                 {"task-loop", task_loop, 20},   {"task-taken", task_taken, 200},
                                 {"sections", sections, 500},    {0}};

static int measure(const char* name) {
  expect(team(), 2, "threads of a team");
  return measure_named(figures, name) || measure_named(edges, name);
}

static double one_region(void) {
  const double start = clock_ns();
#pragma omp parallel num_threads(2)
  __asm__ volatile("" ::: "memory"); /* an empty region would be left out */
  return clock_ns() - start;
}

int main(int argc, char** argv) {
  /* In a process that has done nothing before, the first region starts the threads, the second the hot team. */
  if (argc == 2 && (strcmp(argv[1], "first-region") == 0 || strcmp(argv[1], "second-region") == 0)) {
    const double first = one_region(), second = one_region();
    printf("%s %.0f\n", argv[1], argv[1][0] == 'f' ? first : second);
    return 0;
  }
  find_ticks_per_ns();
  return measure_all(argc, argv, measure, epcc_one_way_hop);
}
