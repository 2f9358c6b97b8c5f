// What a thread may do between its states (gomp_shim/states.h): settings made for the first time or out of the sight of
// a kept team, and target regions and leagues of teams wherever a thread can be. Each case is a pthread's that then
// ends, so it is seen, too, whether it can. The same checks hold under stock libgomp.
//   states [CASE...]     by default all
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

// A region with a barrier inside, and everything that a thread can ask in it.
static void region(int threads, int level) {
  int arrived = 0, iterations = 0;
#pragma omp parallel num_threads(threads) shared(arrived, iterations)
  {
    CHECK(omp_get_num_threads() == threads && omp_get_level() == level);
#pragma omp atomic
    ++arrived;
#pragma omp barrier
    CHECK(arrived == threads);
#pragma omp for schedule(dynamic, 1)
    for (int i = 0; i < 7; ++i) {
#pragma omp atomic
      ++iterations;
    }
    CHECK(iterations == 7);
  }
  CHECK(omp_get_level() == level - 1);
}

static void regions(int threads, int count) {
  for (int i = 0; i < count; ++i) region(threads, omp_get_level() + 1);
}

// A target region on the host, which begins as if it was a program of its own; with regions in it, a setting, or none.
static void target(int threads) {
  int level = -1;
#pragma omp target map(tofrom : level)
  {
    level = omp_get_level();
    if (threads > 0) {
      omp_set_num_threads(threads + 1);
      omp_set_max_active_levels(2);
      regions(threads, 3);
#pragma omp parallel num_threads(2)
      regions(threads, 2);
      CHECK(omp_get_max_threads() == threads + 1);
    }
  }
  CHECK(level == 0);
}

typedef struct {
  int threads, levels, chunk;
  omp_sched_t kind;
} Settings;
static Settings settings_now(void) {
  Settings now = {omp_get_max_threads(), omp_get_max_active_levels(), 0, 0};
  omp_get_schedule(&now.kind, &now.chunk);
  return now;
}
static void check_settings(Settings wanted) {
  const Settings now = settings_now();
  CHECK(now.threads == wanted.threads && now.levels == wanted.levels && now.chunk == wanted.chunk &&
        now.kind == wanted.kind);
}

// A thread's first setting of each kind, when it keeps a team of one, and a hot team, too.
static void first_setting(int which) {
  regions(1, 20);
  if (which & 4) regions(2, which & 8 ? 20 : 1);
  if (which & 1)
    omp_set_max_active_levels(4);
  else
    omp_set_num_threads(3);
  if (which & 2) omp_set_schedule(omp_sched_guided, 5);
  const Settings wanted = settings_now();
  for (int i = 0; i < 4; ++i) {
    region(1 + i % 2, 1);
    check_settings(wanted);
#pragma omp parallel num_threads(1 + i % 2)
    check_settings(wanted);
  }
}

// The levels that may be active are changed around; threads that an inner team keeps must hear of it.
static void levels(int outer) {
  static const int changes[] = {3, 1, 2, 4, 1, 3, 2, 1};
  for (int i = 0; i < 8; ++i) {
    const int most = changes[i];
    omp_set_max_active_levels(most);
    for (int k = 0; k < 12; ++k) {
      int inner = 0, innermost = 0;
#pragma omp parallel num_threads(outer) shared(inner, innermost)
#pragma omp parallel num_threads(2) shared(inner, innermost)
      {
#pragma omp atomic
        ++inner;
        CHECK(omp_get_max_active_levels() == most);
#pragma omp parallel num_threads(2) shared(innermost)
#pragma omp atomic
        ++innermost;
      }
      int active = outer > 1, expected = outer;
      for (int depth = 0; depth < 2; ++depth) {
        const int grows = active < most;
        expected *= grows ? 2 : 1;
        active += grows;
        CHECK((depth ? innermost : inner) == expected);
      }
    }
  }
}

// No level may be active: regions are of one thread, also where a hot team waits.
static void no_level(int threads) {
  regions(threads, 20);
  for (int active = 0; active < 2; ++active) {
    omp_set_max_active_levels(active);
    for (int i = 0; i < 5; ++i) {
      int members = 0;
#pragma omp parallel num_threads(threads) reduction(+ : members)
      members = 1;
      CHECK(members == (active ? threads : 1));
    }
  }
}

// A hot team, then targets with and without regions, then regions again.
static void targets(int inside) {
  regions(2, 20);
  target(inside);
  regions(2, 20);
  regions(1, 20);
  target(inside);
  target(inside);
}

// A target in a region of one thread beside a parked hot team; `kept`: for the region a team is kept.
static void target_beside(int kept) {
  regions(2, 20);
  if (kept) regions(1, 20);
#pragma omp parallel num_threads(1)
  target(2);
  regions(2, 20);
#pragma omp parallel num_threads(1)
  {
    regions(2, 20);
    target(3);
    regions(2, 20);
  }
}

// Targets inside regions, whose own regions have the level of the region around; beside inner teams that are kept.
static void target_inside(int threads) {
  omp_set_max_active_levels(3);
  for (int i = 0; i < 12; ++i) {
    int sum = 0;
#pragma omp parallel num_threads(threads) shared(sum)
    {
      regions(2, 12);
      target(3);
      // Inside an inner team, of which some threads have one, and some have none.
#pragma omp parallel num_threads(2)
      {
        if (omp_get_thread_num() == i % 2) target(2);
#pragma omp for schedule(dynamic, 1)
        for (int k = 0; k < 4; ++k) target(k % 2);
        regions(1, 3);
      }
#pragma omp sections
      {
#pragma omp section
        target(2);
#pragma omp section
        regions(2, 2);
      }
      regions(1, 12);
#pragma omp for schedule(dynamic, 1) reduction(+ : sum)
      for (int k = 0; k < 8; ++k) {
        target(k % 3);
        sum += k;
      }
      CHECK(omp_get_level() == 1 && omp_get_num_threads() == threads);
    }
    CHECK(sum == 28);
  }
}

