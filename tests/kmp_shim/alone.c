// Regions of one thread: by a clause, by the settings, because no further level may be active. Inside, everything is as
// in a region of one of libomp's, and what a clause has announced is its own region's alone, whatever comes between.
#include <omp.h>

#include "../gomp_shim/check.h"

static int mine = 7;
#pragma omp threadprivate(mine)

static void full(int threads) {
  int count = 0;
#pragma omp parallel reduction(+ : count)
  {
    ++count;
    CHECK(omp_get_num_threads() == threads);
#pragma omp barrier
  }
  CHECK(count == threads);
}

// Everything that one thread does by itself.
static void look(int level, int active) {
  int loops = 0, tasks = 0, singles = 0, order = 0;
  CHECK(omp_get_num_threads() == 1 && omp_get_thread_num() == 0);
  CHECK(omp_get_level() == level && omp_get_active_level() == active && omp_get_team_size(level) == 1);
#pragma omp for schedule(dynamic, 3) ordered
  for (int i = 0; i < 10; ++i) {
#pragma omp ordered
    order = order * 3 + i;
    ++loops;
  }
#pragma omp single
  {
#pragma omp task shared(tasks)
    ++tasks;
#pragma omp taskloop shared(tasks)
    for (int i = 0; i < 5; ++i) {
#pragma omp atomic
      ++tasks;
    }
    ++singles;
  }
#pragma omp barrier
#pragma omp taskgroup
  {
#pragma omp task shared(tasks) depend(out : tasks)
    tasks += 10;
#pragma omp task shared(tasks) depend(in : tasks)
    tasks *= 2;
  }
#pragma omp critical
  ++singles;
  CHECK(loops == 10 && order == 14757 && tasks == 32 && singles == 2);
}

static void by_clause(int threads, int level, int active) {
  int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 0;
#pragma omp parallel num_threads(threads) shared(a, b, c, d, e, f, g)
  {
    if (threads == 1) look(level, active);
#pragma omp single
    g = a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f;
  }
  CHECK(g == 654321);
}

static void settings(void) {
#pragma omp parallel num_threads(1)
  {
    omp_set_num_threads(5);
    omp_set_max_active_levels(3);
    CHECK(omp_get_max_threads() == 5 && omp_get_max_active_levels() == 3);
  }
  CHECK(omp_get_max_threads() == 2 && omp_get_max_active_levels() == 1);
}

static void values(int turn) {
  mine = 10 * turn;
#pragma omp parallel num_threads(1) copyin(mine)
  {
    CHECK(mine == 10 * turn);
    ++mine;
  }
  CHECK(mine == 10 * turn + 1);
}

// The body of inner regions is one function, so that its earlier sizes are known.
static void inner(int threads, int level, int active) {
  int count = 0;
#pragma omp parallel num_threads(threads) reduction(+ : count)
  {
    ++count;
    if (omp_get_num_threads() == 1) look(level, active);
#pragma omp barrier
  }
  CHECK(count == (omp_get_max_active_levels() > 1 ? threads : 1));
}

static void inner_levels(void) {
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 3; ++i) inner(2, 2, 2);
  omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 10; ++i) {
    inner(2, 2, 1);
    inner(1, 2, 1);
#pragma omp barrier
  }
  // The settings of the one thread.
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
      omp_set_max_active_levels(2);
      inner(3, 2, 2);
      omp_set_max_active_levels(1);
    }
    inner(3, 2, 1);
  }
  full(2);
}

int main(void) {
  omp_set_dynamic(0);
  omp_set_max_active_levels(1);
  omp_set_num_threads(2);
  for (int i = 0; i < 200; ++i) {
    by_clause(1, 1, 0);
    full(2);
    // Another size of the same function: handed on by then, or hot.
    by_clause(i % 3 + 1, 1, 0);
    full(2);
#pragma omp parallel if (i < 0)
    look(1, 0);
    full(2);
  }
  for (int i = 0; i < 100; ++i) by_clause(2, 1, 1);
  for (int i = 0; i < 20; ++i) {
    by_clause(1, 1, 0);
    by_clause(2, 1, 1);
    values(i);
    settings();
  }
  inner_levels();
  for (int i = 0; i < 20; ++i) {
#pragma omp teams num_teams(1)
    {
#pragma omp parallel num_threads(1)
      CHECK(omp_get_num_threads() == 1 && omp_get_level() == 1);
    }
    full(2);
  }
  omp_set_num_threads(1);
  for (int i = 0; i < 20; ++i) full(1);
  omp_set_num_threads(2);
  full(2);
  puts("ok");
  return 0;
}
