// What the threads of a team do together, a function for each kind of construct. All of them call it with the same
// draws and a scene of zeros, which is used once: what they find in it behind a barrier is final. Included by mixed.c.
#ifndef SMELT_TESTS_GOMP_SHIM_MIXED_CONSTRUCTS_H
#define SMELT_TESTS_GOMP_SHIM_MIXED_CONSTRUCTS_H

#include "mixed_trees.h"

static void expect_times(const struct Scene* s, int iterations) {
  for (int i = 0; i < kIterations; ++i) EXPECT(s->times[i] == (i < iterations), "an iteration was not run once");
}

// The settings that this thread's implicit task has by the program's doing.
static _Thread_local struct Settings mine;

static void do_barriers(struct Team* t, struct Scene* s, unsigned state) {
  const int me = omp_get_thread_num(), times = 1 + draw(state, 1, 4);
  for (int i = 1; i <= times; ++i) {
    delay(hash(state, (unsigned)(100 * i + me)));
    s->mark[me] = i;
#pragma omp barrier
    for (int other = 0; other < t->size; ++other) EXPECT(s->mark[other] == i, "a thread left a barrier early");
#pragma omp barrier
  }
}

static void do_loops(struct Team* t, struct Scene* s, unsigned state) {
  (void)t;
  const int n = draw(state, 1, kIterations + 1), chunk = 1 + draw(state, 2, 9), half = n / 2;
  const int form = draw(state, 3, 10);
  switch (form == 9 && without_tasks ? 5 : form) {
    case 0:
#pragma omp for schedule(dynamic, chunk) nowait
      for (int i = 0; i < n; ++i) {
        delay(hash(state, (unsigned)i));
        once_more(&s->times[i]);
      }
      break;
    case 1:
#pragma omp for schedule(guided, chunk) nowait
      for (int i = n - 1; i >= 0; --i) once_more(&s->times[i]);
      break;
    case 2:
#pragma omp for schedule(static, chunk)
      for (short i = 0; i < (short)n; ++i) once_more(&s->times[i]);
      break;
    case 3: {
      struct Settings changed = mine;
      changed.schedule = (omp_sched_t)(1 + draw(state, 4, 4)), changed.chunk = chunk;
      omp_set_schedule(changed.schedule, chunk);
#pragma omp for schedule(runtime)
      for (long i = -(long)n; i < 0; ++i) once_more(&s->times[i + n]);
      expect_settings(changed, "settings behind a loop of the schedule set");
      omp_set_schedule(mine.schedule, mine.chunk);
      break;
    }
    case 4: {
      int before = -1;
#pragma omp for schedule(monotonic : dynamic, chunk)
      for (int i = 0; i < n; ++i) {
        EXPECT(i > before, "a monotonic loop goes back");
        before = i;
        once_more(&s->times[i]);
      }
      break;
    }
    case 5:
#pragma omp for schedule(nonmonotonic : dynamic, chunk) nowait
      for (unsigned long long i = ~0ull - (unsigned long long)n; i < ~0ull; ++i)
        once_more(&s->times[i - (~0ull - (unsigned long long)n)]);
      break;
    case 6:
#pragma omp for collapse(2) schedule(dynamic, chunk)
      for (int i = 0; i < 2; ++i)
        for (int j = half; j > 0; --j) once_more(&s->times[i * half + j - 1]);
      break;
    case 7:  // each waits for the one before
#pragma omp for schedule(dynamic, 1)
      for (int i = 0; i < n; ++i) {
        while (i > 0 && !__atomic_load_n(&s->times[i - 1], __ATOMIC_ACQUIRE)) sched_yield();
        __atomic_store_n(&s->times[i], 1, __ATOMIC_RELEASE);
      }
      break;
    case 8:
#pragma omp for schedule(dynamic, chunk) nowait
      for (int i = 0; i < half; ++i) once_more(&s->times[i]);
#pragma omp for schedule(guided) nowait
      for (int i = half; i < n; ++i) once_more(&s->times[i]);
      break;
    default:
#pragma omp for schedule(dynamic, 3) nowait
      for (int i = 0; i < n; ++i) {
#pragma omp task firstprivate(i)
        once_more(&s->times[i]);
      }
  }
#pragma omp barrier
  expect_times(s, form == 6 ? 2 * half : n);
}

