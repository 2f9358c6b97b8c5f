// What a program sees beside a team that is parked: its master is in the serial part, whoever asks and however, and
// what it holds, has set or has stored is there on both sides. The same checks hold under stock libomp; under the shim
// most regions here are a hot team's. One case each run; it prints "ok".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fenv.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <smelt/openmp.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../gomp_shim/check.h"

typedef struct {
  int reserved, flags, more[2];
  const char* source;
} Place;
static Place here = {0, 2, {0, 0}, ";a;b;1;1;;"};
int __kmpc_global_thread_num(Place*);

enum { kLong = 70, kThreads = 2 };

static void regions(int count) {
  for (int i = 0; i < count; ++i) {
    int sum = 0;
#pragma omp parallel num_threads(kThreads) reduction(+ : sum)
    sum += omp_get_num_threads() * 10 + omp_get_level();
    CHECK(sum == kThreads * (kThreads * 10 + 1));
  }
}

static void* by_handle(const char* name) {
  void* const handle = dlopen("libomp.so.5", RTLD_NOLOAD | RTLD_NOW);
  CHECK(handle);
  void* const found = dlsym(handle, name);
  CHECK(found);
  return found;
}

// Asked by name, by a handle (as threadpoolctl does), and by the constructs themselves.
static void answers(void) {
  int (*const level)(void) = (int (*)(void))by_handle("omp_get_level");
  int (*const inside)(void) = (int (*)(void))by_handle("omp_in_parallel");
  int (*const most)(void) = (int (*)(void))by_handle("omp_get_max_threads");
  const int gtid = __kmpc_global_thread_num(&here), threads = omp_get_max_threads();
  for (int i = 0; i < 40; ++i) {
    regions(i == 20 ? kLong : 3);
    CHECK(level() == 0 && !inside() && most() == threads && omp_get_num_threads() == 1 && omp_get_thread_num() == 0);
    CHECK(__kmpc_global_thread_num(&here) == gtid && omp_get_ancestor_thread_num(0) == 0 && omp_get_team_size(0) == 1);
    int loop = 0, shared = 0, once = 0, ones = 0, group = 0;
#pragma omp for schedule(static)
    for (int k = 0; k < 100; ++k) {
#pragma omp cancellation point for
#pragma omp cancel for
      ++loop;  // OMP_CANCELLATION is off
    }
#pragma omp for schedule(dynamic, 7) nowait
    for (int k = 0; k < 100; ++k) ++shared;
#pragma omp for ordered
    for (int k = 0; k < 10; ++k) {
#pragma omp ordered
      CHECK(once++ == k);
    }
#pragma omp single
    ++ones;
#pragma omp parallel if (0)
    {
      CHECK(omp_get_level() == 1 && omp_get_num_threads() == 1 && level() == 1);
#pragma omp barrier
      ++ones;
    }
#pragma omp parallel num_threads(1) reduction(+ : ones)
    {
      CHECK(omp_get_level() == 1 && omp_get_num_threads() == 1 && __kmpc_global_thread_num(&here) == gtid);
#pragma omp barrier
      ++ones;
    }
#pragma omp taskgroup
    for (int k = 0; k < 5; ++k) {
#pragma omp task shared(group)
      {
#pragma omp atomic
        ++group;
      }
    }
#pragma omp taskloop shared(group)
    for (int k = 0; k < 5; ++k) {
#pragma omp atomic
      ++group;
    }
    CHECK(loop == 100 && shared == 100 && once == 10 && ones == 3 && group == 10);
#pragma omp barrier
  }
}

// Set by a handle in the serial part, past the shim; and by name in a region, where it ends with that.
static void settings(void) {
  void (*const set_threads)(int) = (void (*)(int))by_handle("omp_set_num_threads");
  for (int i = 0; i < 20; ++i) {
    omp_set_num_threads(kThreads);
    regions(kLong);
    set_threads(3);
    int seen = 0;
#pragma omp parallel reduction(+ : seen)
    seen += omp_get_num_threads() == 3 && omp_get_max_threads() == 3;
    CHECK(seen == 3 && omp_get_max_threads() == 3);
    set_threads(kThreads);
    regions(i % 3);
    omp_set_schedule(omp_sched_guided, 3 + i);
    regions(5);
    omp_sched_t kind;
    int chunk = 0;
#pragma omp parallel num_threads(kThreads) private(kind, chunk)
    {
      omp_get_schedule(&kind, &chunk);
      CHECK((kind & 0xf) == omp_sched_guided && chunk == 3 + i);
      omp_set_schedule(omp_sched_static, 99);
      omp_set_num_threads(7);
    }
    omp_get_schedule(&kind, &chunk);
    CHECK((kind & 0xf) == omp_sched_guided && chunk == 3 + i && omp_get_max_threads() == kThreads);
#pragma omp parallel num_threads(kThreads) private(kind, chunk)
    {
      omp_get_schedule(&kind, &chunk);
      CHECK((kind & 0xf) == omp_sched_guided && chunk == 3 + i && omp_get_max_threads() == kThreads);
    }
  }
}

