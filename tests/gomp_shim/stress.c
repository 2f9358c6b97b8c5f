// Random OpenMP programs, the same for the same seed, each of whose results is checked.
//   stress SEED [REGIONS [MOST_THREADS [SECONDS [hang | slow]]]]
//
// One to three masters run regions of 2 to MOST_THREADS threads. A region is a few constructs: barriers, singles,
// copyprivate, loops of every schedule, reductions, tasks, sections, regions inside. Between regions the size changes
// now and then, settings do, and time passes; inside, threads are late by turns, so that every way of waiting is met.
//
// A run that is not done after SECONDS is told apart: it prints what every thread is at and how many constructs have
// been passed, twice, five seconds apart. If there were none in between it is hung (exit status 2), otherwise slow (3).
// A wrong result: 1. The last argument plants such a fault, to test this very thing.
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kMost = 64, kSlots = 1024, kMasters = 3, kInner = 4 };

// What a thread is at. Threads come and go; the slots are used in turn.
static struct Slot {
  atomic_long passed;
  _Atomic(const char*) at;  // NULL: outside regions
  atomic_int master, region;
} slots[kSlots];
static atomic_uint slots_used;
static _Thread_local struct Slot* slot;

static unsigned seed;
static int regions = 100, most = 32;
static int plant_hang, plant_slow;
static atomic_int finished;

// What a team shares. Plain variables on purpose: barriers must make them visible.
struct Team {
  int master, region, size;
  int mark[kMost * 16];  // one per thread, 64 bytes apart
  int counted, number, sum;
  int made, done;  // tasks
  int order;
};

static void at(const struct Team* team, const char* what) {
  if (!slot) slot = &slots[atomic_fetch_add(&slots_used, 1) % kSlots];
  atomic_store_explicit(&slot->master, team->master, memory_order_relaxed);
  atomic_store_explicit(&slot->region, team->region, memory_order_relaxed);
  atomic_store_explicit(&slot->at, what, memory_order_relaxed);
  if (what) atomic_fetch_add_explicit(&slot->passed, 1, memory_order_relaxed);
  if (plant_slow) usleep(20000);
}

#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "wrong: %s: seed %u, master %d, region %d of %d threads, line %d\n", #condition, seed, \
              team->master, team->region, team->size, __LINE__);                                             \
      _Exit(1);                                                                                              \
    }                                                                                                        \
  } while (0)

static void delay(unsigned* state) {
  const unsigned kind = next_random(state) % 24;
  if (kind == 0)
    usleep(next_random(state) % 300);
  else if (kind == 1)
    sched_yield();
  else if (kind < 5)
    for (volatile unsigned i = next_random(state) % 3000; i > 0; i = i - 1) {
    }
}

static void tasks(struct Team* team, unsigned* mine, int depth) {
  const unsigned count = 1 + next_random(mine) % 3;
  __atomic_fetch_add(&team->made, (int)count, __ATOMIC_RELAXED);
  for (unsigned i = 0; i < count; ++i) {
    unsigned state = next_random(mine);
#pragma omp task firstprivate(state, team, depth)
    {
      delay(&state);
      if (depth > 0 && state % 3 == 0) tasks(team, &state, depth - 1);
      __atomic_fetch_add(&team->done, 1, __ATOMIC_RELAXED);
    }
  }
}

static void inner_region(const struct Team* team, unsigned state) {
  const int size = 2 + (int)(next_random(&state) % (kInner - 1));
  const int rounds = 1 + (int)(next_random(&state) % 3);
  int mark[kInner * 16] = {0}, copied_sum = 0;
#pragma omp parallel num_threads(size) reduction(+ : copied_sum)
  {
    const int me = omp_get_thread_num(), now = omp_get_num_threads();
    for (int r = 1; r <= rounds; ++r) {
      mark[me * 16] = r;
#pragma omp barrier
      for (int t = 0; t < now; ++t) EXPECT(mark[t * 16] == r);
      int copied = 0;
#pragma omp single copyprivate(copied)
      copied = r;
      copied_sum += copied;
    }
  }
  EXPECT(copied_sum % (rounds * (rounds + 1) / 2) == 0 && copied_sum > 0);
}

