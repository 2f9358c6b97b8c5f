/* A little of everything that an OpenMP program does, for a look at the system calls: regions, barriers, loops, tasks,
 * regions inside regions, serial parts in which threads fall asleep. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  int sum = 0, wrong = 0;
  for (int round = 0; round < 30; ++round) {
    if (round % 10 == 9) usleep(20000);
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
      sum += 1;
#pragma omp barrier
#pragma omp for schedule(dynamic)
      for (int i = 0; i < 8; ++i) sum += i;
#pragma omp single
      for (int i = 0; i < 4; ++i) {
#pragma omp task
        usleep(100);
      }
    }
  }
  omp_set_max_active_levels(2);
  for (int round = 0; round < 3; ++round) {
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    {
      int inside = 0;
#pragma omp parallel num_threads(2) reduction(+ : inside)
      inside += 1;
      wrong += inside != 2;
    }
  }
  puts(sum == 30 * (2 + 28) && !wrong ? "ok" : "wrong");
  return sum != 30 * (2 + 28) || wrong;
}
