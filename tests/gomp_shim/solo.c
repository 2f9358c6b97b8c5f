// Regions of one thread among others, at random, the same for the same seed: num_threads(1), if clauses, levels that
// may not be active; at every level, beside hot teams and inside them, in explicit tasks, with settings changed inside
// and around.
//   solo SEED [REGIONS [THREADS]]     so many threads of the program at once, each with a seed of its own
//
// The oracle is a model of what OpenMP says: every implicit task carries a Frame with its levels, the sizes of all
// teams around it, its numbers in them and its settings, and whatever libgomp can be asked is compared with it, inside
// a region, inside its tasks, and behind it.
#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kDeepest = 4, kMost = 3, kIterations = 24, kMostThreads = 8 };

typedef struct {
  unsigned seed;
  int region;
} Where;
static __thread Where where;

#define EXPECT(condition)                                                                                          \
  do {                                                                                                             \
    if (!(condition)) {                                                                                            \
      fprintf(stderr, "wrong: seed %u, region %d, line %d: %s\n", where.seed, where.region, __LINE__, #condition); \
      _Exit(1);                                                                                                    \
    }                                                                                                              \
  } while (0)

typedef struct {
  int level, active;
  int size[kDeepest + 2], number[kDeepest + 2];  // by level
  int threads, levels, chunk, dynamic;           // settings
} Frame;

static void look(const Frame* f) {
  omp_sched_t kind;
  int chunk = 0;
  EXPECT(omp_get_level() == f->level && omp_get_active_level() == f->active && omp_in_parallel() == (f->active > 0));
  EXPECT(omp_get_num_threads() == f->size[f->level] && omp_get_thread_num() == f->number[f->level]);
  for (int level = 0; level <= f->level; ++level)
    EXPECT(omp_get_team_size(level) == f->size[level] && omp_get_ancestor_thread_num(level) == f->number[level]);
  EXPECT(omp_get_team_size(f->level + 1) == -1);
  EXPECT(omp_get_max_threads() == f->threads && omp_get_max_active_levels() == f->levels && !omp_in_final());
  omp_get_schedule(&kind, &chunk);
  EXPECT(kind == omp_sched_dynamic && chunk == f->chunk && !omp_get_dynamic() == !f->dynamic);
}

static void set(Frame* f, unsigned h) {
  switch (h % 4) {
    case 0: omp_set_num_threads(f->threads = 1 + (int)(h / 4 % kMost)); break;
    case 1: omp_set_schedule(omp_sched_dynamic, f->chunk = 1 + (int)(h / 4 % 5)); break;
    case 2: omp_set_max_active_levels(f->levels = (int)(h / 4 % 3)); break;
    default: omp_set_num_threads(f->threads); break;  // what it is
  }
}

static void regions(Frame* f, unsigned state, int repeats);

// In an explicit task, by whichever thread of the team that runs it.
static Frame in_task(const Frame* f) {
  Frame mine = *f;
  mine.number[mine.level] = omp_get_thread_num();
  EXPECT(mine.number[mine.level] >= 0 && mine.number[mine.level] < mine.size[mine.level]);
  return mine;
}

static int spare(unsigned h) { return h % 3 == 0; }

// One thing inside a region, the same in all threads by `h`. `shared` is the team's, all of it 0.
typedef struct {
  int times[kIterations], tasks, once, copied;
} Shared;

static void step(Frame* f, Shared* s, unsigned h) {
  const int size = f->size[f->level], me = f->number[f->level];
  switch (h % 10) {
    case 0:
#pragma omp for schedule(dynamic, 2)
      for (int i = 0; i < kIterations; ++i) ++s->times[i];
      for (int i = 0; i < kIterations; ++i) EXPECT(s->times[i] == 1);
      break;
    case 1:
#pragma omp for schedule(guided) nowait
      for (int i = 0; i < kIterations; ++i) ++s->times[i];
#pragma omp for schedule(runtime) nowait
      for (int i = 0; i < kIterations; ++i) {
#pragma omp atomic
        ++s->once;
      }
#pragma omp barrier
      EXPECT(s->once == kIterations);
      for (int i = 0; i < kIterations; ++i) EXPECT(s->times[i] == 1);
      break;
    case 2: {
      int copied = -1;
#pragma omp single copyprivate(copied)
      {
        copied = (int)(h % 1000);
        look(f);
      }
      EXPECT(copied == (int)(h % 1000));
      break;
    }
    case 3:
#pragma omp sections
    {
#pragma omp section
      ++s->times[0];
#pragma omp section
      ++s->times[1];
#pragma omp section
      ++s->times[2];
    }
      for (int i = 0; i < 3; ++i) EXPECT(s->times[i] == 1);
      break;
    case 4:
      for (int i = 0; i < 3; ++i) {
#pragma omp task
        {
          const Frame mine = in_task(f);
          look(&mine);
#pragma omp atomic
          ++s->tasks;
        }
      }
#pragma omp barrier
      EXPECT(s->tasks == 3 * size);
      break;
    case 5: {  // what a task changes ends with it, and with the region inside
      int inside = 0;
#pragma omp task shared(inside)
      {
        Frame mine = in_task(f);
        if (h & 1024) set(&mine, hash(h, 5));
        if (f->level < kDeepest) regions(&mine, hash(h, 50 + (unsigned)me), 1 + (int)(h / 32 % 3));
        look(&mine);
        inside = 1;
      }
#pragma omp taskwait
      EXPECT(inside);
      break;
    }
    case 6:
      // The schedule must be the same for all of a team: OpenMP asks for that.
      if (spare(h / 16) && (me % 2 == 0 || hash(h, 6) % 4 == 1)) set(f, hash(h, 6));
      break;
    default:
      if (f->level < kDeepest) regions(f, hash(h, 70 + (unsigned)me), 1 + (int)(h / 32 % 4));
  }
  look(f);
#pragma omp barrier
}

static void* region(Frame* f, unsigned state) {
  const int request = (int)(state % (kMost + 1));  // 0: as set
  const int says_no = spare(state / 8), steps = (int)(state / 64 % 4), reduces = (int)(state / 512 % 3);
  int expected = request ? request : f->threads, sum = 0;
  if (says_no || f->active >= f->levels) expected = 1;
  Shared shared[4];
  memset(shared, 0, sizeof shared);
  int left = 0;
  const Where here = where;
#define BODY                                                                                 \
  {                                                                                          \
    where = here;                                                                            \
    Frame mine = *f;                                                                         \
    ++mine.level;                                                                            \
    mine.active += expected > 1;                                                             \
    mine.size[mine.level] = expected;                                                        \
    mine.number[mine.level] = omp_get_thread_num();                                          \
    look(&mine);                                                                             \
    sum += 1;                                                                                \
    for (int i = 0; i < steps; ++i) step(&mine, &shared[i], hash(state, 100 + (unsigned)i)); \
    if (spare(state / 4096)) {                                                               \
      _Pragma("omp task shared(left)") _Pragma("omp atomic")++ left;                         \
    }                                                                                        \
  }
  if (reduces == 0) {
#pragma omp parallel num_threads(request ? request : f->threads) if (!says_no) reduction(+ : sum)
    BODY
  } else if (request == 0) {
#pragma omp parallel if (!says_no) reduction(+ : sum)
    BODY
  } else {
#pragma omp parallel num_threads(request) if (!says_no) reduction(+ : sum)
    BODY
  }
  EXPECT(sum == expected);
  EXPECT(left == (spare(state / 4096) ? expected : 0));
  if (reduces == 1) {  // a loop that begins with its team
    int times[kIterations] = {0};
#pragma omp parallel for schedule(dynamic, 3) num_threads(request ? request : f->threads) if (!says_no)
    for (int i = 0; i < kIterations; ++i) {
      EXPECT(omp_get_num_threads() == expected && omp_get_level() == f->level + 1);
      ++times[i];
    }
    for (int i = 0; i < kIterations; ++i) EXPECT(times[i] == 1);
  }
  look(f);
  return NULL;
}

static void regions(Frame* f, unsigned state, int repeats) {
  for (int i = 0; i < repeats; ++i) {
    region(f, state);
    if (state & 8192) region(f, state ^ 7);  // by turns with another size
  }
}

// A child has the teams of one that its thread kept.
static void child(Frame* f, unsigned state) {
  const pid_t pid = fork();
  EXPECT(pid >= 0);
  if (pid == 0) {
    for (int i = 0; i < 20; ++i) {
      int ran = 0;
#pragma omp parallel if (i < 0) shared(ran)
      {
        EXPECT(omp_get_level() == 1 && omp_get_num_threads() == 1 && omp_get_max_threads() == f->threads);
#pragma omp task shared(ran)
        ran = (int)(state % 7) + 1;
      }
      EXPECT(ran == (int)(state % 7) + 1);
    }
    _Exit(0);
  }
  int status = 1;
  EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
}

static int count = 200, at_once = 1;

static void* run(void* argument) {
  where.seed = *(unsigned*)argument;
  Frame f = {.size = {1}, .threads = omp_get_max_threads(), .levels = omp_get_max_active_levels(), .chunk = 1};
  omp_set_schedule(omp_sched_dynamic, 1);
  for (where.region = 0; where.region < count; ++where.region) {
    const unsigned state = hash(where.seed, (unsigned)where.region);
    if (state % 16 == 0) set(&f, hash(state, 1));
    look(&f);
    regions(&f, hash(state, 2), 1 + (int)(state / 16 % 8));
    if (at_once == 1 && state % 32 == 1) child(&f, state);
  }
  return NULL;
}

int main(int arguments, char** argument) {
  const unsigned seed = arguments > 1 ? (unsigned)atoi(argument[1]) : 1;
  if (arguments > 2) count = atoi(argument[2]);
  if (arguments > 3) at_once = atoi(argument[3]);
  CHECK(at_once >= 1 && at_once <= kMostThreads);
  unsigned seeds[kMostThreads];
  pthread_t thread[kMostThreads];
  for (int i = 0; i < at_once; ++i) seeds[i] = hash(seed, (unsigned)i);
  for (int i = 1; i < at_once; ++i) CHECK(pthread_create(&thread[i], NULL, run, &seeds[i]) == 0);
  run(&seeds[0]);
  for (int i = 1; i < at_once; ++i) CHECK(pthread_join(thread[i], NULL) == 0);
  puts("ok");
  return 0;
}
