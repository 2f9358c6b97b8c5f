// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014): one word of state,
// every seed good, the same numbers on every machine. <random> would bring libstdc++'s symbols along, and its
// distributions differ between libraries.
#pragma once

#include <cstdint>

namespace smelt {

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

  // 0 .. bound - 1 by multiplication; for bounds below 2^16 the bias is less than 2^-16.
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>((next() >> 32) * bound >> 32); }

  // An exponential variate of mean 1 to about half a percent: -ln(u) = (leading zeros of u - log2 of its mantissa) * ln
  // 2 with a parabola for the logarithm. The runtime does not link the mathematics library.
  double exponential() {
    const uint64_t u = next() | 1;
    const int zeros = __builtin_clzll(u);
    const double m = 1 + static_cast<double>(u << zeros << 1 >> 12) * 0x1p-52;
    const double log2_m = (2.024658 - 0.344845 * m) * m - 1.674873;
    const double result = (zeros + 1 - log2_m) * 0.693147;
    return result > 0 ? result : 0;
  }

 private:
  uint64_t state_;  // of SplitMix64: any value is a good one
};

}  // namespace smelt