static int mine;
#pragma omp threadprivate(mine)

#ifndef LARGE
#define LARGE 1
#endif
static char large[LARGE];
#pragma omp threadprivate(large)

// Values stay with the threads, also where hot and cold regions change, and with their master between.
static void values(void) {
  mine = -1;
#pragma omp parallel num_threads(kThreads) copyin(mine)
  {
    CHECK(mine == -1);
    mine = omp_get_thread_num() * 1000;
  }
  for (int i = 0; i < 300; ++i) {
    if (i % 60 == 59) omp_set_schedule(omp_sched_dynamic, i);  // ends the hot team
#pragma omp parallel num_threads(kThreads)
    {
      CHECK(mine == omp_get_thread_num() * 1000 + i);
      char* all = large;
      __asm__ volatile("" : "+r"(all) : : "memory");  // the compiler is to leave it whole
      CHECK(all[0] == (char)i && all[LARGE - 1] == (char)i);
      all[0] = all[LARGE - 1] = (char)(i + 1);
      ++mine;
    }
    CHECK(mine == i + 1);
#pragma omp parallel num_threads(1)
    CHECK(mine == i + 1);
  }
}

// A lock that its owner holds across a region's begin, simple or nestable, is its own inside, too.
static void locks(void) {
  omp_nest_lock_t nest;
  omp_lock_t simple;
  omp_init_nest_lock(&nest);
  omp_init_lock(&simple);
  regions(kLong);
  for (int i = 0; i < 50; ++i) {
    omp_set_nest_lock(&nest);
    omp_set_lock(&simple);
    int held = 0;
#pragma omp parallel num_threads(kThreads) reduction(+ : held)
    {
      if (omp_get_thread_num() == 0) {
        CHECK(omp_test_nest_lock(&nest) == 2);
        omp_set_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        held = 1;
      } else {
        CHECK(omp_test_nest_lock(&nest) == 0 && !omp_test_lock(&simple));
      }
    }
    CHECK(held == 1);
    omp_unset_lock(&simple);
    CHECK(omp_test_nest_lock(&nest) == 2);
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
#pragma omp critical
    held = 2;
#pragma omp parallel num_threads(kThreads)
    {
#pragma omp critical
      ++held;
    }
    CHECK(held == 2 + kThreads);
  }
  omp_destroy_nest_lock(&nest);
  omp_destroy_lock(&simple);
}

// The master's rounding holds in all threads, and is behind a region what it was before. libomp has that on x86.
static void rounding(void) {
#if defined __x86_64__
  static const int kinds[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  regions(kLong);
  for (int i = 0; i < 200; ++i) {
    const int kind = kinds[i % 4];
    fesetround(kind);
#pragma omp parallel num_threads(kThreads)
    {
      CHECK(fegetround() == kind);
      fesetround(kinds[(i + 1 + omp_get_thread_num()) % 4]);
    }
    CHECK(fegetround() == kind);
  }
  fesetround(FE_TONEAREST);
#endif
}

// The master stays where it is bound, and is told so.
static void places(void) {
  cpu_set_t before, now;
  regions(1);
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  const int place = omp_get_place_num();
  for (int i = 0; i < 10; ++i) {
    regions(kLong);
#pragma omp parallel num_threads(1)
    CHECK(omp_get_num_threads() == 1);
    CHECK(sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&before, &now));
    CHECK(omp_get_place_num() == place);
    int close[kThreads], plain[kThreads];
#pragma omp parallel num_threads(kThreads) proc_bind(spread)
    close[omp_get_thread_num()] = omp_get_place_num();
#pragma omp parallel num_threads(kThreads)
    plain[omp_get_thread_num()] = omp_get_place_num();
    CHECK(close[0] >= -1 && plain[0] == place);
    CHECK(sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&before, &now));
  }
}

