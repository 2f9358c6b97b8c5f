// Every thread of a team, new or not, has the affinity mask that its maker had, in the first region and in later ones.
//   masks THREADS
// Prints "ok", and how often a mask was set by anybody but the program: twice for each new thread that may not begin on
// its maker's CPU.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "check.h"

static int sets = 0;

// In front of the C library's: whoever calls it in this process comes here.
int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t* mask) {
  int (*real)(pthread_t, size_t, const cpu_set_t*);
  *(void**)&real = dlsym(RTLD_NEXT, "pthread_setaffinity_np");
  __atomic_fetch_add(&sets, 1, __ATOMIC_RELAXED);
  return real(thread, bytes, mask);
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 2;
  CHECK(threads >= 1);
  cpu_set_t all;
  CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
  for (int round = 0; round < 5; ++round) {
#pragma omp parallel num_threads(threads)
    {
      cpu_set_t mine;
      CHECK(sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_EQUAL(&mine, &all));
#pragma omp barrier
    }
    if (round == 3) {  // what the program says of itself holds for the threads that it makes from then on
      cpu_set_t first;
      CPU_ZERO(&first);
      for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&first) == 0; ++i)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &first);
      CHECK(sched_setaffinity(0, sizeof first, &first) == 0);
#pragma omp parallel num_threads(threads + 1)
      {
        cpu_set_t mine;
        CHECK(sched_getaffinity(0, sizeof mine, &mine) == 0);
        CHECK(CPU_EQUAL(&mine, omp_get_thread_num() == 0 || omp_get_thread_num() == threads ? &first : &all));
      }
      CHECK(sched_setaffinity(0, sizeof all, &all) == 0);
    }
  }
  printf("ok, set %d times\n", sets);
  return 0;
}
