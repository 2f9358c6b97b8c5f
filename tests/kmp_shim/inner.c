// Regions inside regions, which are libomp's under the shim, too: who a thread is there and behind them, what it holds,
// has set or has stored. The same checks hold under stock libomp. One case each run; it prints "ok".
#define _GNU_SOURCE
#include <fenv.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <smelt/openmp.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../gomp_shim/check.h"

enum { kRounds = 40, kOuter = 2 };

// Where the thread is, in the region around and in the one inside.
static void check_outer(int me) {
  CHECK(omp_get_level() == 1 && omp_get_active_level() == 1 && omp_get_thread_num() == me);
  CHECK(omp_get_num_threads() == kOuter && omp_get_ancestor_thread_num(1) == me && omp_get_team_size(1) == kOuter);
}

static void check_inner(int around, int threads) {
  CHECK(omp_get_level() == 2 && omp_get_active_level() == 1 + (threads > 1) && omp_in_parallel() &&
        omp_get_num_threads() == threads);
  CHECK(omp_get_ancestor_thread_num(0) == 0 && omp_get_ancestor_thread_num(1) == around);
  CHECK(omp_get_ancestor_thread_num(2) == omp_get_thread_num() && omp_get_team_size(0) == 1);
  CHECK(omp_get_team_size(1) == kOuter && omp_get_team_size(2) == threads);
}

static void inner(int me, int threads) {
  int slots[8] = {0}, sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  {
    check_inner(me, threads);
    const int here = omp_get_thread_num();
    __atomic_fetch_add(&slots[here], 1, __ATOMIC_RELAXED);
    sum += here + 1;
#pragma omp barrier
    for (int t = 0; t < threads; ++t) CHECK(__atomic_load_n(&slots[t], __ATOMIC_RELAXED) == 1);
  }
  CHECK(sum == threads * (threads + 1) / 2);
}

static void answers(void) {
  for (int i = 0; i < 10; ++i) {
#pragma omp parallel num_threads(kOuter)
    {
      const int me = omp_get_thread_num();
      for (int r = 0; r < kRounds; ++r) {
        check_outer(me);
        inner(me, 2);
        check_outer(me);
#pragma omp barrier
      }
    }
    CHECK(omp_get_level() == 0 && !omp_in_parallel());
  }
}

// Regions that one thread opens, the last one, while the others wait or are done.
static void one(void) {
  for (int i = 0; i < 6; ++i) {
#pragma omp parallel num_threads(kOuter)
    {
      const int me = omp_get_thread_num();
      for (int r = 0; r < kRounds; ++r) {
        if (me == kOuter - 1) inner(me, 2);
        check_outer(me);
        if (i % 2) {
#pragma omp barrier
        }
      }
    }
  }
}

// How long threads wait is said now and then, around, inside and in the serial part.
static void blocktime(void) {
  for (int i = 0; i < 6; ++i) {
    kmp_set_blocktime(i % 2 ? 0 : 10);
#pragma omp parallel num_threads(kOuter)
    {
      const int me = omp_get_thread_num();
      for (int r = 0; r < kRounds; ++r) {
        inner(me, 2);
        if (r == 10) kmp_set_blocktime(5);
#pragma omp parallel num_threads(2)
        if (r == 20) kmp_set_blocktime(omp_get_thread_num());
      }
    }
  }
}

// Inner regions that come to have a barrier, and are handed to libomp as they are by then.
static void late_barrier(int barrier) {
#pragma omp parallel num_threads(kOuter)
  {
    const int me = omp_get_thread_num();
    for (int r = 0; r < kRounds; ++r) {
      int first = 0;
#pragma omp parallel num_threads(2)
      if (barrier && r > kRounds - 4) {
        CHECK(omp_get_ancestor_thread_num(omp_get_level() - 1) == me && omp_get_num_threads() == 2);
        if (omp_get_thread_num() == 0) first = 1;
#pragma omp barrier
        CHECK(first == 1);
      }
    }
  }
}

// A region that is opened inside one of one thread first, and then by itself.
static void depths(void) {
  omp_set_max_active_levels(3);
  for (int i = 0; i < 4; ++i) {
    for (int r = 0; r < 10; ++r) {
#pragma omp parallel num_threads(1)
      late_barrier(0);
    }
    for (int r = 0; r < 4; ++r) late_barrier(1);
  }
}

// Every other size, regions of one, and more threads around than inner regions were made for.
static void sizes(void) {
  for (int i = 0; i < 6; ++i) {
#pragma omp parallel num_threads(kOuter)
    {
      const int me = omp_get_thread_num();
      for (int r = 0; r < kRounds; ++r) inner(me, 2 + r / 7 % 2);
      for (int r = 0; r < 6; ++r) inner(me, 1 + r % 2);
    }
#pragma omp parallel num_threads(kOuter + 1 + i % 2)
    for (int r = 0; r < kRounds; ++r) {
      int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
      sum += omp_get_team_size(1);
      CHECK(sum == 2 * omp_get_num_threads());
    }
  }
}