static void depend(void) {
  static int cell[64];
  for (int i = 0; i < 120; ++i) {
    int sum = 0;
#pragma omp parallel num_threads(kThreads)
#pragma omp single
    for (int k = 0; k < 4; ++k) {
#pragma omp task depend(inout : cell[i % 64]) shared(sum)
      ++sum;
    }
    CHECK(sum == 4);
    regions(3);
#pragma omp task depend(inout : cell[0]) shared(sum)
    ++sum;
#pragma omp task depend(inout : cell[0]) shared(sum)
    ++sum;
#pragma omp taskwait
    CHECK(sum == 6);
  }
}

// Regions inside others, of several threads and of one, and inside regions of one beside the parked team.
static void inner(void) {
  omp_set_max_active_levels(2);
  for (int i = 0; i < 40; ++i) {
    int sum = 0;
    regions(5);
    // Of another size, in an orphaned loop that is dealt out.
    if (i % 10 == 9) {
#pragma omp for schedule(dynamic)
      for (int k = 0; k < 3; ++k) {
        int three = 0;
#pragma omp parallel num_threads(3) reduction(+ : three)
        ++three;
        CHECK(three == 3);
        sum += three;
      }
      CHECK(sum == 9);
      sum = 0;
    }
#pragma omp parallel num_threads(kThreads) reduction(+ : sum)
    {
      int part = 0;
#pragma omp parallel num_threads(2) reduction(+ : part)
      {
        CHECK(omp_get_level() == 2 && omp_get_num_threads() == 2);
#pragma omp barrier
        ++part;
      }
      CHECK(omp_get_level() == 1 && omp_get_num_threads() == kThreads);
      sum += part;
    }
    CHECK(sum == 2 * kThreads);
    if (i % 8 != 7) continue;
    int ones = 0;
#pragma omp parallel num_threads(1)
#pragma omp parallel num_threads(2) reduction(+ : ones)
    {
      CHECK(omp_get_level() == 2 && omp_get_num_threads() == 2);
#pragma omp barrier
      ++ones;
    }
    CHECK(ones == 2);
#pragma omp parallel if (0)
#pragma omp parallel num_threads(2) reduction(+ : ones)
    ++ones;
    CHECK(ones == 4);
  }
}

// Regions inside constructs of the serial part, which are the master's own: a team that begins there must not be in the
// way of their end.
static void around(void) {
  for (int i = 0; i < 30; ++i) {
    int done = 0, group = 0;
    const int count = i % 5;
#pragma omp taskgroup task_reduction(+ : group)
    {
      regions(count);
#pragma omp task in_reduction(+ : group)
      ++group;
      regions(count);
    }
    CHECK(group == 1);
#pragma omp task shared(done)
    {
      regions(count);
      ++done;
    }
#pragma omp task if (0) shared(done)
    {
      regions(count);
      ++done;
    }
    regions(count);
#pragma omp taskloop shared(done)
    for (int k = 0; k < 3; ++k) {
      regions(count);
      ++done;
    }
#pragma omp for schedule(dynamic, 2)
    for (int k = 0; k < 5; ++k) {
      regions(count);
      ++done;
    }
#pragma omp for ordered schedule(dynamic)
    for (int k = 0; k < 5; ++k) {
      regions(count);
#pragma omp ordered
      {
        regions(count);
        ++done;
      }
    }
#pragma omp for ordered(1)
    for (int k = 0; k < 5; ++k) {
#pragma omp ordered depend(sink : k - 1)
      regions(count);
#pragma omp ordered depend(source)
      ++done;
    }
#pragma omp sections
    {
#pragma omp section
      regions(count);
#pragma omp section
      ++done;
    }
#pragma omp single
    {
      regions(count);
      ++done;
    }
#pragma omp critical
    {
      regions(count);
      ++done;
    }
#pragma omp parallel if (0)
    {
      regions(0);
#pragma omp for schedule(dynamic)
      for (int k = 0; k < 5; ++k) ++done;
#pragma omp task shared(done)
      ++done;
#pragma omp taskwait
    }
    CHECK(done == 2 + 3 + 5 + 5 + 5 + 1 + 1 + 1 + 5 + 1);
  }
}

static unsigned long long hot_regions(void) {
  smelt_openmp_counts counts = {0};
  int (*const of_shim)(smelt_openmp_counts*, size_t) =
      (int (*)(smelt_openmp_counts*, size_t))dlsym(RTLD_DEFAULT, "smelt_kmp_counters");
  if (of_shim) CHECK(of_shim(&counts, sizeof counts) == 0);
  return of_shim ? counts.hot_regions : ~0ull;
}

