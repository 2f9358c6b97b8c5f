// libomp's entry points for dynamic loops, called as compilers call them: every type, up and down, steps, chunks, the
// ends of the types and what lies beyond, in teams of 1 to 4 threads; loops in flight, inside each other's bodies, in
// regions of every kind. Prints a line for each loop, which depends on neither who ran what nor in which pieces, so
// that it is the same under the shim. (Not those of simd:static, which libomp itself gets wrong.) With "own": those
// alone that the shim hands out, so that they can be counted.
//   dispatch [own]
//   dispatch last   lastprivate
//   dispatch units  dynamic loops of more iterations than the shim has units for
#include <limits.h>
#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../gomp_shim/check.h"

typedef struct {
  int32_t reserved, flags, others[2];
  const char* name;
} Ident;
static Ident here = {0, 2, {0, 0}, ";dispatch.c;loops;1;1;;"};

enum { kDynamic = 35, kGuided = 36, kRuntime = 37, kAuto = 38, kTrapezoidal = 39 };
enum { kStaticChunked = 33, kStatic = 34, kGuidedSimd = 46 };
enum { kMonotonic = 1 << 29, kNonmonotonic = 1 << 30 };

int32_t __kmpc_global_thread_num(Ident*);
#define ENTRIES(suffix, number, difference)                                                              \
  void __kmpc_dispatch_init_##suffix(Ident*, int32_t gtid, int32_t schedule, number lower, number upper, \
                                     difference step, difference chunk);                                 \
  int __kmpc_dispatch_next_##suffix(Ident*, int32_t gtid, int32_t* last, number* lower, number* upper,   \
                                    difference* step);
ENTRIES(4, int32_t, int32_t)
ENTRIES(4u, uint32_t, int32_t)
ENTRIES(8, int64_t, int64_t)
ENTRIES(8u, uint64_t, int64_t)

// What all threads have seen of a loop, in numbers modulo 2^64.
typedef struct {
  uint64_t iterations, sum, lasts, last_bound, wrong_steps, at_end;
} Seen;

// Are chunks to be multiples of the one that is asked for?
static bool is_simd(int32_t schedule) { return (schedule & ~(kNonmonotonic | kMonotonic)) == kGuidedSimd; }

static void add(uint64_t* to, uint64_t what) { __atomic_fetch_add(to, what, __ATOMIC_RELAXED); }

// One thread's part of a loop. Marked before the first call, so that what next leaves alone is seen.
#define RUN(suffix, number, difference)                                                                               \
  static void run_##suffix(Seen* seen, int32_t schedule, number from, number to, difference step, difference chunk) { \
    const int32_t gtid = __kmpc_global_thread_num(&here);                                                             \
    int32_t last = 7;                                                                                                 \
    number lower = 11, upper = 13;                                                                                    \
    difference by = 17;                                                                                               \
    __kmpc_dispatch_init_##suffix(&here, gtid, schedule, from, to, step, chunk);                                      \
    bool any = false;                                                                                                 \
    while (__kmpc_dispatch_next_##suffix(&here, gtid, &last, &lower, &upper, &by)) {                                  \
      any = true;                                                                                                     \
      const uint64_t low = (uint64_t)lower, high = (uint64_t)upper, stride = (uint64_t)(int64_t)step;                 \
      const uint64_t n = (step > 0 ? (high - low) / stride : (low - high) / (0 - stride)) + 1;                        \
      add(&seen->iterations, n);                                                                                      \
      add(&seen->sum, n* low + stride * (n % 2 ? (n - 1) / 2 * n : n / 2 * (n - 1)));                                 \
      if (by != step) add(&seen->wrong_steps, 1);                                                                     \
      if (last != 0 && last != 1) add(&seen->wrong_steps, 1);                                                         \
      if (is_simd(schedule) && chunk > 0 && last == 0 && n % (uint64_t)chunk != 0) add(&seen->wrong_steps, 1);        \
      if (last == 1) {                                                                                                \
        add(&seen->lasts, 1);                                                                                         \
        add(&seen->last_bound, high);                                                                                 \
      }                                                                                                               \
    }                                                                                                                 \
    if (!any && last != 7) add(&seen->wrong_steps, 1);                                                                \
    if (any) add(&seen->at_end, (uint64_t)lower + (uint64_t)upper + (uint64_t)(int64_t)by);                           \
  }
RUN(4, int32_t, int32_t)
RUN(4u, uint32_t, int32_t)
RUN(8, int64_t, int64_t)
RUN(8u, uint64_t, int64_t)

static bool own;
static int threads, loops = 0;

