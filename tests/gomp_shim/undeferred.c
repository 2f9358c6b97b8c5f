// Undeferred tasks, whose children are theirs alone: what a taskwait inside waits for and what it does not, what ends
// when, in groups, with dependences, and where so many tasks wait that the next ones are run at once. A task that is
// held ends when it is let go; whoever waits for it before hangs.
//   undeferred [ROUNDS]
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include "check.h"

enum { kMany = 200 };

static int let_go, held_ended;

static void held(void) {
  while (!__atomic_load_n(&let_go, __ATOMIC_ACQUIRE)) sched_yield();
  __atomic_fetch_add(&held_ended, 1, __ATOMIC_RELEASE);
}

static void hold(void) {
  __atomic_store_n(&let_go, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&held_ended, 0, __ATOMIC_RELAXED);
}

static int ended(void) { return __atomic_load_n(&held_ended, __ATOMIC_ACQUIRE); }

static void release(void) { __atomic_store_n(&let_go, 1, __ATOMIC_RELEASE); }

static int hidden(int value) {
  __asm__ volatile("" : "+r"(value));
  return value;
}

/* A child, and a wait for it. */
static void one_child(void) {
  int done = 0;
#pragma omp task shared(done)
  done = 1;
#pragma omp taskwait
  CHECK(done);
}

/* The parent has a child that is not over. */
static void beside_a_sibling(void) {
  hold();
#pragma omp task
  held();
#pragma omp task if (hidden(0))
  one_child();
  CHECK(!ended());
  release();
#pragma omp taskwait
  CHECK(ended());
}

/* Of two at the same place of the stack, the first one leaves a child behind. */
static void one_after_the_other(void) {
  hold();
  for (int i = 0; i < 3; ++i) {
#pragma omp task if (hidden(0)) firstprivate(i)
    {
      if (i == 0) {
#pragma omp task
        held();
      } else {
        one_child();
      }
    }
  }
  one_child(); /* and it is nobody's whom we wait for */
  CHECK(!ended());
  release();
}

/* An inner one leaves a child behind, then the outer one makes its own. */
static void one_in_the_other(int depth) {
  if (depth == 0) {
#pragma omp task if (hidden(0))
    {
#pragma omp task
      held();
    }
    return;
  }
#pragma omp task if (hidden(0)) firstprivate(depth)
  {
    one_in_the_other(depth - 1);
    one_child();
#pragma omp task if (hidden(0))
    one_child();
    one_child();
  }
  one_child();
}

static void inner_ones(void) {
  hold();
  one_in_the_other(4);
  CHECK(!ended());
  release();
}

/* A group waits for all that is made inside, also by those that are over. */
static void in_groups(void) {
  int done = 0;
#pragma omp taskgroup
  {
#pragma omp task if (hidden(0)) shared(done)
    {
#pragma omp task shared(done)
        {usleep(10);
    __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
  }
}
#pragma omp task if (hidden(0)) shared(done)
{
#pragma omp taskgroup
  {
#pragma omp task shared(done)
    __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
  }
  CHECK(__atomic_load_n(&done, __ATOMIC_RELAXED) >= 1);
}
}
CHECK(done == 2);
hold();
#pragma omp task
held();
#pragma omp task if (hidden(0)) shared(done)
{
#pragma omp taskgroup
  {
#pragma omp task shared(done)
    __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
  }
  CHECK(__atomic_load_n(&done, __ATOMIC_RELAXED) == 3);
}
CHECK(!ended());
release();
#pragma omp taskwait
}

/* A child's dependences are between its siblings. */
static void with_dependences(void) {
  int x = 0, done = 0;
  hold();
#pragma omp task depend(out : x) shared(x)
  {
    held();
    x = 1;
  }
#pragma omp task if (hidden(0)) shared(x, done)
  {
#pragma omp task depend(inout : x) shared(x, done)
    done = 1;
#pragma omp taskwait
    CHECK(done == 1);
  }
  CHECK(!ended());
  release();
#pragma omp task depend(in : x) shared(x, done) if (hidden(0))
  done = x + 1;
  CHECK(done == 2);
#pragma omp taskwait
}

static int made;

static void tree(int depth) {
  int done = 0;
  for (int i = 0; depth > 0 && i < 3; ++i) {
#pragma omp task shared(done) firstprivate(depth) if (hidden((depth + i) % 3))
    {
      tree(depth - 1);
      __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
      __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
    }
  }
  if (depth > 0) {
#pragma omp taskwait
    CHECK(__atomic_load_n(&done, __ATOMIC_RELAXED) == 3);
  }
}

/* So many wait that the next ones are run at once: they, too, wait for their own. */
static void many(void) {
  int count = 0;
  made = 0;
  hold();
#pragma omp task
  held();
  for (int i = 0; i < kMany; ++i) {
#pragma omp task shared(count) firstprivate(i)
    {
      if (i % 2) one_child();
      if (i % 16 == 0) tree(3);
      __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    }
  }
  release();
#pragma omp taskwait
  CHECK(count == kMany && made == (kMany + 15) / 16 * (3 + 9 + 27));
}

/* Regions and settings inside are those of the task. */
static void with_regions(void) {
  const int threads = omp_get_max_threads();
#pragma omp task if (hidden(0))
  {
    omp_set_num_threads(3);
    CHECK(omp_get_max_threads() == 3 && omp_get_level() == 1);
#pragma omp parallel num_threads(2)
    {
      CHECK(omp_get_level() == 2);
#pragma omp task if (hidden(0))
      one_child();
    }
  }
  CHECK(omp_get_max_threads() == threads);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 20;
  void (*const all[])(void) = {beside_a_sibling, one_after_the_other, inner_ones, in_groups, with_dependences, many,
                               with_regions};
  enum { kAll = sizeof all / sizeof *all };
  for (int round = 0; round < rounds; ++round) {
    for (int which = 0; which < kAll; ++which) {
#pragma omp parallel num_threads(2 + round % 2)
      {
#pragma omp single
        all[(which + round) % kAll]();
#pragma omp master
        all[which]();
      }
    }
    /* In explicit tasks, which others may take. A group waits for what a case leaves behind, too, which counts in the
     * variables that the next one resets; a taskwait here would wait for the case alone. */
#pragma omp parallel num_threads(2)
    {
#pragma omp single
      for (int which = 0; which < kAll - 1; ++which) {
#pragma omp taskgroup
        {
#pragma omp task firstprivate(which)
          all[which]();
        }
      }
    }
  }
  puts("ok");
  return 0;
}