static void constructs(void) {
#pragma omp parallel num_threads(kOuter)
  for (int r = 0; r < kRounds; ++r) {
    int loop = 0, ordered = 0, once = 0, copied = 0, tasks = 0, taskloops = 0, sections = 0, in_critical = 0;
#pragma omp parallel num_threads(2) private(copied)
    {
#pragma omp for reduction(+ : loop)
      for (int k = 0; k < 100; ++k) loop += k;
#pragma omp for schedule(dynamic, 3) reduction(+ : loop)
      for (int k = 0; k < 100; ++k) loop += k;
#pragma omp for ordered
      for (int k = 0; k < 10; ++k) {
#pragma omp ordered
        ordered = ordered * 3 + k;
      }
#pragma omp single copyprivate(copied)
      {
        copied = r + 7;
        ++once;
      }
      CHECK(copied == r + 7);
#pragma omp sections reduction(+ : sections)
      {
#pragma omp section
        ++sections;
#pragma omp section
        ++sections;
      }
#pragma omp critical
      ++in_critical;
      if (r % 3 == 0) {
#pragma omp task shared(tasks)
        __atomic_fetch_add(&tasks, omp_get_level(), __ATOMIC_RELAXED);
#pragma omp taskwait
#pragma omp task shared(tasks)
        __atomic_fetch_add(&tasks, omp_get_level(), __ATOMIC_RELAXED);
      }
      if (r % 5 == 0) {
#pragma omp single
#pragma omp taskloop shared(taskloops) grainsize(1)
        for (int k = 0; k < 10; ++k) __atomic_fetch_add(&taskloops, 1, __ATOMIC_RELAXED);
      }
    }
    CHECK(loop == 2 * 4950 && ordered == 14757 && once == 1 && sections == 2 && in_critical == 2);
    CHECK(tasks == (r % 3 == 0 ? 8 : 0) && taskloops == (r % 5 == 0 ? 10 : 0));
  }
}

// Inner regions in tasks of the region around, beside its barriers and loops, and regions inside those.
static void around(void) {
  omp_set_max_active_levels(3);
  int done = 0;
#pragma omp parallel num_threads(kOuter)
  {
    const int me = omp_get_thread_num();
    for (int r = 0; r < kRounds; ++r) {
      inner(me, 2);
#pragma omp for schedule(dynamic)
      for (int k = 0; k < 4; ++k) inner(omp_get_thread_num(), 2);
      if (r % 4 == 1) {
#pragma omp task shared(done)
        {
          omp_set_schedule(omp_sched_guided, 5);
          inner(omp_get_thread_num(), 2);
#pragma omp parallel num_threads(2)
          {
            omp_sched_t kind;
            int chunk;
            omp_get_schedule(&kind, &chunk);
            CHECK((kind & 0xff) == omp_sched_guided && chunk == 5);
          }
          __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
        }
        inner(me, 2);
#pragma omp barrier
      }
      int deep = 0;
#pragma omp parallel num_threads(2) reduction(+ : deep)
      {
        int part = 0;
        const int above = omp_get_thread_num();
#pragma omp parallel num_threads(2) reduction(+ : part)
        {
          CHECK(omp_get_level() == 3 && omp_get_ancestor_thread_num(1) == me &&
                omp_get_ancestor_thread_num(2) == above);
          ++part;
        }
        deep += part;
      }
      CHECK(deep == 4);
      check_outer(me);
    }
  }
  CHECK(done == kOuter * kRounds / 4);
}

static int chunk_now(void) {
  omp_sched_t kind;
  int chunk;
  omp_get_schedule(&kind, &chunk);
  return chunk;
}

// What is set inside ends there; what is set around holds inside, and ends with the region around.
static void settings(void) {
  omp_set_schedule(omp_sched_static, 3);
  const int threads = omp_get_max_threads();
  for (int i = 0; i < 8; ++i) {
#pragma omp parallel num_threads(kOuter)
    {
      const int me = omp_get_thread_num();
      CHECK(chunk_now() == 3 + i && omp_get_max_threads() == threads);
      for (int r = 0; r < kRounds; ++r) {
        inner(me, 2);
        const int wanted = chunk_now(), most = omp_get_max_threads();
#pragma omp parallel num_threads(2)
        {
          CHECK(chunk_now() == wanted && omp_get_max_threads() == most);
          if (r % 10 == 3) omp_set_schedule(omp_sched_static, 100 + omp_get_thread_num());
          if (r % 10 == 6) omp_set_num_threads(7);
        }
        CHECK(chunk_now() == wanted && omp_get_max_threads() == most);
        if (r == 20) omp_set_schedule(omp_sched_static, 50 + me);
        if (r == 30 && i % 2) omp_set_num_threads(3);
        if (r == 35 && i % 2) {
          int sum = 0;
#pragma omp parallel reduction(+ : sum)
          sum += omp_get_num_threads();
          CHECK(sum == 9);
        }
      }
    }
    omp_set_schedule(omp_sched_static, 4 + i);
  }
}

