// Task loops: every iteration once and in order within its task, sizes of tasks as OpenMP wants them, from one end of
// the range to the other; groups, tasks inside, large arguments, reductions, settings, final and undeferred ones.
//   task_loops [ROUNDS [SEED]]
#include <limits.h>
#include <omp.h>
#include <string.h>

#include "check.h"

enum { kMost = 3000 };

static int first_of[kMost];  // of each iteration: the first one of its task
static unsigned char done[kMost];

static void begin_loop(int n) {
  for (int i = 0; i < n; ++i) first_of[i] = -1, done[i] = 0;
}

static void iterate(int i, int* first, int* last) {
  if (*first < 0)
    *first = i;
  else
    CHECK(i == *last + 1);
  *last = i;
  CHECK(__atomic_fetch_add(&done[i], 1, __ATOMIC_RELAXED) == 0);
  first_of[i] = *first;
}

// How many tasks there were; the least and the greatest size, without the last one's.
struct sizes {
  int tasks, least, most, last;
};
static struct sizes end_loop(int n) {
  struct sizes sizes = {0, INT_MAX, 0, 0};
  for (int i = 0; i < n;) {
    int end = i;
    while (end < n && first_of[end] == i) ++end;
    CHECK(end > i);
    ++sizes.tasks;
    sizes.last = end - i;
    if (end < n && end - i < sizes.least) sizes.least = end - i;
    if (end < n && end - i > sizes.most) sizes.most = end - i;
    i = end;
  }
  for (int i = 0; i < n; ++i) CHECK(done[i] == 1);
  return sizes;
}

static void check_dealt(int n, int number, int threads) {
  int first = -1, last = -1, value = -1;
  begin_loop(n);
#pragma omp taskloop num_tasks(number) firstprivate(first, last) lastprivate(value)
  for (int i = 0; i < n; ++i) {
    iterate(i, &first, &last);
    value = i * 3;
  }
  CHECK(value == (n > 0 ? 3 * (n - 1) : -1));
  struct sizes sizes = end_loop(n);
  CHECK(sizes.tasks == (number < n ? number : n));
  if (sizes.tasks > 1)
    CHECK(sizes.most - sizes.least <= 1 && sizes.least >= sizes.last && sizes.last >= sizes.most - 1);

  begin_loop(n);
#pragma omp taskloop grainsize(number) firstprivate(first, last) untied
  for (int i = 0; i < n; ++i) iterate(i, &first, &last);
  sizes = end_loop(n);
  if (n > 0) CHECK(sizes.last >= (number < n ? number : n) && sizes.last < 2 * number);
  if (sizes.tasks > 1) CHECK(sizes.least >= number && sizes.most < 2 * number);
#if __GNUC__ >= 12 && !defined(__clang__)
  begin_loop(n);
#pragma omp taskloop grainsize(strict : number) firstprivate(first, last) mergeable
  for (int i = 0; i < n; ++i) iterate(i, &first, &last);
  sizes = end_loop(n);
  CHECK(sizes.tasks == (n + number - 1) / number);
  if (n > 0) CHECK(sizes.last == (n % number ? n % number : number));
  if (sizes.tasks > 1) CHECK(sizes.least == number && sizes.most == number);
#endif
  begin_loop(n);
#pragma omp taskloop firstprivate(first, last) priority(number)
  for (int i = 0; i < n; ++i) iterate(i, &first, &last);
  sizes = end_loop(n);
  CHECK(sizes.tasks == (threads < n ? threads : n));
}

// Steps of any size, up and down, at the ends of the types.
static void check_ends(unsigned* state) {
  const long step = 1 + (long)(next_random(state) % 50), count = (long)(next_random(state) % 200);
  const unsigned long long number = 1 + next_random(state) % 30;
  long seen = 0, sum = 0;
#pragma omp taskloop num_tasks(number) shared(seen, sum)
  for (long i = LONG_MAX - count * step; i < LONG_MAX - step + 1; i += step) {
    CHECK((LONG_MAX - i) % step == 0);
    __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum, (LONG_MAX - i) / step, __ATOMIC_RELAXED);
  }
  CHECK(seen == count && sum == count * (count + 1) / 2);
  seen = sum = 0;
#pragma omp taskloop grainsize(number) shared(seen, sum)
  for (long i = LONG_MIN + count * step; i > LONG_MIN + step - 1; i -= step) {
    CHECK((i - LONG_MIN) % step == 0);
    __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum, (i - LONG_MIN) / step, __ATOMIC_RELAXED);
  }
  CHECK(seen == count && sum == count * (count + 1) / 2);
  seen = sum = 0;
  const unsigned long long by = (unsigned long long)step;
#pragma omp taskloop num_tasks(number) shared(seen, sum)
  for (unsigned long long i = ULLONG_MAX; i > ULLONG_MAX - (unsigned long long)count * by; i -= by) {
    CHECK((ULLONG_MAX - i) % by == 0);
    __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum, (long)((ULLONG_MAX - i) / by), __ATOMIC_RELAXED);
  }
  CHECK(seen == count && sum == count * (count - 1) / 2);
  seen = sum = 0;
#pragma omp taskloop grainsize(number) shared(seen, sum) collapse(2)
  for (unsigned long long i = 5; i < 5 + (unsigned long long)count; ++i)
    for (int k = -3; k < 4; k += 2) {
      __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
      __atomic_fetch_add(&sum, (long)i * k, __ATOMIC_RELAXED);
    }
  CHECK(seen == 4 * count && sum == 0);
  seen = 0;
