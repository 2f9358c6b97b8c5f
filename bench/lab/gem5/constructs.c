// An OpenMP program that nothing of Smelt is in: cycles of each construct on a simulated machine, all threads together.
//   constructs [REPETITIONS [CONSTRUCT...]]        all of them, or these
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

static int repetitions = 20, warm = 4, awake;
static unsigned long long start;
static double sum;
static char** wanted;  // ends with NULL

static int is_wanted(const char* name) {
  for (char** word = wanted; *word; word++)
    if (strcmp(*word, name) == 0) return 1;
  return !*wanted;
}

static void begin(int k) {
  if (k == warm && omp_get_thread_num() == 0) start = cycles();
}

static void end(const char* name) {
  if (omp_get_thread_num() != 0) return;
  printf("CONSTRUCT %s %.0f\n", name, (double)(cycles() - start) / repetitions);
}

// What a team's start and its plans take has passed when all are awake here; and then the caches fill.
static void start_up(int last) {
  if (last) {
    __atomic_add_fetch(&awake, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&awake, __ATOMIC_ACQUIRE) < omp_get_num_threads()) relax();
    if (omp_get_thread_num() == 0) end_quick_start();
  }
  for (int i = 0; i < 3 * warm; i++) {
#pragma omp barrier
  }
}

#define IN_A_REGION(name, construct)                 \
  if (is_wanted(name)) _Pragma("omp parallel") {     \
      for (int k = 0; k < warm + repetitions; k++) { \
        begin(k);                                    \
        construct                                    \
      }                                              \
      end(name);                                     \
    }

int main(int count, char** words) {
  if (count > 1) repetitions = atoi(words[1]);
  wanted = words + (count > 1 ? 2 : 1);
  const int n = omp_get_max_threads();
  for (int k = 0; k < warm; k++) {
#pragma omp parallel
    start_up(k == warm - 1);
  }
  for (int k = 0; k < warm + repetitions && is_wanted("parallel"); k++) {
    begin(k);
#pragma omp parallel
    __asm__ volatile("" ::: "memory");
  }
  if (is_wanted("parallel")) end("parallel");
  IN_A_REGION("barrier", _Pragma("omp barrier"))
  IN_A_REGION("for", _Pragma("omp for") for (int i = 0; i < n; i++) __asm__ volatile("" ::: "memory");)
  IN_A_REGION("for-reduction", _Pragma("omp for reduction(+ : sum)") for (int i = 0; i < n; i++) sum += i;)
  IN_A_REGION("single", _Pragma("omp single") __asm__ volatile("" ::: "memory");)
  IN_A_REGION("for-dynamic",
              _Pragma("omp for schedule(dynamic)") for (int i = 0; i < 4 * n; i++) __asm__ volatile("" ::
                                                                                                        : "memory");)
  IN_A_REGION("task", _Pragma("omp task") __asm__ volatile("" ::: "memory"); _Pragma("omp taskwait"))
  if (is_wanted("for-reduction") && sum != (double)(warm + repetitions) * n * (n - 1) / 2) {
    printf("the sum is wrong: %g\n", sum);
    return 1;
  }
  return 0;
}