// One construct. Which one, and its numbers, come from `common`, which is the same in all threads; what a thread does
// beside it from `mine`. A barrier is behind everybody at its end.
static void construct(struct Team* team, int me, int step, unsigned* common, unsigned* mine) {
  const unsigned kind = next_random(common) % 13, number = next_random(common) % 1000;
  const int size = team->size;
  delay(mine);
  switch (kind) {
    case 0:
    case 1:
      at(team, "barriers");
      for (unsigned i = 0; i < 1 + number % 4; ++i) {
        team->mark[me * 16] = step * 8 + (int)i;
#pragma omp barrier
        for (int t = 0; t < size; ++t) EXPECT(team->mark[t * 16] == step * 8 + (int)i);
        delay(mine);
#pragma omp barrier
      }
      break;
    case 2: at(team, "single");
#pragma omp single
      {
        delay(mine);
        team->counted += 1;
        team->number = (int)number;
      }
      EXPECT(team->number == (int)number);
#pragma omp barrier
      break;
    case 3: {
      at(team, "copyprivate");
      int one = 0;
      double many[50] = {0};
#pragma omp single copyprivate(one, many)
      {
        delay(mine);
        one = (int)number + step;
        many[49] = one * 2;
      }
      EXPECT(one == (int)number + step && many[49] == one * 2);
      break;
    }
    case 4:
    case 5:
    case 6: {
      at(team, kind == 4 ? "dynamic loop" : kind == 5 ? "guided loop" : "runtime loop");
      const int trips = (int)number % 100 + 1;
      int sum = 0;
      if (kind == 4) {
#pragma omp for schedule(dynamic) nowait
        for (int k = 0; k < trips; ++k) sum += k;
      } else if (kind == 5) {
#pragma omp for schedule(guided)
        for (int k = 0; k < trips; ++k) sum += k;
      } else {
#pragma omp for schedule(runtime)
        for (int k = 0; k < trips; ++k) sum += k;
      }
#pragma omp atomic
      team->sum += sum;
#pragma omp barrier
      EXPECT(team->sum == trips * (trips - 1) / 2);
#pragma omp barrier
#pragma omp single
      team->sum = 0;
      break;
    }
    case 7: at(team, "ordered loop");
#pragma omp for ordered schedule(dynamic)
      for (int k = 0; k < size + 3; ++k) {
#pragma omp ordered
        {
          EXPECT(team->order == k);
          team->order = k + 1;
        }
      }
#pragma omp single
      team->order = 0;
      break;
    case 8:
    case 9:
      at(team, "tasks");
      if (next_random(mine) % 3 == 0) tasks(team, mine, 2);
      if (number % 2) {
#pragma omp barrier
      } else {
#pragma omp for schedule(dynamic)
        for (int k = 0; k < 4; ++k)
          if (k == 1) tasks(team, mine, 1);
      }
      EXPECT(__atomic_load_n(&team->done, __ATOMIC_RELAXED) == __atomic_load_n(&team->made, __ATOMIC_RELAXED));
#pragma omp barrier
      break;
    case 10: at(team, "sections");
#pragma omp sections
      {
#pragma omp section
        team->mark[0] = -step;
#pragma omp section
        team->number = -step;
      }
      EXPECT(team->mark[0] == -step && team->number == -step);
#pragma omp barrier
      break;
    case 11:
      at(team, "region inside");
      if (me % 8 == (int)number % 8) inner_region(team, *mine);
#pragma omp barrier
      break;
    default: {
      at(team, "taskgroup");
      if (me == (int)number % size) {
        int inside = 0;
#pragma omp taskgroup
        for (int i = 0; i < 3; ++i) {
#pragma omp task shared(inside)
          __atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED);
        }
        EXPECT(inside == 3);
      }
#pragma omp barrier
    }
  }
}

