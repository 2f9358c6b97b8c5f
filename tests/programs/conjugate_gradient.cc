// The method of conjugate gradients on a sparse matrix: the shape of most solvers. A thousand and more small parallel
// regions, each a loop over vectors that fit into a cache, with a scalar between any two that everything after depends
// on.
//
//   conjugate_gradient [SIDE] [MOST ITERATIONS]     the matrix has SIDE^2 rows
//
// A dot product is one partial sum per thread over its part of a static schedule, and the partial sums are added in the
// order of thread numbers: so for one team size all bits are fixed, and for another they may be others. `reduction(+)`
// would not do: its threads add in the order in which they arrive.
#include <omp.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "program.h"

namespace {

using Vector = std::vector<double>;

struct SparseMatrix {
  std::vector<size_t> starts;  // of each row in the two below; one more at the end
  std::vector<size_t> columns;
  Vector values;

  size_t rows() const { return starts.size() - 1; }

  double row_times(size_t row, const Vector& x) const {
    double sum = 0;
    for (size_t k = starts[row]; k < starts[row + 1]; k++) sum += values[k] * x[columns[k]];
    return sum;
  }
};

// Rows multiplied by this thread, over all regions: OpenMP keeps a thread's copy from one region to the next as
// long as the teams have the same size.
long rows_multiplied = 0;
#pragma omp threadprivate(rows_multiplied)

// Five-point diffusion on a square, with conductivities between 1 and 2; symmetric and positive definite.
SparseMatrix diffusion(size_t side) {
  SparseMatrix matrix;
  matrix.starts.push_back(0);
  const auto conductivity = [](size_t a, size_t b) { return 1 + random_fraction(a < b ? a * 31 + b : b * 31 + a); };
  for (size_t row = 0; row < side * side; row++) {
    const size_t x = row % side, y = row / side;
    double diagonal = 0.01;
    const auto link = [&](bool exists, size_t column) {
      if (!exists) return;
      const double c = conductivity(row, column);
      diagonal += c;
      matrix.columns.push_back(column);
      matrix.values.push_back(-c);
    };
    link(y > 0, row - side);
    link(x > 0, row - 1);
    link(x + 1 < side, row + 1);
    link(y + 1 < side, row + side);
    matrix.columns.push_back(row);
    matrix.values.push_back(diagonal);
    matrix.starts.push_back(matrix.columns.size());
  }
  return matrix;
}

void multiply(const SparseMatrix& matrix, const Vector& x, Vector& out) {
#pragma omp parallel for schedule(static)
  for (size_t row = 0; row < matrix.rows(); row++) {
    out[row] = matrix.row_times(row, x);
    rows_multiplied++;
  }
}

double dot(const Vector& a, const Vector& b) {
  struct alignas(64) Partial {
    double sum = 0;
  };
  std::vector<Partial> partial(static_cast<size_t>(omp_get_max_threads()));  // a smaller team leaves zeros: no harm
#pragma omp parallel
  {
    double sum = 0;
#pragma omp for schedule(static) nowait
    for (size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
    partial[static_cast<size_t>(omp_get_thread_num())].sum = sum;
  }
  double total = 0;
  for (const Partial& p : partial) total += p.sum;
  return total;
}

// y += factor * x
void add(Vector& y, double factor, const Vector& x) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < y.size(); i++) y[i] += factor * x[i];
}

struct Solution {
  Vector x;
  long iterations = 0;
  long products = 0;
  double squared_residual = 0;
};

Solution solve(const SparseMatrix& matrix, const Vector& right, long most) {
  const size_t n = matrix.rows();
  Solution s{Vector(n, 0.0)};
  Vector residual = right, direction = right, product(n);
  const double enough = 1e-20 * dot(right, right);
  s.squared_residual = dot(residual, residual);
  for (; s.iterations < most && s.squared_residual > enough; s.iterations++) {
    multiply(matrix, direction, product);
    s.products++;
    const double step = s.squared_residual / dot(direction, product);
    add(s.x, step, direction);
    add(residual, -step, product);
    const double next = dot(residual, residual), turn = next / s.squared_residual;
    s.squared_residual = next;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) direction[i] = residual[i] + turn * direction[i];
  }
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  const auto side = static_cast<size_t>(size_argument(argc, argv, 1, 56, 1, 2000));
  const long most = size_argument(argc, argv, 2, 100000, 1, 1000000);
  const SparseMatrix matrix = diffusion(side);
  const size_t n = matrix.rows();

  // The answer is chosen first, the right-hand side made from it: so we know what must come out.
  Vector answer(n), right(n);
  for (size_t i = 0; i < n; i++) answer[i] = random_fraction(i) - 0.5;
  for (size_t i = 0; i < n; i++) right[i] = matrix.row_times(i, answer);

  const Solution s = solve(matrix, right, most);

  double error = 0;
#pragma omp parallel for schedule(static) reduction(max : error)
  for (size_t i = 0; i < n; i++) error = std::fmax(error, std::fabs(s.x[i] - answer[i]));
  double error_in_serial = 0;
  for (size_t i = 0; i < n; i++) error_in_serial = std::fmax(error_in_serial, std::fabs(s.x[i] - answer[i]));
  if (error != error_in_serial) fail("the maximum is not the maximum");
  if (s.iterations < most && !(error < 1e-6)) fail("this does not solve the equations");

  long multiplied = 0;
#pragma omp parallel reduction(+ : multiplied)
  multiplied += rows_multiplied;
  // Teams of changing size may lose the copies of threads that were sent away: OpenMP promises nothing there.
  if (!omp_get_dynamic() && multiplied != s.products * static_cast<long>(n))
    fail("a thread lost its threadprivate count");

  std::printf("%zu rows, %ld iterations, squared residual %a, error %a, solution %016llx\n", n, s.iterations,
              s.squared_residual, error, checksum(s.x.data(), n * sizeof(double)));
}
