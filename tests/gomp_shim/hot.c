// What a program may do around, between and inside repeated parallel regions, each checked against what OpenMP says it
// sees. Under the shim most regions here are a hot team's; the same checks hold under stock libgomp.
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

// The ABI of before GCC 4.9; compilers have not called it since, programs from then do.
void GOMP_parallel_start(void (*)(void*), void*, unsigned);
void GOMP_parallel_end(void);
void GOMP_parallel_loop_dynamic_start(void (*)(void*), void*, unsigned, long, long, long, long);
_Bool GOMP_loop_dynamic_next(long*, long*);
void GOMP_loop_end_nowait(void);
// Fortran's names for the ICV setters.
void omp_set_num_threads_(const int*);
#ifdef __clang__  // LLVM's libomp has no forms for numbers of 8 bytes
typedef int Chunk;
#define omp_set_schedule_8_ omp_set_schedule_
#else
typedef long Chunk;
#endif
void omp_set_schedule_8_(const int*, const Chunk*);

static void check_serial(void) {
  CHECK(omp_get_level() == 0 && omp_get_active_level() == 0 && !omp_in_parallel());
  CHECK(omp_get_thread_num() == 0 && omp_get_num_threads() == 1 && omp_get_team_size(0) == 1);
  CHECK(omp_get_ancestor_thread_num(0) == 0 && omp_get_ancestor_thread_num(1) == -1);
}

// One region of every kind, with everything that libgomp can be asked inside.
static void region(int threads) {
  int seen[64] = {0}, sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  {
    const int me = omp_get_thread_num();
    CHECK(omp_get_num_threads() == threads && omp_get_level() == 1 && omp_in_parallel() == (threads > 1));
    CHECK(omp_get_ancestor_thread_num(1) == me && omp_get_ancestor_thread_num(0) == 0 &&
          omp_get_team_size(1) == threads);
    ++seen[me];
    sum += me + 1;
  }
  CHECK(sum == threads * (threads + 1) / 2);
  for (int i = 0; i < threads; ++i) CHECK(seen[i] == 1);
  check_serial();
}

// So many in a row that a hot team has been worth its start, and the next one is made as soon.
enum { kLong = 70 };

static void regions(int threads, int count) {
  for (int i = 0; i < count; ++i) region(threads);
}

static void orphan(int* hits) {
#pragma omp for schedule(dynamic)
  for (int i = 0; i < 10; ++i) {
#pragma omp atomic
    ++hits[i];
  }
#pragma omp single
  ++hits[10];
#pragma omp sections
  {
#pragma omp section
    ++hits[11];
#pragma omp section
    ++hits[12];
  }
#pragma omp task shared(hits)
  {
#pragma omp atomic
    ++hits[13];
  }
#pragma omp taskwait
}

static void check_hits(const int* hits, int tasks) {
  for (int i = 0; i < 13; ++i) CHECK(hits[i] == 1);
  CHECK(hits[13] == tasks);
}

// Orphaned constructs bind to the team inside and to the initial thread outside.
static void orphans(int threads) {
  for (int i = 0; i < 50; ++i) {
    int inside[14] = {0}, outside[14] = {0};
#pragma omp parallel num_threads(threads)
    orphan(inside);
    check_hits(inside, threads);
    orphan(outside);
    check_hits(outside, 1);
    check_serial();
  }
}

static void loops(int threads) {
  for (int round = 0; round < 40; ++round) {
    int hits[6][97] = {{0}};
    const int n = 1 + round * 2;
    long ordered = 0;
    omp_set_schedule(round % 2 ? omp_sched_dynamic : omp_sched_static, 3);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 3)
    for (int i = 0; i < n; ++i) ++hits[0][i];
#pragma omp parallel for num_threads(threads) schedule(guided)
    for (int i = n - 1; i >= 0; --i) ++hits[1][i];
#pragma omp parallel for num_threads(threads) schedule(runtime)
    for (int i = 0; i < n; ++i) ++hits[2][i];
#pragma omp parallel for num_threads(threads) schedule(monotonic : dynamic)
    for (int i = 0; i < n; ++i) ++hits[3][i];
#pragma omp parallel for num_threads(threads) schedule(static, 2) ordered
    for (int i = 0; i < n; ++i) {
      ++hits[4][i];
#pragma omp ordered
      {
        CHECK(ordered == i);
        ++ordered;
      }
    }
#pragma omp parallel for num_threads(threads) schedule(nonmonotonic : runtime)
    for (int i = 0; i < n; i += 1) ++hits[5][i];
    for (int kind = 0; kind < 6; ++kind)
      for (int i = 0; i < 97; ++i) CHECK(hits[kind][i] == (i < n));
    int part[5] = {0};
#pragma omp parallel sections num_threads(threads)
    {
#pragma omp section
      ++part[0];
#pragma omp section
      ++part[1];
#pragma omp section
      ++part[2];
#pragma omp section
      ++part[3];
#pragma omp section
      ++part[4];
    }
    for (int i = 0; i < 5; ++i) CHECK(part[i] == 1);
    check_serial();
  }
}