// Tasks that open regions and targets, final and mergeable ones among them.
static void target_in_tasks(int threads) {
  omp_set_max_active_levels(3);
  for (int i = 0; i < 20; ++i) {
    int done = 0;
#pragma omp parallel num_threads(threads) shared(done)
    for (int k = 0; k < 6; ++k) {
#pragma omp task shared(done) mergeable final(k == 4) if (k != 3)
      {
        if (k % 2) region(2, omp_get_level() + 1);
        target(k % 4);
#pragma omp task shared(done) mergeable
        {
          if (k == 5) target(2);
#pragma omp atomic
          ++done;
        }
        if (k == 2) target(2);
#pragma omp taskwait
#pragma omp atomic
        ++done;
      }
    }
    CHECK(done == threads * 12);
  }
}

// The first setting is made in a target, where it is that one's alone; the thread's own first one comes later, beside a
// hot team, and is perhaps the last that it does.
static void setting_in_target(int ends) {
  const Settings before = settings_now();
  target(2);
  check_settings(before);
  regions(2, 20);
  omp_set_num_threads(3);
  CHECK(omp_get_max_threads() == 3);
  if (ends) return;
  regions(2, 20);
#pragma omp parallel
  CHECK(omp_get_num_threads() == 3);
}

// What is set in a league of teams stays set: libgomp's has the settings of the thread around.
static void set_schedule(void) { omp_set_schedule(omp_sched_dynamic, 7); }
static void setting_in_teams(int unused) {
  (void)unused;
  regions(1, 20);
  regions(2, 20);
#pragma omp teams num_teams(2)
  {
    set_schedule();
    regions(2, 3);
  }
  Settings wanted = settings_now();
  CHECK(wanted.kind == omp_sched_dynamic && wanted.chunk == 7);
  regions(1, 5);
#pragma omp parallel num_threads(1)
  check_settings(wanted);
  regions(2, 5);
}

// The first regions' threads may use one CPU, and then each has one of its own; and the reverse. The script reads what
// the shim says of it.
static void bind_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
}
static void affinity(int wider) {
  cpu_set_t before;
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  int cpus[2], found = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; ++cpu)
    if (CPU_ISSET(cpu, &before)) cpus[found++] = cpu;
  if (found < 2) return;
#pragma omp parallel num_threads(2)
  bind_to(cpus[wider ? 0 : omp_get_thread_num()]);
  regions(2, 50);
#pragma omp parallel num_threads(2)
  bind_to(cpus[wider ? omp_get_thread_num() : 0]);
  for (double end = omp_get_wtime() + 1; omp_get_wtime() < end;) regions(2, 10);
  CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
}

// Last, for from then on all regions of the process are libgomp's.
static void nowait(int threads) {
  for (int i = 0; i < 20; ++i) {
    int done = 0;
#pragma omp parallel num_threads(threads) shared(done)
    {
#pragma omp target nowait map(tofrom : done)
      {
        regions(2, 2);
#pragma omp atomic
        ++done;
      }
#pragma omp barrier
      CHECK(done == threads);
    }
    regions(2, 4);
  }
}

// A setting made in a task outside all regions is the task's, and ends with it. The thread's first one comes later.
static void setting_in_task(int hot) {
  if (hot) regions(2, 8);
  const int before = omp_get_max_threads();
#pragma omp task if (hot)
  {
    omp_set_num_threads(before + 1);
    CHECK(omp_get_max_threads() == before + 1);
  }
  CHECK(omp_get_max_threads() == before);
  regions(2, 8);
  omp_set_num_threads(3);
  CHECK(omp_get_max_threads() == 3);  // and the thread ends beside a team that it keeps
}

static const struct {
  const char* name;
  void (*run)(int);
  int from, to;  // arguments
} cases[] = {{"first_setting", first_setting, 0, 15},
             {"levels", levels, 1, 3},
             {"no_level", no_level, 1, 3},
             {"targets", targets, 0, 3},
             {"target_beside", target_beside, 0, 1},
             {"target_inside", target_inside, 1, 4},
             {"target_in_tasks", target_in_tasks, 1, 4},
             {"setting_in_target", setting_in_target, 0, 1},
             {"setting_in_teams", setting_in_teams, 0, 0},
             {"setting_in_task", setting_in_task, 0, 1},
             {"affinity", affinity, 0, 1},
             {"nowait", nowait, 1, 3}};
enum { kCases = sizeof cases / sizeof *cases };

typedef struct {
  int which, argument;
} Call;
static void* run(void* call) {
  const Call* const c = call;
  cases[c->which].run(c->argument);
  return NULL;
}

int main(int count, char** names) {
  for (int i = 0; i < kCases; ++i) {
    int wanted = count == 1;
    for (int k = 1; k < count; ++k) wanted |= !strcmp(names[k], cases[i].name);
    for (int argument = cases[i].from; wanted && argument <= cases[i].to; ++argument) {
      // In a thread that ends, and in the initial one.
      Call call = {i, argument};
      pthread_t thread;
      CHECK(pthread_create(&thread, NULL, run, &call) == 0 && pthread_join(thread, NULL) == 0);
      if (argument != cases[i].to) continue;
      const Settings before = settings_now();
      run(&call);
      omp_set_num_threads(before.threads);
      omp_set_max_active_levels(before.levels);
      omp_set_schedule(before.kind, before.chunk);
    }
    if (wanted) printf("%s: ok\n", cases[i].name);
  }
  return 0;
}