static int mine = 1;
#pragma omp threadprivate(mine)

// The thread that opens a region has its own values in it; those of the others are there where copyin brings them.
static void values(void) {
#pragma omp parallel num_threads(kOuter)
  {
    const int me = omp_get_thread_num();
    int* const place = &mine;
    mine = 10 + me;
    for (int r = 0; r < kRounds; ++r) {
      mine = 10 * r + me;
#pragma omp parallel num_threads(2) copyin(mine)
      {
        CHECK(mine == 10 * r + me);
        if (omp_get_thread_num() == 0) CHECK(&mine == place);
#pragma omp barrier
        mine += 100 * (1 + omp_get_thread_num());
      }
      CHECK(mine == 10 * r + me + 100 && &mine == place);
    }
  }
}

// Locks that a thread holds when it opens a region are its own inside, too.
static void locks(void) {
  omp_nest_lock_t nests[kOuter];
  omp_lock_t simple;
  omp_init_lock(&simple);
  for (int i = 0; i < kOuter; ++i) omp_init_nest_lock(&nests[i]);
  long seen = 0, named = 0;
#pragma omp parallel num_threads(kOuter)
  {
    const int me = omp_get_thread_num();
    for (int r = 0; r < kRounds; ++r) {
      omp_set_nest_lock(&nests[me]);
#pragma omp parallel num_threads(2)
      {
        if (omp_get_thread_num() == 0) {
          CHECK(omp_test_nest_lock(&nests[me]) == 2);
          omp_unset_nest_lock(&nests[me]);
        } else {
          CHECK(omp_test_nest_lock(&nests[me]) == 0);
        }
        omp_set_lock(&simple);
        ++seen;
        omp_unset_lock(&simple);
#pragma omp critical(named)
        ++named;
      }
      omp_unset_nest_lock(&nests[me]);
    }
  }
  CHECK(seen == kOuter * kRounds * 2 && named == seen);
  for (int i = 0; i < kOuter; ++i) {
    CHECK(omp_test_nest_lock(&nests[i]) == 1);
    omp_unset_nest_lock(&nests[i]);
  }
}

static void rounding(void) {
#pragma omp parallel num_threads(kOuter)
  for (int r = 0; r < kRounds; ++r) {
    const int way = r % 2 ? FE_UPWARD : FE_TONEAREST;
    CHECK(fesetround(way) == 0);
#pragma omp parallel num_threads(2)
    {
      CHECK(fegetround() == way);
      fesetround(FE_DOWNWARD);
    }
    CHECK(fegetround() == way);
  }
}

// Dependences of tasks inside: no address of a region is known in the next.
static void depend(void) {
#pragma omp parallel num_threads(kOuter)
  for (int r = 0; r < kRounds; ++r) {
    int order = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
      for (int k = 0; k < 4; ++k) {
#pragma omp task depend(inout : order) shared(order)
        order = order * 2 + k % 2;
      }
    }
    CHECK(order == 5);
  }
}

// Where threads are bound, those inside are at the places where they ought to be.
static void places(void) {
  for (int i = 0; i < 3; ++i) {
#pragma omp parallel num_threads(kOuter)
    {
      const int place = omp_get_place_num();
      for (int r = 0; r < kRounds; ++r) {
#pragma omp parallel num_threads(2)
        {
          const int here = omp_get_place_num();
          if (omp_get_thread_num() == 0) CHECK(here == place);
          if (here >= 0) {
            int cpus[64] = {0};
            const int count = omp_get_place_num_procs(here);
            CHECK(count <= 64);
            omp_get_place_proc_ids(here, cpus);
            int found = 0;
            const int cpu = sched_getcpu();
            for (int k = 0; k < count; ++k) found |= cpus[k] == cpu;
            CHECK(found);
          }
        }
        CHECK(omp_get_place_num() == place);
      }
    }
  }
}

static void* whole_life(void* unused) {
  (void)unused;
  omp_set_max_active_levels(2);
  for (int i = 0; i < 3; ++i) {
#pragma omp parallel num_threads(kOuter)
    {
      const int me = omp_get_thread_num();
      for (int r = 0; r < 8; ++r) inner(me, 2);
    }
  }
  return NULL;
}

