// Two hundred small regions of one size, each with a barrier that must hold and a sum that must come out: the shortest
// program that gets a hot team.
#include <omp.h>

#include "check.h"

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 2;
  CHECK(threads >= 1 && threads <= 64);
  static int seen[64];
  for (int round = 1; round <= 200; ++round) {
    int sum = 0, wrong = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum, wrong)
    {
      const int me = omp_get_thread_num();
      seen[me] = round;
#pragma omp barrier
      for (int i = 0; i < threads; ++i) wrong += seen[i] != round;
#pragma omp barrier
      sum += me + 1;
    }
    CHECK(wrong == 0 && sum == threads * (threads + 1) / 2);
  }
  puts("ok");
  return 0;
}
