// A library with OpenMP inside, loaded by host.c with RTLD_LOCAL: libgomp is then in no scope that RTLD_NEXT sees.
#include <omp.h>

int plugin_count(int threads);

int plugin_count(int threads) {
  int count = 0;
#pragma omp parallel num_threads(threads)
  {
    for (int i = 0; i < 100; ++i) {
#pragma omp barrier
    }
#pragma omp atomic
    ++count;
#pragma omp barrier
#pragma omp single
    count += 100;
  }
  return count;
}