static void do_ordered(struct Team* t, struct Scene* s, unsigned state) {
  (void)t;
  // Not with `ordered schedule(static, chunk)`: libgomp 12 itself hangs in it now and then.
  const int form = draw(state, 3, 4), chunk = 1 + draw(state, 2, 4), n = draw(state, 1, 60);
#define IN_TURN(i)                                                      \
  do {                                                                  \
    EXPECT(s->last == (int)(i), "an ordered block is not in its turn"); \
    s->last = (int)(i) + 1;                                             \
  } while (0)
  switch (form) {
    case 0:
#pragma omp for ordered schedule(dynamic, chunk)
      for (int i = 0; i < n; ++i) {
        delay(hash(state, (unsigned)i));
#pragma omp ordered
        IN_TURN(i);
      }
      break;
    case 1:
#pragma omp for ordered schedule(guided, chunk) nowait
      for (int i = 0; i < n; ++i) {
#pragma omp ordered
        IN_TURN(i);
      }
      break;
    case 2:
#pragma omp for ordered(1) schedule(dynamic, 1)
      for (int i = 0; i < n; ++i) {
#pragma omp ordered depend(sink : i - 1)
        IN_TURN(i);
#pragma omp ordered depend(source)
      }
      break;
    default:
#pragma omp for ordered(1) schedule(static, 3)
      for (int i = 0; i < n; ++i) {
#pragma omp ordered depend(sink : i - 1) depend(sink : i - 2)
        IN_TURN(i);
#pragma omp ordered depend(source)
      }
  }
#undef IN_TURN
#pragma omp barrier
  EXPECT(s->last == n, "ordered blocks are missing");
}

static void do_sections(struct Team* t, struct Scene* s, unsigned state) {
  (void)t;
  if (draw(state, 1, 2)) {
#pragma omp sections nowait
    {
      once_more(&s->times[0]);
#pragma omp section
      {
        delay(state);
        once_more(&s->times[1]);
      }
#pragma omp section
      once_more(&s->times[2]);
    }
#pragma omp barrier
  } else {
    long* sum = &s->count[0];
#pragma omp sections reduction(+ : sum [0:1])
    {
      {
        once_more(&s->times[0]);
        sum[0] += 1;
      }
#pragma omp section
      {
        delay(state);
        once_more(&s->times[1]);
        sum[0] += 10;
      }
#pragma omp section
      {
        once_more(&s->times[2]);
        sum[0] += 100;
      }
    }
    EXPECT(s->count[0] == 111, "a reduction over sections");
  }
  for (int i = 0; i < 3; ++i) EXPECT(s->times[i] == 1, "a section was not run once");
}

static void do_singles(struct Team* t, struct Scene* s, unsigned state) {
  const int times = draw(state, 1, 20);
  for (int i = 0; i < times; ++i) {
#pragma omp single nowait
    once_more(&s->times[i]);
    if (draw(state, (unsigned)(10 + i), 6) == 0) {
      long copied = -1, more[5] = {0};
#pragma omp single copyprivate(copied, more)
      {
        delay(hash(state, (unsigned)i));
        copied = s->value[1] = i;
        for (int j = 0; j < 5; ++j) more[j] = i * j;
      }
      EXPECT(copied == i && more[4] == 4L * i, "copyprivate");
    }
  }
#pragma omp master
  add(&s->count[0], t->size);
#pragma omp barrier
  for (int i = 0; i < times; ++i) EXPECT(s->times[i] == 1, "a single was not run once");
  EXPECT(s->count[0] == t->size, "a master was not one");
}

static omp_lock_t lock;  // all teams', so that they meet there
static omp_nest_lock_t nested_lock;

