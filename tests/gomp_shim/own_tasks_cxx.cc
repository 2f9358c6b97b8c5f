// Tasks of C++: arguments with constructors, which the compiler has copied by a function, and exceptions that are
// caught in the task.
//   own_tasks_cxx [ROUNDS]
#include <omp.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

namespace {

struct Counted {
  static int alive;
  int value;
  explicit Counted(int v) : value(v) { __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED); }
  Counted(const Counted& other) : value(other.value) { __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED); }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { __atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED); }
};
int Counted::alive = 0;

int sum_of(const std::vector<int>& numbers) {
  if (numbers.size() == 1) {
    if (numbers[0] % 5 == 0) throw std::runtime_error("five");
    return numbers[0];
  }
  const auto middle = numbers.begin() + static_cast<long>(numbers.size() / 2);
  std::vector<int> left(numbers.begin(), middle), right(middle, numbers.end());
  int a = 0, b = 0;
#pragma omp task shared(a) firstprivate(left)
  {
    try {
      a = sum_of(left);
    } catch (const std::runtime_error& error) {
      a = std::string(error.what()) == "five" ? 0 : 1000000;
    }
  }
#pragma omp task shared(b) firstprivate(right) if (right.size() > 2)
  {
    try {
      b = sum_of(right);
    } catch (const std::runtime_error&) {
      b = 0;
    }
  }
#pragma omp taskwait
  return a + b;
}

}  // namespace

int main(int count, char** argument) {
  const int rounds = count > 1 ? atoi(argument[1]) : 20;
  std::vector<int> numbers;
  int expected = 0;
  for (int i = 1; i <= 300; ++i) {
    numbers.push_back(i);
    expected += i % 5 == 0 ? 0 : i;
  }
  for (int r = 0; r < rounds; ++r) {
    int sum = 0, seen = 0;
#pragma omp parallel num_threads(r % 2 == 0 ? 2 : 4)
    {
#pragma omp single
      sum = sum_of(numbers);
      const Counted counted(omp_get_thread_num() + 1);
      for (int i = 0; i < 20; ++i) {
#pragma omp task firstprivate(counted) shared(seen)
        __atomic_fetch_add(&seen, counted.value > 0, __ATOMIC_RELAXED);
      }
    }
    int looped = 0;
#pragma omp parallel num_threads(r % 2 == 0 ? 2 : 4)
#pragma omp single
    {
      const Counted counted(r + 1);
      const std::string text(static_cast<size_t>(r), 'x');  // short ones point into themselves
      for (const int number : {3, 100}) {
#pragma omp taskloop num_tasks(number) firstprivate(counted, text) shared(looped)
        for (int i = 0; i < 500; ++i)
          __atomic_fetch_add(&looped, counted.value == r + 1 && text == std::string(static_cast<size_t>(r), 'x'),
                             __ATOMIC_RELAXED);
      }
    }
    CHECK(looped == 1000);
    CHECK(sum == expected);
    CHECK(seen == (r % 2 == 0 ? 40 : 80));
    CHECK(Counted::alive == 0);
  }
  puts("ok");
}
