/* What the C and C++ programs of this directory share: sizes from the command line, numbers that look random but are
 * the same everywhere, and a checksum over the bits of a result. Nothing here knows of OpenMP or of Smelt.
 */
#ifndef SMELT_TESTS_PROGRAMS_PROGRAM_H
#define SMELT_TESTS_PROGRAMS_PROGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Argument number `index`, or `otherwise` when there are fewer. Ends the program (2) when it is no number in range. */
static inline long size_argument(int argc, char** argv, int index, long otherwise, long least, long most) {
  char* end;
  if (index >= argc) return otherwise;
  const long value = strtol(argv[index], &end, 10);
  if (end == argv[index] || *end != '\0' || value < least || value > most) {
    fprintf(stderr, "%s: \"%s\" is not a number between %ld and %ld\n", argv[0], argv[index], least, most);
    exit(2);
  }
  return value;
}

/* SplitMix64: a good hash of a counter, so that number i needs no state and any thread can ask for it. */
static inline uint64_t random_number(uint64_t i) {
  uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* The same as a double in [0, 1): 53 bits, exact. */
static inline double random_fraction(uint64_t i) { return (double)(random_number(i) >> 11) * 0x1p-53; }

/* FNV-1a over the bytes: two results with one different bit have different checksums. */
static inline unsigned long long checksum(const void* data, size_t bytes) {
  const unsigned char* byte = (const unsigned char*)data;
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ byte[i]) * 0x100000001b3u;
  return hash;
}

/* Says what is wrong with the result and ends the program (1). From serial code only. */
static inline void fail(const char* what) {
  fprintf(stderr, "wrong result: %s\n", what);
  exit(1);
}

#endif
