// Every schedule that OpenMP names, with every modifier, as the compiler writes it: each iteration is run once, by a
// thread of the team; monotonic and ordered ones keep their order; chunks are not taken apart. schedule(runtime) is
// what OMP_SCHEDULE says. Teams of 1 to 4 threads. Prints "ok". (libomp 14 itself runs iterations twice with
// monotonic:static and simd:static, and so they are not here.)
#include <omp.h>
#include <string.h>

#include "../gomp_shim/check.h"

enum { kMost = 1003, kWidth = 4 };
static int times[kMost], by[kMost], before[kMost];  // how often; the thread; what it had run before, or -1

static void begin(void) { memset(times, 0, sizeof times); }

static void end(int n, int monotonic, int width) {
  for (int i = 0; i < kMost; ++i) CHECK(times[i] == (i < n));
  for (int i = 0; i < n; ++i) {
    CHECK(by[i] >= 0 && by[i] < omp_get_max_threads());
    if (monotonic) CHECK(before[i] < i);
    if (width > 1 && i % width != 0) CHECK(by[i] == by[i - 1]);
  }
}

static void run(int i, int* previous) {
#pragma omp atomic
  ++times[i];
  by[i] = omp_get_thread_num();
  before[i] = *previous;
  *previous = i;
}

#define OMP(directive) _Pragma(#directive)
#define LOOP(n, monotonic, width, directive)                                             \
  begin();                                                                               \
  OMP(omp parallel) {                                                                    \
    int previous = -1;                                                                   \
    OMP(directive) for (int i = 0; i < n; ++i) run(i, &previous);                        \
  }                                                                                      \
  end(n, monotonic, width);                                                              \
  begin();                                                                               \
  OMP(omp parallel) {                                                                    \
    int previous = -1;                                                                   \
    OMP(directive) for (unsigned long i = (n); i > 0; --i) run((int)(n - i), &previous); \
  }                                                                                      \
  end(n, monotonic, width)

#define ORDERED(n, directive)                      \
  begin();                                         \
  {                                                \
    int next = 0;                                  \
    OMP(omp parallel) {                            \
      int previous = -1;                           \
      OMP(directive) for (int i = 0; i < n; ++i) { \
        run(i, &previous);                         \
        OMP(omp ordered) CHECK(next++ == i);       \
      }                                            \
    }                                              \
    CHECK(next == n);                              \
  }                                                \
  end(n, 1, 1)

static void all(int n) {
  LOOP(n, 1, 1, omp for schedule(static));
  LOOP(n, 1, 1, omp for schedule(static, 3));
  LOOP(n, 0, 1, omp for schedule(dynamic));
  LOOP(n, 0, 5, omp for schedule(dynamic, 5));
  LOOP(n, 1, 5, omp for schedule(monotonic : dynamic, 5));
  LOOP(n, 0, 1, omp for schedule(nonmonotonic : dynamic));
  LOOP(n, 1, 1, omp for schedule(guided));
  LOOP(n, 1, 1, omp for schedule(monotonic : guided, 3));
  LOOP(n, 0, 1, omp for schedule(nonmonotonic : guided));
  LOOP(n, 0, 1, omp for schedule(auto));
  LOOP(n, 0, 1, omp for schedule(runtime));
  LOOP(n, 0, 1, omp for schedule(nonmonotonic : runtime));
  LOOP(n, 0, kWidth, omp for simd simdlen(4) schedule(simd : dynamic, 4));
  LOOP(n, 0, 1, omp for simd simdlen(4) schedule(simd : guided, 4));
  LOOP(n, 0, 1, omp for simd simdlen(4) schedule(simd, nonmonotonic : guided, 4));
  LOOP(n, 0, 1, omp for simd simdlen(4) schedule(simd, monotonic : dynamic, 4));
  LOOP(n, 0, 1, omp for simd simdlen(4) schedule(simd : runtime));
  ORDERED(n, omp for ordered);
  ORDERED(n, omp for ordered schedule(static, 3));
  ORDERED(n, omp for ordered schedule(dynamic, 2));
  ORDERED(n, omp for ordered schedule(guided));
  ORDERED(n, omp for ordered schedule(auto));
  ORDERED(n, omp for ordered schedule(runtime));
}

int main(void) {
  omp_set_dynamic(0);
  for (int threads = 1; threads <= 4; ++threads) {
    omp_set_num_threads(threads);
    for (int n = 0; n < 60; n += n < 9 ? 1 : 17) all(n);
    all(kMost);
  }
  puts("ok");
  return 0;
}