static const char* name_of(int32_t schedule) {
  switch (schedule) {
    case kDynamic: return "dynamic, no modifier";
    case kDynamic | kNonmonotonic: return "dynamic";
    case kDynamic | kMonotonic: return "monotonic dynamic";
    case kGuided: return "guided, no modifier";
    case kGuided | kNonmonotonic: return "guided";
    case kGuided | kMonotonic: return "monotonic guided";
    case kGuidedSimd: return "simd guided, no modifier";
    case kGuidedSimd | kNonmonotonic: return "simd guided";
    case kGuidedSimd | kMonotonic: return "monotonic simd guided";
    case kAuto: return "auto guided";
    case kStaticChunked: return "static, chunk";
    case kStatic: return "static";
    case kTrapezoidal: return "trapezoidal";
    default: return "runtime";
  }
}
static bool is_own(int32_t schedule) {
  const int32_t kind = schedule & ~(kNonmonotonic | kMonotonic);
  return schedule == (kDynamic | kNonmonotonic) || kind == kGuided || kind == kGuidedSimd || kind == kAuto;
}

static void report(const Seen* seen, const char* type, int32_t schedule) {
  ++loops;
  printf("%s %s, %d threads: %llu iterations, sum %llx, %llu last, until %lld, wrong %llu, end %llu\n", type,
         name_of(schedule), threads, (unsigned long long)seen->iterations, (unsigned long long)seen->sum,
         (unsigned long long)seen->lasts, (long long)seen->last_bound, (unsigned long long)seen->wrong_steps,
         (unsigned long long)seen->at_end);
}

