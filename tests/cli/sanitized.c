// An OpenMP program under AddressSanitizer, for run_test.cc.
#include <stdio.h>

int main(void) {
  int threads = 0;
#pragma omp parallel num_threads(2)
  {
#pragma omp atomic
    ++threads;
#pragma omp barrier
  }
  return printf("%d threads\n", threads) < 0;
}
