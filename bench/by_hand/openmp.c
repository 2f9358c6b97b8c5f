/* openmp FIGURE...: the times of OpenMP's constructs, and of the same exchanges by hand. Prints a line "FIGURE ns ns"
 * for each: the construct's time, and that by hand, with as few messages as do it, between the same threads.
 *
 * Batches of the one and of the other take turns. Before each exchange every thread stays away for a time of its own,
 * but for the figures called tight, and only the time after the longest stay counts (guarded/timing.h). There are as
 * many threads as OMP_NUM_THREADS says. The figure `hop` is the one-way hop. bench/limit runs this.
 */
#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include "common.h"
#include "line.h"

enum { kMostThreads = 256, kMostCalls = 1000, kIterations = 64 };
#define MOST_AWAY_NS 300.0

static int threads;
static line lines[kMostThreads], released, claimed, task_done;
/* The values that an exchange leaves for others to read. Exchanges take turns: the writer of the next has left this
 * one, which may still be read. */
static line left[2][kMostThreads];
static uint64_t epoch;  /* that all have passed, between two batches */
static uint32_t* stays; /* those of each thread, then those of the serial parts */
static bool tight;

static void expect(double got, double wanted, const char* what) {
  if (got == wanted) return;
  fprintf(stderr, "%s: %g instead of %g\n", what, got, wanted);
  exit(1);
}

static inline void stay(int party, int i) {
  if (!tight) stay_away(stays[party * kMostCalls + i]);
}

/* The sum over the calls of the longest of these parties' stays. */
static double longest_of(int first, int last, int count) {
  double sum = 0;
  for (int i = 0; i < count && !tight; i++) {
    uint32_t most = 0;
    for (int p = first; p < last; p++)
      if (stays[p * kMostCalls + i] > most) most = stays[p * kMostCalls + i];
    sum += most;
  }
  return sum;
}

/* All tell all. */
static inline void meet(int me, uint64_t now) {
  post(lines + me, now);
  for (int k = 1; k < threads; k++) await(lines + (me + k) % threads, now);
}

/* --- within a region; each is one exchange, the i-th of its batch, with an epoch of its own --- */

typedef void exchange(int me, int i, uint64_t now);

static double within(int count, exchange* one) {
  uint64_t start = 0, end = 0;
  const uint64_t begin = epoch + 1;
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    meet(me, begin);
    if (me == 0) start = ticks();
    for (int i = 0; i < count; i++) {
      stay(me, i);
      one(me, i, begin + 1 + (uint64_t)i);
    }
    if (me == 0) end = ticks();
  }
  epoch += (uint64_t)count + 2; /* exchanges go on taking turns */
  return (double)(end - start) - longest_of(0, threads, count);
}

static void barrier_construct(int me, int i, uint64_t now) {
  (void)me, (void)i, (void)now;
#pragma omp barrier
}
static void barrier_hand(int me, int i, uint64_t now) {
  (void)i;
  meet(me, now);
}

static void check_single(uint64_t now) {
  if (left[now & 1][0].value != (double)now) expect(left[now & 1][0].value, (double)now, "single");
}
static void single_construct(int me, int i, uint64_t now) {
  (void)me, (void)i;
#pragma omp single
  left[now & 1][0].value = (double)now;
  check_single(now);
}

/* relaxed: nothing is read on the strength of a claim before the messages that follow. */
static inline bool claim(uint64_t now) {
  uint64_t before = atomic_load_explicit(&claimed.epoch, memory_order_relaxed);
  return before < now && atomic_compare_exchange_strong_explicit(&claimed.epoch, &before, now, memory_order_relaxed,
                                                                 memory_order_relaxed);
}
static void single_hand(int me, int i, uint64_t now) {
  (void)i;
  if (claim(now)) left[now & 1][0].value = (double)now;
  meet(me, now);
  check_single(now);
}

