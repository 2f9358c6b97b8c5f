// What a thread does between its regions, a function for each kind of serial part. Included by mixed.c.
#ifndef SMELT_TESTS_GOMP_SHIM_MIXED_PARTS_H
#define SMELT_TESTS_GOMP_SHIM_MIXED_PARTS_H

#include <sys/wait.h>

#include "mixed_constructs.h"

// A thread outside of all regions.
struct Serial {
  int most;     // threads of a region
  int others;   // 1: one of several threads that the program has made
  int deepest;  // of max_active_levels that a part may leave
  struct Settings now;
};

static int children_open_regions;  // those that fork makes; stock libgomp hangs there

static void serial_parts(struct Serial* self, unsigned state, int parts);

static int exact(struct Settings now) { return !now.dynamic && !limited; }
// The size of a region of `wanted` threads at `active` active levels; -1: not known
static int expected_size(struct Settings now, int wanted, int active) {
  return active >= now.levels ? 1 : exact(now) ? wanted : wanted == 1 ? 1 : -1;
}

static void part_trees(struct Serial* self, unsigned state) {
  static int threads = 2;
  if (self->others) return;
  const unsigned trees = hash(seed, (unsigned)part);
  (void)state;
  if (trees % 8 == 0) threads = 2 + (int)(trees / 8 % (unsigned)(self->most - 1));
  run_trees(hash(trees, 1), threads);
}

static void part_region(struct Serial* self, unsigned state) { open_region(state, 0, self->most, self->now); }

// Short regions, their sizes by turns, of one thread by clause, by condition and by size.
static void part_sizes(struct Serial* self, unsigned state) {
  const int times = 1 + draw(state, 1, 30), kinds = 1 + draw(state, 2, 4);
  for (int i = 0; i < times; ++i) {
    const unsigned h = hash(state, (unsigned)(10 + i % kinds));
    const int wanted = 1 + draw(h, 1, self->most), at_once = draw(h, 2, 4) != 0;
    long members = 0;
    struct Settings inside = self->now;
    if (listed > 1) inside.threads = list[1];
#pragma omp parallel num_threads(wanted) if (at_once) reduction(+ : members)
    {
      members += 1;
      if (draw(h, 3, 2)) {
#pragma omp barrier
      }
      if (omp_get_thread_num() == wanted - 1) expect_settings(inside, "a short region has other settings");
    }
    const int size = expected_size(self->now, at_once ? wanted : 1, 0);
    EXPECT(members == size || (size < 0 && members >= 1 && members <= wanted), "a short region's size");
  }
}

// Settings made here, regions under them, of one thread and of as many as are set.
static void part_settings(struct Serial* self, unsigned state) {
  const struct Settings before = self->now;
  self->now = change_settings(self->now, state);
  const int regions = draw(state, 20, 4);
  for (int i = 0; i < regions; ++i) {
    long members = 0;
    if (draw(state, (unsigned)(30 + i), 2)) {
      solos(self->now, draw(state, (unsigned)(40 + i), 3), hash(state, (unsigned)i), 2);
    } else {
#pragma omp parallel reduction(+ : members)
      members += 1;
      const int size = expected_size(self->now, self->now.threads, 0);
      EXPECT(members == size || (size < 0 && members <= self->now.threads), "not as many threads as were set");
    }
    expect_settings(self->now, "a setting is lost behind a region");
  }
  if (draw(state, 21, 2) || self->now.dynamic || self->now.levels == 0) set_settings(self->now = before);
}

