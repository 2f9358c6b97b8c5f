// What the shim's test programs share: a check that says where and exits, and the proof that the shim is (not) in
// between.
#ifndef SMELT_TESTS_GOMP_SHIM_CHECK_H
#define SMELT_TESTS_GOMP_SHIM_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      _Exit(1);                                                               \
    }                                                                         \
  } while (0)

// A cheap repeatable random number per thread.
static inline unsigned next_random(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

// A number that depends on both.
static inline unsigned hash(unsigned x, unsigned y) {
  x = (x ^ (y + 0x9e3779b9u + (x << 6) + (x >> 2))) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

#endif
