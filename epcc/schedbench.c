/* Overheads of the schedules of OpenMP's loops. After EPCC's schedbench (J. M. Bull, "Measuring Synchronisation and
 * Scheduling Overheads in OpenMP", EWOMP 1999): one region, in which a repetition is a loop of 128 delays per thread,
 * dealt in chunks of 1, 2, 4 ... 128.
 *
 * An overhead is that of a whole loop. The reference is a thread's share of the delays without a loop; with
 * --over static it is the loop with schedule(static), so that only the price of the schedule is left, without the
 * barrier that ends every loop.
 *
 * In EPCC's loops all iterations last the same, and a schedule can only lose. Hence the triangle beside them: iteration
 * i is i delays long, as in a factorisation or a loop over pairs, and what static loses by dealing it unevenly is what
 * the others are for. Its reference is the work of all divided by the threads.
 */
#include <omp.h>

#include "common.h"

enum { kPerThread = 128, kRowsPerThread = 16 };

/* ---- references: a thread's share of the work, alone ---- */

static void delay_alone(unsigned long repetitions) {
  for (unsigned long i = 0; i < repetitions * kPerThread; i++) epcc_delay();
}

/* Rows of 1, 2 ... n delays: n (n + 1) / 2, over the threads. */
static void triangle_alone(unsigned long repetitions) {
  const unsigned long rows = (unsigned long)(kRowsPerThread * epcc_threads);
  for (unsigned long i = 0; i < repetitions * (kRowsPerThread / 2) * (rows + 1); i++) epcc_delay();
}

/* ---- one region, a loop in every repetition ---- */

#define PRAGMA(text) _Pragma(#text)

#define KERNEL(name, how)                                                      \
  static void name(unsigned long repetitions) {                                \
    const int all = kPerThread * epcc_threads;                                 \
    PRAGMA(omp parallel)                                                       \
    for (unsigned long i = 0; i < repetitions; i++) {                          \
      PRAGMA(omp for schedule how) for (int k = 0; k < all; k++) epcc_delay(); \
    }                                                                          \
  }

#define TRIANGLE(name, how)                           \
  static void name(unsigned long repetitions) {       \
    const int rows = kRowsPerThread * epcc_threads;   \
    PRAGMA(omp parallel)                              \
    for (unsigned long i = 0; i < repetitions; i++) { \
      PRAGMA(omp for schedule how)                    \
      for (int row = 1; row <= rows; row++)           \
        for (int k = 0; k < row; k++) epcc_delay();   \
    }                                                 \
  }

#define CHUNKS(row) row(1) row(2) row(4) row(8) row(16) row(32) row(64) row(128)
#define KERNELS_OF_CHUNK(n)         \
  KERNEL(static_##n, (static, n))   \
  KERNEL(dynamic_##n, (dynamic, n)) \
  KERNEL(guided_##n, (guided, n))

KERNEL(plain_static, (static))
CHUNKS(KERNELS_OF_CHUNK)
TRIANGLE(triangle_static, (static))
TRIANGLE(triangle_static_1, (static, 1))
TRIANGLE(triangle_dynamic_1, (dynamic, 1))
TRIANGLE(triangle_guided_1, (guided, 1))

int main(int argc, char** argv) {
  static const struct epcc_reference delays = {"reference time 1", delay_alone};
  static const struct epcc_reference even_triangle = {"reference time 2", triangle_alone};
  static const struct epcc_reference static_loop = {"reference time 3", plain_static};
#define STATIC(n) {"STATIC " #n, static_##n, &delays, 0},
#define DYNAMIC(n) {"DYNAMIC " #n, dynamic_##n, &delays, 0},
#define GUIDED(n) {"GUIDED " #n, guided_##n, &delays, 0},
  static const struct epcc_kernel kernels[] = {
      {"STATIC", plain_static, &delays, 0},
      CHUNKS(STATIC) CHUNKS(DYNAMIC) CHUNKS(GUIDED) /* each row brings its comma */
      {"TRIANGLE STATIC", triangle_static, &even_triangle, 0},
      {"TRIANGLE STATIC 1", triangle_static_1, &even_triangle, 0},
      {"TRIANGLE DYNAMIC 1", triangle_dynamic_1, &even_triangle, 0},
      {"TRIANGLE GUIDED 1", triangle_guided_1, &even_triangle, 0},
  };
  static const struct epcc_suite suite = {"schedbench", kernels, sizeof kernels / sizeof kernels[0], 0, &static_loop};
  return epcc_main(argc, argv, &suite);
}