// Regions four deep under one max_active_levels: how many threads there are at each level, and what they know of it.
static void nested_regions(const struct Settings now, int times, int outer, int size) {
  for (int i = 0; i < times; ++i) {
    long members[4] = {0}, others = 0;
#define KNOW_LEVELS(depth)                                                                            \
  do {                                                                                                \
    add(&members[depth], 1);                                                                          \
    if (omp_get_max_active_levels() != now.levels || omp_get_level() != (depth) + 1) add(&others, 1); \
  } while (0)
#pragma omp parallel num_threads(outer)
    {
      KNOW_LEVELS(0);
#pragma omp parallel num_threads(size)
      {
        KNOW_LEVELS(1);
#pragma omp parallel num_threads(2)
        {
          KNOW_LEVELS(2);
#pragma omp parallel num_threads(2)
          KNOW_LEVELS(3);
        }
      }
    }
#undef KNOW_LEVELS
    EXPECT(others == 0, "max_active_levels did not reach a region's thread");
    const int wanted[4] = {outer, size, 2, 2};
    long right = 1;
    for (int depth = 0, active = 0; depth < 4 && exact(now); ++depth) {
      const int here = expected_size(now, wanted[depth], active);
      right *= here;
      active += here > 1;
      EXPECT(members[depth] == right, "max_active_levels and the sizes of nested regions");
    }
  }
}
static void part_levels(struct Serial* self, unsigned state) {
  const struct Settings before = self->now;
  const int outer = 1 + draw(state, 1, 3), size = 2 + draw(state, 2, 2), changes = 1 + draw(state, 3, 6);
  for (int i = 0; i < changes; ++i) {
    omp_set_max_active_levels(self->now.levels = 1 + draw(state, (unsigned)(10 + i), 4));
    const int now_outer = draw(state, (unsigned)(30 + i), 3) ? outer : 1 + draw(state, (unsigned)(50 + i), 3);
    nested_regions(self->now, 1 + draw(state, (unsigned)(70 + i), 12), now_outer, size);
  }
  if (draw(state, 5, 2)) set_settings(self->now = before);
}

// Threadprivate values stay from region to region of as many threads, with others of one thread in between.
static void part_threadprivate(struct Serial* self, unsigned state) {
  static long generations;
  const int times = 2 + draw(state, 1, 8), wanted = 1 + draw(state, 2, self->most);
  const int places = omp_get_num_places() > 0;
  const int base = (int)(add(&generations, 1) % 1000000) * kThreads, before = private_value;
  for (int i = 0; i < times; ++i) {
    long lost = 0;
#pragma omp parallel num_threads(wanted) reduction(+ : lost)
    {
      const int me = omp_get_thread_num();
      if (i == 0) private_value = base + me;
      if (private_value != base + me) lost += 1;
      if (draw(state, 3, 2)) {
#pragma omp for schedule(dynamic) nowait
        for (int j = 0; j < 9; ++j) delay(hash(state, (unsigned)j));
      }
    }
    // With places and fewer of them than threads, libgomp 12 itself numbers its threads anew.
    EXPECT(lost == 0 || !exact(self->now) || places, "a threadprivate value is lost");
    if (draw(state, (unsigned)(10 + i), 3) == 0) {
#pragma omp parallel if (i < 0)
      EXPECT(private_value == base, "a threadprivate value of the first thread is lost in a region of one");
    }
    if (draw(state, (unsigned)(40 + i), 4) == 0) usleep(300);
  }
  EXPECT(private_value == base, "a threadprivate value of the first thread is lost");
  private_value = before;
}

static void part_target(struct Serial* self, unsigned state) { target_with_regions(state, 0, self->now); }

static void part_orphans(struct Serial* self, unsigned state) {
  int sum = 0, copied = 0;
#pragma omp for schedule(dynamic, 3) ordered
  for (int i = 0; i < 20; ++i) {
#pragma omp ordered
    sum += i;
  }
#pragma omp sections
  {
    sum += 1;
#pragma omp section
    sum += 2;
  }
#pragma omp single copyprivate(copied)
  copied = 7;
#pragma omp barrier
  EXPECT(sum == 193 && copied == 7, "orphaned constructs");
  long done = 0, order = 0;
  const struct Settings now = self->now;
#pragma omp task shared(done) if (state % 2)
  {
    expect_settings(now, "a task of a serial part has other settings");
    change_settings(now, state);
    done = 3;
  }
#pragma omp taskwait
#pragma omp taskloop shared(done) num_tasks(4)
  for (int i = 0; i < 20; ++i) add(&done, i);
#pragma omp task depend(out : order) shared(order)
  order = 4;
#pragma omp task depend(in : order) shared(order, done)
  done += order;
#pragma omp taskwait
  EXPECT(done == 197, "tasks of a serial part");
  if (draw(state, 1, 2)) {
#pragma omp task shared(done)
    open_region(hash(state, 2), 1, 3, now);
#pragma omp taskwait
  }
}