static void do_locks(struct Team* t, struct Scene* s, unsigned state) {
  const int times = 1 + draw(state, 1, 12);
  for (int i = 0; i < times; ++i) {
#pragma omp critical(mixed)
    ++s->count[0];
    omp_set_lock(&lock);
    ++s->count[1];
    omp_unset_lock(&lock);
    while (!omp_test_lock(&lock)) sched_yield();
    ++s->count[1];
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nested_lock);
    EXPECT(omp_test_nest_lock(&nested_lock) == 2, "a lock nested once more");
    ++s->count[2];
    omp_unset_nest_lock(&nested_lock);
    omp_unset_nest_lock(&nested_lock);
#pragma omp atomic
    s->count[3] += 2;
  }
#pragma omp barrier
  const long all = (long)times * t->size;
  EXPECT(s->count[0] == all && s->count[1] == 2 * all && s->count[2] == all && s->count[3] == 2 * all, "a lost count");
}

static void do_reductions(struct Team* t, struct Scene* s, unsigned state) {
  const int n = draw(state, 1, 100), width = 1 + draw(state, 2, 8);
  long *sums = s->count, *most = s->value;
#pragma omp for reduction(+ : sums [0:8]) reduction(max : most [0:1]) schedule(dynamic, 3)
  for (int i = 0; i < n; ++i) {
    sums[i % width] += i;
    if (i > most[0]) most[0] = i;
  }
  for (int j = 0; j < 8; ++j) {
    long right = 0;
    for (int i = j; i < n && j < width; i += width) right += i;
    EXPECT(s->count[j] == right, "a loop's reduction of an array");
  }
  EXPECT(s->value[0] == (n > 0 ? n - 1 : 0), "a loop's maximum");
  long inner = 0, least = 1000;
  const int more = t->depth < 2;
#pragma omp parallel for num_threads(1 + draw(state, 3, 3)) reduction(+ : inner) reduction(min : least) if (more)
  for (int i = 0; i < n; ++i) {
    inner += i;
    if (i < least) least = i;
  }
  EXPECT(inner == (long)n * (n - 1) / 2 && least == (n > 0 ? 0 : 1000), "an inner loop's reductions");
}

static void do_task_reductions(struct Team* t, struct Scene* s, unsigned state) {
  (void)t;
  const int n = draw(state, 1, 40);
  switch (draw(state, 2, 3)) {
    case 0:
#pragma omp single
    {
      long sum = 0, most = -1;
#pragma omp taskgroup task_reduction(+ : sum) task_reduction(max : most)
      for (int i = 0; i < n; ++i) {
#pragma omp task in_reduction(+ : sum) in_reduction(max : most) firstprivate(i)
        {
          sum += i;
          if (i > most) most = i;
          if (i % 4 == 0) {
#pragma omp task in_reduction(+ : sum)
            sum += 1000;
          }
        }
      }
      EXPECT(sum == (long)n * (n - 1) / 2 + 1000L * ((n + 3) / 4) && most == n - 1, "a task reduction");
    } break;
    case 1: {
      long* sum = s->count;
#pragma omp for reduction(task, + : sum [0:1]) schedule(dynamic, 3)
      for (int i = 0; i < n; ++i) {
        sum[0] += 1;
#pragma omp task in_reduction(+ : sum [0:1])
        sum[0] += 10;
      }
      EXPECT(s->count[0] == 11L * n, "a loop's reduction with tasks");
      break;
    }
    default: {
      long sum = 0, teams = 0;
#pragma omp parallel num_threads(1 + draw(state, 3, 3)) reduction(task, + : sum) shared(teams) if (t->depth < 2)
      {
        sum += 1;
        add(&teams, 1);
        for (int i = 0; i < n % 9; ++i) {
#pragma omp task in_reduction(+ : sum)
          sum += 10;
        }
      }
      EXPECT(sum == teams * (1 + 10 * (n % 9)), "a region's reduction with tasks");
    }
  }
}

// A tree of tasks in a team like any other, of one thread or of all.
static void do_tree(struct Team* t, struct Scene* s, unsigned state) {
  const int me = omp_get_thread_num(), depth = 1 + draw(state, 1, 3), all = draw(state, 2, 3) == 0;
  long right = all ? 0 : total(state, depth);
  for (int i = 0; all && i < t->size; ++i) right += total(child_of(state, i), depth - 1);
  if (all)
    grow(child_of(state, me), depth - 1, &s->count[0], t->root);
  else if (me == draw(state, 3, t->size))
    grow(state, depth, &s->count[0], t->root);
#pragma omp barrier
  EXPECT(read_of(&s->count[0]) == right, "a barrier was left before its tasks were over");
}

