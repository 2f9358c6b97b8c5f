// Programs of tasks whose results are known: recursion, trees, quicksort, one producer, groups, final and undeferred
// tasks, tasks that outlive their parents, arguments of every size, nested regions and settings inside tasks.
//   own_tasks [ROUNDS [SEED]]
#include <omp.h>
#include <string.h>

#include "check.h"

enum { kNumbers = 20000, kLeaves = 512 };

static int fibonacci(int n) {
  if (n < 2) return n;
  int a, b;
#pragma omp task shared(a) untied
  a = fibonacci(n - 1);
#pragma omp task shared(b)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

struct settings {
  int threads, dynamic, levels, chunk, device;
  omp_sched_t schedule;
};

static struct settings settings_now(void) {
  struct settings now = {
      omp_get_max_threads(), omp_get_dynamic(), omp_get_max_active_levels(), 0, omp_get_default_device(), 0};
  omp_get_schedule(&now.schedule, &now.chunk);
  return now;
}

static void check_settings(const struct settings* expected) {
  const struct settings now = settings_now();
  CHECK(now.threads == expected->threads);
  CHECK(now.dynamic == expected->dynamic);
  CHECK(now.levels == expected->levels);
  CHECK(now.schedule == expected->schedule && now.chunk == expected->chunk);
  CHECK(now.device == expected->device);
}

static int cut_off(int n) {
  if (n < 2) return n;
  int a, b;
#pragma omp task shared(a) final(n < 6) mergeable
  a = cut_off(n - 1);
#pragma omp task shared(b) if (n > 8)
  b = cut_off(n - 2);
#pragma omp taskwait
  return a + b;
}

// Nobody waits but the barrier: parents end before their children.
static int leaves;
static void grow(int depth) {
  if (depth == 0) {
    __atomic_fetch_add(&leaves, 1, __ATOMIC_RELAXED);
    return;
  }
  for (int i = 0; i < 2; ++i) {
#pragma omp task
    grow(depth - 1);
  }
}

static void sort(int* numbers, int count) {
  if (count < 2) return;
  const int pivot = numbers[count / 2];
  int i = 0, j = count - 1;
  while (i <= j) {
    while (numbers[i] < pivot) ++i;
    while (numbers[j] > pivot) --j;
    if (i > j) break;
    const int t = numbers[i];
    numbers[i++] = numbers[j];
    numbers[j--] = t;
  }
#pragma omp task if (j > 20)
  sort(numbers, j + 1);
#pragma omp task if (count - i > 20)
  sort(numbers + i, count - i);
}

// All members and what they make are over at the end of the group; what was made before need not be.
static void groups(int depth) {
  int members = 0;
#pragma omp taskgroup
  {
    for (int i = 0; i < 4; ++i) {
#pragma omp task shared(members)
      {
#pragma omp task shared(members)
        __atomic_fetch_add(&members, 1, __ATOMIC_RELAXED);
        if (depth > 0) groups(depth - 1);
      }
    }
  }
  CHECK(members == 4);
}

typedef struct {
  char byte[1000];
} Large;

static void arguments(int value) {
  Large large;
  memset(&large, value, sizeof large);
  char aligned[64] __attribute__((aligned(256)));
  memset(aligned, value, sizeof aligned);
  int right = 0;
  for (int i = 0; i < 10; ++i) {
#pragma omp task firstprivate(large, value) shared(right)
    {
      int same = 0;
      for (size_t k = 0; k < sizeof large; ++k) same += large.byte[k] == (char)value;
      __atomic_fetch_add(&right, same == sizeof large, __ATOMIC_RELAXED);
    }
#pragma omp task firstprivate(aligned, value) shared(right)
    __atomic_fetch_add(&right, aligned[63] == (char)value && (size_t)aligned % 256 == 0, __ATOMIC_RELAXED);
  }
#pragma omp taskwait
  CHECK(right == 20);
}

// What libgomp knows of a task.
static void inquiries(void) {
#pragma omp task final(1)
  {
    CHECK(omp_in_final());
    int here = 0;
#pragma omp task shared(here)
    here = omp_in_final();
    CHECK(here);  // included: it has run
  }
#pragma omp task
  CHECK(!omp_in_final() && omp_get_level() == 1);
  int sum = 0;
#pragma omp task shared(sum)
  {
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
#pragma omp task shared(sum)
      {
#pragma omp atomic
        sum += 1;
      }
#pragma omp taskwait
      CHECK(omp_get_level() == 2);
    }
  }
#pragma omp taskwait
  CHECK(sum == 1 || sum == 2);
  omp_nest_lock_t lock;
  omp_init_nest_lock(&lock);
  int entered = 0;
  for (int i = 0; i < 8; ++i) {
#pragma omp task shared(lock, entered)
    {
      omp_set_nest_lock(&lock);
      omp_set_nest_lock(&lock);
      ++entered;
      omp_unset_nest_lock(&lock);
      omp_unset_nest_lock(&lock);
    }
  }
#pragma omp taskwait
  CHECK(entered == 8);
  omp_destroy_nest_lock(&lock);
}