// Settings made in the serial part reach the next region; those made inside one do not leave it.
// A worker's setting ends with its region, also where the worker stays.
static void settings_of_workers(void) {
  const int most = omp_get_max_threads();
  for (int i = 0; i < 3 * kLong; ++i) {
#pragma omp parallel num_threads(2)
    {
      CHECK(omp_get_max_threads() == most);
      if (i % kLong == kLong - 1 && omp_get_thread_num() == 1) omp_set_num_threads(most + 1);
    }
  }
}

static void settings(void) {
  omp_set_num_threads(2);
  for (int i = 0; i < 30; ++i) {
    const int chunk = 1 + i / 5;
    omp_set_schedule(omp_sched_guided, chunk);
    omp_set_max_active_levels(1 + i % 3 / 2);
#pragma omp parallel
    {
      omp_sched_t kind;
      int seen = 0;
      omp_get_schedule(&kind, &seen);
      CHECK(kind == omp_sched_guided && seen == chunk);
      CHECK(omp_get_max_active_levels() == 1 + i % 3 / 2);
      CHECK(omp_get_max_threads() == 2);
      if (i % 4 == 3 && omp_get_thread_num() == 1) omp_set_num_threads(7);
      if (i % 8 == 5 && omp_get_thread_num() == 0) omp_set_schedule(omp_sched_static, 9);
    }
    omp_sched_t kind;
    int seen = 0;
    omp_get_schedule(&kind, &seen);
    CHECK(kind == omp_sched_guided && seen == chunk && omp_get_max_threads() == 2);
  }
  const int two = 2, one = 1;
  const Chunk chunk = 11;
  const int guided = (int)omp_sched_guided;
  for (int i = 0; i < 20; ++i) {
    omp_set_num_threads_(i % 10 == 9 ? &one : &two);
    if (i == 10) omp_set_schedule_8_(&guided, &chunk);
#pragma omp parallel
    {
      CHECK(omp_get_num_threads() == (i % 10 == 9 ? 1 : 2));
      omp_sched_t kind;
      int seen = 0;
      omp_get_schedule(&kind, &seen);
      CHECK(i < 10 || seen == 11);
    }
  }
  omp_set_max_active_levels(1);
  omp_set_num_threads(2);
  // Dynamic adjustment on and off again.
  regions(2, kLong);
  omp_set_dynamic(1);
#pragma omp parallel num_threads(2)
  CHECK(omp_get_dynamic());
  omp_set_dynamic(0);
  regions(2, kLong);
  // A default device set between regions.
  const int device = omp_get_default_device();
  for (int i = 0; i < 6; ++i) {
    omp_set_default_device(3 + i / 3);
#pragma omp parallel num_threads(2)
    CHECK(omp_get_default_device() == 3 + i / 3);
  }
  omp_set_default_device(device);
}

// Before anything else: the team is parked all the time.
static void device_of_a_parked_team(void) {
  const int device = omp_get_default_device();
  for (int i = 0; i < 3; ++i) {
    omp_set_default_device(5 + i);
#pragma omp parallel num_threads(2)
    CHECK(omp_get_default_device() == 5 + i);
    regions(2, kLong);
  }
  omp_set_default_device(device);
}

