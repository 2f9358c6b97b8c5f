/* Cholesky factorisation of a dense matrix of tiles, by tasks with dependences: the tiled algorithm of Buttari, Langou,
 * Kurzak and Dongarra, Parallel Computing 35(1), 2009. The tiles are filled, and the result is looked at, by tasks
 * without.
 *
 *   cholesky [TILES TO A SIDE] [ROWS OF A TILE] [ROUNDS]
 *
 * A tile is changed by one task at a time, in the order in which the tasks were made (inout), so every bit is the same
 * as in the serial run that the result is checked against. That L times its transpose is the matrix is checked as well,
 * up to rounding.
 */
#include <math.h>
#include <string.h>

#include "program.h"

static long side, rows; /* of the matrix in tiles; of a tile */

static double* tile_at(double* matrix, long i, long j) { return matrix + (i * side + j) * rows * rows; }

/* Symmetric, with a heavy diagonal. Tile (i, j), i >= j. */
static void fill(double* tile, long i, long j) {
  for (long r = 0; r < rows; r++)
    for (long c = 0; c < rows; c++) {
      const long row = i * rows + r, column = j * rows + c;
      const long high = row > column ? row : column, low = row > column ? column : row;
      tile[r * rows + c] = random_fraction((uint64_t)(high * side * rows + low)) - 0.5;
      if (row == column) tile[r * rows + c] += (double)(side * rows);
    }
}

/* ---- the four kernels ---- */

static void factor(double* diagonal) {
  for (long k = 0; k < rows; k++) {
    const double pivot = diagonal[k * rows + k] = sqrt(diagonal[k * rows + k]);
    for (long i = k + 1; i < rows; i++) diagonal[i * rows + k] /= pivot;
    for (long j = k + 1; j < rows; j++)
      for (long i = j; i < rows; i++) diagonal[i * rows + j] -= diagonal[i * rows + k] * diagonal[j * rows + k];
    for (long j = k + 1; j < rows; j++) diagonal[k * rows + j] = 0;
  }
}

static void solve(const double* diagonal, double* tile) { /* tile = tile L^-T */
  for (long i = 0; i < rows; i++)
    for (long k = 0; k < rows; k++) {
      double x = tile[i * rows + k];
      for (long j = 0; j < k; j++) x -= tile[i * rows + j] * diagonal[k * rows + j];
      tile[i * rows + k] = x / diagonal[k * rows + k];
    }
}

static void subtract_product(const double* left, const double* right, double* tile) { /* tile -= left right^T */
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < rows; j++) {
      double x = 0;
      for (long k = 0; k < rows; k++) x += left[i * rows + k] * right[j * rows + k];
      tile[i * rows + j] -= x;
    }
}

/* ---- the same, one after the other and by tasks ---- */

static void in_serial(double* matrix) {
  for (long i = 0; i < side; i++)
    for (long j = 0; j <= i; j++) fill(tile_at(matrix, i, j), i, j);
  for (long k = 0; k < side; k++) {
    factor(tile_at(matrix, k, k));
    for (long i = k + 1; i < side; i++) solve(tile_at(matrix, k, k), tile_at(matrix, i, k));
    for (long i = k + 1; i < side; i++)
      for (long j = k + 1; j <= i; j++)
        subtract_product(tile_at(matrix, i, k), tile_at(matrix, j, k), tile_at(matrix, i, j));
  }
}

static void by_tasks(double* matrix) {
#pragma omp parallel
#pragma omp single
  {
    for (long i = 0; i < side; i++)
      for (long j = 0; j <= i; j++) {
#pragma omp task firstprivate(i, j)
        fill(tile_at(matrix, i, j), i, j);
      }
#pragma omp taskwait
    for (long k = 0; k < side; k++) {
      double* const diagonal = tile_at(matrix, k, k);
#pragma omp task depend(inout : diagonal[0])
      factor(diagonal);
      for (long i = k + 1; i < side; i++) {
        double* const below = tile_at(matrix, i, k);
#pragma omp task depend(in : diagonal[0]) depend(inout : below[0])
        solve(diagonal, below);
      }
      for (long i = k + 1; i < side; i++)
        for (long j = k + 1; j <= i; j++) {
          double *const left = tile_at(matrix, i, k), *const right = tile_at(matrix, j, k),
                        *const tile = tile_at(matrix, i, j);
#pragma omp task depend(in : left[0], right[0]) depend(inout : tile[0])
          subtract_product(left, right, tile);
        }
    }
  }
}

/* The greatest deviation of L L^T from the matrix, a task for each tile. */
static double deviation(double* factored) {
  double most = 0;
#pragma omp parallel
#pragma omp single
  for (long i = 0; i < side; i++)
    for (long j = 0; j <= i; j++) {
#pragma omp task firstprivate(i, j) shared(most)
      {
        double* const tile = malloc((size_t)(rows * rows) * sizeof *tile);
        if (!tile) fail("no memory");
        fill(tile, i, j);
        for (long k = 0; k <= j; k++) subtract_product(tile_at(factored, i, k), tile_at(factored, j, k), tile);
        double here = 0;
        for (long e = 0; e < rows * rows; e++) here = fmax(here, fabs(tile[e]));
        free(tile);
#pragma omp critical
        most = fmax(most, here);
      }
    }
  return most;
}

int main(int argc, char** argv) {
  side = size_argument(argc, argv, 1, 7, 1, 1000);
  rows = size_argument(argc, argv, 2, 14, 1, 1000);
  const long rounds = size_argument(argc, argv, 3, 4, 1, 100000);
  const size_t bytes = (size_t)(side * side * rows * rows) * sizeof(double);
  double *const expected = calloc(1, bytes), *const matrix = calloc(1, bytes);
  if (!expected || !matrix) fail("no memory");
  in_serial(expected);
  for (long round = 1; round <= rounds; round++) {
    memset(matrix, 0, bytes);
    by_tasks(matrix);
    if (memcmp(matrix, expected, bytes) != 0) fail("other factors than in serial");
    const double off = deviation(matrix);
    if (off > 1e-11 * (double)(side * rows)) fail("L times its transpose is not the matrix");
    printf("round %ld: %ld x %ld tiles of %ld rows, checksum %016llx\n", round, side, side, rows,
           checksum(matrix, bytes));
  }
  free(matrix);
  free(expected);
  return 0;
}