// `times`: how many iterations there are to be.
#define TRY(suffix, schedule, from, to, step, chunk, times)                                            \
  do {                                                                                                 \
    Seen seen = {0};                                                                                   \
    _Pragma("omp parallel num_threads(threads)") run_##suffix(&seen, schedule, from, to, step, chunk); \
    CHECK(seen.iterations == (uint64_t)(times) && seen.wrong_steps == 0);                              \
    CHECK(seen.lasts == (seen.iterations != 0));                                                       \
    report(&seen, #suffix, schedule);                                                                  \
  } while (0)

static const int32_t schedules[] = {kDynamic | kNonmonotonic,
                                    kGuided | kNonmonotonic,
                                    kGuided,
                                    kGuided | kMonotonic,
                                    kDynamic | kMonotonic,
                                    kDynamic,
                                    kRuntime,
                                    kGuidedSimd,
                                    kGuidedSimd | kNonmonotonic,
                                    kGuidedSimd | kMonotonic,
                                    kAuto,
                                    kStaticChunked,
                                    kStatic,
                                    kTrapezoidal};

static void of_schedule(int32_t how) {
  if (own && !is_own(how)) return;
  for (int chunk = 0; chunk <= 7; chunk += chunk < 3 ? 1 : 4) {
    for (int n = 0; n <= 60; n += n < 9 ? 1 : 17) {
      TRY(4, how, 0, n - 1, 1, chunk, n);
      TRY(4u, how, 5, (uint32_t)(5 + 3 * n - 1), 3, chunk, n);
      TRY(8, how, -1, -1 - 2 * (n - 1), -2, chunk, n);
      TRY(8u, how, 1u << 31, (1u << 31) + 4 * (uint64_t)n - 1, 4, chunk, n);
    }
  }
  // Chunks that are longer than the loop, or negative.
  TRY(4, how, 0, 9, 1, INT32_MAX, 10);
  TRY(8, how, 0, 9, 1, INT32_MAX, 10);
  TRY(8u, how, 0, 9, 1, INT32_MAX, 10);
  if ((how & ~(kMonotonic | kNonmonotonic)) == kDynamic) {  // libomp itself never ends such guided loops
    TRY(8, how, 0, 9, 1, INT64_MAX, 10);
    TRY(8u, how, 0, 9, 1, INT64_MAX, 10);
  }
  if (how != kRuntime) {
    TRY(4, how, 0, 9, 1, -5, 10);
    TRY(8, how, 0, 9, 1, INT64_MIN, 10);
  }
  // At the ends of the types, up and down; steps past the end.
  TRY(4, how, INT32_MAX - 10, INT32_MAX, 1, 3, 11);
  TRY(4, how, INT32_MAX - 10, INT32_MAX, 4, 1, 3);
  TRY(4, how, INT32_MIN, INT32_MIN + 10, 1, 3, 11);
  TRY(4, how, INT32_MIN + 10, INT32_MIN, -1, 3, 11);
  TRY(4, how, INT32_MIN + 10, INT32_MIN, -3, 1, 4);
  TRY(4u, how, UINT32_MAX - 10, UINT32_MAX, 1, 3, 11);
  TRY(4u, how, UINT32_MAX - 10, UINT32_MAX, 3, 2, 4);
  TRY(4u, how, 10, 0, -1, 3, 11);
  TRY(8, how, INT64_MAX - 10, INT64_MAX, 1, 3, 11);
  TRY(8, how, INT64_MAX - 10, INT64_MAX, 4, 1, 3);
  TRY(8, how, INT64_MIN + 10, INT64_MIN, -1, 3, 11);
  TRY(8u, how, UINT64_MAX - 10, UINT64_MAX, 1, 3, 11);
  TRY(8u, how, UINT64_MAX, UINT64_MAX - 10, -2, 2, 6);
  TRY(8u, how, 10, 0, -1, 3, 11);
  // Large ones in few chunks.
  const int many = how == kRuntime || how == kTrapezoidal ? 0 : 1 << 24;
  if (many) {
    TRY(4, how, 0, INT32_MAX - 1, 1, many, INT32_MAX);
    TRY(4, how, INT32_MIN, INT32_MAX, 3, many, 1431655766u);
    TRY(4u, how, 0, INT32_MAX - 1, 1, many, INT32_MAX);
    if (how == (kDynamic | kNonmonotonic) && !own) TRY(4u, how, 0, UINT32_MAX - 1, 1, many, UINT32_MAX);
    TRY(8, how, 0, INT64_MAX - 1, 1, INT64_C(1) << 55, INT64_MAX);
    TRY(8, how, INT64_MAX, INT64_MIN, INT64_MIN, 1, 2);
  }
}

// More iterations than the counter has units. libomp takes half a minute for them.
static void more_than_units(void) {
  for (threads = 2; threads <= 4; ++threads)
    TRY(4, kDynamic | kNonmonotonic, 0, 9 * 1000 * 1000, 1, 1, 9 * 1000 * 1000 + 1);
  printf("%d loops\nok\n", loops);
}

// Loops in flight, in bodies of others, in regions of every kind: every iteration once.
enum { kRuns = 40 };
static void inside(int levels) {
  long sum = 0, inner = 0;
  omp_set_max_active_levels(levels);
#pragma omp parallel num_threads(3) reduction(+ : sum, inner)
  {
    for (int loop = 0; loop < kRuns; ++loop) {  // more than there are counters
#pragma omp for schedule(dynamic, 2) nowait
      for (int i = 0; i < 50; ++i) {
        sum += i;
        if (i % 16) continue;
#pragma omp parallel if (0) reduction(+ : inner)
        {
#pragma omp for schedule(dynamic, 3)
          for (long k = 0; k < 10; ++k) ++inner;
#pragma omp for schedule(guided) nowait
          for (unsigned k = 0; k < 10; ++k) ++inner;
        }
#pragma omp parallel num_threads(2) reduction(+ : inner)
        {
#pragma omp for schedule(dynamic)
          for (int k = 0; k < 10; ++k) ++inner;
#pragma omp for schedule(guided, 2)
          for (unsigned long k = 0; k < 10; ++k) ++inner;
#pragma omp barrier
        }
      }
      if (loop % 20 == 19) {
#pragma omp barrier
      }
    }
#pragma omp barrier
    long previous = -1;
#pragma omp for ordered schedule(dynamic, 2)
    for (long i = 0; i < 30; ++i) {
#pragma omp ordered
      {
        CHECK(i > previous);
        previous = i;
      }
      sum += 1;
    }
  }
  CHECK(sum == (long)kRuns * 50 * 49 / 2 + 30 && inner == (long)kRuns * 4 * 40);
  printf("inside, %d levels: %ld %ld\n", levels, sum, inner);
}

// libomp itself loses some of them.
static void last_values(void) {
  int last = -1;
  unsigned long far = 0;
  for (int turn = 0; turn < 50; ++turn) {
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(dynamic) lastprivate(last)
      for (int i = 0; i < 100 + turn; ++i) last = i;
#pragma omp for schedule(guided, 2) lastprivate(far)
      for (unsigned long i = ~0ul; i > ~0ul - 300; i -= 7) far = i;
    }
    CHECK(last == 99 + turn && far == ~0ul - 42 * 7);
  }
  printf("ok\n");
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);  // what the shim says comes between lines
  if (argc > 1 && strcmp(argv[1], "last") == 0) {
    last_values();
    return 0;
  }
  omp_set_dynamic(0);
  if (argc > 1 && strcmp(argv[1], "units") == 0) {
    more_than_units();
    return 0;
  }
  own = argc > 1 && strcmp(argv[1], "own") == 0;
  for (threads = own ? 2 : 1; threads <= 4; ++threads)
    for (unsigned i = 0; i < sizeof schedules / sizeof *schedules; ++i) of_schedule(schedules[i]);
  for (int levels = 1; levels <= 3; ++levels) inside(levels);
  printf("%d loops\nok\n", loops);
  return 0;
}
