/* Dynamic loops over a triangle: row i has i elements, so equal shares of rows are unequal shares of the work. A lower
 * triangular matrix is squared, row by row, by loops of every form that a compiler hands to the runtime in another way:
 * combined with the region and not, with and without a barrier at the end, up and down, with chunks, unsigned, two
 * loops collapsed.
 *
 *   triangle [ROWS] [ROUNDS]
 *
 * Each element is written once, by whoever has its row: every bit is that of the serial run, and no row may be done
 * twice. How often each was done is counted.
 */
#include <string.h>

#include "program.h"

static long rows;

static double* row_of(double* triangle, long i) { return triangle + i * (i + 1) / 2; }

/* Row i of the square. */
static void square_row(double* triangle, double* square, int* done, long i) {
  double *const from = row_of(triangle, i), *const to = row_of(square, i);
  for (long j = 0; j <= i; j++) {
    double x = 0;
    for (long k = j; k <= i; k++) x += from[k] * row_of(triangle, k)[j];
    to[j] = x;
  }
  done[i]++; /* not atomic: nobody else has this row, and the barrier is between two loops */
}

enum { kForms = 8 };

/* All forms fill a square of their own. */
static void in_loops(double* triangle, double** square, int (*done)[kForms], long* counted) {
  int* const times = calloc((size_t)(rows * kForms), sizeof *times);
  if (!times) fail("no memory");
#define DONE(form) (times + (form)*rows)
#pragma omp parallel for schedule(dynamic)
  for (long i = 0; i < rows; i++) square_row(triangle, square[0], DONE(0), i);
#pragma omp parallel
  {
#pragma omp for schedule(dynamic) nowait
    for (long i = rows - 1; i >= 0; i--) square_row(triangle, square[1], DONE(1), i);
#pragma omp for schedule(dynamic, 3) nowait
    for (long i = 0; i < rows; i++) square_row(triangle, square[2], DONE(2), i);
#pragma omp for schedule(nonmonotonic : dynamic, 5)
    for (unsigned long long i = 0; i < (unsigned long long)rows; i++) square_row(triangle, square[3], DONE(3), (long)i);
    /* What the third loop of the chain has made is there for everybody. */
    long right = 0;
    for (long i = 0; i < rows; i++) right += DONE(3)[i] == 1;
    if (right != rows) {
#pragma omp critical
      fail("a row is missing behind the barrier");
    }
#pragma omp for schedule(dynamic, 2)
    for (int i = (int)rows - 1; i >= 0; i -= 2) {
      square_row(triangle, square[4], DONE(4), i);
      if (i > 0) square_row(triangle, square[4], DONE(4), i - 1);
    }
#pragma omp for schedule(monotonic : dynamic)
    for (long i = 0; i < rows; i++) square_row(triangle, square[5], DONE(5), i);
#pragma omp for schedule(guided)
    for (long i = 0; i < rows; i++) square_row(triangle, square[6], DONE(6), i);
  }
  long elements = 0;
#pragma omp parallel for schedule(dynamic, 7) collapse(2) reduction(+ : elements)
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < rows; j++) {
      if (j > i) continue;
      double x = 0;
      for (long k = j; k <= i; k++) x += row_of(triangle, i)[k] * row_of(triangle, k)[j];
      row_of(square[7], i)[j] = x;
      elements++;
      if (j == i) DONE(7)[i]++;
    }
  *counted = elements;
  for (int form = 0; form < kForms; form++)
    for (long i = 0; i < rows; i++) done[i][form] = DONE(form)[i];
  free(times);
#undef DONE
}

int main(int argc, char** argv) {
  rows = size_argument(argc, argv, 1, 90, 1, 10000);
  const long rounds = size_argument(argc, argv, 2, 6, 1, 100000);
  const long elements = rows * (rows + 1) / 2;
  const size_t bytes = (size_t)elements * sizeof(double);
  double *triangle = malloc(bytes), *expected = malloc(bytes), *square[kForms];
  int(*done)[kForms] = calloc((size_t)rows, sizeof *done), *once = calloc((size_t)rows, sizeof *once);
  if (!triangle || !expected || !done || !once) fail("no memory");
  for (int form = 0; form < kForms; form++)
    if (!(square[form] = malloc(bytes))) fail("no memory");
  for (long round = 1; round <= rounds; round++) {
    for (long e = 0; e < elements; e++) triangle[e] = random_fraction((uint64_t)(round * elements + e)) - 0.5;
    for (long i = 0; i < rows; i++) square_row(triangle, expected, once, i);
    for (int form = 0; form < kForms; form++) memset(square[form], 0, bytes);
    long counted = 0;
    in_loops(triangle, square, done, &counted);
    if (counted != elements) fail("another number of elements than in serial");
    for (int form = 0; form < kForms; form++) {
      for (long i = 0; i < rows; i++)
        if (done[i][form] != 1) fail("a row was not done once");
      if (memcmp(square[form], expected, bytes) != 0) fail("another square than in serial");
    }
    printf("round %ld: %ld rows, %d forms of loop, checksum %016llx\n", round, rows, kForms, checksum(expected, bytes));
  }
  for (int form = 0; form < kForms; form++) free(square[form]);
  free(triangle);
  free(expected);
  free(done);
  free(once);
  return 0;
}
