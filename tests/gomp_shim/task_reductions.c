// Reductions of tasks: in groups and task loops, nested, of several variables and arrays, by the program's own
// operations; passed on from task to task, inside tasks that are libgomp's, beside reductions of regions and loops.
//   task_reductions [ROUNDS [SEED]]
#include <limits.h>
#include <omp.h>
#include <sched.h>
#include <string.h>

#include "check.h"

enum { kTasks = 40, kLong = 7 };

static int hidden(int value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}

// An operation of the program's: its beginning asks for the variable itself (omp_orig).
struct extent {
  int least, greatest, base, begun;
};
static void join(struct extent* out, const struct extent* in) {
  if (in->least < out->least) out->least = in->least;
  if (in->greatest > out->greatest) out->greatest = in->greatest;
  out->begun += in->begun;
}
static struct extent begin(const struct extent* original) {
  return (struct extent){INT_MAX, INT_MIN, original->base, 1};
}
#pragma omp declare reduction(extend : struct extent : join(&omp_out, &omp_in)) initializer(omp_priv = begin(&omp_orig))

static void note(struct extent* extent, int value) {
  CHECK(extent->base == 77);
  if (value < extent->least) extent->least = value;
  if (value > extent->greatest) extent->greatest = value;
}

// The sum of 1 for each of the tree's nodes; every task passes its own copy on. Some are undeferred or final.
static void tree(long* sum, int depth, unsigned kind) {
#pragma omp task in_reduction(+ : sum[0]) if (hidden(kind % 5 != 0)) final(kind % 11 == 0)
  {
    sum[0] += 1;
    if (depth > 0) {
      tree(sum, depth - 1, kind * 7 + 1);
      tree(sum, depth - 1, kind * 7 + 2);
      if (kind % 3 == 0) {
#pragma omp taskwait
      }
    }
  }
}

static void of_a_group(unsigned kind) {
  long sum = 5, product = 1;
  int vector[kLong] = {0};
  struct extent extent = {3, 3, 77, 0};
  const int length = hidden(kLong);
  int(*const variable)[length] = &vector;
#pragma omp taskgroup task_reduction(+ : sum, variable[0][0 : length]) task_reduction(* : product) \
    task_reduction(extend : extent)
  {
    for (int i = 0; i < kTasks; ++i) {
#pragma omp task in_reduction(+ : sum) in_reduction(extend : extent) if (hidden(kind % 4 != 0 || i % 2))
      {
        sum += i;
        note(&extent, i);
      }
#pragma omp task in_reduction(+ : variable[0] [0:length]) untied
      variable[0][i % kLong] += i;
    }
    for (int i = 0; i < 10; ++i) {
#pragma omp task in_reduction(* : product)
      product *= 2;
    }
  }
  CHECK(sum == 5 + kTasks * (kTasks - 1) / 2 && product == 1024);
  CHECK(extent.least == 0 && extent.greatest == kTasks - 1 && extent.begun > 0);
  int total = 0;
  for (int i = 0; i < kLong; ++i) total += vector[i];
  CHECK(total == kTasks * (kTasks - 1) / 2 && vector[1] == 1 + 8 + 15 + 22 + 29 + 36);
}

static void of_a_tree(unsigned kind) {
  long sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
  tree(&sum, 5, kind);
  CHECK(sum == 63);
}

// A group inside a task has reductions of its own, and one of the copy that the task got from the outer group.
static void nested(void) {
  long outer = 0, again = 0;
  int inside[kTasks] = {0};
#pragma omp taskgroup task_reduction(+ : outer, again)
  for (int i = 0; i < kTasks; ++i) {
#pragma omp task in_reduction(+ : outer) shared(inside, again)
    {
      long inner = 0;
#pragma omp taskgroup task_reduction(+ : inner) task_reduction(+ : outer)
      for (int k = 0; k < 4; ++k) {
#pragma omp task in_reduction(+ : inner) in_reduction(+ : outer) in_reduction(+ : again)
        {
          inner += k;
          outer += 100;
          again += 1;
        }
      }
      CHECK(inner == 6);
      inside[i] = 1;
      outer += 1;
    }
  }
  CHECK(outer == kTasks * 401L && again == kTasks * 4L);
  for (int i = 0; i < kTasks; ++i) CHECK(inside[i]);
}

static void of_loops(int number, int n) {
  long sum = 1, inside = 0, both = 0;
  struct extent extent = {0, 0, 77, 0};
#pragma omp taskloop reduction(+ : sum) reduction(extend : extent) num_tasks(number)
  for (int i = 0; i < n; ++i) {
    sum += i;
    note(&extent, i);
  }
  CHECK(sum == 1 + (long)n * (n - 1) / 2 && extent.greatest == n - 1);
#pragma omp taskgroup task_reduction(+ : inside, both)
  {
#pragma omp taskloop in_reduction(+ : inside) reduction(+ : sum) grainsize(number)
    for (int i = 0; i < n; ++i) {
      inside += i;
      sum -= i;
    }
#pragma omp taskloop in_reduction(+ : both) nogroup num_tasks(number)
    for (int i = 0; i < n; ++i) both += 1;
  }
  CHECK(inside == (long)n * (n - 1) / 2 && sum == 1 && both == n);
  unsigned long long many = 0;
#pragma omp taskloop reduction(+ : many) firstprivate(extent) num_tasks(number)
  for (unsigned long long i = ULLONG_MAX - 3 * (unsigned)n; i < ULLONG_MAX - 3; i += 3) many += 1;
  CHECK(many == (unsigned long long)n - 1);
}

