// Tasks, taskloops, task groups, dependences, loops and copyprivate blocks that make tasks, nested regions that do:
// at every barrier all tasks made before it must have run. With marking disabled (the negative control) this fails.
//   tasks [ROUNDS [THREADS]]    ROUNDS of each; or only in regions of so many threads
#include <omp.h>
#include <sched.h>

#include "check.h"

static int made, done;

static void make(unsigned* state, int depth) {
  const unsigned kind = next_random(state) % 4;
  const int deeper = depth > 0 && kind != 0;
  unsigned seed = next_random(state);
  __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
#pragma omp task firstprivate(seed, deeper, depth)
  {
    if (deeper) make(&seed, depth - 1);
    for (volatile int i = 0; i < (int)(seed % 300); i = i + 1) {
    }
    if (deeper && seed % 7 == 0) {
#pragma omp taskwait
    }
    __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
  }
}

static void check_all_done(void) {
#pragma omp single
  CHECK(__atomic_load_n(&done, __ATOMIC_RELAXED) == __atomic_load_n(&made, __ATOMIC_RELAXED));
}

static void stress(int threads, int rounds, unsigned seed) {
#pragma omp parallel num_threads(threads)
  {
    unsigned mine = seed + 77u * (unsigned)omp_get_thread_num();
    unsigned common = seed;  // the same in all threads: decides the constructs
    for (int r = 0; r < rounds; ++r) {
      const unsigned construct = next_random(&common) % 7;
      const int busy = next_random(&mine) % 3 == 0;
      if (busy && construct != 3) make(&mine, 2);
      if (construct == 0) {
#pragma omp barrier
      } else if (construct == 1) {
#pragma omp for schedule(guided)
        for (int k = 0; k < 8; ++k)
          if (k % 3 == 0) make(&mine, 1);
      } else if (construct == 2) {
        int copied = 0;
#pragma omp single copyprivate(copied)
        {
          make(&mine, 1);
          copied = r + 1;
        }
        CHECK(copied == r + 1);
      } else if (construct == 3) {
#pragma omp single
        {
#pragma omp taskloop num_tasks(5)
          for (int k = 0; k < 10; ++k) {
            __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
            __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
          }
        }
      } else if (construct == 4) {
#pragma omp taskgroup
        make(&mine, 1);
#pragma omp barrier
      } else if (construct == 5) {
        int x = 0;
        __atomic_fetch_add(&made, 2, __ATOMIC_RELAXED);
#pragma omp task depend(out : x) shared(x)
        {
          x = 1;
          __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
        }
#pragma omp task depend(in : x) shared(x)
        {
          CHECK(x == 1);
          __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
        }
#pragma omp taskwait
#pragma omp sections
        {
#pragma omp section
          make(&mine, 1);
#pragma omp section
          made = made + 0;
        }
      } else {
#pragma omp barrier
#pragma omp barrier
      }
#pragma omp barrier
      check_all_done();
    }
  }
  CHECK(done == made);  // those made after the last barrier ran at the end of the region
}

// While others wait for the block of a copyprivate they run its tasks, and those that they have made before.
static void wait_in_copyprivate(int rounds) {
#pragma omp parallel num_threads(2)
  for (int r = 0; r < rounds; ++r) {
    int copied = 0, late = 0;
    if (r % 3 == omp_get_thread_num()) {
#pragma omp task shared(late)
      __atomic_store_n(&late, 1, __ATOMIC_RELEASE);
    }
#pragma omp single copyprivate(copied)
    {
      int run = 0;
#pragma omp task shared(run)
      __atomic_store_n(&run, 1, __ATOMIC_RELEASE);
      while (!__atomic_load_n(&run, __ATOMIC_ACQUIRE)) sched_yield();
      copied = r + 1;
    }
    CHECK(copied == r + 1);
    CHECK(__atomic_load_n(&late, __ATOMIC_ACQUIRE) == (r % 3 == omp_get_thread_num()));
  }
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 3000;
  omp_set_dynamic(0);
  if (argc > 2) {
    for (int i = 0; i < rounds; ++i) stress(atoi(argv[2]), 1 + i % 3, 7u * (unsigned)i);
    CHECK(done == made);
    puts("ok");
    return 0;
  }
  for (int threads = 1; threads <= 4; ++threads) stress(threads, rounds, 12345u * (unsigned)threads);
  for (int i = 0; i < rounds / 10; ++i) stress(2 + i % 2, 3, (unsigned)i);
  // The same region again and again: a hot team's, with tasks at its joins.
  for (int threads = 2; threads <= 4; ++threads)
    for (int i = 0; i < rounds / 10; ++i) stress(threads, 1 + i % 3, 7u * (unsigned)i);
  // Tasks that open regions, and nested regions that make tasks.
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  {
    for (int i = 0; i < 50; ++i) {
#pragma omp task
      {
#pragma omp parallel num_threads(2)
        {
          unsigned state = (unsigned)i;
          make(&state, 1);
#pragma omp barrier
        }
      }
#pragma omp barrier
    }
  }
  wait_in_copyprivate(300);
  CHECK(done == made);
  puts("ok");
  return 0;
}
