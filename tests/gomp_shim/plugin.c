// A library with OpenMP inside, loaded by host.c with RTLD_LOCAL: libgomp is then in no scope that RTLD_NEXT sees.
// Linked to a runtime of its own, everything here must go to that one.
#include <omp.h>

int plugin_count(int threads);
int plugin_settings(int threads);

static int orphan_total;

// Called by every thread of somebody's team, or by one thread alone: binds to this library's runtime.
static void orphan(void) {
#pragma omp for schedule(dynamic)
  for (int i = 0; i < 10; ++i) {
#pragma omp atomic
    ++orphan_total;
  }
}

// 100 + threads, or less if a thread was not who it should be.
int plugin_count(int threads) {
  int count = 0, seen[64] = {0};
  orphan_total = 0;
  orphan();
  omp_set_num_threads(threads);
  if (omp_get_max_threads() != threads) return -1;
  for (int round = 0; round < 30; ++round) {
    count = 0;
#pragma omp parallel
    {
      for (int i = 0; i < 100; ++i) {
#pragma omp barrier
      }
      if (omp_get_num_threads() == threads) {
#pragma omp atomic
        ++seen[omp_get_thread_num()];
      }
#pragma omp atomic
      ++count;
#pragma omp barrier
#pragma omp single
      count += 100;
      orphan();
#ifdef NO_TASKS  // LLVM 14's libomp now and then crashes in its own task code here, without any shim too
#pragma omp atomic
      ++count;
#else
#pragma omp task shared(count)
      {
#pragma omp atomic
        ++count;
      }
#endif
#pragma omp barrier
#pragma omp single
      count -= threads;
    }
    for (int i = 0; i < threads; ++i)
      if (seen[i] != round + 1) return -2;
    if (omp_get_num_threads() != 1 || omp_in_parallel()) return -3;
  }
  if (orphan_total != 310) return -4;
  return count;
}

// Compilers end both in a jump: the calls return to where these were called.
__attribute__((noinline)) static void set_threads(int value) { omp_set_num_threads(value); }
__attribute__((noinline)) static void set_levels(int value) { omp_set_max_active_levels(value); }
__attribute__((noinline)) static void set_adjusted(int value) { omp_set_dynamic(value); }

typedef void (*setter)(int);

// 0, or which setting did not arrive: all are made from one place, so that what is called tells nothing about what is
// meant.
static int set_all(const setter* volatile setters, int threads) {
  const int values[3] = {threads, threads + 5, 1};
  for (int i = 0; i < 3; ++i) setters[i](values[i]);
  if (omp_get_max_threads() != values[0]) return 1;
  if (omp_get_max_active_levels() != values[1]) return 2;
  if (!omp_get_dynamic()) return 3;
  omp_set_dynamic(0);
  return 0;
}

int plugin_settings(int threads) {
  static const setter table[3] = {omp_set_num_threads, omp_set_max_active_levels, omp_set_dynamic};
  static const setter jumps[3] = {set_threads, set_levels, set_adjusted};
  const int wrong = set_all(table, threads);
  return wrong ? wrong : set_all(jumps, threads + 1);
}