static void sizes(void) {
  for (int i = 0; i < 60; ++i) region(1 + i % 4);              // never twice the same
  for (int i = 0; i < 60; ++i) regions(2 - i % 2, 1 + i % 7);  // with teams of one in between
  for (int i = 0; i < 10; ++i) {
    regions(2, 8);
    regions(3, 3);
  }
#pragma omp parallel num_threads(2) if (0)
  CHECK(omp_get_num_threads() == 1);
  regions(2, kLong);
#pragma omp parallel num_threads(1)
  {
    CHECK(omp_get_num_threads() == 1 && omp_get_level() == 1);
#pragma omp parallel num_threads(2)
    CHECK(omp_get_level() == 2);
#pragma omp barrier
  }
  regions(2, kLong);
}

// A clause that is no reason to end the hot team hides none.
static void places(void) {
  const int before = omp_get_max_threads();
  for (int i = 0; i < 3; ++i) {
    regions(2, kLong);
    int sum = 0;
#pragma omp parallel num_threads(3) proc_bind(close) reduction(+ : sum)
    {
      CHECK(omp_get_num_threads() == 3);
      ++sum;
    }
    CHECK(sum == 3);
  }
  omp_set_num_threads(2);
  regions(2, kLong);
  omp_set_num_threads(3);
#pragma omp parallel proc_bind(spread)
  CHECK(omp_get_num_threads() == 3);
  omp_set_num_threads(before);
}

static void nested(void) {
  omp_set_max_active_levels(2);
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  omp_set_nested(1);  // GCC 10 and before wait for it
  for (int i = 0; i < 40; ++i) {
    int inner = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2) reduction(+ : inner)
      {
        CHECK(omp_get_level() == 2 && omp_get_num_threads() == 2);
        inner += 1;
#pragma omp barrier
      }
      CHECK(omp_get_level() == 1 && omp_get_num_threads() == 2);
#pragma omp barrier
    }
    CHECK(inner == 2 || inner == 4);  // the reduction variable is shared by the outer team: only what the last wrote
    check_serial();
  }
  omp_set_nested(0);
  omp_set_max_active_levels(1);
}

// Tasks that others must run while they already wait at the end of the region; none may be left over after it.
static void tasks(void) {
  for (int i = 0; i < 300; ++i) {
    int done = 0;
#pragma omp parallel num_threads(2)
    {
      const int late = omp_get_thread_num() == i % 2;
      if (late) {
        if (i % 50 == 0) usleep(20000);  // the other one is asleep by then
        for (volatile int k = 0; k < (i * 37) % 2000; k = k + 1) {
        }
        for (int k = 0; k < i % 5; ++k) {
#pragma omp task shared(done)
          {
#pragma omp task shared(done)
            {
#pragma omp atomic
              ++done;
            }
          }
        }
      }
    }
    CHECK(done == i % 5);
    check_serial();
  }
  int outside = 0;
#pragma omp task shared(outside)  // undeferred here, with a region inside
  {
    for (int i = 0; i < 5; ++i) {
#pragma omp parallel num_threads(2) reduction(+ : outside)
      outside += 1;
    }
  }
#pragma omp taskwait
  CHECK(outside == 10);
  regions(2, kLong);
}

static void count_up(void* data) { __atomic_fetch_add((int*)data, 1, __ATOMIC_RELAXED); }

static void loop_body(void* data) {
  long begin, end;
  while (GOMP_loop_dynamic_next(&begin, &end))
    for (long i = begin; i < end; ++i) __atomic_fetch_add((int*)data + i, 1, __ATOMIC_RELAXED);
  GOMP_loop_end_nowait();
}

static void old_abi(void) {
  for (int i = 0; i < 10; ++i) {
    regions(2, kLong);
    int count = 0;
    GOMP_parallel_start(count_up, &count, 2);
    CHECK(omp_get_level() == 1);
    count_up(&count);
    GOMP_parallel_end();
    CHECK(count == 2);
    regions(2, kLong);
    int hits[9] = {0};
    GOMP_parallel_loop_dynamic_start(loop_body, hits, 2, 0, 9, 1, 2);
    loop_body(hits);
    GOMP_parallel_end();
    for (int k = 0; k < 9; ++k) CHECK(hits[k] == 1);
    check_serial();
  }
}

static void pauses(void) {
  for (int i = 0; i < 10; ++i) {
    regions(2, kLong);
    CHECK(omp_pause_resource_all(i % 2 ? omp_pause_soft : omp_pause_hard) == 0);
    regions(2, i % 3);
    CHECK(omp_pause_resource(omp_pause_soft, omp_get_initial_device()) == 0);
  }
  regions(2, kLong);
}