// Tasks of libgomp's, which it runs where it likes, made by tasks of ours: with detach, or after a setting.
static void at_libgomp(int detached, int settings) {
  long sum = 0, inner = 0;
#pragma omp taskgroup task_reduction(+ : sum)
  for (int i = 0; i < kTasks; ++i) {
#pragma omp task in_reduction(+ : sum) shared(inner)
    {
      sum += 1;
      if (detached) {
        omp_event_handle_t event;
#pragma omp task in_reduction(+ : sum) detach(event)
        {
          sum += 1000;
          omp_fulfill_event(event);
        }
      }
      long mine = 0;
#pragma omp taskgroup task_reduction(+ : mine)
      {
        if (settings && i == kTasks / 2) omp_set_schedule(omp_sched_dynamic, 3);
#pragma omp task in_reduction(+ : mine) in_reduction(+ : sum) priority(i)
        {
          mine += 1;
          sum += 10;
        }
        if (detached) {
          omp_event_handle_t event;
#pragma omp task in_reduction(+ : mine) in_reduction(+ : sum) detach(event)
          {
            mine += 2;
            sum += 100;
            omp_fulfill_event(event);
          }
        }
      }
      CHECK(mine == (detached ? 3 : 1));
      __atomic_fetch_add(&inner, mine, __ATOMIC_RELAXED);
    }
  }
  CHECK(sum == kTasks * (detached ? 1111L : 11L));
}

static void wait_for(const int* flag) {
  const double until = omp_get_wtime() + 10;
  while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE) && omp_get_wtime() < until) sched_yield();
}

// Three threads: the second one takes a task of the first one's group and makes one of libgomp's there, and the third
// runs that at the end of the region, where it is in no group. The makers wait for that, but not for ever, since
// user-level threads leave it to them.
static void taken_by_others(void) {
  long sum = 0;
  int taken = 0, begun = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
  {
#pragma omp task shared(taken, begun, sum)
    {
      __atomic_store_n(&taken, 1, __ATOMIC_RELEASE);
      omp_event_handle_t event;
#pragma omp task in_reduction(+ : sum) detach(event) shared(begun)
      {
        __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
        sum += 1;
        omp_fulfill_event(event);
      }
      wait_for(&begun);
    }
    wait_for(&taken);
  }
  CHECK(sum == 1);
}

// A region inside reduces the copy that the task got.
static void with_a_region(void) {
  long sum = 0;
#pragma omp taskgroup task_reduction(+ : sum)
  for (int i = 0; i < 6; ++i) {
#pragma omp task in_reduction(+ : sum)
    {
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
      for (int k = 0; k < 8; ++k) {
#pragma omp task in_reduction(+ : sum)
        sum += k;
      }
      sum += 100;
    }
  }
  CHECK(sum == 6 * 128);
}

// Of the region, and of a loop in it: libgomp's, whose variables tasks in groups reduce as well.
static void of_the_region(int threads) {
  long whole = 0, loop = 0;
#pragma omp parallel num_threads(threads) reduction(task, + : whole)
  {
#pragma omp for reduction(task, + : loop)
    for (int i = 0; i < kTasks; ++i) {
      long mine = 0;
#pragma omp taskgroup task_reduction(+ : mine)
      for (int k = 0; k < 3; ++k) {
#pragma omp task in_reduction(+ : mine) in_reduction(+ : loop)
        {
          mine += 1;
          loop += 1;
        }
      }
      CHECK(mine == 3);
    }
#pragma omp single
    for (int i = 0; i < kTasks; ++i) {
      long mine = 0;
#pragma omp taskgroup task_reduction(+ : mine)
      {
#pragma omp task in_reduction(+ : mine) in_reduction(+ : whole)
        {
          mine += 1;
          whole += 1;
        }
      }
      CHECK(mine == 1);
    }
  }
  CHECK(whole == kTasks && loop == 3 * kTasks);
}

static void all_of(unsigned* state) {
  of_a_group(next_random(state));
  of_a_tree(next_random(state));
  nested();
  of_loops(1 + (int)(next_random(state) % 30), 1 + (int)(next_random(state) % 500));
}

int main(int count, char** argument) {
  const int rounds = count > 1 ? atoi(argument[1]) : 12;
  unsigned state = count > 2 ? (unsigned)atoi(argument[2]) : 1;
  taken_by_others();
  for (int r = 0; r < rounds; ++r) {
    const int threads = r % 4 == 3 ? 4 : 2 + r % 2;
    const unsigned seed = next_random(&state);
#pragma omp parallel num_threads(threads)
    {
      unsigned mine = seed;
#pragma omp single
      all_of(&mine);
      mine = seed + (unsigned)omp_get_thread_num();
      /* By all threads at once. Regions inside only here: outside of all, libgomp 12 itself often hangs. */
      all_of(&mine);
      with_a_region();
#pragma omp barrier
#pragma omp single
      for (int i = 0; i < 5; ++i) {
        unsigned its = mine + (unsigned)i;
#pragma omp task firstprivate(its)
        all_of(&its); /* in explicit tasks */
      }
#pragma omp single
      at_libgomp(r % 2, 0);
#pragma omp single
      at_libgomp(r % 3 == 0, 1);
    }
    of_the_region(threads);
  }
  unsigned mine = state;
  all_of(&mine); /* outside of any region: one thread's */
  puts("ok");
  return 0;
}