// Tasks of libgomp's beside: dependences, loops, in groups and as children.
static void mixed(void) {
  int chain = 0, count = 0;
#pragma omp taskgroup
  {
    for (int i = 0; i < 5; ++i) {
#pragma omp task shared(chain, count) depend(inout : chain)
      {
        chain = 2 * chain + 1;
#pragma omp task shared(count)
        __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
      }
#pragma omp task shared(count)
      {
#pragma omp taskloop shared(count) num_tasks(3) nogroup
        for (int k = 0; k < 6; ++k) __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
      }
    }
  }
  CHECK(chain == 31 && count == 35);
  int sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
  for (int i = 1; i <= 10; ++i) {
#pragma omp task in_reduction(+ : sum)
    sum += i;
  }
  CHECK(sum == 55);
}

static int numbers[kNumbers];

static void round_of(int threads, unsigned* state) {
  const unsigned seed = next_random(state);
  int fib = 0, cut = 0, counted = 0;
  leaves = 0;
  unsigned random = seed;
  for (int i = 0; i < kNumbers; ++i) numbers[i] = (int)(next_random(&random) % 100000);
#pragma omp parallel num_threads(threads)
  {
#pragma omp single nowait
    fib = fibonacci(14);
#pragma omp master
    cut = cut_off(14);
    if (omp_get_thread_num() == (int)(seed % (unsigned)threads)) grow(9);
#pragma omp barrier
    CHECK(fib == 377 && cut == 377 && leaves == kLeaves);
    groups(2);
    arguments((int)(seed % 100));
    if (seed % 3 == 0) mixed();
    inquiries();
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < 100; ++i) {
#pragma omp task shared(counted)
      __atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED);
    }
#pragma omp single
    {
#pragma omp task
      sort(numbers, kNumbers);
    }
    for (int i = 1; i < kNumbers; ++i) CHECK(numbers[i - 1] <= numbers[i]);
    CHECK(counted == 100);
#pragma omp barrier
    // Left at the end of the region.
#pragma omp single nowait
    grow(9);
  }
  CHECK(leaves == 2 * kLeaves);
  double reduced = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for reduction(task, + : reduced)
    for (int i = 0; i < 20; ++i) {
#pragma omp task in_reduction(+ : reduced)
      reduced += i;
    }
  }
  CHECK(reduced == 190);
  // One produces, and stops now and then.
  int consumed = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
  for (int i = 0; i < 1000; ++i) {
#pragma omp task shared(consumed) untied
    __atomic_fetch_add(&consumed, 1, __ATOMIC_RELAXED);
    if (i % 100 == 0)
      for (volatile int k = 0; k < 100000; k = k + 1) {
      }
  }
  CHECK(consumed == 1000);
  // Tasks that libgomp runs at the end of a region inside a taskgroup of ours.
  int inner = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskgroup
  {
#pragma omp task
    ++counted;
#pragma omp parallel num_threads(2) shared(inner)
#pragma omp single nowait
#pragma omp taskloop nogroup num_tasks(64) shared(inner)
    for (int i = 0; i < 64; ++i) {
#pragma omp task shared(inner)
      __atomic_fetch_add(&inner, 1, __ATOMIC_RELAXED);
    }
  }
  CHECK(inner == 64);
  // Settings are inherited from the maker, as it had them then, wherever and whenever the task runs.
  if (seed % 4 != 0) return;
  const struct settings outside = settings_now();
  // Before GCC 11 the process had one limit of levels for all.
#pragma omp parallel num_threads(threads)
#pragma omp master
  omp_set_max_active_levels(outside.levels + 1);
  const int inherited = omp_get_max_active_levels() == outside.levels;
  omp_set_max_active_levels(outside.levels);
#pragma omp parallel num_threads(threads)
  {
    for (int i = 0; i < 4; ++i) {
#pragma omp task
      check_settings(&outside);
    }
    omp_set_num_threads(30 + omp_get_thread_num());
    omp_set_dynamic(!outside.dynamic);
    if (inherited) omp_set_max_active_levels(outside.levels + 1);
    omp_set_schedule(omp_sched_guided, 7 + omp_get_thread_num());
    omp_set_default_device(5);
    const struct settings mine = settings_now();
    CHECK(mine.threads == 30 + omp_get_thread_num() && mine.chunk == 7 + omp_get_thread_num());
    for (int i = 0; i < 4; ++i) {
#pragma omp task firstprivate(mine)
      check_settings(&mine);
    }
#pragma omp taskwait
    check_settings(&mine);  // no task has changed them
  }
  check_settings(&outside);
}

int main(int count, char** argument) {
  const int rounds = count > 1 ? atoi(argument[1]) : 12;
  unsigned state = count > 2 ? (unsigned)atoi(argument[2]) : 1;
  omp_set_max_active_levels(2);
  for (int r = 0; r < rounds; ++r) round_of(r / 6 % 2 == 0 ? 2 : 4, &state);
  puts("ok");
  return 0;
}