#pragma omp taskloop shared(seen)
  for (long i = 10; i < 10 - count; ++i) ++seen;
  CHECK(seen == 0);
}

struct large {
  int numbers[200];
};

// What is behind the loop has all that it made; with nogroup a taskwait has its tasks.
static int leaves;
static void grow(int depth) {
  if (depth == 0) {
    __atomic_fetch_add(&leaves, 1, __ATOMIC_RELAXED);
    return;
  }
#pragma omp taskloop num_tasks(3)
  for (int i = 0; i < 3; ++i) grow(depth - 1);
}
static void check_groups(int number) {
  leaves = 0;
  grow(4);
  CHECK(__atomic_load_n(&leaves, __ATOMIC_RELAXED) == 81);
  int seen = 0;
#pragma omp taskloop num_tasks(number) shared(seen)
  for (int i = 0; i < 40; ++i) {
#pragma omp task shared(seen)
    {
#pragma omp task shared(seen)
      __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
    }
  }
  CHECK(__atomic_load_n(&seen, __ATOMIC_RELAXED) == 40);
  seen = 0;
#pragma omp taskloop num_tasks(number) shared(seen) nogroup
  for (int i = 0; i < 40; ++i) __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
#pragma omp taskwait
  CHECK(seen == 40);
  struct large large;
  for (int i = 0; i < 200; ++i) large.numbers[i] = i + number;
  seen = 0;
#pragma omp taskloop num_tasks(number) firstprivate(large) shared(seen)
  for (int i = 0; i < 200; ++i) {
    CHECK(large.numbers[i] == i + number);
    large.numbers[i] = -1;  // the task's own
    __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
  }
  for (int i = 0; i < 200; ++i) CHECK(large.numbers[i] == i + number);
  CHECK(seen == 200);
}

static void check_kinds(int number) {
  int seen = 0, sum = 0;
  const int me = omp_get_thread_num();
#pragma omp taskloop num_tasks(number) if (number < 0) shared(seen)
  for (int i = 0; i < 50; ++i) {
    CHECK(omp_get_thread_num() == me);
    CHECK(seen++ == i);  // at once, and in order
  }
  CHECK(seen == 50);
  seen = 0;
#pragma omp taskloop num_tasks(number) final(number > 0) shared(seen)
  for (int i = 0; i < 50; ++i) {
    CHECK(omp_in_final());
#pragma omp taskloop shared(seen)
    for (int k = 0; k < 4; ++k) {
      CHECK(omp_in_final());
      __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
    }
  }
  CHECK(seen == 200);
  CHECK(!omp_in_final());
  sum = 1000;
#pragma omp taskloop num_tasks(number) reduction(+ : sum)
  for (int i = 0; i < 50; ++i) {
    sum += i;
  }
  CHECK(sum == 1000 + 1225);
  // One of libgomp's and ours in turns, in a group of ours.
  seen = 0;
#pragma omp taskgroup
  {
#pragma omp taskloop num_tasks(number) shared(seen) nogroup
    for (int i = 0; i < 20; ++i) __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
#pragma omp taskloop reduction(+ : sum)
    for (int i = 0; i < 20; ++i) sum += 1;
#pragma omp taskloop num_tasks(number) shared(seen) nogroup
    for (int i = 0; i < 20; ++i) __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
  }
  CHECK(seen == 40 && sum == 1000 + 1225 + 20);
}

static void round_of(int threads, unsigned* state) {
  const int n = (int)(next_random(state) % kMost), number = 1 + (int)(next_random(state) % 300);
#pragma omp parallel num_threads(threads)
#pragma omp single
  {
    check_dealt(n, number, threads);
    check_dealt(n % 7, 1 + number % 5, threads);
    check_ends(state);
    check_groups(1 + number % 60);
    check_kinds(1 + number % 60);
  }
  // By all threads at once, and with a setting that each has changed.
  int seen = 0;
#pragma omp parallel num_threads(threads)
  {
    int mine = 0;
#pragma omp taskloop num_tasks(number) shared(mine, seen)
    for (int i = 0; i < n; ++i) {
      __atomic_fetch_add(&mine, 1, __ATOMIC_RELAXED);
      __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
    }
    CHECK(mine == n);
#pragma omp barrier
    omp_set_schedule(omp_sched_dynamic, 5 + omp_get_thread_num());
    const int chunk = 5 + omp_get_thread_num();
#pragma omp taskloop num_tasks(number) shared(seen)
    for (int i = 0; i < n; ++i) {
      omp_sched_t kind;
      int now;
      omp_get_schedule(&kind, &now);
      CHECK(kind == omp_sched_dynamic && now == chunk);
      __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
    }
  }
  CHECK(seen == 2 * threads * n);
}

int main(int count, char** argument) {
  const int rounds = count > 1 ? atoi(argument[1]) : 12;
  unsigned state = count > 2 ? (unsigned)atoi(argument[2]) : 1;
  for (int r = 0; r < rounds; ++r) round_of(r % 4 == 3 ? 4 : 2 + r % 2, &state);
  // Outside of any region: one thread's.
  check_dealt(100, 7, 1);
  check_kinds(9);
  puts("ok");
  return 0;
}
