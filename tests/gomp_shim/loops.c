// Dynamic loops of all kinds: every iteration exactly once, in every thread's own variables and in the shared ones,
// whoever hands out the loop. Prints "ok".
//   loops [ROUNDS [SEED]]
//   loops child    a child of fork goes on with loops, which stock does not allow
//   loops late     a thread that comes late finds little left
//   loops pairs    an iteration waits for its neighbour to begin: chunks leave one by one, in order
//   loops turns    an iteration waits for all before it, behind many with nothing to do
//   loops sections sections alone
//   loops runtime  20 loops with schedule(runtime)
//   loops in-order who is given chunks is given them in order
// Teams of 2, 3 and 4 threads. Hot teams come by repetition: combined loops are the shim's there only.
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kMost = 3000 };
typedef struct {
  unsigned char seen[8][kMost];  // by loop
} Runs;
static unsigned seed = 1;

static void forget(Runs* runs) { memset(runs, 0, sizeof *runs); }
static void once(Runs* runs, int loop, long i) {
  CHECK(i >= 0 && i < kMost);
  __atomic_fetch_add(&runs->seen[loop][i], 1, __ATOMIC_RELAXED);
}
// Were 0 .. n-1 run once, and no other?
static void check(const Runs* runs, int loop, long n) {
  for (long i = 0; i < kMost; ++i) CHECK(runs->seen[loop][i] == (i < n));
}

// Some iterations take longer; now and then a thread sleeps.
static void work(long i) {
  if (i % 67 == 5) {
    for (volatile int turn = 0; turn < 2000; ++turn) {
    }
  }
  if (i % 997 == 3) nanosleep(&(struct timespec){0, 50000}, NULL);
}
static void late(unsigned* state) {
  if (next_random(state) % 4 == 0) nanosleep(&(struct timespec){0, 30000}, NULL);
}

static void combined(Runs* runs, int threads, long n, long chunk) {
  forget(runs);
#pragma omp parallel for num_threads(threads) schedule(nonmonotonic : dynamic, chunk)
  for (long i = 0; i < n; ++i) {
    work(i);
    once(runs, 0, i);
  }
  check(runs, 0, n);
}

// One after the other, with and without barriers, threads late, up and down, with both kinds of numbers.
static void loops(Runs* runs, int threads, long n, long chunk, long step) {
  forget(runs);
  const long times = n == 0 ? 0 : (n - 1) / step + 1;
  long sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  {
    unsigned state = seed + (unsigned)omp_get_thread_num();
    late(&state);
#pragma omp for schedule(dynamic, chunk) nowait
    for (long i = 0; i < n; i += step) {
      work(i);
      once(runs, 0, i / step);
    }
    late(&state);
#pragma omp for schedule(dynamic) nowait
    for (long i = n; i > 0; i -= step) once(runs, 1, (n - i) / step);
    late(&state);
#pragma omp for schedule(dynamic, chunk)
    for (unsigned long long i = ULLONG_MAX - (unsigned long long)n; i < ULLONG_MAX; ++i) {
      once(runs, 2, (long)(i - (ULLONG_MAX - (unsigned long long)n)));
      ++sum;
    }
    for (long i = 0; i < n; ++i) CHECK(runs->seen[2][i] == 1);  // the loop above has a barrier at its end
#pragma omp for schedule(dynamic, chunk) nowait
    for (unsigned long long i = (unsigned long long)n; i > 0; --i) once(runs, 3, (long)i - 1);
#pragma omp for schedule(dynamic, chunk) nowait
    for (int i = INT_MIN; i < INT_MIN + (int)n; ++i) once(runs, 4, (long)i - INT_MIN);
#pragma omp for schedule(guided) nowait
    for (long i = 0; i < n; ++i) once(runs, 5, i);
    late(&state);
#pragma omp for schedule(monotonic : dynamic, chunk) nowait
    for (long i = 0; i < n; ++i) once(runs, 6, i);
#pragma omp for schedule(dynamic, chunk)
    for (long i = 0; i < n; ++i) once(runs, 7, i);
  }
  CHECK(sum == n);
  check(runs, 0, times);
  check(runs, 1, times);
  for (int loop = 2; loop < 8; ++loop) check(runs, loop, n);
}