static void region(struct Team* team, unsigned state, int asked) {
  const int steps = (int)(next_random(&state) % 5);
  team->counted = team->sum = team->made = team->done = team->order = 0;
  int entered = 0;
#pragma omp parallel num_threads(asked) firstprivate(state) reduction(+ : entered)
  {
    const int me = omp_get_thread_num();
    unsigned mine = state + 7919u * (unsigned)(me + 1), common = state;
    at(team, "region begins");
    EXPECT(omp_get_num_threads() == asked);
    ++entered;
    for (int step = 1; step <= steps; ++step) {
      construct(team, me, step, &common, &mine);
      if (plant_hang && team->region == 10 && me == 1) {
        at(team, "planted: never goes on");
        for (;;) pause();
      }
    }
    if (next_random(&mine) % 4 == 0) tasks(team, &mine, 1);  // the end of the region must run them
    at(team, "region ends");
    atomic_store_explicit(&slot->at, NULL, memory_order_relaxed);
  }
  at(team, NULL);
  EXPECT(entered == asked && team->done == team->made);
}

static void settings(unsigned* state) {
  switch (next_random(state) % 8) {
    case 0: omp_set_num_threads(1 + (int)(next_random(state) % 8)); break;
    case 1: omp_set_schedule((omp_sched_t)(1 + next_random(state) % 3), (int)(next_random(state) % 5)); break;
    case 2: omp_set_max_active_levels(1 + (int)(next_random(state) % 3)); break;
    default: break;
  }
}

static void* master(void* number) {
  static struct Team teams[kMasters];
  struct Team* team = &teams[(size_t)number];
  unsigned state = seed * 2654435761u + 97u * (unsigned)(size_t)number;
  team->master = (int)(size_t)number;
  team->size = 2 + (int)(next_random(&state) % 3);
  omp_set_dynamic(0);
  for (int r = 1; r <= regions; ++r) {
    const unsigned change = next_random(&state) % 12;
    if (change == 0) team->size = 2 + (int)(next_random(&state) % (unsigned)(most - 1));
    if (change == 1) team->size = 2 + (int)(next_random(&state) % 7);
    if (change == 2) settings(&state);
    if (change == 3) delay(&state);
    team->region = r;
    region(team, next_random(&state), team->size);
  }
  return NULL;
}

static long report(void) {
  long passed = 0;
  for (int i = 0; i < kSlots; ++i) passed += atomic_load(&slots[i].passed);
  fprintf(stderr, "%ld constructs passed\n", passed);
  for (int i = 0; i < kSlots; ++i) {
    const char* what = atomic_load(&slots[i].at);
    if (what)
      fprintf(stderr, "  thread %d, master %d, region %d, construct %ld: %s\n", i, atomic_load(&slots[i].master),
              atomic_load(&slots[i].region), atomic_load(&slots[i].passed), what);
  }
  return passed;
}

static void* watchdog(void* seconds) {
  for (long tenths = (long)(size_t)seconds * 10; tenths > 0; --tenths) {
    usleep(100000);
    if (atomic_load(&finished)) return NULL;
  }
  fprintf(stderr, "seed %u is not done after %zu s: ", seed, (size_t)seconds);
  const long before = report();
  sleep(5);
  if (atomic_load(&finished)) return NULL;  // it was nearly there
  fprintf(stderr, "5 s later: ");
  const int hung = report() == before;
  fprintf(stderr, "%s\n", hung ? "hung: nobody made progress" : "slow: there was progress");
  _Exit(hung ? 2 : 3);
}

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  seed = (unsigned)strtoul(argv[1], NULL, 10);
  if (argc > 2) regions = atoi(argv[2]);
  if (argc > 3) most = atoi(argv[3]);
  const size_t seconds = argc > 4 ? (size_t)atoi(argv[4]) : 100;
  plant_hang = argc > 5 && strcmp(argv[5], "hang") == 0;
  plant_slow = argc > 5 && strcmp(argv[5], "slow") == 0;
  CHECK(regions > 0 && most >= 2 && most <= kMost && seconds > 0);
  pthread_t watcher, threads[kMasters];
  CHECK(pthread_create(&watcher, NULL, watchdog, (void*)seconds) == 0);
  const size_t masters = seed % 3 == 0 ? 1 + seed / 3 % kMasters : 1;
  for (size_t i = 1; i < masters; ++i) CHECK(pthread_create(&threads[i], NULL, master, (void*)i) == 0);
  master(NULL);
  for (size_t i = 1; i < masters; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  atomic_store(&finished, 1);
  CHECK(pthread_join(watcher, NULL) == 0);
  puts("ok");
  return 0;
}
