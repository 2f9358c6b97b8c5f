// A program that has used up its file descriptors before its first region, which needs none under stock.
#include <fcntl.h>
#include <sys/resource.h>

#include "check.h"

int main(void) {
  const struct rlimit few = {16, 16};
  CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
  while (open("/dev/null", O_RDONLY) >= 0) {
  }
  int count = 0;
  for (int round = 1; round <= 10; ++round) {
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
      ++count;
#pragma omp barrier
      CHECK(count == 2 * round);
#pragma omp barrier
    }
  }
  puts("ok");
  return 0;
}