static void do_task_loops(struct Team* t, struct Scene* s, unsigned state) {
  const int n = draw(state, 1, kIterations), me = omp_get_thread_num(), all = draw(state, 2, 2);
  const int first = all ? n * me / t->size : 0, end = all ? n * (me + 1) / t->size : n, size = 1 + draw(state, 3, 9);
  if (all || me == draw(state, 4, t->size)) {
    long sum = 0, right = 0;
    for (int i = first; i < end; ++i) right += i;
    switch (draw(state, 5, 5)) {
      case 0:
#pragma omp taskloop grainsize(size)
        for (int i = first; i < end; ++i) once_more(&s->times[i]);
        break;
      case 1:
#pragma omp taskloop num_tasks(size) UNTIED mergeable
        for (int i = end - 1; i >= first; --i) once_more(&s->times[i]);
        break;
      case 2:
#pragma omp taskloop num_tasks(size) reduction(+ : sum)
        for (int i = first; i < end; ++i) {
          once_more(&s->times[i]);
          sum += i;
        }
        EXPECT(sum == right, "a taskloop's reduction");
        break;
      case 3:
#pragma omp taskloop nogroup grainsize(size)
        for (int i = first; i < end; ++i) once_more(&s->times[i]);
#pragma omp taskwait
        break;
      default:
#pragma omp taskloop if (size % 2) final(size % 3 == 0)
        for (int i = first; i < end; ++i) {
          EXPECT(size % 3 != 0 || omp_in_final(), "a taskloop's task is not final");
          once_more(&s->times[i]);
        }
    }
    for (int i = first; i < end; ++i)
      EXPECT(__atomic_load_n(&s->times[i], __ATOMIC_RELAXED) == 1, "a taskloop was left before it was over");
  }
#pragma omp barrier
  expect_times(s, n);
}

// Tasks by their dependences: each finds what the one before, in the order of making, has left.
static void do_dependences(struct Team* t, struct Scene* s, unsigned state) {
  (void)t;
  const int tasks = draw(state, 1, 40);
  long* at = s->value;
#pragma omp single nowait
  {
    long right[6] = {0};
    for (int i = 0; i < tasks; ++i) {
      const int x = draw(state, (unsigned)(10 + i), 6), y = (x + 1 + draw(state, (unsigned)(60 + i), 5)) % 6;
      const long before = right[x], other = right[y];
      switch (draw(state, (unsigned)(110 + i), 6)) {
        case 0:
        case 1: right[x] = before * 31 % 1000003 + i + 1;
#pragma omp task depend(inout : at[x]) firstprivate(i, x, before)
          {
            EXPECT(at[x] == before, "an inout dependence");
            delay(hash(state, (unsigned)i));
            at[x] = before * 31 % 1000003 + i + 1;
            add(&s->count[0], 1);
          }
          break;
        case 2: right[y] = before + i;
#pragma omp task depend(in : at[x]) depend(out : at[y]) firstprivate(i, x, y, before) UNTIED
          {
            EXPECT(at[x] == before, "an in dependence");
            at[y] = before + i;
            add(&s->count[0], 1);
          }
          break;
        case 3:
#pragma omp task depend(in : at[x], at[y]) firstprivate(i, x, y, before, other)
        {
          EXPECT(at[x] == before && at[y] == other, "two in dependences");
          delay(hash(state, (unsigned)i));
          EXPECT(at[x] == before && at[y] == other, "two in dependences, later");
          add(&s->count[0], 1);
        } break;
        case 4: right[x] = before + i;
#pragma omp task depend(mutexinoutset : at[x]) firstprivate(i, x)
          {
            const long was = at[x];
            delay(hash(state, (unsigned)i));
            at[x] = was + i;
            add(&s->count[0], 1);
          }
          break;
        default: right[x] = before * 3 % 1000003 + 1;
#pragma omp task depend(inout : at[x]) if (0) firstprivate(x, before)
          {
            EXPECT(at[x] == before, "an undeferred task's dependence");
            at[x] = before * 3 % 1000003 + 1;
            add(&s->count[0], 1);
          }
          EXPECT(at[x] == right[x], "an undeferred task is not over");
      }
    }
    if (draw(state, 2, 2)) {
#pragma omp taskwait
      EXPECT(read_of(&s->count[0]) == tasks, "a taskwait was left before dependent tasks were over");
    }
    memcpy(&s->times[0], right, sizeof right);  // for all to compare
  }
#pragma omp barrier
  EXPECT(read_of(&s->count[0]) == tasks, "a barrier was left before dependent tasks were over");
  EXPECT(memcmp(&s->times[0], at, 6 * sizeof *at) == 0, "dependent tasks left something else");
}