// Guided ones, of both kinds of numbers, up and down, with steps that do not divide, combined and not.
static void guided(Runs* runs, int threads, long n, long chunk, long step) {
  forget(runs);
  const long times = n == 0 ? 0 : (n - 1) / step + 1;
  long last = -1;
#pragma omp parallel num_threads(threads)
  {
    unsigned state = seed + (unsigned)omp_get_thread_num();
    long before = -1;
    late(&state);
#pragma omp for schedule(guided, chunk) nowait
    for (long i = 0; i < n; i += step) {
      work(i);
      CHECK(i > before);
      before = i;
      once(runs, 0, i / step);
    }
#pragma omp for schedule(dynamic, chunk) nowait
    for (long i = 0; i < n; ++i) once(runs, 1, i);
#pragma omp for schedule(guided) nowait
    for (long i = n; i > 0; i -= step) once(runs, 2, (n - i) / step);
    late(&state);
#pragma omp for schedule(guided, chunk)
    for (unsigned long long i = ULLONG_MAX - (unsigned long long)n; i < ULLONG_MAX; ++i)
      once(runs, 3, (long)(i - (ULLONG_MAX - (unsigned long long)n)));
    for (long i = 0; i < n; ++i) CHECK(runs->seen[3][i] == 1);  // the loop above has a barrier at its end
#pragma omp for schedule(guided) nowait
    for (unsigned long long i = (unsigned long long)n; i > 0; --i) once(runs, 4, (long)i - 1);
#pragma omp for schedule(guided, chunk) lastprivate(last)
    for (long i = 0; i < n; ++i) {
      once(runs, 5, i);
      last = i;
    }
  }
  CHECK(n == 0 || last == n - 1);
#pragma omp parallel for num_threads(threads) schedule(guided, chunk)
  for (long i = 0; i < n; ++i) once(runs, 6, i);
#pragma omp parallel for num_threads(threads) schedule(nonmonotonic : guided)
  for (unsigned long long i = 0; i < (unsigned long long)n; ++i) once(runs, 7, (long)i);
  check(runs, 0, times);
  check(runs, 2, times);
  check(runs, 1, n);
  for (int loop = 3; loop < 8; ++loop) check(runs, loop, n);
}

// At the limits of the types, where guided loops of libgomp (GCC 12) are wrong; so large a chunk or a step that few
// iterations are left.
static void limits(int threads) {
  long first = 0, second = 0;
  int runs = 0;
  long long_step = LONG_MAX / 2;  // as a constant it has clang reckon the number of iterations, and warn of that
  const unsigned long long ull_step = ULLONG_MAX / 3;
#pragma omp parallel num_threads(threads)
  for (int round = 0; round < 3; ++round) {
#pragma omp for schedule(dynamic) reduction(+ : first)
    for (long i = LONG_MIN; i < LONG_MAX - long_step; i += long_step) ++first;  // four
#pragma omp for schedule(dynamic, 2) reduction(+ : second)
    for (unsigned long long i = 0; i < ULLONG_MAX - ull_step; i += ull_step) ++second;  // two
#pragma omp for schedule(dynamic, LONG_MAX) reduction(+ : runs)
    for (long i = LONG_MAX; i > LONG_MAX - 5; --i) ++runs;
#pragma omp for schedule(dynamic) reduction(+ : runs)
    for (unsigned long long i = 5; i > 7; --i) ++runs;  // none
#pragma omp for schedule(dynamic) reduction(+ : runs)
    for (long i = 7; i < -7; ++i) ++runs;  // none
  }
  CHECK(first == 3 * 4);
  CHECK(second == 3 * 2);
  CHECK(runs == 3 * 5);
}

