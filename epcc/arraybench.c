/* Overheads of the clauses that give each thread an array of its own, for arrays of 1, 3, 9 ... 59049 doubles. After
 * EPCC's arraybench, which is compiled once per size; here one program holds all sizes.
 */
#include "common.h"

static void array_alone(unsigned long repetitions) {
  double array[1];
  for (unsigned long i = 0; i < repetitions; i++) epcc_array_delay(array);
}

static const struct epcc_reference reference = {"reference time 1", array_alone};

#define PRAGMA(text) _Pragma(#text)

/* A static array's size is part of its type, and copyin needs a threadprivate one: hence functions per size. */
#define KERNELS_OF_SIZE(n)                                                            \
  static double shared_##n[n];                                                        \
  static double own_##n[n];                                                           \
  PRAGMA(omp threadprivate(own_##n))                                                  \
  static void private_##n(unsigned long repetitions) {                                \
    for (unsigned long i = 0; i < repetitions; i++) {                                 \
      PRAGMA(omp parallel private(shared_##n)) { epcc_array_delay(shared_##n); }      \
    }                                                                                 \
  }                                                                                   \
  static void firstprivate_##n(unsigned long repetitions) {                           \
    for (unsigned long i = 0; i < repetitions; i++) {                                 \
      PRAGMA(omp parallel firstprivate(shared_##n)) { epcc_array_delay(shared_##n); } \
    }                                                                                 \
  }                                                                                   \
  static void copyprivate_##n(unsigned long repetitions) {                            \
    for (unsigned long i = 0; i < repetitions; i++) {                                 \
      PRAGMA(omp parallel private(shared_##n)) {                                      \
        PRAGMA(omp single copyprivate(shared_##n)) { epcc_array_delay(shared_##n); }  \
      }                                                                               \
    }                                                                                 \
  }                                                                                   \
  static void copyin_##n(unsigned long repetitions) {                                 \
    for (unsigned long i = 0; i < repetitions; i++) {                                 \
      PRAGMA(omp parallel copyin(own_##n)) { epcc_array_delay(own_##n); }             \
    }                                                                                 \
  }

#define SIZES(row) row(1) row(3) row(9) row(27) row(81) row(243) row(729) row(2187) row(6561) row(19683) row(59049)

SIZES(KERNELS_OF_SIZE)

#define ROWS(n)                                                                                       \
  {"PRIVATE " #n, private_##n, &reference, n}, {"FIRSTPRIVATE " #n, firstprivate_##n, &reference, n}, \
      {"COPYPRIVATE " #n, copyprivate_##n, &reference, n}, {"COPYIN " #n, copyin_##n, &reference, n},

int main(int argc, char** argv) {
  static const struct epcc_kernel kernels[] = {SIZES(ROWS)};
  static const struct epcc_suite suite = {"arraybench", kernels, sizeof kernels / sizeof kernels[0], 59049, NULL};
  return epcc_main(argc, argv, &suite);
}