static void do_detach(struct Team* t, struct Scene* s, unsigned state) {
  (void)t;
  const int tasks = 1 + draw(state, 1, 6);
#pragma omp single nowait
  {
    for (int i = 0; i < tasks; ++i) {
      omp_event_handle_t event;
#pragma omp task detach(event) depend(out : s->value[i]) firstprivate(i)
      add(&s->count[0], 1);
#pragma omp task depend(in : s->value[i]) firstprivate(i)
      {
        EXPECT(__atomic_load_n(&s->mark[i], __ATOMIC_ACQUIRE), "a task ran before what it depends on was fulfilled");
        add(&s->count[1], 1);
      }
      if (draw(state, (unsigned)(10 + i), 2)) {
#pragma omp task firstprivate(event, i)
        {
          __atomic_store_n(&s->mark[i], 1, __ATOMIC_RELEASE);
          omp_fulfill_event(event);
        }
      } else {
        delay(hash(state, (unsigned)i));
        __atomic_store_n(&s->mark[i], 1, __ATOMIC_RELEASE);
        omp_fulfill_event(event);
      }
    }
    if (draw(state, 2, 2)) {
#pragma omp taskwait
      EXPECT(read_of(&s->count[1]) == tasks, "a taskwait was left before detached tasks were over");
    }
  }
#pragma omp barrier
  EXPECT(read_of(&s->count[0]) == tasks && read_of(&s->count[1]) == tasks, "a barrier was left before detached tasks");
}

static void do_final_tasks(struct Team* t, struct Scene* s, unsigned state) {
  (void)t, (void)s;
  long sum = 0;
  const int n = draw(state, 1, 6);
#pragma omp task shared(sum) final(1)
  {
    for (int i = 0; i < n; ++i) {
#pragma omp task shared(sum) UNTIED
      {
        EXPECT(omp_in_final(), "a final task's child does not know it");
        ++sum;  // included: one after the other
      }
    }
  }
#pragma omp taskwait
  EXPECT(sum == n && !omp_in_final(), "final tasks");
  for (int i = 0; i < n; ++i) {
#pragma omp task shared(sum) mergeable if (i % 3 != 1)
    {
      add(&sum, 1);
#pragma omp taskyield
    }
  }
#pragma omp taskwait
  EXPECT(sum == 2 * n, "mergeable tasks");
}

// Tasks of all threads that open regions of their own.
static void do_task_regions(struct Team* t, struct Scene* s, unsigned state) {
  const int me = omp_get_thread_num(), tasks = 1 + draw(state, 1, 2);
  if (t->depth >= 3) return;
  for (int i = 0; i < tasks; ++i) {
    const unsigned inner = hash(state, (unsigned)(10 * i + me + 10));
    const struct Settings inherited = mine;
#pragma omp task firstprivate(inner, inherited) if (draw(inner, 1, 5) != 0)
    {
      const char* before = construct;
      construct = "task_regions";
      expect_place();
      expect_settings(inherited, "a task has other settings than its maker");
      const struct Settings changed = draw(inner, 2, 3) ? inherited : change_settings(inherited, inner);
      open_region(inner, t->depth + 1, 3, changed);
      expect_settings(changed, "a task's settings behind a region of its own");
      add(&s->count[0], 1);
      construct = before;
    }
  }
  if (draw(state, 2, 2)) {
#pragma omp taskwait
    expect_settings(mine, "settings behind tasks that changed theirs");
  }
#pragma omp barrier
  EXPECT(read_of(&s->count[0]) == (long)tasks * t->size, "a barrier was left before tasks with regions");
}

