// A program whose threads may use more CPUs, or fewer, than when it began: its team is no crowd any more, or becomes
// one. The shim's counters say when that has come about: a team that is no crowd is hot. Without the shim it does some
// regions and ends. Prints "ok".
//   affinity wider|narrower
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <omp.h>
#include <sched.h>
#include <smelt/openmp.h>
#include <string.h>
#include <unistd.h>

#include "../gomp_shim/check.h"

enum { kThreads = 2, kRegions = 200 };

static int cpus[kThreads];

static void bind_to(pid_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  CHECK(sched_setaffinity(thread, sizeof set, &set) == 0);
}

static void region(void) {
  int slots[kThreads] = {0};
#pragma omp parallel num_threads(kThreads)
  {
    const int me = omp_get_thread_num();
    for (int r = 1; r <= 2; ++r) {
      __atomic_store_n(&slots[me], r, __ATOMIC_RELAXED);
#pragma omp barrier
      for (int i = 0; i < kThreads; ++i) CHECK(__atomic_load_n(&slots[i], __ATOMIC_RELAXED) == r);
#pragma omp barrier
    }
  }
}

// Without a shim there are none. False: so it is.
static int count(smelt_openmp_counts* counts) {
  static int (*of_shim)(smelt_openmp_counts*, size_t);
  for (int i = 0; i < 2 && !of_shim; ++i)
    of_shim =
        (int (*)(smelt_openmp_counts*, size_t))dlsym(RTLD_DEFAULT, i ? "smelt_gomp_counters" : "smelt_kmp_counters");
  memset(counts, 0, sizeof *counts);
  return of_shim && of_shim(counts, sizeof *counts) == 0;
}

// Regions until the team is hot, or is hot no more; the test's time limit ends it otherwise.
static void until(int hot) {
  smelt_openmp_counts now;
  do region();
  while (count(&now) && (now.hot_teams > now.hot_teardowns) != hot);
}

// As a resource manager does it: all threads of the process.
static void bind_all(int cpu) {
  DIR* const threads = opendir("/proc/self/task");
  CHECK(threads);
  for (const struct dirent* entry; (entry = readdir(threads));)
    if (entry->d_name[0] != '.') bind_to(atoi(entry->d_name), cpu);
  closedir(threads);
}

int main(int argc, char** argv) {
  CHECK(argc > 1);
  cpu_set_t set;
  CHECK(sched_getaffinity(0, sizeof set, &set) == 0);
  int found = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && found < kThreads; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus[found++] = cpu;
  if (found < kThreads) return 77;
  const int wider = strcmp(argv[1], "wider") == 0;
  if (wider) {
    bind_to(0, cpus[0]);
    for (int i = 0; i < kRegions; ++i) region();
    smelt_openmp_counts now;
    count(&now);
    CHECK(now.hot_teams == 0);
#pragma omp parallel num_threads(kThreads)
    bind_to(0, cpus[omp_get_thread_num()]);
  } else {
    until(1);
    bind_all(cpus[0]);
  }
  until(wider);
  for (int i = 0; i < kRegions; ++i) region();
  puts("ok");
  return 0;
}
