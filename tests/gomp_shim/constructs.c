// Every work-sharing construct whose barrier the shim takes, in teams of 1 to 8 threads: increment, cross, compare.
//   constructs [THREADS ROUNDS]    or only in a region of so many threads, which comes five times
#include <omp.h>

#include "check.h"

enum { kRounds = 200, kMostThreads = 8, kMostAsked = 64 };

static int counted[kMostAsked * 16];  // one slot per thread, 64 bytes apart
static int total;

static void expect_all(int threads, int round) {
  for (int t = 0; t < threads; ++t) CHECK(*(volatile int*)&counted[t * 16] >= round);
}

static void cross(int threads, int round) {
  const int me = omp_get_thread_num();
  *(volatile int*)&counted[me * 16] = round;
#pragma omp barrier
  expect_all(threads, round);
}

static void region(int threads, int rounds) {
  for (int t = 0; t < threads; ++t) counted[t * 16] = 0;
  total = 0;
#pragma omp parallel num_threads(threads)
  {
    CHECK(omp_get_num_threads() == threads);
    const int me = omp_get_thread_num();
    int round = 0;
    for (int i = 0; i < rounds; ++i) {
      cross(threads, ++round);
#pragma omp barrier
      int seen = ++round;
#pragma omp for schedule(static)
      for (int k = 0; k < threads; ++k) counted[k * 16] = seen;
      expect_all(threads, seen);
#pragma omp barrier
      seen = ++round;
#pragma omp for schedule(dynamic)
      for (int k = 0; k < threads; ++k) counted[k * 16] = seen;
      expect_all(threads, seen);
#pragma omp barrier
      seen = ++round;
#pragma omp for schedule(guided)
      for (int k = 0; k < threads; ++k) counted[k * 16] = seen;
      expect_all(threads, seen);
#pragma omp barrier
      seen = ++round;
#pragma omp for schedule(runtime)
      for (int k = 0; k < threads; ++k) counted[k * 16] = seen;
      expect_all(threads, seen);
#pragma omp barrier
      seen = ++round;
#pragma omp for ordered schedule(dynamic)
      for (int k = 0; k < threads; ++k) {
#pragma omp ordered
        counted[k * 16] = seen;
      }
      expect_all(threads, seen);
#pragma omp barrier
      // unsigned long long iterators use entry points of their own
      unsigned long long most = (unsigned long long)threads;
      seen = ++round;
#pragma omp for schedule(dynamic)
      for (unsigned long long k = 0; k < most; ++k) counted[k * 16] = seen;
      expect_all(threads, seen);
#pragma omp barrier
      seen = ++round;
#pragma omp sections
      {
#pragma omp section
        counted[0] = seen;
#pragma omp section
        total = seen;
      }
      CHECK(*(volatile int*)&counted[0] == seen && *(volatile int*)&total == seen);
#pragma omp barrier
      seen = ++round;
#pragma omp single
      total = seen;
      CHECK(*(volatile int*)&total == seen);
      int copied = 0;
#pragma omp single copyprivate(copied)
      copied = seen * 3 + 1;
      CHECK(copied == seen * 3 + 1);
#pragma omp single copyprivate(copied)
      copied = seen * 5 + 2;
      CHECK(copied == seen * 5 + 2);
#pragma omp barrier
      int sum = 0;
      (void)sum;
#pragma omp single
      total = 0;
#pragma omp for reduction(+ : total)
      for (int k = 0; k < threads * 10; ++k) total += k;
      CHECK(*(volatile int*)&total == threads * 10 * (threads * 10 - 1) / 2);
#pragma omp barrier
    }
    (void)me;
  }
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int k = 0; k < threads; ++k) counted[k * 16] = -k;
  for (int k = 0; k < threads; ++k) CHECK(counted[k * 16] == -k);
#pragma omp parallel for num_threads(threads) schedule(guided)
  for (int k = 0; k < threads; ++k) counted[k * 16] = k;
#pragma omp parallel for num_threads(threads) schedule(runtime)
  for (int k = 0; k < threads; ++k) counted[k * 16] += k;
#pragma omp parallel sections num_threads(threads)
  {
#pragma omp section
    counted[0] = 7;
#pragma omp section
    total = 8;
  }
  CHECK(counted[0] == 7 && total == 8);
}

// A region that mostly has no barrier inside, and then has: the shim stops and starts to take part in it.
static void sometimes(int threads) {
  for (int i = 0; i < 400; ++i) {
    const int with = i % 100 >= 90 || i == 3;
#pragma omp parallel num_threads(threads)
    {
      counted[omp_get_thread_num() * 16] = i;
      if (with) {
        for (int k = 1; k <= 3; ++k) {
#pragma omp barrier
          for (int t = 0; t < threads; ++t) CHECK(*(volatile int*)&counted[t * 16] == i * k);
#pragma omp barrier
          counted[omp_get_thread_num() * 16] = i * (k + 1);
        }
      }
    }
    for (int t = 0; t < threads; ++t) CHECK(counted[t * 16] == (with ? i * 4 : i));
  }
}

// The same request answered with changing team sizes: what the shim foresees is wrong now and then.
static void resized(void) {
  for (int i = 0; i < 200; ++i) {
    omp_set_num_threads(1 + i / 3 % 4);
    int count = 0;
#pragma omp parallel
    {
#pragma omp atomic
      ++count;
#pragma omp barrier
      CHECK(count == omp_get_num_threads() && count == 1 + i / 3 % 4);
#pragma omp barrier
    }
  }
  omp_set_num_threads(3);
}

int main(int argc, char** argv) {
  omp_set_dynamic(0);
  if (argc > 2) {
    const int asked = atoi(argv[1]);
    CHECK(asked >= 1 && asked <= kMostAsked);
    for (int pass = 0; pass < 5; ++pass) region(asked, atoi(argv[2]));
    puts("ok");
    return 0;
  }
  for (int threads = 1; threads <= 4; ++threads) sometimes(threads);
  resized();
  for (int pass = 0; pass < 2; ++pass)
    for (int threads = 1; threads <= kMostThreads; ++threads)
      region(pass ? kMostThreads + 1 - threads : threads, kRounds);
  puts("ok");
  return 0;
}
