// Numbers of wildly different magnitude, so that nearly every other order of adding them gives other bits, and their
// sum in the order that smelt/group.h promises.
#ifndef SMELT_TESTS_OMPI_COLL_SMELT_ORDERED_SUMS_H
#define SMELT_TESTS_OMPI_COLL_SMELT_ORDERED_SUMS_H

#include "check.h"

// Rank `rank`'s k-th.
static inline double number(int rank, size_t k) {
  const uint64_t h = mix((uint64_t)rank, k, 21);
  const int exponent = (int)(h >> 58) - 32;  // 2^-32 .. 2^31
  const double mantissa = 1.0 + (double)(h & 0xFFFFFFFFFFFF) / (double)(1ull << 48);
  double value = (h >> 57 & 1 ? -1 : 1) * mantissa;
  for (int i = 0; i < (exponent < 0 ? -exponent : exponent); ++i) value *= exponent < 0 ? 0.5 : 2.0;
  return value;
}

// The sum of everybody's k-th number in the order that smelt/group.h promises, from the right.
static inline double ordered_sum(int in_floats, size_t k) {
  double total = 0;
  for (int block = (world_size - 1) / 16; block >= 0; --block) {
    const int last = block * 16 + 15 < world_size ? block * 16 + 15 : world_size - 1;
    double sum = in_floats ? (float)number(last, k) : number(last, k);
    for (int rank = last - 1; rank >= block * 16; --rank)
      sum = in_floats ? (double)((float)number(rank, k) + (float)sum) : number(rank, k) + sum;
    const int is_last_block = block == (world_size - 1) / 16;
    total = is_last_block ? sum : in_floats ? (double)((float)sum + (float)total) : sum + total;
  }
  return total;
}

// The sum of the first ranks' in the order that it promises of scans, from the left.
static inline double sum_from_left(int in_floats, int ranks, size_t k) {
  double sum = in_floats ? (float)number(0, k) : number(0, k);
  for (int rank = 1; rank < ranks; ++rank)
    sum = in_floats ? (double)((float)sum + (float)number(rank, k)) : sum + number(rank, k);
  return sum;
}

#endif
