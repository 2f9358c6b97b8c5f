// Two hundred small regions of one size, each with a barrier that must hold and a sum that must come out: the shortest
// program that gets a hot team.
//   regions [THREADS [in-turn]]   in-turn: in a region before, they come to the shim one after the other
#include <omp.h>
#include <sched.h>

#include "check.h"

static void come_in_turn(int threads) {
  static _Atomic int turn;
#pragma omp parallel num_threads(threads)
  {
    while (turn != omp_get_thread_num()) sched_yield();
#pragma omp for schedule(nonmonotonic : dynamic) nowait
    for (int i = 0; i < threads; ++i) __asm__ volatile("" ::: "memory");
    ++turn;
  }
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 2;
  CHECK(threads >= 1 && threads <= 64);
  static int seen[64];
  if (argc > 2) come_in_turn(threads);
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