// A region of what a number says, at any level; answers with a sum that follows from the number. Without tasks: libomp
// 14 by itself crashes now and then where such regions make some.
static long part(unsigned seed, int level, int most) {
  long sum = 0;
  const int threads = 1 + (int)(hash(seed, 1) % 3);
  const int dynamic = hash(seed, 3) % 3 == 0, single = hash(seed, 4) % 3 == 0;
  const int chunk = hash(seed, 5) % 5 == 0 ? 20 + (int)(seed % 7) : 0, inside = level < most ? 1 + (int)(seed % 4) : 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  {
    CHECK(omp_get_level() == level && omp_get_num_threads() == threads && omp_get_thread_num() < threads);
    const int before = chunk_now();
    int copied = -1;
    if (single) {
#pragma omp single copyprivate(copied)
      copied = threads;
      sum += copied;
    }
    if (dynamic) {
#pragma omp for schedule(dynamic, 2)
      for (int i = 0; i < 12; ++i) sum += i;
    }
    if (chunk != 0) omp_set_schedule(omp_sched_dynamic, chunk);
    for (int i = 0; i < inside; ++i) {
      sum += part(hash(seed, 10 + (unsigned)(i % 2)), level + 1, most);
      CHECK(omp_get_level() == level && chunk_now() == (chunk != 0 ? chunk : before));
#pragma omp barrier
    }
  }
  return sum;
}

static long part_alone(unsigned seed, int level, int most) {
  long sum = 0;
  const int threads = 1 + (int)(hash(seed, 1) % 3), inside = level < most ? 1 + (int)(seed % 4) : 0;
  if (hash(seed, 4) % 3 == 0) sum += threads * threads;
  if (hash(seed, 3) % 3 == 0) sum += 66;
  for (int i = 0; i < inside; ++i) sum += threads * part_alone(hash(seed, 10 + (unsigned)(i % 2)), level + 1, most);
  return sum;
}

static unsigned first_seed = 1, seeds = 60;

static void random_regions(void) {
  omp_set_max_active_levels(3);
  for (unsigned seed = first_seed; seed < first_seed + seeds; ++seed) {
    const unsigned number = hash(seed, 0);
    const int most = 2 + (int)(seed % 2);
    const long expected = part_alone(number, 1, most);
    for (int i = 0; i < 4; ++i) CHECK(part(number, 1, most) == expected);
  }
}

// Threads that have such regions and end, one after the other and at the same time.
static void masters(void) {
  pthread_t threads[3];
  for (int i = 0; i < 12; ++i) {
    const int beside = i % 3 == 0 ? 3 : 1;
    for (int t = 0; t < beside; ++t) CHECK(pthread_create(&threads[t], NULL, whole_life, NULL) == 0);
    for (int t = 0; t < beside; ++t) CHECK(pthread_join(threads[t], NULL) == 0);
  }
  whole_life(NULL);
  CHECK(pthread_create(&threads[0], NULL, whole_life, NULL) == 0);
  whole_life(NULL);
  CHECK(pthread_join(threads[0], NULL) == 0);
}

static void children(void) {
  whole_life(NULL);
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      whole_life(NULL);
      whole_life(NULL);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    whole_life(NULL);
  }
}

static void pauses(void) {
  for (int i = 0; i < 5; ++i) {
    whole_life(NULL);
    CHECK(omp_pause_resource_all(i % 2 ? omp_pause_hard : omp_pause_soft) == 0);
    omp_set_max_active_levels(2);
  }
}

// The process ends behind such regions, or in one.
static void ends(const char* how) {
  whole_life(NULL);
  puts("ok");
  fflush(stdout);
  if (*how == 's') exit(0);
#pragma omp parallel num_threads(kOuter)
  {
    inner(omp_get_thread_num(), 2);
    if (*how == 'a') {
#pragma omp master
      exit(0);
#pragma omp barrier
    }
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
      if (omp_get_ancestor_thread_num(1) == 0 && omp_get_thread_num() == 1) exit(0);
#pragma omp barrier
      sleep(1);
    }
  }
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {{"answers", answers},      {"one", one},
               {"blocktime", blocktime},  {"depths", depths},
               {"sizes", sizes},          {"constructs", constructs},
               {"around", around},        {"settings", settings},
               {"values", values},        {"locks", locks},
               {"rounding", rounding},    {"depend", depend},
               {"places", places},        {"masters", masters},
               {"children", children},    {"pauses", pauses},
               {"random", random_regions}};
  CHECK(argc > 1);
  if (argc > 2) first_seed = (unsigned)atoi(argv[2]);
  if (argc > 3) seeds = (unsigned)atoi(argv[3]);
  omp_set_dynamic(0);
  omp_set_max_active_levels(2);
  if (strcmp(argv[1], "ends") == 0 && argc > 2) ends(argv[2]);
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(cases[i].name, argv[1]) != 0) continue;
    cases[i].run();
    puts("ok");
    return 0;
  }
  return 2;
}
