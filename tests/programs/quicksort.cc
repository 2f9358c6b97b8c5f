// Quicksort by tasks in C++: whoever splits a part makes tasks of its halves, in a taskgroup, as tasks that return what
// they did through taskwait, and as tasks that nobody waits for but the barrier at the end.
//
//   quicksort [NUMBERS] [CUTOFF] [ROUNDS]
//
// The pivots depend on the numbers alone, so whoever runs which task, the sorted numbers and the number of splits are
// the same: both are checked against a serial run.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <vector>

#include "program.h"

namespace {

// Counts its copies: what a task is given is copied into it, and gone when the task is over.
class Part {
 public:
  Part(uint64_t* first, uint64_t* last) : first_(first), last_(last) { ++alive; }
  Part(const Part& other) : first_(other.first_), last_(other.last_) { ++alive; }
  Part& operator=(const Part&) = default;
  ~Part() { --alive; }

  long size() const { return last_ - first_; }
  void sort() const { std::sort(first_, last_); }

  // Everything in `left` is no greater than everything in `right`.
  void split(std::unique_ptr<Part>* left, std::unique_ptr<Part>* right) const {
    const uint64_t pivot = first_[size() / 2];
    uint64_t *i = first_, *j = last_ - 1;
    for (;; ++i, --j) {
      while (*i < pivot) ++i;
      while (*j > pivot) --j;
      if (i >= j) break;
      std::swap(*i, *j);
    }
    uint64_t* const middle = i == first_ ? i + 1 : i;
    *left = std::make_unique<Part>(first_, middle);
    *right = std::make_unique<Part>(middle, last_);
  }

  static std::atomic<long> alive;

 private:
  uint64_t *first_, *last_;
};
std::atomic<long> Part::alive{0};

long cutoff;

long in_serial(const Part& part) {
  if (part.size() <= cutoff) {
    part.sort();
    return 0;
  }
  std::unique_ptr<Part> left, right;
  part.split(&left, &right);
  return 1 + in_serial(*left) + in_serial(*right);
}

long with_taskwait(const Part& part) {
  if (part.size() <= cutoff) {
    part.sort();
    return 0;
  }
  std::unique_ptr<Part> left, right;
  part.split(&left, &right);
  const Part one = *left, other = *right;
  long of_one = 0, of_other = 0;
#pragma omp task firstprivate(one) shared(of_one) if (one.size() > cutoff)
  of_one = with_taskwait(one);
#pragma omp task firstprivate(other) shared(of_other) final(other.size() < 4 * cutoff) mergeable
  of_other = with_taskwait(other);
#pragma omp taskwait
  return 1 + of_one + of_other;
}

void with_taskgroup(const Part& part, std::atomic<long>& splits) {
  if (part.size() <= cutoff) return part.sort();
  std::unique_ptr<Part> left, right;
  part.split(&left, &right);
  ++splits;
  const Part one = *left, other = *right;
#pragma omp taskgroup
  {
#pragma omp task firstprivate(one) shared(splits)
    with_taskgroup(one, splits);
    with_taskgroup(other, splits);
  }
}

void with_barrier(const Part& part, std::atomic<long>& splits) {
  if (part.size() <= cutoff) return part.sort();
  std::unique_ptr<Part> left, right;
  part.split(&left, &right);
  ++splits;
  const Part one = *left, other = *right;
#pragma omp task firstprivate(one) shared(splits)
  with_barrier(one, splits);
#pragma omp task firstprivate(other) shared(splits)
  with_barrier(other, splits);
}

}  // namespace

int main(int argc, char** argv) {
  const long count = size_argument(argc, argv, 1, 20000, 2, 100000000);
  cutoff = size_argument(argc, argv, 2, 60, 1, 100000000);
  const long rounds = size_argument(argc, argv, 3, 3, 1, 100000);
  std::vector<uint64_t> numbers(static_cast<size_t>(count)), expected;
  for (long round = 1; round <= rounds; ++round) {
    const auto fill = [&] {
      for (long i = 0; i < count; ++i)
        numbers[static_cast<size_t>(i)] = random_number(static_cast<uint64_t>(round * count + i)) % (uint64_t{1} << 40);
    };
    const Part all(numbers.data(), numbers.data() + count);
    fill();
    const long expected_splits = in_serial(all);
    expected = numbers;
    if (!std::is_sorted(expected.begin(), expected.end())) fail("not sorted in serial");
    for (int way = 0; way < 3; ++way) {
      fill();
      long waited = 0;
      std::atomic<long> splits{0};
#pragma omp parallel
      {
#pragma omp single
        {
          if (way == 0) waited = with_taskwait(all);
          if (way == 1) with_taskgroup(all, splits);
          if (way == 2) with_barrier(all, splits);
        }
        // The single's barrier is where all tasks are over, for every thread.
        if (numbers != expected) {
#pragma omp critical
          fail("other numbers than in serial, at the barrier");
        }
      }
      if (way == 0) splits = waited;
      if (splits != expected_splits) fail("another number of splits than in serial");
      if (Part::alive != 1) fail("a task's copies are still alive");
    }
    std::printf("round %ld: %ld numbers, %ld splits, checksum %016llx\n", round, count, expected_splits,
                checksum(numbers.data(), numbers.size() * sizeof numbers[0]));
  }
}