// More chunks than are counted.
static void many(int threads) {
  const long n = 9000001;
  unsigned char* const ran = calloc((size_t)n, 1);
  CHECK(ran);
#pragma omp parallel num_threads(threads)
#pragma omp for schedule(dynamic)
  for (long i = 0; i < n; ++i) ++ran[i];
  for (long i = 0; i < n; ++i) CHECK(ran[i] == 1);
  free(ran);
}

// lastprivate, ordered, a region inside with a loop of its own, tasks made by iterations, cancellation that is off.
static void company(Runs* runs, int threads, long n) {
  long last = -1, inner = 0, tasks = 0, order = 0, stopped = 0;
  forget(runs);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(dynamic) lastprivate(last)
    for (long i = 0; i < n; ++i) {
      work(i);
      last = i;
    }
    CHECK(n == 0 || last == n - 1);
#pragma omp barrier
#pragma omp for schedule(dynamic) nowait
    for (long i = 0; i < 6; ++i) {
#pragma omp parallel num_threads(2)
      {
#pragma omp for schedule(dynamic) reduction(+ : inner)
        for (long j = 0; j < 20; ++j) ++inner;
      }
      once(runs, 0, i);
    }
#pragma omp for schedule(dynamic, 2)
    for (long i = 0; i < n; ++i) {
#pragma omp task shared(tasks)
      {
#pragma omp atomic
        ++tasks;
      }
      once(runs, 1, i);
    }
    CHECK(tasks == n);  // the barrier has seen to it
#pragma omp for schedule(dynamic) ordered
    for (long i = 0; i < n; ++i) {
#pragma omp ordered
      CHECK(order++ == i);
    }
#pragma omp for schedule(dynamic) reduction(+ : stopped)
    for (long i = 0; i < n; ++i) {
#pragma omp cancel for if (i < 0)
      ++stopped;
    }
  }
  CHECK(inner == 6 * 20);
  CHECK(stopped == n);
  check(runs, 0, 6);
  check(runs, 1, n);
}

// Thousands of loops between two barriers, one thread long behind.
static void ahead(int threads) {
  enum { kLoops = 5000 };  // more than have counters
  static int ran[kLoops];
  memset(ran, 0, sizeof ran);
#pragma omp parallel num_threads(threads)
  {
    if (omp_get_thread_num() == 1) nanosleep(&(struct timespec){0, 2000000}, NULL);
    for (int loop = 0; loop < kLoops; ++loop) {
#pragma omp for schedule(dynamic) nowait
      for (int i = 0; i < 5; ++i) __atomic_fetch_add(&ran[loop], 1, __ATOMIC_RELAXED);
    }
  }
  for (int loop = 0; loop < kLoops; ++loop) CHECK(ran[loop] == 5);
}

// Sections, one of which waits for another; chains of them, combined ones, with lastprivate, and with regions inside.
static void sections(int threads) {
  int ran[6] = {0}, last = 0, order = 0;
#pragma omp parallel num_threads(threads)
  for (int round = 0; round < 20; ++round) {
    unsigned state = seed + (unsigned)(omp_get_thread_num() + round);
    late(&state);
#pragma omp sections
    {
#pragma omp section
      {
        while (__atomic_load_n(&order, __ATOMIC_ACQUIRE) != round + 1) sched_yield();
        ++ran[0];
      }
#pragma omp section
      __atomic_fetch_add(&order, 1, __ATOMIC_RELEASE);
    }
    CHECK(ran[0] == round + 1);
#pragma omp sections nowait
    {
#pragma omp section
      ++ran[1];
#pragma omp section
      {
#pragma omp parallel num_threads(2)
#pragma omp sections
        {
#pragma omp section
          __atomic_fetch_add(&ran[2], 1, __ATOMIC_RELAXED);
#pragma omp section
          __atomic_fetch_add(&ran[2], 1, __ATOMIC_RELAXED);
        }
      }
    }
#pragma omp sections lastprivate(last)
    {
#pragma omp section
      last = 1;
#pragma omp section
      last = 2;
#pragma omp section
      last = 100 + round;
    }
    CHECK(last == 100 + round);
#pragma omp barrier
  }
  CHECK(ran[1] == 20 && ran[2] == 40 && order == 20);
  for (int round = 0; round < 20; ++round) {
#pragma omp parallel sections num_threads(threads)
    {
#pragma omp section
      ++ran[3];
#pragma omp section
      ++ran[4];
#pragma omp section
      ++ran[5];
    }
  }
  CHECK(ran[3] == 20 && ran[4] == 20 && ran[5] == 20);
}

