// Regions in which for a while every barrier has tasks, then none, then some: what the shim learns from a row of
// barriers with tasks (core/openmp/episodes.h) must never let one be passed with tasks left. Regions end at any point
// of that, and other regions are opened inside. Prints how many barriers had tasks.
//   task_phases [REGIONS [SEED [THREADS]]]
#include <omp.h>

#include "check.h"

enum { kMost = 1200 };
static int wanted[kMost + 1], ran[kMost + 1];
static const char* volatile nobody;

static void make(int barrier, unsigned seed) {
#pragma omp task firstprivate(barrier, seed)
  {
    for (volatile unsigned i = 0; i < seed % 200; i = i + 1) {
    }
    if (seed % 5 == 0) {
#pragma omp task firstprivate(barrier)
      __atomic_fetch_add(&ran[barrier], 1, __ATOMIC_RELAXED);
    } else {
      __atomic_fetch_add(&ran[barrier], 1, __ATOMIC_RELAXED);
    }
  }
}

// The last `barrier` is the region's end.
static int region_of(int threads, int barriers, unsigned seed) {
  unsigned plan = seed;
  int with_tasks = 0;
  // 0: no tasks; 1: always; 2: now and then.
  static unsigned char kind[kMost + 1];
  int total = 0, expected = 0;
  for (int b = 0, until = 0, phase = 0; b <= barriers; ++b) {
    if (b >= until) {
      phase = (int)(next_random(&plan) % 3);
      until = b + 1 + (int)(next_random(&plan) % 120);
    }
    kind[b] = (unsigned char)(phase == 1 || (phase == 2 && next_random(&plan) % 4 == 0));
    wanted[b] = kind[b] ? 1 + (int)(next_random(&plan) % 3) : 0;
    ran[b] = 0;
    with_tasks += kind[b] && b < barriers;
  }
#pragma omp parallel num_threads(threads)
  {
    unsigned common = seed * 31 + 7;  // the same in all threads
    const int me = omp_get_thread_num(), n = omp_get_num_threads();
    for (int b = 0; b <= barriers; ++b) {
      const unsigned construct = next_random(&common), maker = next_random(&common);
      for (int k = 0; k < wanted[b]; ++k)
        if ((int)((maker + (unsigned)k) % (unsigned)n) == me) make(b, construct + (unsigned)k);
      if (construct % 97 == 0) {
        int inside = 0;
#pragma omp parallel num_threads(2) shared(inside)
        {
          __atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED);
#pragma omp barrier
          CHECK(__atomic_load_n(&inside, __ATOMIC_RELAXED) == omp_get_num_threads());
        }
      }
      if (b == barriers) break;
      if (construct % 5 == 0) {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 8; ++i)
          if (nobody) puts(nobody);
      } else if (construct % 5 == 1) {
        int copied = 0;
#pragma omp single copyprivate(copied)
        copied = b + 1;
        CHECK(copied == b + 1);
      } else if (construct % 5 == 2) {
#pragma omp for reduction(+ : total)
        for (int i = 0; i < 8; ++i) total += 1;
#pragma omp single nowait
        __atomic_fetch_add(&expected, 8, __ATOMIC_RELAXED);
      } else {
#pragma omp barrier
      }
      CHECK(__atomic_load_n(&ran[b], __ATOMIC_RELAXED) == wanted[b]);
    }
  }
  CHECK(ran[barriers] == wanted[barriers]);
  CHECK(total == expected);
  return with_tasks;
}

int main(int argc, char** argv) {
  const int regions = argc > 1 ? atoi(argv[1]) : 60;
  unsigned state = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
  omp_set_dynamic(0);
  omp_set_max_active_levels(2);
  long with_tasks = 0;
  for (int i = 0; i < regions; ++i) {
    const int threads = argc > 3 ? atoi(argv[3]) : 2 + i / 20 % 3;
    with_tasks += region_of(threads, (int)(next_random(&state) % (i % 4 == 0 ? kMost : 40)), next_random(&state));
  }
  printf("ok, %ld barriers with tasks\n", with_tasks);
  return 0;
}