// Leagues of teams, whose masters are at level 0.
static void leagues(void) {
  for (int i = 0; i < 36; ++i) {
    int teams = 0, members = 0, met = 0;
    if (i % 3 == 0) regions(10);
    // Of more arguments than there are registers. The first of three finds a parked team, all others none.
    int five[5] = {0}, *one = five, *two = five + 1, *three = five + 2, *four = five + 3, *all = five + 4;
#pragma omp teams num_teams(1) firstprivate(one, two, three, four, all, i)
    {
      *one += i, *two += i, *three += i, *four += i;
      *all += *one + *two + *three + *four;
    }
    CHECK(five[4] == 4 * i);
#pragma omp teams num_teams(2) reduction(+ : teams, members, met)
    {
      int arrived = 0;
      ++teams;
      CHECK(omp_get_num_teams() <= 2 && omp_get_team_num() < 2);
#pragma omp parallel num_threads(2) reduction(+ : members, met)
      {
        ++members;
#pragma omp atomic
        ++arrived;
#pragma omp barrier
        met += arrived == omp_get_num_threads();
      }
    }
    CHECK(teams >= 1 && teams <= 2 && members >= teams && members <= 4 && met == members);
  }
  // Regions behind leagues are hot as those before.
  const unsigned long long before = hot_regions();
  regions(kLong);
  CHECK(before == 0 || before == ~0ull || hot_regions() > before);
}

// What goes on in the background while regions are forked, and tasks that wait for an event.
static void background(void) {
  for (int i = 0; i < 12; ++i) {
    int there = 0, detached = 0;
    regions(4);
#pragma omp target nowait map(tofrom : there)
    {
      if (i % 2) usleep(2000);
      ++there;
    }
    regions(4);
#pragma omp taskwait
    CHECK(there == 1);
#pragma omp target map(tofrom : there)
    there += omp_is_initial_device();
    CHECK(there == 2);
    omp_event_handle_t event;
#pragma omp task detach(event) shared(detached)
    detached = 1;
    regions(4);
    omp_fulfill_event(event);
#pragma omp taskwait
    CHECK(detached == 1);
#pragma omp parallel num_threads(kThreads)
#pragma omp single
    {
      omp_event_handle_t inside;
#pragma omp task detach(inside) shared(detached)
      detached = 2;
      omp_fulfill_event(inside);
#pragma omp taskwait
    }
    CHECK(detached == 2);
  }
}

// A runtime that is paused beside a parked team goes on; what it shows of its threads; clauses that come to nothing.
static void pauses(void) {
  for (int i = 0; i < 12; ++i) {
    char shown[256];
    regions(4);
    CHECK(omp_capture_affinity(shown, sizeof shown, "%L %n %N %t") > 0 && strncmp(shown, "0 0 1", 5) == 0);
    mine = 7000 + i;
#pragma omp parallel num_threads(kThreads) copyin(mine)
    CHECK(mine == 7000 + i);
    regions(4);
    if (i % 2) CHECK(omp_pause_resource_all(i % 4 == 1 ? omp_pause_soft : omp_pause_hard) == 0);
    regions(4);
    int done = 0;
#pragma omp parallel num_threads(kThreads) reduction(+ : done)
    {
#pragma omp for
      for (int k = 0; k < 64; ++k) {
#pragma omp cancel for
        ++done;
      }
#pragma omp cancel parallel if (done == 0)
    }
    CHECK(done == 64);  // OMP_CANCELLATION is off
  }
}

// How long to spin is asked of libomp, and set in the serial part, inside, and by handle.
static void blocktime(void) {
  static const int times[] = {0, 1, 200, 5000, 0};
  for (int i = 0; i < 25; ++i) {
    regions(kLong / 4);
    kmp_set_blocktime(times[i % 5]);
    regions(kLong / 4);
    CHECK(kmp_get_blocktime() == times[i % 5]);
#pragma omp parallel num_threads(kThreads)
    {
#pragma omp barrier
      kmp_set_blocktime(times[i % 5] / 2);
#pragma omp barrier
    }
    usleep(i % 5 * 1000);
  }
}

static void* other(void* argument) {
  (void)argument;
  for (int i = 0; i < 30; ++i) {
    regions(10);
    CHECK(omp_get_level() == 0 && omp_get_thread_num() == 0);
  }
  return NULL;
}

