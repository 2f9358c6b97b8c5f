// Cancellation of regions, loops and task groups, with OMP_CANCELLATION on and off: same results as stock.
#include <omp.h>

#include "check.h"

int main(void) {
  const int on = omp_get_cancellation();
  for (int round = 0; round < 200; ++round) {
    int reached = 0, iterations = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp barrier
      if (omp_get_thread_num() == round % 3) {
#pragma omp cancel parallel
      }
#pragma omp cancellation point parallel
#pragma omp barrier
#pragma omp atomic
      ++reached;
    }
    CHECK(on ? reached < 3 : reached == 3);
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(dynamic)
      for (int i = 0; i < 100; ++i) {
#pragma omp cancel for if (i == 3)
#pragma omp atomic
        ++iterations;
      }
#pragma omp barrier
    }
    CHECK(on ? iterations < 100 : iterations == 100);
  }
  puts("ok");
  return 0;
}
