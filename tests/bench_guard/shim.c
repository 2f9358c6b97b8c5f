/* A small shim for guard_test.py: GOMP_parallel is libgomp's, SPIN_NS later. MESSAGE is its line of SMELT_VERBOSE. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void (*region)(void* data);

__attribute__((constructor)) static void tell(void) {
  if (getenv("SMELT_VERBOSE")) fprintf(stderr, "smelt: %s\n", MESSAGE);
}

static long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}

void GOMP_parallel(region function, void* data, unsigned threads, unsigned flags) {
  static void (*real)(region, void*, unsigned, unsigned);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "GOMP_parallel");
  for (const long start = now_ns(); now_ns() - start < SPIN_NS;) {
  }
  real(function, data, threads, flags);
}