// schedule(runtime), whatever it is now.
static void runtime(Runs* runs, int threads, long n) {
  forget(runs);
#pragma omp parallel for num_threads(threads) schedule(runtime)
  for (long i = 0; i < n; ++i) {
    work(i);
    once(runs, 0, i);
  }
#pragma omp parallel for num_threads(threads) schedule(nonmonotonic : runtime)
  for (long i = n; i > 0; --i) once(runs, 1, n - i);
#pragma omp parallel for num_threads(threads) schedule(monotonic : runtime)
  for (long i = 0; i < n; ++i) once(runs, 2, i);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(runtime) nowait
    for (unsigned long long i = (unsigned long long)n; i > 0; --i) once(runs, 3, (long)i - 1);
#pragma omp for schedule(nonmonotonic : runtime) nowait
    for (unsigned long long i = ULLONG_MAX - (unsigned long long)n; i < ULLONG_MAX; ++i)
      once(runs, 4, (long)(i - (ULLONG_MAX - (unsigned long long)n)));
#pragma omp for schedule(runtime)
    for (long i = n - 1; i >= 0; --i) once(runs, 5, i);
#pragma omp for schedule(nonmonotonic : runtime) nowait
    for (long i = 0; i < n; ++i) once(runs, 6, i);
#pragma omp for schedule(auto)
    for (long i = 0; i < n; ++i) once(runs, 7, i);
  }
  for (int loop = 0; loop < 8; ++loop) check(runs, loop, n);
}

// A thread's chunks come in order where the schedule is monotonic, though it be dynamic, as OMP_SCHEDULE and the
// setting may say so.
static void in_order(int threads) {
  for (int repeat = 0; repeat < 20; ++repeat) {
#pragma omp parallel num_threads(threads)
    {
      long last = -1;
#pragma omp for schedule(runtime)
      for (long i = 0; i < 500; ++i) {
        work(i);
        CHECK(i > last);
        last = i;
      }
    }
  }
}

static void loops_of_setting(void) {
  int ran = 0;
#pragma omp parallel num_threads(2)
  for (int loop = 0; loop < 20; ++loop) {
#pragma omp for schedule(runtime) reduction(+ : ran)
    for (int i = 0; i < 100; ++i) ++ran;
  }
  CHECK(ran == 2000);
}

// Loops, and barriers without loops between them. Some threads come late each time.
static void wrap(Runs* runs, int threads) {
  static const int barriers[] = {1, 2047, 2048, 4094, 4095, 4096, 4097};
  forget(runs);
#pragma omp parallel num_threads(threads)
  for (int loop = 0; loop < 7; ++loop) {
    if (omp_get_thread_num() == loop % threads) nanosleep(&(struct timespec){0, 300000}, NULL);
#pragma omp for schedule(dynamic)
    for (long i = 0; i < 200; ++i) once(runs, loop, i);
    for (int i = 1; i < barriers[loop]; ++i) {
#pragma omp barrier
    }
  }
  for (int loop = 0; loop < 7; ++loop) check(runs, loop, 200);
}

// Two threads. Iteration i waits until the other one of its pair, i ^ 1, has begun, too: so both are handed out, one to
// each thread, before any later one.
static void pairs(void) {
  enum { kPairs = 200 };
  static int begun[2 * kPairs];
  memset(begun, 0, sizeof begun);
#pragma omp parallel for num_threads(2) schedule(dynamic)
  for (int i = 0; i < 2 * kPairs; ++i) {
    __atomic_store_n(&begun[i], 1, __ATOMIC_RELEASE);
    for (volatile int turn = 0; turn < 5000; ++turn) {  // far from short
    }
    for (const double start = omp_get_wtime(); !__atomic_load_n(&begun[i ^ 1], __ATOMIC_ACQUIRE);) {
      CHECK(omp_get_wtime() - start < 20);
      sched_yield();
    }
  }
}

