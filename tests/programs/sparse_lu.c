/* LU factorisation of a sparse matrix of blocks, by tasks with dependences: nobody waits for a level of the
 * factorisation to end, a task runs as soon as the blocks that it names are ready.
 *
 *   sparse_lu [BLOCKS TO A SIDE] [ROWS OF A BLOCK] [ROUNDS]
 *
 * A block is changed by one task at a time, in the order in which the tasks were made (inout), so every bit is the same
 * as in the serial run that the result is checked against. That L times U is the matrix is checked as well, up to
 * rounding.
 */
#include <math.h>
#include <string.h>

#include "program.h"

static long side, rows; /* of the matrix in blocks; of a block */

static size_t block_bytes(void) { return (size_t)rows * (size_t)rows * sizeof(double); }

static double* new_block(void) {
  double* block = malloc(block_bytes());
  if (!block) fail("no memory");
  return block;
}

/* A matrix is an array of side * side blocks; NULL is a block of zeros. The diagonal is heavy: no pivoting is needed.
   */
static double** make_matrix(void) {
  double** blocks = calloc((size_t)(side * side), sizeof *blocks);
  if (!blocks) fail("no memory");
  for (long i = 0; i < side; i++)
    for (long j = 0; j < side; j++) {
      if (i != j && random_number((uint64_t)(i * side + j)) % 3 != 0) continue;
      double* block = blocks[i * side + j] = new_block();
      for (long e = 0; e < rows * rows; e++)
        block[e] = random_fraction((uint64_t)((i * side + j) * rows * rows + e)) - 0.5;
      for (long d = 0; i == j && d < rows; d++) block[d * rows + d] += (double)(side * rows);
    }
  return blocks;
}

static void free_matrix(double** blocks) {
  for (long b = 0; b < side * side; b++) free(blocks[b]);
  free(blocks);
}

/* ---- the four kernels; L has ones on its diagonal, which are not stored ---- */

static void factor(double* diagonal) {
  for (long k = 0; k < rows; k++)
    for (long i = k + 1; i < rows; i++) {
      const double f = diagonal[i * rows + k] /= diagonal[k * rows + k];
      for (long j = k + 1; j < rows; j++) diagonal[i * rows + j] -= f * diagonal[k * rows + j];
    }
}

static void solve_right(const double* diagonal, double* block) { /* block = L^-1 block */
  for (long k = 0; k < rows; k++)
    for (long i = k + 1; i < rows; i++)
      for (long j = 0; j < rows; j++) block[i * rows + j] -= diagonal[i * rows + k] * block[k * rows + j];
}

static void solve_below(const double* diagonal, double* block) { /* block = block U^-1 */
  for (long i = 0; i < rows; i++)
    for (long k = 0; k < rows; k++) {
      const double f = block[i * rows + k] /= diagonal[k * rows + k];
      for (long j = k + 1; j < rows; j++) block[i * rows + j] -= f * diagonal[k * rows + j];
    }
}

static void subtract_product(const double* left, const double* above, double* block) {
  for (long i = 0; i < rows; i++)
    for (long k = 0; k < rows; k++)
      for (long j = 0; j < rows; j++) block[i * rows + j] -= left[i * rows + k] * above[k * rows + j];
}

/* ---- the factorisation ---- */

static void factor_in_serial(double** a) {
  for (long k = 0; k < side; k++) {
    factor(a[k * side + k]);
    for (long j = k + 1; j < side; j++) {
      if (a[k * side + j]) solve_right(a[k * side + k], a[k * side + j]);
      if (a[j * side + k]) solve_below(a[k * side + k], a[j * side + k]);
    }
    for (long i = k + 1; i < side; i++)
      for (long j = k + 1; j < side; j++) {
        if (!a[i * side + k] || !a[k * side + j]) continue;
        if (!a[i * side + j]) memset(a[i * side + j] = new_block(), 0, block_bytes());
        subtract_product(a[i * side + k], a[k * side + j], a[i * side + j]);
      }
  }
}

/* By one thread of a team; the tasks are everybody's. A dependence names the place where a block hangs, but the pointer
 * in it is read here and only here: tasks take it along (firstprivate), for fill-in hangs new blocks while they run.
 * Returns a pivot in the middle, read with tasks still running behind it. */
