/* So many regions of two threads, of several kinds, each a tenth of a millisecond after the last; one inside a region,
 * and some of another thread's, which count for nothing. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile int sum;

static void pass(long ns) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < ns);
}

static void* elsewhere(void* none) {
  for (int i = 0; i < 5; ++i) {
#pragma omp parallel num_threads(2)
    sum = 1;
  }
  return none;
}

int main(int argc, char** argv) {
  const int regions = argc > 1 ? atoi(argv[1]) : 20;
  pass(3000000);
  for (int i = 0; i < regions; ++i) {
    if (i % 3 == 0) {
#pragma omp parallel num_threads(2)
      {
#pragma omp parallel num_threads(2)
        sum = 2;
      }
    } else if (i % 3 == 1) {
#pragma omp parallel for schedule(dynamic) num_threads(2)
      for (int k = 0; k < 10; ++k) sum = k;
    } else {
#pragma omp parallel sections num_threads(2)
      {
#pragma omp section
        sum = 3;
#pragma omp section
        sum = 4;
      }
    }
    pass(100000);
  }
  pthread_t thread;
  if (pthread_create(&thread, NULL, elsewhere, NULL) == 0) pthread_join(thread, NULL);
  pass(2000000);
  printf("took 0.25 s\n");
  return 0;
}
