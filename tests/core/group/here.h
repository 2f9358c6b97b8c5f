// What a forked process of a test expects: said once, and the process fails.
#pragma once

#include <cstdio>

#define EXPECT_HERE(condition, ...)      \
  do {                                   \
    if (!(condition)) {                  \
      std::fprintf(stderr, __VA_ARGS__); \
      std::fprintf(stderr, "\n");        \
      return 1;                          \
    }                                    \
  } while (0)
