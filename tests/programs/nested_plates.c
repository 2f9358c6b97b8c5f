/* Nested regions: a chain of plates is warmed, a thread of the outer team for each plate, which sweeps over its plate
 * with a team of its own, again and again; between the sweeps neighbours exchange their edges.
 *
 *   nested_plates [N] [SWEEPS] [ROUNDS]
 *
 * The outer team has 2 threads, the inner ones half of what the program was given, at least 2. Every grid point is
 * written by one thread, sums go over the rows in their order, so every bit is that of the serial run.
 */
#include <omp.h>
#include <string.h>

#include "program.h"

enum { kPlates = 4, kMost = 64 };

static long n;

static double* row_at(double* plate, long i) { return plate + i * (n + 2); }

static void start(double* plate, long number) {
  for (long i = 0; i < (n + 2) * (n + 2); i++) plate[i] = random_fraction((uint64_t)(number * (n + 2) * (n + 2) + i));
}

static void sweep_row(double* plate, double* next, double* sums, long i) {
  const double *const above = row_at(plate, i - 1), *const here = row_at(plate, i), *const below = row_at(plate, i + 1);
  double* const to = row_at(next, i);
  double sum = 0;
  for (long j = 1; j <= n; j++) sum += to[j] = 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1]);
  sums[i] = sum;
}

/* The right edge of each becomes the left edge of the next. */
static void exchange(double** plate, long number) {
  const double* const from = plate[(number + kPlates - 1) % kPlates];
  for (long i = 1; i <= n; i++) plate[number][i * (n + 2)] = from[i * (n + 2) + n];
}

static double total(const double* sums) {
  double sum = 0;
  for (long i = 1; i <= n; i++) sum += sums[i];
  return sum;
}

static void in_serial(double** plate, double** next, double* sums, double* heat, long sweeps) {
  for (long s = 0; s < sweeps; s++) {
    for (long p = 0; p < kPlates; p++) exchange(plate, p);
    for (long p = 0; p < kPlates; p++) {
      memcpy(next[p], plate[p], (size_t)((n + 2) * (n + 2)) * sizeof(double));
      for (long i = 1; i <= n; i++) sweep_row(plate[p], next[p], sums, i);
      heat[p] = total(sums);
    }
    for (long p = 0; p < kPlates; p++) {
      double* const t = plate[p];
      plate[p] = next[p];
      next[p] = t;
    }
  }
}

static void nested(double** plate, double** next, double* heat, long sweeps, int inner) {
#pragma omp parallel num_threads(2)
  {
    double* const sums = malloc((size_t)(n + 2) * sizeof *sums);
    if (!sums) fail("no memory");
    for (long s = 0; s < sweeps; s++) {
#pragma omp for
      for (long p = 0; p < kPlates; p++) exchange(plate, p);
#pragma omp for schedule(static)
      for (long p = 0; p < kPlates; p++) {
        double *const from = plate[p], *const to = next[p];
        int wrong = 0;
        memcpy(to, from, (size_t)((n + 2) * (n + 2)) * sizeof(double));
        if (s % 3 == 2) { /* the region and the loop are one */
#pragma omp parallel for num_threads(inner) schedule(dynamic, 2)
          for (long i = 1; i <= n; i++) sweep_row(from, to, sums, i);
        } else {
#pragma omp parallel num_threads(inner) reduction(+ : wrong)
          {
            wrong += omp_get_level() != 2;
#pragma omp for
            for (long i = 1; i <= n; i++) sweep_row(from, to, sums, i);
            double seen;
#pragma omp single copyprivate(seen)
            seen = heat[p] = total(sums);
            wrong += memcmp(&seen, &heat[p], sizeof seen) != 0;
          }
        }
        heat[p] = total(sums);
        if (wrong != 0) {
#pragma omp critical
          fail("a thread of an inner team saw another sum, or another level");
        }
      }
#pragma omp single
      for (long p = 0; p < kPlates; p++) {
        double* const t = plate[p];
        plate[p] = next[p];
        next[p] = t;
      }
    }
    free(sums);
  }
}

static double** make_plates(void) {
  static double* all[4][kPlates];
  static int used;
  for (long p = 0; p < kPlates; p++) {
    all[used][p] = malloc((size_t)((n + 2) * (n + 2)) * sizeof(double));
    if (!all[used][p]) fail("no memory");
  }
  return all[used++];
}

int main(int argc, char** argv) {
  n = size_argument(argc, argv, 1, 40, 1, 10000);
  const long sweeps = size_argument(argc, argv, 2, 12, 1, 1000000);
  const long rounds = size_argument(argc, argv, 3, 2, 1, 100000);
  const size_t bytes = (size_t)((n + 2) * (n + 2)) * sizeof(double);
  int inner = omp_get_max_threads() / 2;
  inner = inner < 2 ? 2 : inner > kMost ? kMost : inner;
  omp_set_max_active_levels(2);
  double **plate = make_plates(), **next = make_plates(), **expected = make_plates(), **spare = make_plates();
  double heat[kPlates], expected_heat[kPlates], *sums = malloc((size_t)(n + 2) * sizeof *sums);
  if (!sums) fail("no memory");
  for (long round = 1; round <= rounds; round++) {
    for (long p = 0; p < kPlates; p++) {
      start(plate[p], round * kPlates + p);
      start(expected[p], round * kPlates + p);
    }
    in_serial(expected, spare, sums, expected_heat, sweeps);
    nested(plate, next, heat, sweeps, inner);
    for (long p = 0; p < kPlates; p++)
      if (memcmp(plate[p], expected[p], bytes) != 0) fail("another plate than in serial");
    if (memcmp(heat, expected_heat, sizeof heat) != 0) fail("another heat than in serial");
    printf("round %ld: %d plates of %ld x %ld, %ld sweeps, checksum %016llx\n", round, kPlates, n, n, sweeps,
           checksum(plate[0], bytes) ^ checksum(plate[kPlates - 1], bytes));
  }
  return 0;
}