static void do_inner(struct Team* t, struct Scene* s, unsigned state) {
  (void)s;
  if (t->depth >= 3 || (t->depth == 2 && draw(state, 1, 4))) return;
  const int each = draw(state, 2, 2) ? omp_get_thread_num() : 0;  // all the same, or each its own
  open_region(hash(state, (unsigned)(100 + each)), t->depth + 1, 3, mine);
}

// Regions of one thread, one in the other, and then one of more.
static void solos(struct Settings now, int deep, unsigned state, int depth) {
  const int level = omp_get_level(), active = omp_get_active_level();
  struct Team* const outer = team;
#pragma omp parallel num_threads(2) if (deep < 0)
  {
    EXPECT(omp_get_num_threads() == 1 && omp_get_thread_num() == 0, "a region of one thread has more");
    EXPECT(omp_get_level() == level + 1 && omp_get_active_level() == active, "a region of one thread, its level");
    struct Settings inside = now;
    if (level + 1 < listed) inside.threads = list[level + 1];
    expect_settings(inside, "a region of one thread has other settings");
    if (draw(state, (unsigned)deep, 3) == 0) inside = change_settings(inside, hash(state, (unsigned)deep));
    int done = 0;
#pragma omp task shared(done)
    done = 1;
    if (deep % 2) {
#pragma omp barrier
    } else {
#pragma omp taskwait
    }
    EXPECT(done, "a region of one thread, its task");
    struct Team alone = {.outer = outer, .outer_number = omp_get_ancestor_thread_num(level), .depth = depth};
    alone.level = level + 1, alone.active = active, alone.size = 1, alone.root = running;
    team = &alone;
    expect_place();
    if (deep > 0)
      solos(inside, deep - 1, state, depth);
    else if (depth < 3 && draw(state, 99, 2))
      open_region(hash(state, 98), depth + 1, 3, inside);
    expect_settings(inside, "a region of one thread, its settings behind others in it");
    team = outer;
  }
  expect_settings(now, "settings made in a region of one thread stay behind it");
}
static void do_solos(struct Team* t, struct Scene* s, unsigned state) {
  (void)s;
  solos(mine, draw(state, 1, 8), state, t->depth);
}

// Settings made in a region: this thread's, its tasks', and those of regions in it; to its end, or for a while.
static void do_settings(struct Team* t, struct Scene* s, unsigned state) {
  const int me = omp_get_thread_num();
  const struct Settings before = mine;
  (void)s;
  mine = change_settings(mine, hash(state, (unsigned)(100 + me)));
#pragma omp barrier
  expect_settings(mine, "a setting made in a region is lost");
  const struct Settings inherited = mine;
#pragma omp task firstprivate(inherited) if (draw(state, 2, 2))
  {
    expect_settings(inherited, "a task has other settings than its maker");
    change_settings(inherited, hash(state, 3));
  }
  if (t->depth < 2 && draw(state, 4, 2)) open_region(hash(state, 5), t->depth + 1, 3, mine);
#pragma omp taskwait
  expect_settings(mine, "a setting made in a region is lost behind others'");
  if (draw(state, 6, 3)) set_settings(mine = before);
}

// What a target region does. On the host it is an initial task of its own for libgomp, with the settings of the
// process; for clang, just a block.
static void in_target(unsigned state, int depth, const struct Settings* now) {
  struct Team* const outer = team;
  struct Settings inside = *now;
#ifndef __clang__
  team = NULL;
  inside = initial;
  expect_settings(initial, "a target region has other settings than the process had at first");
  if (draw(state, 2, 3) == 0) inside = change_settings(inside, hash(state, 3));
#endif
  expect_place();
  for (int i = draw(state, 1, 3); i > 0; --i) open_region(hash(state, (unsigned)(10 + i)), depth + 1, 3, inside);
  expect_settings(inside, "settings at the end of a target region");
  team = outer;
}