static void teams_and_targets(int with_target) {
  for (int i = 0; i < 6; ++i) {
    regions(2, kLong);
    int count = 0, limit = 0;
#pragma omp teams num_teams(2) thread_limit(2) reduction(+ : count) reduction(max : limit)
    {
      for (int k = 0; k < 4; ++k) {
#pragma omp parallel num_threads(2) reduction(+ : count) reduction(max : limit)
        {
          count += 1;
          limit = omp_get_thread_limit();
        }
      }
    }
    CHECK(count >= 8 && limit == 2);
#pragma omp parallel num_threads(2)
    CHECK(omp_get_thread_limit() > 2 && omp_get_num_teams() == 1 && omp_get_team_num() == 0);
  }
  if (!with_target) return;
  for (int i = 0; i < 6; ++i) {
    regions(2, kLong);
    int count = 0;
#pragma omp target map(tofrom : count)
    {
      for (int k = 0; k < 4; ++k) {
#pragma omp parallel num_threads(2) reduction(+ : count)
        count += 1;
      }
    }
    CHECK(count == 8);
    check_serial();
  }
}

// The same two settings by turns, before regions of two threads and of one: a team for each bears that.
static void settings_by_turns(void) {
  for (int i = 0; i < 400; ++i) {
    const int threads = 1 + i / 3 % 2;
    int seen = 0;
    omp_set_num_threads(threads);
#pragma omp parallel reduction(+ : seen)
    {
      CHECK(omp_get_num_threads() == threads && omp_get_max_threads() == threads);
      seen += 1;
    }
    CHECK(seen == threads);
  }
}

// Settings changed in the serial part before every region, of two threads and of one. `inside`: what
// omp_get_max_threads() says there; 0: what was set.
static void settings_between(int inside) {
  static const int kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
  regions(2, kLong);
  for (int i = 0; i < 400; ++i) {
    const int threads = 1 + i % 5, chunk = 1 + i % 7, kind = kinds[i % 4], levels = 1 + i % 3;
    omp_set_num_threads(threads);
    if (i % 3) omp_set_schedule((omp_sched_t)kind, chunk);
    if (i % 11 == 5) omp_set_max_active_levels(levels);
    const int levels_now = omp_get_max_active_levels();
    omp_sched_t kind_now;
    int chunk_now, seen = 0;
    omp_get_schedule(&kind_now, &chunk_now);
#pragma omp parallel num_threads(i % 4 == 3 ? 1 : 2) reduction(+ : seen)
    {
      omp_sched_t kind_here;
      int chunk_here;
      omp_get_schedule(&kind_here, &chunk_here);
      CHECK(omp_get_num_threads() == (i % 4 == 3 ? 1 : 2) && omp_get_level() == 1);
      CHECK(omp_get_max_threads() == (inside ? inside : threads) && omp_get_max_active_levels() == levels_now);
      CHECK(kind_here == kind_now && chunk_here == chunk_now && !omp_get_dynamic());
      seen += 1;
    }
    CHECK(seen == (i % 4 == 3 ? 1 : 2));
    check_serial();
  }
}

// What a hot team bears: target regions that the thread runs itself, with regions inside; proc_bind clauses that ask
// for what is set. And what it does not: target regions that are tasks.
static void beside(int with_tasks) {
  enum { kInside = 4, kIterations = 30 };
  regions(2, kLong);
  for (int i = 0; i < 6; ++i) {
    int count = 0, level = -1, ran = 0;
#pragma omp target map(tofrom : count, level, ran)
    {
      level = omp_get_level();
      for (int k = 0; k < kInside; ++k) {
#pragma omp parallel num_threads(2) reduction(+ : count, ran)
        {
          count += omp_get_num_threads();
#pragma omp barrier
#pragma omp for schedule(dynamic)
          for (int j = 0; j < kIterations; ++j) ++ran;
        }
#pragma omp parallel if (k < 0) reduction(+ : count)
        count += omp_get_num_threads();
      }
    }
    CHECK(level == 0 && count == kInside * (4 + 1) && ran == kInside * kIterations);
    regions(2, 3);
    for (int k = 0; k < 5; ++k) {
      int places = 0;
#pragma omp parallel num_threads(2) proc_bind(close) reduction(+ : places)
      {
        CHECK(omp_get_level() == 1 && omp_get_num_threads() == 2);
        places += omp_get_place_num();
      }
      int as_set = 0;
#pragma omp parallel num_threads(2) reduction(+ : as_set)
      as_set += omp_get_place_num();
      CHECK(places == as_set);
    }
    if (with_tasks) {
#pragma omp parallel num_threads(2)
#pragma omp single
      {
#pragma omp target nowait map(tofrom : count)
        {
#pragma omp parallel num_threads(2) reduction(+ : count)
          count += 1;
        }
#pragma omp taskwait
        CHECK(count == kInside * (4 + 1) + 2);
      }
    }
    check_serial();
  }
}

