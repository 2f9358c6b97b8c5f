// What the parts of mixed.c share: the first wrong answer, draws, settings as the program has made them, and teams as
// the OpenMP rules say they are.
#ifndef SMELT_TESTS_GOMP_SHIM_MIXED_COMMON_H
#define SMELT_TESTS_GOMP_SHIM_MIXED_COMMON_H

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 16, kSteps = 12, kIterations = 120 };

static unsigned seed;
static int part;                                  // of the main thread's serial parts: which
static const char* part_name = "";                // and its kind
static _Thread_local const char* construct = "";  // the kind of construct that this thread is at

#define EXPECT(condition, what)                                    \
  do {                                                             \
    if (!(condition)) wrong(what, #condition, __FILE__, __LINE__); \
  } while (0)

static void wrong(const char* what, const char* condition, const char* file, int line) {
  fprintf(stderr,
          "wrong: %s: seed %u, part %d (%s), construct %s, %s:%d: %s; thread %d of %d, level %d, %d of them active\n",
          what, seed, part, part_name, construct, strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line, condition,
          omp_get_thread_num(), omp_get_num_threads(), omp_get_level(), omp_get_active_level());
  _Exit(1);
}

static void delay(unsigned h) {
  h = hash(h, 77);
  if (h % 128 == 0)
    usleep(h / 128 % 100);
  else if (h % 32 == 1)
    sched_yield();
  else if (h % 8 == 2)
    for (volatile unsigned i = h / 16 % 1500; i > 0; i = i - 1) {
    }
}

static long add(long* tally, long what) { return __atomic_fetch_add(tally, what, __ATOMIC_RELAXED); }
static long read_of(const long* tally) { return __atomic_load_n(tally, __ATOMIC_RELAXED); }
static void once_more(int* times) { __atomic_fetch_add(times, 1, __ATOMIC_RELAXED); }

// The number that draw `which` of `state` gives, below `below`.
static int draw(unsigned state, unsigned which, int below) { return (int)(hash(state, which) % (unsigned)below); }

// ---- settings: what the program has made them, never what the runtime says ----

struct Settings {
  int threads, dynamic, levels, chunk;
  omp_sched_t schedule;
};

static struct Settings initial;  // of the process, by its environment
static int limited;              // by OMP_THREAD_LIMIT: sizes of teams are not exact
static int without_tasks;        // no construct makes any
static int list[8], listed;      // OMP_NUM_THREADS as a list

static struct Settings settings_now(void) {
  struct Settings s = {omp_get_max_threads(), omp_get_dynamic(), omp_get_max_active_levels(), 0, omp_sched_static};
  omp_get_schedule(&s.schedule, &s.chunk);
  return s;
}

static void expect_settings(struct Settings right, const char* where) {
  const struct Settings s = settings_now();
  const int without_chunk = ((unsigned)right.schedule & 15u) == (unsigned)omp_sched_auto;
  if (s.threads == right.threads && s.dynamic == right.dynamic && s.levels == right.levels &&
      s.schedule == right.schedule && (s.chunk == right.chunk || without_chunk))
    return;
  fprintf(stderr,
          "settings: threads %d instead of %d, dynamic %d (%d), max_active_levels %d (%d), schedule %x,%d (%x,%d)\n",
          s.threads, right.threads, s.dynamic, right.dynamic, s.levels, right.levels, (unsigned)s.schedule, s.chunk,
          (unsigned)right.schedule, right.chunk);
  EXPECT(0, where);
}

static void set_settings(struct Settings s) {
  omp_set_num_threads(s.threads);
  omp_set_dynamic(s.dynamic);
  omp_set_max_active_levels(s.levels);
  omp_set_schedule(s.schedule, s.chunk);
}

// Changes some of what was `s`. What they are now.
static struct Settings change_settings(struct Settings s, unsigned state) {
  int which = 1 + draw(state, 1, 15);
#ifdef __clang__  // libomp 14 forgets numbers of threads that are set in a region of one thread, and fails at dyn-var
  which &= 6;
#endif
  if (which & 1) omp_set_num_threads(s.threads = 1 + draw(state, 2, 5));
  if (which & 2) {
    const unsigned monotonic = draw(state, 4, 3) == 0 ? 0x80000000u : 0;
    s.schedule = (omp_sched_t)((unsigned)(1 + draw(state, 3, 4)) | monotonic);
    omp_set_schedule(s.schedule, s.chunk = 1 + draw(state, 5, 9));
  }
  if (which & 4) omp_set_max_active_levels(s.levels = draw(state, 6, 5));
  if (which == 8 && draw(state, 7, 4) == 0) omp_set_dynamic(s.dynamic = !s.dynamic);
  expect_settings(s, "a setting is not what it was set to");
  return s;
}

// ---- teams ----

// What one construct of a team shares: zero at first, and used once.
struct Scene {
  int times[kIterations], mark[kThreads];
  long count[8], value[8];
  int last;
};

struct Team {
  struct Team* outer;
  int outer_number;  // of the thread that opened the region, in `outer`
  // others: opened by one of the threads that the program has made
  int depth, level, active, most, exact, size, steps, root, others;
  unsigned common;  // draws of the team
  struct Settings settings;
  int seen[kThreads];
  long entered;
  struct Scene scenes[kSteps];
};

static _Thread_local struct Team* team;  // that this thread is in
static _Thread_local int is_other;       // one of the threads that the program has made
static int private_value = -1;
#pragma omp threadprivate(private_value)

// Where this thread is, up to the initial task.
static void expect_place(void) {
  int number = omp_get_thread_num();
  EXPECT(omp_get_level() == (team ? team->level : 0), "another level");
  EXPECT(omp_get_active_level() == (team ? team->active : 0), "another active level");
  EXPECT(omp_in_parallel() == (team && team->active > 0), "in parallel, or not");
  EXPECT(omp_get_num_threads() == (team ? team->size : 1), "a team of another size");
  for (const struct Team* t = team; t; t = t->outer) {
    EXPECT(omp_get_ancestor_thread_num(t->level) == number, "another ancestor");
    EXPECT(omp_get_team_size(t->level) == t->size, "an ancestors' team of another size");
    number = t->outer_number;
  }
  EXPECT(omp_get_ancestor_thread_num(0) == 0 && omp_get_team_size(0) == 1, "another initial task");
  EXPECT(omp_get_ancestor_thread_num((team ? team->level : 0) + 1) == -1, "an ancestor below");
}

// Opens a region, of up to `most` threads, as `state` draws it.
static void open_region(unsigned state, int depth, int most, struct Settings now);

#endif
