// A thread's regions make their first tasks ever past the last barrier, which others have yet to leave: a thread that
// takes one on its way out must run it. Each round is a thread of its own, because the end of a region is a barrier of
// ours in a thread's first regions and after others with tasks (expects_tasks()).
//   late_tasks [ROUNDS]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "check.h"

enum { kTasksFirst = 20, kTasksLate = 40, kRegionsBefore = 20 };

static void* round_of(void* argument) {
  const int threads = *(const int*)argument;
  for (int i = 0; i < kRegionsBefore; ++i) {
    int barriers = 0;
#pragma omp parallel num_threads(threads) reduction(+ : barriers)
    {
#pragma omp barrier
      ++barriers;
    }
    CHECK(barriers == threads);
  }
  int first = 0, late = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single
    for (int i = 0; i < kTasksFirst; ++i) {
#pragma omp task shared(first)
      {
#pragma omp atomic
        ++first;
      }
    }
#pragma omp masked
    for (int i = 0; i < kTasksLate; ++i) {
#pragma omp task shared(late)
      {
#pragma omp atomic
        ++late;
      }
    }
  }
  CHECK(first == kTasksFirst);
  CHECK(late == kTasksLate);
  return NULL;
}

int main(int count, char** argument) {
  const int rounds = count > 1 ? atoi(argument[1]) : 300;
  for (int i = 0; i < rounds; ++i) {
    int threads = 2 + i % 4;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, round_of, &threads) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  puts("ok");
  return 0;
}