// Output in order, as programs write it: each waits for its turn. Before it, so many iterations with nothing to do that
// chunks are taken several at a time.
static void turns(int threads) {
  const int empty = 20000, all = empty + 300;
  int next = empty;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int i = 0; i < all; ++i) {
    if (i < empty) continue;
    work(i);
    while (__atomic_load_n(&next, __ATOMIC_ACQUIRE) != i) sched_yield();
    __atomic_store_n(&next, i + 1, __ATOMIC_RELEASE);
  }
  CHECK(next == all);
}

// A thread that comes late finds that others have run most of the loop: it comes when they have, or, since a share that
// was kept for it would be waited for in vain, after ten seconds.
static void comes_late(void) {
  int begun = 0, ran = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1)
      for (const double start = omp_get_wtime();
           __atomic_load_n(&begun, __ATOMIC_RELAXED) < 800 && omp_get_wtime() - start < 10;)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
#pragma omp for schedule(dynamic)
    for (long i = 0; i < 1000; ++i) {
      __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
      ran += omp_get_thread_num() == 1;
    }
  }
  CHECK(ran < 250);
}

// After loops of the parent's.
static void in_child(Runs* runs) {
  for (int round = 0; round < 5; ++round) loops(runs, 2, 100, 1, 1);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (int round = 0; round < 5; ++round) loops(runs, 2, 100, 1, 1);
    _Exit(0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void* another_master(void* runs) {
  for (int round = 0; round < 20; ++round) loops(runs, 2, 200, 3, 1);
  return NULL;
}

int main(int argc, char** argv) {
  static Runs mine, others;
  if (argc > 1 && strcmp(argv[1], "child") == 0) {
    in_child(&mine);
    puts("ok");
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "late") == 0) {
    for (int round = 0; round < 10; ++round) comes_late();
    puts("ok");
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "pairs") == 0) {
    for (int round = 0; round < 100; ++round) pairs();
    puts("ok");
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "turns") == 0) {
    for (int round = 0; round < 90; ++round) turns(2 + round / 30);  // several of one size, so that hot teams are made
    puts("ok");
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "sections") == 0) {
    for (int round = 0; round < 10; ++round) sections(2 + round / 5);
    puts("ok");
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "in-order") == 0) {
    in_order(2);
    puts("ok");
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "runtime") == 0) {
    loops_of_setting();
    puts("ok");
    return 0;
  }
  const int rounds = argc > 1 ? atoi(argv[1]) : 40;
  if (argc > 2) seed = (unsigned)atoi(argv[2]);
  omp_set_max_active_levels(2);
  unsigned state = seed;
  for (int round = 0; round < rounds; ++round) {
    const int threads = 2 + round / 7 % 3;  // several of one size, so that hot teams are made
    const long n = next_random(&state) % 5 == 0 ? (long)(next_random(&state) % 6) : (long)(next_random(&state) % kMost);
    const long chunk = 1 + (long)(next_random(&state) % (round % 3 ? 9 : 4000));
    combined(&mine, threads, n, chunk);
    loops(&mine, threads, n, chunk, 1 + (long)(next_random(&state) % 5));
    guided(&mine, threads, n, chunk, 1 + (long)(next_random(&state) % 5));
    sections(threads);
    limits(threads);
    omp_set_schedule(round % 4 == 3   ? omp_sched_guided
                     : round % 4 == 2 ? omp_sched_static
                                      : omp_sched_dynamic,
                     (int)(chunk % 8));
    runtime(&mine, threads, n);
    if (round % 7 == 3) {
      company(&mine, threads, n % 500);
      ahead(threads);
      if (round < 21) wrap(&mine, threads);
    }
    if (round % 20 == 6) many(threads);
  }
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, another_master, &others) == 0);
  another_master(&mine);
  CHECK(pthread_join(thread, NULL) == 0);
  puts("ok");
  return 0;
}
