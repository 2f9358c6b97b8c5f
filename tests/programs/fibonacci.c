/* Fibonacci numbers by tasks: next to no work in each, so almost everything is the runtime's. Four ways to get the sum
 * home: taskwait, a reduction over the tasks of a region, one over a taskgroup, and a taskloop.
 *
 *   fibonacci [N] [FINAL BELOW] [ROUNDS]
 *
 * All results are integers, so the order in which tasks add up does not show.
 */
#include "program.h"

static long final_below; /* tasks for smaller numbers make no more tasks: `final` */

static long in_serial(long n) {
  long a = 0, b = 1;
  for (; n > 0; n--) {
    const long next = a + b;
    a = b;
    b = next;
  }
  return a;
}

static long by_taskwait(long n) {
  long a, b;
  if (n < 2) return n;
#pragma omp task shared(a) final(n < final_below) mergeable
  a = by_taskwait(n - 1);
#pragma omp task shared(b) final(n < final_below) mergeable
  b = by_taskwait(n - 2);
#pragma omp taskwait
  return a + b;
}

/* fib(n) is the number of ones at the leaves. Nobody waits for a child: the end of the region, or of the taskgroup,
   does. */
static void count_ones(long n, long* ones) {
  long here = 0;
  if (n < final_below) {
    here = in_serial(n);
  } else {
#pragma omp task in_reduction(+ : ones[:1])
    count_ones(n - 1, ones);
#pragma omp task in_reduction(+ : ones[:1])
    count_ones(n - 2, ones);
  }
  ones[0] += here;
}

static long by_region_reduction(long n) {
  long ones[1] = {0};
#pragma omp parallel reduction(task, + : ones[:1])
  {
#pragma omp single
#pragma omp task in_reduction(+ : ones[:1])
    count_ones(n, ones);
  }
  return ones[0];
}

static long by_taskgroup(long n) {
  long ones[1] = {0};
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskgroup task_reduction(+ : ones[:1])
    {
#pragma omp task in_reduction(+ : ones[:1])
      count_ones(n, ones);
    }
  }
  return ones[0];
}

/* fib(2) + fib(4) + ... + fib(2 n) = fib(2 n + 1) - 1, a task for each. */
static long by_taskloop(long n) {
  long sum = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(1) reduction(+ : sum)
  for (long i = 1; i <= n; i++) sum += in_serial(2 * i);
  return sum + 1;
}

int main(int argc, char** argv) {
  const long n = size_argument(argc, argv, 1, 22, 2, 40);
  const long rounds = size_argument(argc, argv, 3, 5, 1, 100000);
  final_below = size_argument(argc, argv, 2, 9, 2, 40);
  const long right = in_serial(n);
  for (long round = 0; round < rounds; round++) {
    long a = 0;
#pragma omp parallel
    {
#pragma omp single nowait
      a = by_taskwait(n);
    }
    if (a != right) fail("by taskwait");
    if (by_region_reduction(n) != right) fail("by reduction over the region's tasks");
    if (by_taskgroup(n) != right) fail("by reduction over a taskgroup");
    if (by_taskloop(n) != in_serial(2 * n + 1)) fail("by taskloop");
  }
  printf("fib(%ld) = %ld, %ld rounds\n", n, right, rounds);
  return 0;
}
