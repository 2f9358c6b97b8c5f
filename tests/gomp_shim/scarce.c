// Regions inside regions, opened by turns, where threads are scarce. Stock has few threads at a time then, and needs
// no more under the shim, which keeps some.
//   scarce turns    as many threads as `ulimit` allows: the caller has set it
//   scarce late     address space is limited once many are kept (OMP_STACKSIZE: small stacks), in one child after
//                   another
//   scarce busy     the same while others open regions
#define _GNU_SOURCE
#include <omp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kStack = 256 << 10 };  // of OMP_STACKSIZE

static void inside(int size) {
  int ran = 0;
#pragma omp parallel num_threads(size) reduction(+ : ran)
  {
    ++ran;
#pragma omp barrier
  }
  CHECK(ran == size);
}

// Each thread of the region opens `count` of `size`, while the others wait.
static void by_turns(int size, int count) {
  for (int turn = 0; turn < omp_get_num_threads(); ++turn) {
    if (turn == omp_get_thread_num())
      for (int i = 0; i < count; ++i) inside(size);
#pragma omp barrier
  }
}

static void turns(void) {
  int sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
  for (int i = 0; i < 100; ++i) {
#pragma omp critical
    {
      inside(8);
      ++sum;
    }
  }
  CHECK(sum == 400);
}

// From now on, room for so many stacks more.
static void limit(int stacks) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%lu", &pages) == 1 && fclose(file) == 0);
  const unsigned long bytes = pages * (unsigned long)sysconf(_SC_PAGESIZE) + (unsigned long)stacks * (kStack + 16384);
  const struct rlimit limit = {bytes, bytes};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

// Stock's threads end while the next ones are made: on a loaded machine dozens are on their way out, and have their
// stacks. Waits for those, a while: the ones that the shim keeps do not end.
static void let_them_end(int threads) {
  for (int i = 0; i < 100; ++i) {
    char line[128];
    int there = 0;
    FILE* file = fopen("/proc/self/status", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file))
      if (sscanf(line, "Threads: %d", &there) == 1) break;
    fclose(file);
    if (there <= threads) return;
    usleep(200);
  }
}

static void late(int seed) {
  (void)seed;
#pragma omp parallel num_threads(4)
  {
#pragma omp single
    inside(12);  // their stacks are there for the next
    by_turns(4, 6);
#pragma omp single
    limit(4);
    by_turns(12, 4);
    by_turns(4, 4);
  }
}

static void busy(int seed) {
#pragma omp parallel num_threads(4)
  {
    const int me = omp_get_thread_num();
#pragma omp single
    inside(24);
    by_turns(me == 2 ? 20 : 4, 4);
#pragma omp single
    limit(14);
    if (me == 3) {
      usleep(100 * (unsigned)seed);
      for (int i = 0; i < 3; ++i) {
        let_them_end(12);  // the region's, and what two others open
        inside(24);
      }
    } else if (me < 2) {
      for (int i = 0; i < 100; ++i) inside(4);
    }
#pragma omp barrier
    by_turns(3, 4);
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  omp_set_dynamic(0);
  omp_set_max_active_levels(2);
  if (strcmp(argv[1], "turns") == 0) {
    turns();
  } else {
    for (int seed = 0; seed < 20; ++seed) {
      const pid_t child = fork();
      CHECK(child >= 0);
      if (child == 0) {
        if (strcmp(argv[1], "late") == 0)
          late(seed);
        else
          busy(seed);
        _exit(0);
      }
      int status = 1;
      CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
  }
  puts("ok");
  return 0;
}
