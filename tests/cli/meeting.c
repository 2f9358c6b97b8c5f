/* meeting ROUNDS [all|leaves]: two threads, or all that a team has, meet so often, in as many regions, and say so. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  const int threads = argc > 2 && strcmp(argv[2], "all") == 0 ? omp_get_max_threads() : 2;
  long sum = 0;
  for (int round = 0; round < rounds; ++round) {
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
#pragma omp barrier
      sum += omp_get_thread_num() + 1;
    }
  }
  printf("%ld meetings\n", sum);
  fflush(stdout);
  if (argc > 2 && strcmp(argv[2], "leaves") == 0) _exit(0);
  return 0;
}
