// Regions whose function takes many arguments, in registers and on the stack: each must arrive, and in every region
// anew; regions within regions, teams that change their size, num_threads and if clauses.
#include <omp.h>

#include "../gomp_shim/check.h"

static void many(long v) {
  long a = v + 1, b = v + 2, c = v + 3, d = v + 4, e = v + 5, f = v + 6, g = v + 7, h = v + 8, i = v + 9, j = v + 10;
  long k = v + 11, l = v + 12, m = v + 13, n = v + 14, o = v + 15, p = v + 16, q = v + 17, r = v + 18, s = v + 19;
  long t = v + 20, u = v + 21, w = v + 22, x = v + 23, y = v + 24, z = v + 25, aa = v + 26, bb = v + 27;
  long total = 0;
#pragma omp parallel num_threads(2) \
    firstprivate(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, w, x, y, z, aa, bb) shared(total)
  {
    const long mine = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l +
                      13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r + 19 * s + 20 * t + 21 * u + 22 * w + 23 * x +
                      24 * y + 25 * z + 26 * aa + 27 * bb;
#pragma omp atomic
    total += mine;
#pragma omp barrier
    CHECK(total == 2 * mine);
  }
  CHECK(total == 2 * (378 * v + 6930));  // sum of i, of i * i, for i from 1 to 27
}

static void few(int threads, long a, long b, long c, long d, long e) {
  long seen = 0;
#pragma omp parallel num_threads(threads) firstprivate(a, b, c, d, e) shared(seen)
  {
#pragma omp atomic
    seen += a + 10 * b + 100 * c + 1000 * d + 10000 * e;
#pragma omp barrier
    CHECK(seen == omp_get_num_threads() * (a + 10 * b + 100 * c + 1000 * d + 10000 * e));
#pragma omp barrier
  }
  CHECK(seen == threads * (a + 10 * b + 100 * c + 1000 * d + 10000 * e));
}

static void orphaned(int* step, int expected) {
#pragma omp barrier
#pragma omp single
  ++*step;
  CHECK(*step == expected);
#pragma omp barrier
}

int main(void) {
  omp_set_dynamic(0);
  omp_set_max_active_levels(2);
  for (int round = 0; round < 50; ++round) {
    many(round);
    few(1 + round % 4, 1, 2, 3, 4, 5 + round);
    few(2, round, 0, 0, 0, 1);
    int outer = 0;
#pragma omp parallel num_threads(2 + round % 2) shared(outer)
    {
      orphaned(&outer, 1);
      // A region that is not forked has barriers of its own, of one thread.
      int alone = 0;
#pragma omp parallel if (0) shared(alone)
      {
        orphaned(&alone, 1);
        orphaned(&alone, 2);
      }
      int inner = 0;
#pragma omp parallel num_threads(2) shared(inner)
      {
        orphaned(&inner, 1);
        orphaned(&inner, 2);
      }
      // Deeper than is allowed: one thread.
#pragma omp parallel num_threads(2)
      {
        int third = 0;
#pragma omp parallel num_threads(3) shared(third)
        {
          CHECK(omp_get_num_threads() == 1);
          orphaned(&third, 1);
        }
#pragma omp barrier
      }
      orphaned(&outer, 2);
    }
    CHECK(outer == 2);
    int sums[2] = {0, 0};
#pragma omp teams num_teams(2) thread_limit(2)
    {
      int* const mine = &sums[omp_get_team_num()];
#pragma omp parallel num_threads(2)
      {
#pragma omp atomic
        ++*mine;
#pragma omp barrier
        CHECK(*mine == omp_get_num_threads());
      }
    }
    CHECK(sums[0] >= 1 && sums[0] <= 2);
  }
  puts("ok");
  return 0;
}