#ifndef __clang__
static void part_teams(struct Serial* self, unsigned state) {
  long sum = 0, teams = 0;
  (void)self;
#pragma omp teams num_teams(1 + draw(state, 1, 4)) thread_limit(3) reduction(+ : sum, teams)
  {
    teams += 1;
#pragma omp distribute
    for (int i = 0; i < 20; ++i) {
      long members = 0;
#pragma omp parallel num_threads(2) reduction(+ : members)
      members += 1;
      sum += members > 0 ? i : 0;
    }
  }
  EXPECT(sum == 190 && teams >= 1, "teams");
}
#endif

// ---- other threads ----

struct Other {
  pthread_t thread;
  struct Serial self;
  unsigned state;
  int parts, late, leaves;
};

static void open_late(void* state) {
  team = NULL, running = kRoot;
  long members = 0;
#pragma omp parallel num_threads(1 + *(unsigned*)state % 3) reduction(+ : members)
  members += 1;
  EXPECT(members >= 1 && members <= 3, "a region in a destructor at the thread's end");
}
extern int __cxa_thread_atexit_impl(void (*destructor)(void*), void* object, void* library);
extern void* __dso_handle;

static void* run_other(void* argument) {
  struct Other* other = argument;
  is_other = 1;
  expect_settings(initial, "a new thread has other settings than the process had at first");
  if (other->late) __cxa_thread_atexit_impl(open_late, &other->state, &__dso_handle);
  serial_parts(&other->self, other->state, other->parts);
  if (other->leaves) pthread_exit(NULL);
  return NULL;
}

// Threads of the program's own that have regions, and end.
static void open_threads(int most, unsigned state, void (*meanwhile)(struct Serial*, unsigned), struct Serial* self) {
  struct Other others[4];
  const int threads = 1 + draw(state, 1, 4);
  for (int i = 0; i < threads; ++i) {
    struct Other* o = &others[i];
    const unsigned h = hash(state, (unsigned)(10 + i));
    o->self = (struct Serial){.most = most < 4 ? most : 4, .others = 1};
    o->state = h, o->parts = 1 + draw(h, 1, 5), o->late = draw(h, 2, 4) == 0, o->leaves = draw(h, 3, 3) == 0;
    EXPECT(pthread_create(&o->thread, NULL, run_other, o) == 0, "a thread is not made");
  }
  if (meanwhile) meanwhile(self, hash(state, 2));
  for (int i = 0; i < threads; ++i) pthread_join(others[i].thread, NULL);
}
static void part_threads(struct Serial* self, unsigned state) {
  if (!self->others) open_threads(self->most, state, draw(state, 3, 2) ? part_region : NULL, self);
}
static void do_threads(struct Team* t, struct Scene* s, unsigned state) {
  (void)s;
  if (t->depth == 0 && !t->others && omp_get_thread_num() == draw(state, 50, t->size))
    open_threads(3, state, NULL, NULL);
}

static void part_fork(struct Serial* self, unsigned state) {
  if (self->others) return;
  const pid_t child = fork();
  EXPECT(child >= 0, "fork");
  if (child == 0) {
    alarm(100);
    expect_place();
#ifndef __clang__  // libomp begins anew in a child
    expect_settings(self->now, "a child has other settings than its parent");
#else
    self->now = initial;
#endif
    for (int i = 0; children_open_regions && i < 2; ++i) open_region(hash(state, (unsigned)(10 + i)), 1, 3, self->now);
    _Exit(0);
  }
  if (draw(state, 1, 2)) part_region(self, hash(state, 2));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  EXPECT(status == 0, "a child failed");
}

static void part_pause(struct Serial* self, unsigned state) {
  if (!self->others) EXPECT(omp_pause_resource_all(state % 2 ? omp_pause_soft : omp_pause_hard) == 0, "a pause");
}

static void part_idle(struct Serial* self, unsigned state) {
  (void)self;
  usleep(state % 3000);
}

#endif