// Two masters at a time; and one that ends with its team parked, so that another may have it.
static void masters(void) {
  for (int i = 0; i < 12; ++i) {
    pthread_t thread[2];
    const int count = 1 + i % 2;
    for (int k = 0; k < count; ++k) CHECK(pthread_create(&thread[k], NULL, other, NULL) == 0);
    if (i % 3 == 0) other(NULL);
    for (int k = 0; k < count; ++k) CHECK(pthread_join(thread[k], NULL) == 0);
  }
  regions(kLong);
}

static void children(void) {
  for (int i = 0; i < 6; ++i) {
    regions(kLong);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      CHECK(omp_get_level() == 0 && omp_get_thread_num() == 0);
      if (i % 2) regions(kLong);
      if (i % 3) exit(0);
      _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(omp_get_level() == 0);
  }
  regions(kLong);
}

static void (*in_fork)(void);  // what is done in a fork
static void call_in_fork(void) {
  if (in_fork) in_fork();
}
static void pause_softly(void) { omp_pause_resource_all(omp_pause_soft); }  // refused where it is paused
static int chunk_of_fork = 5;
static void set_schedule(void) { omp_set_schedule(omp_sched_dynamic, ++chunk_of_fork); }
static void wait_for_tasks(void) {
#pragma omp taskwait
}

// The program's own handlers of fork; main() has registered them before libomp's are, so they run where libomp's hold
// its locks, before the fork and after it. What needs none of them goes on, and what is set there holds from then on.
static void forks(void) {
  static void (*const doings[])(void) = {pause_softly, set_schedule, wait_for_tasks};
  for (int i = 0; i < 9; ++i) {
    regions(kLong);
    in_fork = doings[i % 3];
    const pid_t child = fork();
    in_fork = NULL;
    CHECK(child >= 0);
    if (child == 0) {
      regions(kLong);
      _exit(0);
    }
    int status = 1, chunk = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    for (int r = 0; r < 4; ++r) {
      omp_sched_t kind;
      omp_get_schedule(&kind, &chunk);
      CHECK(i == 0 || (chunk == chunk_of_fork && (kind & 0xff) == omp_sched_dynamic));
#pragma omp parallel num_threads(kThreads)
      {
        omp_get_schedule(&kind, &chunk);
        CHECK(i == 0 || chunk == chunk_of_fork);
      }
    }
  }
}

static void at_end(void) {
  CHECK(omp_get_level() == 0);
  regions(5);
  puts("ok");
}

// The process ends in the serial part, with a function of its own behind that; or where `how` says.
static void ends(const char* how) {
  if (*how == 's') {
    CHECK(atexit(at_end) == 0);
    regions(kLong);
    exit(0);
  }
  regions(kLong);
  puts("ok");
  fflush(stdout);
  if (*how == 'o') {  // in a region of one
#pragma omp parallel num_threads(1)
    exit(0);
  }
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp master
    exit(0);
#pragma omp barrier
  }
}

// Threads of regions inside hot ones are counted only as long as those last. To be run with 4 CPUs.
static void counted(void) {
  omp_set_max_active_levels(2);
  for (int i = 0; i < 20; ++i) {
    int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    for (int k = 0; k < 50; ++k) {
      int part = 0;
#pragma omp parallel num_threads(2) reduction(+ : part)
      part += omp_get_num_threads() * omp_get_level();
      sum += part;
    }
    CHECK(sum == 2 * 50 * 2 * 4);
  }
  const unsigned long long before = hot_regions();
  CHECK(before > 0);
  for (int i = 0; i < 100; ++i) {
    int sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    ++sum;
    CHECK(sum == 4);
  }
  CHECK(before == ~0ull || hot_regions() > before);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {{"answers", answers},       {"settings", settings}, {"values", values},
               {"locks", locks},           {"rounding", rounding}, {"places", places},
               {"depend", depend},         {"inner", inner},       {"masters", masters},
               {"children", children},     {"around", around},     {"leagues", leagues},
               {"background", background}, {"pauses", pauses},     {"blocktime", blocktime},
               {"counted", counted},       {"forks", forks}};
  CHECK(argc > 1);
  if (strcmp(argv[1], "forks") == 0) CHECK(pthread_atfork(call_in_fork, call_in_fork, NULL) == 0);
  if (strcmp(argv[1], "ends") == 0 && argc > 2) ends(argv[2]);
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(cases[i].name, argv[1]) != 0) continue;
    cases[i].run();
    puts("ok");
    return 0;
  }
  return 2;
}