static void copyprivate_construct(int me, int i, uint64_t now) {
  double value = 0;
  (void)me, (void)i;
#pragma omp single copyprivate(value)
  value = (double)now;
  if (value != (double)now) expect(value, (double)now, "copyprivate");
}
/* The value rides in the line that its owner posts anyway. */
static void copyprivate_hand(int me, int i, uint64_t now) {
  line* const row = left[now & 1];
  (void)i;
  row[me].value = claim(now) ? (double)now : 0;
  post(row + me, now);
  double value = row[me].value;
  for (int k = 1; k < threads; k++) {
    line* const other = row + (me + k) % threads;
    await(other, now);
    value += other->value;
  }
  if (value != (double)now) expect(value, (double)now, "copyprivate by hand");
}

static void check_sections(uint64_t now) {
  const double sum = left[now & 1][0].value + left[now & 1][1].value;
  if (sum != 2 * (double)now) expect(sum, 2 * (double)now, "sections");
}
static void sections_construct(int me, int i, uint64_t now) {
  (void)me, (void)i;
#pragma omp sections
  {
#pragma omp section
    left[now & 1][0].value = (double)now;
#pragma omp section
    left[now & 1][1].value = (double)now;
  }
  check_sections(now);
}
static void sections_hand(int me, int i, uint64_t now) {
  (void)i;
  for (int k = me; k < 2; k += threads) left[now & 1][k].value = (double)now;
  meet(me, now);
  check_sections(now);
}

static void check_loop(int me, uint64_t now) {
  double sum = 0;
  for (int k = 0; k < threads && me == 0; k++) sum += left[now & 1][k].value;
  if (me == 0) expect(sum, kIterations * (kIterations - 1) / 2, "the loop");
}
static void dynamic_construct(int me, int i, uint64_t now) {
  double sum = 0;
  (void)i;
#pragma omp for schedule(dynamic) nowait
  for (int k = 0; k < kIterations; k++) sum += k;
  left[now & 1][me].value = sum;
#pragma omp barrier
  check_loop(me, now);
}
/* One counter, as the words of the standard suggest. */
static void dynamic_hand(int me, int i, uint64_t now) {
  static struct { _Alignas(128) _Atomic int next; } counter[2];
  double sum = 0;
  int k;
  (void)i;
  /* relaxed: the numbers are all that it says */
  while ((k = atomic_fetch_add_explicit(&counter[now & 1].next, 1, memory_order_relaxed)) < kIterations) sum += k;
  left[now & 1][me].value = sum;
  /* relaxed: the next exchange begins after the messages of this one */
  if (me == 0) atomic_store_explicit(&counter[(now + 1) & 1].next, 0, memory_order_relaxed);
  meet(me, now);
  check_loop(me, now);
}

/* Thread 0 makes a task and does nothing else until another has run it. */
static void task_construct(int me, int i, uint64_t now) {
  (void)i;
  if (me == 0) {
#pragma omp task firstprivate(now)
    post(&task_done, now);
    await(&task_done, now);
  }
#pragma omp barrier
}
static void task_hand(int me, int i, uint64_t now) {
  (void)i;
  if (me == 0) post(&released, now);
  if (me == 1) {
    await(&released, now);
    post(&task_done, now);
  }
  if (me == 0) await(&task_done, now);
  meet(me, now);
}

/* --- regions: thread 0 stays away in its serial part, all do in their bodies --- */

static double regions_cost(uint64_t ticks, int count) {
  return (double)ticks - longest_of(0, threads, count) - longest_of(threads, threads + 1, count);
}

static double parallel_construct(int count) {
  const uint64_t start = ticks();
  for (int i = 0; i < count; i++) {
    stay(threads, i);
#pragma omp parallel num_threads(threads)
    {
      const int me = omp_get_thread_num();
      stay(me, i);
      __asm__ volatile("" ::: "memory");
    }
  }
  return regions_cost(ticks() - start, count);
}