// Masters of their own, which end with their team parked; some use OpenMP from a destructor.
static pthread_key_t late_key;
static void late(void* unused) {
  (void)unused;
  regions(2, 3);
}
static void* master(void* argument) {
  regions(2, kLong);
#ifndef __clang__  // LLVM's libomp does not serve a thread whose own destructor has run
  if (argument) pthread_setspecific(late_key, argument);
#endif
  return NULL;
}
static void masters(void) {
  CHECK(pthread_key_create(&late_key, late) == 0);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread[2];
    for (int k = 0; k < 1 + i % 2; ++k)
      CHECK(pthread_create(&thread[k], NULL, master, i % 4 == 3 ? &late_key : NULL) == 0);
    for (int k = 0; k < 1 + i % 2; ++k) CHECK(pthread_join(thread[k], NULL) == 0);
  }
  regions(2, kLong);
}

static void forks(void) {
  regions(2, kLong);
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      check_serial();
      if (i == 1) execl("/bin/true", "true", (char*)NULL);
      if (i == 2) exit(0);  // with all handlers and destructors
      _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    regions(2, kLong);
  }
  CHECK(system("true") == 0);
  regions(2, kLong);
}

// Undefined in OpenMP; stock libgomp stays inside the region from then on, and so must we.
static jmp_buf out;
static void jump_out(void) {
  regions(2, kLong);
  if (setjmp(out) == 0) {
#pragma omp parallel num_threads(2)
    {
#pragma omp master
      longjmp(out, 1);
    }
  }
  int count = 0;
#pragma omp parallel num_threads(2) reduction(+ : count)
  count += 1;
  CHECK(count >= 1 && omp_get_level() == 1);
}

// `if (n > 1000)`: regions of one thread between those of two, from the first one on.
static void by_turns(void) {
  for (int i = 0; i < 500; ++i) {
    region(2);
    region(1);
  }
}
static void by_turns_inside(void) {
  int sum = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : sum)
  for (int i = 0; i < 500; ++i) {
    const int threads = i % 2 ? 1 : 2;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
      CHECK(omp_get_num_threads() == threads && omp_get_level() == 2 && omp_get_active_level() == 1 + (threads > 1));
      sum += 2 / threads;
    }
  }
  CHECK(sum == 2 * 500 * 2);
}

int main(int argc, char** argv) {
  omp_set_dynamic(0);
  if (argc > 1 && strcmp(argv[1], "turns") == 0) {
    argc > 2 ? by_turns_inside() : by_turns();
    puts("ok");
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "settings") == 0) {
    if (argc > 2 && strcmp(argv[2], "turns") == 0)
      settings_by_turns();
    else
      settings_between(argc > 2 ? atoi(argv[2]) : 0);
    puts("ok");
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "beside") == 0) {
    beside(argc > 2);
    puts("ok");
    return 0;
  }
  regions(2, 20);
  settings_of_workers();
  device_of_a_parked_team();
  places();  // before sizes that change have put hot teams off
  orphans(2);
  orphans(3);
  loops(2);
  loops(3);
  settings();
  sizes();
  nested();
  tasks();
#ifndef __clang__  // LLVM's libomp says that the level is 0 there, and does not come back from a pause
  old_abi();
  pauses();
#endif
  masters();
  forks();
  teams_and_targets(argc > 1 && argv[1][0] == 't');
  regions(2, 20);
  if (argc > 1 && argv[1][0] == 'j') jump_out();
  puts("ok");
  return 0;
}
