// Threads that live for a few regions each, as in programs that start one for every request: all their regions are
// right, whichever thread had before what is kept for the next, and in the child of a fork.
//   short_threads [kept] [plain]
// kept: for later threads a shim maps nothing any more.
// plain: no tasks, nothing nested, no fork: libomp by itself fails there.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kAtOnce = 6, kGenerations = 40 };

// In front of the C library's, for everything that is not inside it; under both names that it goes by.
static int mappings;
void* map_and_count(void* address, size_t bytes, int access, int flags, int file, int64_t offset) __asm__("mmap");
void* map_and_count(void* address, size_t bytes, int access, int flags, int file, int64_t offset) {
  __atomic_fetch_add(&mappings, 1, __ATOMIC_RELAXED);
  return (void*)syscall(SYS_mmap, address, bytes, access, flags, file, offset);
}
void* map_and_count_64(void* address, size_t bytes, int access, int flags, int file, int64_t offset) __asm__("mmap64");
void* map_and_count_64(void* address, size_t bytes, int access, int flags, int file, int64_t offset) {
  return map_and_count(address, bytes, access, flags, file, offset);
}

typedef struct job {
  int size, regions;
} job;

static void plain(int size) {
  int sum = 0, passed = 0;
#pragma omp parallel num_threads(size) reduction(+ : sum)
  {
    CHECK(omp_get_num_threads() == size);
#pragma omp atomic
    ++passed;
#pragma omp barrier
    CHECK(passed == size);
    sum += omp_get_thread_num() + 1;
#pragma omp barrier
  }
  CHECK(sum == size * (size + 1) / 2);
}

static void loop(int size) {
  int sum = 0;
#pragma omp parallel for num_threads(size) schedule(dynamic, 3) reduction(+ : sum)
  for (int i = 0; i < 100; ++i) sum += i;
  CHECK(sum == 4950);
}

static void tasks(int size) {
  int done = 0;
#pragma omp parallel num_threads(size)
  {
#pragma omp single
    for (int i = 0; i < 20; ++i) {
#pragma omp task
#pragma omp atomic
      ++done;
    }
    CHECK(done == 20);
  }
}

static void nested(int size) {
  int sum = 0;
#pragma omp parallel num_threads(size) reduction(+ : sum)
  for (int i = 0; i < 3; ++i) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
#pragma omp barrier
      ++sum;
    }
  }
  CHECK(sum == size * 3 * 2);
}

static void* some_regions(void* argument) {
  static void (*const kinds[])(int) = {plain, loop, tasks, nested, plain};
  const job* const mine = argument;
  omp_set_max_active_levels(2);
  for (int i = 0; i < mine->regions; ++i) kinds[(i + mine->size) % 5](mine->size);
  return NULL;
}

static void* plain_regions(void* argument) {
  const job* const mine = argument;
  for (int i = 0; i < mine->regions; ++i) plain(mine->size);
  return NULL;
}

static void run(void* (*function)(void*), job* jobs, int count) {
  pthread_t threads[kAtOnce];
  for (int i = 0; i < count; ++i) CHECK(pthread_create(&threads[i], NULL, function, &jobs[i]) == 0);
  for (int i = 0; i < count; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void generation(int number, void* (*function)(void*)) {
  job jobs[kAtOnce];
  for (int i = 0; i < kAtOnce; ++i) jobs[i] = (job){1 + (number + i) % 4, 1 + (number * 7 + i * 3) % 11};
  run(function, jobs, kAtOnce);
}

static int has_argument(int argc, char** argv, const char* wanted) {
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], wanted) == 0) return 1;
  return 0;
}

int main(int argc, char** argv) {
  const int plain_only = has_argument(argc, argv, "plain");
  for (int g = 0; g < kGenerations; ++g) {
    generation(g, plain_only ? plain_regions : some_regions);
    if (plain_only || g % 10 != 9) continue;
    const pid_t child = fork();  // of a thread that has opened no region
    CHECK(child >= 0);
    if (child == 0) {
      for (int i = 0; i < 3; ++i) generation(g + i, some_regions);
      _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  // One after the other, alike: the first of them may find that it is more or less crowded than it was.
  job alike = {2, 3};
  for (int i = 0; i < 40; ++i) run(plain_regions, &alike, 1);
  const int before = mappings;
  for (int i = 0; i < 40; ++i) run(plain_regions, &alike, 1);
  if (has_argument(argc, argv, "kept")) {
    CHECK(before > 0);
    CHECK(mappings == before);
  }
  puts("ok");
  return 0;
}