static double reduction_construct(int count) {
  double sum = 0;
  const uint64_t start = ticks();
  for (int i = 0; i < count; i++) {
    stay(threads, i);
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
      const int me = omp_get_thread_num();
      stay(me, i);
      sum += me + 1;
    }
  }
  const uint64_t end = ticks();
  expect(sum, count * (threads * (threads + 1.0) / 2), "reduction");
  return regions_cost(end - start, count);
}

/* A message there and one back, with an operand in it. */
static double fork_hand(int count, bool reduces) {
  uint64_t start = 0, end = 0;
  const uint64_t begin = epoch + 1;
  double sum = 0;
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    meet(me, begin);
    if (me == 0) start = ticks();
    for (int i = 0; i < count; i++) {
      const uint64_t now = begin + 1 + (uint64_t)i;
      if (me != 0) {
        await(&released, now);
        stay(me, i);
        if (reduces) lines[me].value = me + 1;
        post(lines + me, now);
        continue;
      }
      stay(threads, i);
      post(&released, now);
      stay(me, i);
      sum += 1;
      for (int k = 1; k < threads; k++) {
        await(lines + k, now);
        if (reduces) sum += lines[k].value;
      }
    }
    if (me == 0) end = ticks();
  }
  epoch += (uint64_t)count + 2; /* exchanges go on taking turns */
  if (reduces) expect(sum, count * (threads * (threads + 1.0) / 2), "the reduction by hand");
  return regions_cost(end - start, count);
}

static double parallel_hand(int count) { return fork_hand(count, false); }
static double reduction_hand(int count) { return fork_hand(count, true); }

/* --- the figures --- */

static const struct figure {
  const char* name;
  exchange *construct, *hand;
  double (*regions)(int count);
  double (*regions_hand)(int count);
  int count; /* in a batch */
} figures[] = {{"barrier", barrier_construct, barrier_hand, NULL, NULL, 1000},
               {"parallel", NULL, NULL, parallel_construct, parallel_hand, 500},
               {"reduction", NULL, NULL, reduction_construct, reduction_hand, 500},
               {"single", single_construct, single_hand, NULL, NULL, 1000},
               {"copyprivate", copyprivate_construct, copyprivate_hand, NULL, NULL, 500},
               {"sections", sections_construct, sections_hand, NULL, NULL, 500},
               {"dynamic", dynamic_construct, dynamic_hand, NULL, NULL, 100},
               {"task", task_construct, task_hand, NULL, NULL, 200}};

static double batch(const struct figure* figure, bool by_hand) {
  double ticks;
  if (figure->regions)
    ticks = (by_hand ? figure->regions_hand : figure->regions)(figure->count);
  else
    ticks = within(figure->count, by_hand ? figure->hand : figure->construct);
  return ticks / figure->count / ticks_per_ns;
}

static int measure(const char* name) {
  char base[32];
  const char* const dash = strchr(name, '-');
  snprintf(base, sizeof base, "%.*s", dash ? (int)(dash - name) : 30, name);
  tight = dash && strcmp(dash, "-tight") == 0;
  if (dash && !tight) return 0;
  for (size_t f = 0; f < sizeof figures / sizeof *figures; f++) {
    if (strcmp(base, figures[f].name) != 0) continue;
    double construct[kBatches], hand[kBatches];
    for (int i = -2; i < kBatches; i++) { /* those below 0 warm up */
      const double one = batch(figures + f, false), other = batch(figures + f, true);
      if (i >= 0) construct[i] = one, hand[i] = other;
    }
    printf("%s %.2f %.2f\n", name, lower_quartile(construct), lower_quartile(hand));
    return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  find_ticks_per_ns();
#pragma omp parallel
#pragma omp single
  threads = omp_get_num_threads();
  if (threads > kMostThreads) expect(threads, kMostThreads, "at most so many threads");
  stays = draw_stays(kMostCalls, threads + 1, MOST_AWAY_NS);
  return measure_all(argc, argv, measure, epcc_one_way_hop);
}