static double factor_by_tasks(double** a) {
  double pivot = 0;
  for (long k = 0; k < side; k++) {
    double* const diagonal = a[k * side + k];
#pragma omp task depend(inout : a[k * side + k]) firstprivate(diagonal)
    factor(diagonal);
    for (long j = k + 1; j < side; j++) {
      double *const right = a[k * side + j], *const below = a[j * side + k];
      if (right) {
#pragma omp task depend(in : a[k * side + k]) depend(inout : a[k * side + j]) firstprivate(diagonal, right)
        solve_right(diagonal, right);
      }
      if (below) {
#pragma omp task depend(in : a[k * side + k]) depend(inout : a[j * side + k]) firstprivate(diagonal, below)
        solve_below(diagonal, below);
      }
    }
    for (long i = k + 1; i < side; i++)
      for (long j = k + 1; j < side; j++) {
        double *const left = a[i * side + k], *const above = a[k * side + j];
        if (!left || !above) continue;
        if (!a[i * side + j]) {
          double* const fresh = a[i * side + j] = new_block();
#pragma omp task depend(out : a[i * side + j]) firstprivate(fresh)
          memset(fresh, 0, block_bytes());
        }
        double* const block = a[i * side + j];
#pragma omp task depend(in                                               \
                        : a[i * side + k], a[k * side + j]) depend(inout \
                                                                   : a[i * side + j]) firstprivate(left, above, block)
        subtract_product(left, above, block);
      }
    if (k == side / 2) {
#pragma omp taskwait depend(in : a[k * side + k])
      pivot = diagonal[0];
    }
  }
  return pivot;
}

/* ---- checks ---- */

/* out += block x, of its lower triangle with ones on the diagonal, of its upper triangle, or of all. */
enum part { kLower, kUpper, kAll };
static void add_product(const double* block, enum part part, const double* x, double* out) {
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < rows; j++) {
      if (part == kLower && j > i) continue;
      if (part == kUpper && j < i) continue;
      out[i] += (part == kLower && i == j ? 1 : block[i * rows + j]) * x[j];
    }
}

/* Is L (U x) = A x for some x? */
static void check_product(double** lu, double** a) {
  const long n = side * rows;
  double* work = calloc((size_t)(4 * n), sizeof *work);
  if (!work) fail("no memory");
  double *x = work, *ux = work + n, *lux = work + 2 * n, *ax = work + 3 * n;
  for (long i = 0; i < n; i++) x[i] = random_fraction((uint64_t)i) - 0.5;
  for (long i = 0; i < side; i++)
    for (long j = 0; j < side; j++) {
      if (lu[i * side + j] && j >= i)
        add_product(lu[i * side + j], i == j ? kUpper : kAll, x + j * rows, ux + i * rows);
      if (a[i * side + j]) add_product(a[i * side + j], kAll, x + j * rows, ax + i * rows);
    }
  for (long i = 0; i < side; i++)
    for (long j = 0; j <= i; j++)
      if (lu[i * side + j]) add_product(lu[i * side + j], i == j ? kLower : kAll, ux + j * rows, lux + i * rows);
  for (long i = 0; i < n; i++)
    if (!(fabs(lux[i] - ax[i]) < 1e-9 * (double)n)) fail("L times U is not the matrix");
  free(work);
}

int main(int argc, char** argv) {
  side = size_argument(argc, argv, 1, 14, 1, 1000);
  rows = size_argument(argc, argv, 2, 16, 1, 1000);
  const long rounds = size_argument(argc, argv, 3, 5, 1, 1000);
  double **original = make_matrix(), **serial = make_matrix();
  factor_in_serial(serial);
  check_product(serial, original);

  for (long round = 0; round < rounds; round++) {
    double **parallel = make_matrix(), pivot = 0;
    long differences = 0;
#pragma omp parallel
    {
#pragma omp single
      pivot = factor_by_tasks(parallel);
      /* The single's barrier ends when all tasks are done: whoever looks at a block now sees the finished one. */
#pragma omp for schedule(static, 1) reduction(+ : differences)
      for (long b = 0; b < side * side; b++)
        differences += !parallel[b] != !serial[b] || (serial[b] && memcmp(parallel[b], serial[b], block_bytes()) != 0);
    }
    if (differences > 0) fail("other blocks than in serial");

    long filled = 0;
    unsigned long long sum = 0;
    for (long b = 0; b < side * side; b++) {
      if (!parallel[b]) continue;
      sum = sum * 31 + checksum(parallel[b], block_bytes());
      filled++;
    }
    if (pivot != serial[side / 2 * side + side / 2][0]) fail("another pivot than in serial");
    printf("round %ld: %ld blocks of %ld filled, pivot %a, factors %016llx\n", round, filled, side * side, pivot, sum);
    free_matrix(parallel);
  }
  free_matrix(original);
  free_matrix(serial);
  return 0;
}