static void target_with_regions(unsigned state, int depth, struct Settings now) {
  int numbers[50];
  long sum = 0;
  for (int i = 0; i < 50; ++i) numbers[i] = i;
  const int value = private_value;
  // By pointer: the compiler would take what the function calls for what a device runs.
  void (*run)(unsigned, int, const struct Settings*) = in_target;
  const struct Settings* settings = &now;
#pragma omp target map(to : numbers) map(tofrom : sum)
  {
    for (int i = 0; i < 50; ++i) sum += numbers[i];
    run(state, depth, settings);
  }
  EXPECT(sum == 1225, "a target region's sum");
  EXPECT(private_value == value, "a threadprivate value behind a target region");
  expect_place();
  expect_settings(now, "settings behind a target region");
}
static void do_target(struct Team* t, struct Scene* s, unsigned state) {
  (void)s;
  if (t->depth >= 3 || (draw(state, 50, 2) && omp_get_thread_num() != draw(state, 51, t->size))) return;
  target_with_regions(hash(state, (unsigned)omp_get_thread_num()), t->depth, mine);
}

static void do_cancel(struct Team* t, struct Scene* s, unsigned state) {
  const int can = omp_get_cancellation(), n = 10 + draw(state, 1, 60);
  switch (draw(state, 2, 4)) {
    case 0:
#pragma omp for schedule(dynamic, 2)
      for (int i = 0; i < n; ++i) {
        once_more(&s->times[i]);
        if (i == 7) {
#pragma omp cancel for
        }
#pragma omp cancellation point for
      }
      for (int i = 0; i < n; ++i) EXPECT(s->times[i] == 1 || (can && s->times[i] == 0), "a loop that may be cancelled");
      break;
    case 1: {
      long members = 0, after = 0;
#pragma omp parallel num_threads(1 + draw(state, 3, 3)) shared(members, after) if (t->depth < 2)
      {
        add(&members, 1);
        if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
        }
#pragma omp barrier
        add(&after, 1);
      }
      EXPECT(after == (can ? 0 : members), "a region that may be cancelled");
      break;
    }
    case 2:
#pragma omp single
    {
#pragma omp taskgroup
      for (int i = 0; i < n; ++i) {
#pragma omp task firstprivate(i)
        {
          add(&s->count[0], 1);
          if (i == 5) {
#pragma omp cancel taskgroup
          }
        }
      }
      EXPECT(s->count[0] <= n && (can || s->count[0] == n), "a taskgroup that may be cancelled");
    } break;
    default:
#pragma omp sections
    {
#pragma omp section
      {
        once_more(&s->times[0]);
#pragma omp cancel sections
      }
#pragma omp section
      once_more(&s->times[1]);
    }
      EXPECT(can || (s->times[0] == 1 && s->times[1] == 1), "sections that may be cancelled");
  }
}

// Threads wait for one of them by a flag of their own: all must really run.
static void do_flags(struct Team* t, struct Scene* s, unsigned state) {
  if (omp_get_thread_num() == draw(state, 1, t->size)) {
    delay(state);
    __atomic_store_n(&s->mark[0], 1, __ATOMIC_RELEASE);
  } else {
    while (!__atomic_load_n(&s->mark[0], __ATOMIC_ACQUIRE)) sched_yield();
  }
}

// All make tasks; all of them are over behind the barrier, whichever construct has it.
static void do_tasks(struct Team* t, struct Scene* s, unsigned state) {
  (void)t;
  const int tasks = draw(state, (unsigned)(100 + omp_get_thread_num()), 7);
  add(&s->count[0], tasks);
  for (int i = 0; i < tasks; ++i) {
#pragma omp task firstprivate(i)
    {
      delay(hash(state, (unsigned)i));
      if (i == 2) {
        add(&s->count[0], 1);
#pragma omp task
        add(&s->count[1], 1);
      }
      add(&s->count[1], 1);
    }
  }
  switch (draw(state, 2, 3)) {
    case 0: {
#pragma omp barrier
      break;
    }
    case 1:
#pragma omp single
      delay(state);
      break;
    default:
#pragma omp for schedule(dynamic)
      for (int i = 0; i < 5; ++i) once_more(&s->times[i]);
  }
  EXPECT(read_of(&s->count[0]) == read_of(&s->count[1]), "a barrier was left before its tasks were over");
}

#endif
