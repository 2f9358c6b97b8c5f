/* Heat in a plate: Jacobi sweeps over a square grid until the residual is small. The commonest shape of an OpenMP
 * program, in both ways people write it:
 *
 *   stencil region [N] [SWEEPS] [ROUNDS]   one parallel region around all sweeps: a loop, a reduction and a single in
 *                                          each
 *   stencil loop [N] [SWEEPS] [ROUNDS]     one `parallel for` per sweep: the team is forked and joined each time
 *
 * The residual is summed per row by whoever has the row, then over the rows in their order; so every bit, and with it
 * the number of sweeps, is the same for any team, and equal to the serial run that both are checked against.
 */
#include <stdbool.h>
#include <string.h>

#include "program.h"

struct plate {
  long n;                /* interior points to a side */
  double* grids[2];      /* (n + 2)^2 each, boundary included */
  double* row_residuals; /* [n + 2] */
  double residual;       /* of the last sweep */
  double largest_row;    /* of the last sweep: a maximum is the same in any order */
  long sweeps;           /* done so far; grids[sweeps % 2] holds the result */
};

static const double kSmall = 2e-4; /* residual at which we stop */

static size_t grid_bytes(long n) { return (size_t)(n + 2) * (size_t)(n + 2) * sizeof(double); }

static struct plate make_plate(long n) {
  struct plate p = {.n = n};
  for (int g = 0; g < 2; g++) {
    p.grids[g] = calloc(1, grid_bytes(n));
    if (!p.grids[g]) fail("no memory");
    for (long i = 0; i < n + 2; i++) {
      p.grids[g][i] = 1.0;                                     /* the upper edge is hot */
      p.grids[g][i * (n + 2)] = (double)(n + 1 - i) / (n + 1); /* the left one cools down along its length */
    }
  }
  p.row_residuals = calloc((size_t)n + 2, sizeof(double));
  if (!p.row_residuals) fail("no memory");
  return p;
}

static void free_plate(struct plate* p) {
  free(p->grids[0]);
  free(p->grids[1]);
  free(p->row_residuals);
}

/* Row `row` of one sweep; returns the sum of the squared changes. */
static double sweep_row(const double* from, double* to, long n, long row) {
  const double *here = from + row * (n + 2), *above = here - (n + 2), *below = here + (n + 2);
  double *out = to + row * (n + 2), sum = 0;
  for (long c = 1; c <= n; c++) {
    out[c] = 0.25 * ((above[c] + below[c]) + (here[c - 1] + here[c + 1]));
    const double change = out[c] - here[c];
    sum += change * change;
  }
  return sum;
}

/* Ends a sweep. By one thread. */
static void add_up(struct plate* p, double largest_row) {
  p->residual = 0;
  for (long row = 1; row <= p->n; row++) p->residual += p->row_residuals[row];
  p->largest_row = largest_row;
  p->sweeps++;
}

static void run_serial(struct plate* p, long most) {
  while (p->sweeps < most && (p->sweeps == 0 || p->residual > kSmall)) {
    double largest = 0;
    for (long row = 1; row <= p->n; row++) {
      const double sum = sweep_row(p->grids[p->sweeps % 2], p->grids[(p->sweeps + 1) % 2], p->n, row);
      p->row_residuals[row] = sum;
      if (sum > largest) largest = sum;
    }
    add_up(p, largest);
  }
}

static void run_loop(struct plate* p, long most) {
  while (p->sweeps < most && (p->sweeps == 0 || p->residual > kSmall)) {
    double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
    for (long row = 1; row <= p->n; row++) {
      const double sum = sweep_row(p->grids[p->sweeps % 2], p->grids[(p->sweeps + 1) % 2], p->n, row);
      p->row_residuals[row] = sum;
      if (sum > largest) largest = sum;
    }
    add_up(p, largest);
  }
}

static void run_region(struct plate* p, long most) {
  double largest = 0;
  bool done = false;
#pragma omp parallel
  {
    /* Each thread swaps the grids for itself. `done` is written in the single only: all threads have read it by the
     * barrier at the end of the loop before, and see it after the single's own barrier. */
    for (long sweep = 0; sweep < most && !done; sweep++) {
      const double* from = p->grids[sweep % 2];
      double* to = p->grids[(sweep + 1) % 2];
#pragma omp for schedule(static) reduction(max : largest)
      for (long row = 1; row <= p->n; row++) {
        const double sum = sweep_row(from, to, p->n, row);
        p->row_residuals[row] = sum;
        if (sum > largest) largest = sum;
      }
#pragma omp single
      {
        add_up(p, largest);
        largest = 0;
        done = p->residual <= kSmall;
      }
    }
  }
}

int main(int argc, char** argv) {
  if (argc < 2 || (strcmp(argv[1], "region") != 0 && strcmp(argv[1], "loop") != 0)) {
    fprintf(stderr, "usage: %s region|loop [points to a side] [most sweeps] [rounds]\n", argv[0]);
    return 2;
  }
  const long n = size_argument(argc, argv, 2, 72, 1, 10000), most = size_argument(argc, argv, 3, 5000, 1, 1000000);
  const long rounds = size_argument(argc, argv, 4, 3, 1, 100000);
  struct plate serial = make_plate(n);
  run_serial(&serial, most);
  const double* expected = serial.grids[serial.sweeps % 2];
  for (long i = 0; i < (n + 2) * (n + 2); i++)
    if (!(expected[i] >= 0 && expected[i] <= 1)) fail("hotter or colder than the edges");

  for (long round = 0; round < rounds; round++) {
    struct plate parallel = make_plate(n);
    if (strcmp(argv[1], "region") == 0)
      run_region(&parallel, most);
    else
      run_loop(&parallel, most);
    const double* result = parallel.grids[parallel.sweeps % 2];
    if (parallel.sweeps != serial.sweeps) fail("another number of sweeps than in serial");
    if (memcmp(result, expected, grid_bytes(n)) != 0) fail("another grid than in serial");
    if (parallel.residual != serial.residual || parallel.largest_row != serial.largest_row)
      fail("another residual than in serial");
    printf("round %ld: %ld x %ld, %ld sweeps, residual %a, largest row %a, grid %016llx\n", round, n, n,
           parallel.sweeps, parallel.residual, parallel.largest_row, checksum(result, grid_bytes(n)));
    free_plate(&parallel);
  }
  free_plate(&serial);
  return 0;
}
