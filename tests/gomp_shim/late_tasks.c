// The first tasks that a thread's regions ever make, made past their last barrier, while others have yet to leave that:
// who takes one then must not leave it before it is run. Each round is a thread of its own, since the end of a region is
// a barrier of ours in a thread's first regions and after others with tasks (expects_tasks()).
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
