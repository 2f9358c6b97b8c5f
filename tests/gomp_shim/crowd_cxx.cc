// Exceptions that are thrown and caught by threads that yield in between, and thread_local objects of theirs.
//   crowd_cxx [THREADS]
#include <omp.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "check.h"

namespace {

thread_local std::string text;

struct Yielding {
  ~Yielding() { sched_yield(); }  // while the exception is under way
};

void thrower(int me) {
  const Yielding first;
  sched_yield();
  throw std::runtime_error(std::to_string(me));
}

}  // namespace

int main(int count, char** arguments) {
  const int threads = count > 1 ? std::atoi(arguments[1]) : 8;
  for (int round = 0; round < 20; ++round) {
    int caught = 0;
#pragma omp parallel num_threads(threads)
    {
      const int me = omp_get_thread_num();
      text = "thread " + std::to_string(me);
      for (int i = 0; i < 5; ++i) {
        try {
          thrower(me);
        } catch (const std::runtime_error& error) {
          sched_yield();  // while it is handled: others handle theirs
          CHECK(error.what() == std::to_string(me));
          CHECK(std::uncaught_exceptions() == 0);
          try {
            sched_yield();
            throw;
          } catch (const std::exception& same) {
            sched_yield();
            CHECK(same.what() == std::to_string(me));
          }
        }
#pragma omp barrier
        CHECK(text == "thread " + std::to_string(me));
      }
#pragma omp atomic
      ++caught;
    }
    CHECK(caught == threads);
  }
  std::puts("ok");
  return 0;
}
