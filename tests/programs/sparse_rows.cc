// A sparse matrix times a vector, again and again, in C++: rows are as long as they are, a few of them hundreds of
// times longer than most, so they are dealt dynamically. Random-access iterators and unsigned indices, as C++ programs
// have them, and a chain of loops without barriers between them where rows are independent.
//
//   sparse_rows [ROWS] [SWEEPS] [ROUNDS]
//
// Each row is summed in its order by whoever has it, and norms in the order of the rows, so every bit is that of a
// serial run.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "program.h"

namespace {

struct Row {
  size_t begin, end, index;
};

struct Matrix {
  std::vector<Row> rows;
  std::vector<size_t> column;
  std::vector<double> value;

  explicit Matrix(size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; ++i) {
      const uint64_t hash = random_number(seed + i);
      // One in 64 is long.
      const size_t length = hash % 64 == 0 ? count / 2 : 1 + hash / 64 % 8;
      const size_t begin = column.size();
      for (size_t k = 0; k < length; ++k) {
        column.push_back(random_number(hash + k) % count);
        value.push_back(random_fraction(hash ^ k) - 0.5);
      }
      rows.push_back({begin, column.size(), i});
    }
  }

  double times(const Row& row, const std::vector<double>& x) const {
    double sum = 0;
    for (size_t k = row.begin; k < row.end; ++k) sum += value[k] * x[column[k]];
    return sum;
  }
};

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double one : x) sum += one * one;
  return std::sqrt(sum);
}

void in_serial(const Matrix& a, std::vector<double>& x, int sweeps) {
  std::vector<double> next(x.size());
  for (int s = 0; s < sweeps; ++s) {
    for (const Row& row : a.rows) next[row.index] = a.times(row, x);
    const double scale = norm(next);
    for (size_t i = 0; i < x.size(); ++i) x[i] = next[i] / scale;
  }
}

void in_loops(const Matrix& a, std::vector<double>& x, int sweeps) {
  std::vector<double> next(x.size());
  const size_t count = x.size(), half = count / 2;
  double scale = 0;
#pragma omp parallel
  for (int s = 0; s < sweeps; ++s) {
    if (s % 2 == 0) {
#pragma omp for schedule(dynamic, 4)
      for (auto row = a.rows.begin(); row < a.rows.end(); ++row) next[row->index] = a.times(*row, x);
    } else {
#pragma omp for schedule(dynamic) nowait
      for (size_t i = 0; i < half; ++i) next[i] = a.times(a.rows[i], x);
#pragma omp for schedule(dynamic, 2)
      for (size_t i = count; i > half; --i) next[i - 1] = a.times(a.rows[i - 1], x);
    }
    double mine;
#pragma omp single copyprivate(mine)
    mine = scale = norm(next);
    if (std::memcmp(&mine, &scale, sizeof mine) != 0) {
#pragma omp critical
      fail("another norm than the single's");
    }
#pragma omp for schedule(dynamic, 16)
    for (size_t i = 0; i < count; ++i) x[i] = next[i] / mine;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto count = static_cast<size_t>(size_argument(argc, argv, 1, 600, 2, 10000000));
  const int sweeps = static_cast<int>(size_argument(argc, argv, 2, 20, 1, 1000000));
  const long rounds = size_argument(argc, argv, 3, 4, 1, 100000);
  for (long round = 1; round <= rounds; ++round) {
    const Matrix a(count, static_cast<uint64_t>(round) * count);
    std::vector<double> expected(count, 1.0), x(count, 1.0);
    in_serial(a, expected, sweeps);
    in_loops(a, x, sweeps);
    if (std::memcmp(x.data(), expected.data(), count * sizeof(double)) != 0) fail("another vector than in serial");
    std::printf("round %ld: %zu rows, %zu elements, checksum %016llx\n", round, count, a.value.size(),
                checksum(x.data(), count * sizeof(double)));
  }
}
