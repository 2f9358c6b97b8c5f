/* The frame of the four microbenchmarks: options, calibration, statistics, report.
 *
 * The method is EPCC's (J. M. Bull, "Measuring Synchronisation and Scheduling Overheads in OpenMP", EWOMP 1999; the
 * EPCC OpenMP microbenchmark suite), written afresh here:
 *
 *   1. A delay loop is calibrated to take `delay time` (0.1 microseconds) on one thread.
 *   2. A kernel runs the construct around that delay r times in a row; r is doubled until this takes `test time`.
 *   3. That is timed `outer repetitions` times after one unmeasured run: mean, median, minimum, maximum, standard
 *      deviation, outliers (beyond three standard deviations).
 *   4. A reference kernel does the same work on one thread without the construct.
 *   5. overhead = time - reference time, with 1.96 (s.d. + reference s.d.) as its 95 % confidence interval. The same
 *      of the medians, with the deviation estimated from the median absolute deviation, stands below it: a
 *      sample that lost its CPU for a time slice moves a mean and a standard deviation, not these.
 *
 * Because two virtual CPUs may be near or far from one minute to the next, the report opens and closes with a
 * ping-pong between two CPUs: a figure is worth something only beside the hop it was measured with.
 */
#ifndef SMELT_EPCC_COMMON_H
#define SMELT_EPCC_COMMON_H

#include <stddef.h>

/* Runs a construct (or its reference) `repetitions` times in a row. */
typedef void (*epcc_loop)(unsigned long repetitions);

struct epcc_reference {
  const char* name; /* "reference time 1" */
  epcc_loop loop;
};

struct epcc_kernel {
  const char* name; /* "PARALLEL FOR", "COPYPRIVATE 27" */
  epcc_loop test;
  const struct epcc_reference* reference;
  long array_size; /* elements, 0 for kernels without an array */
};

/* A program: its name, its kernels in the order of the report. */
struct epcc_suite {
  const char* program;
  const struct epcc_kernel* kernels;
  size_t count;
  long largest_array; /* 0: no --array-size option */
  /* With --over static in place of the first kernel's reference; NULL: no such option. */
  const struct epcc_reference* static_reference;
};

/* The whole program. Returns the exit status: 0, 1 (could not be measured), 2 (bad option). */
int epcc_main(int argc, char** argv, const struct epcc_suite* suite);

/* Threads of a team; set before the first kernel runs. */
extern int epcc_threads;

/* The share of `repetitions` that thread `thread` of the team runs, exact over the team. */
unsigned long epcc_share(unsigned long repetitions, int thread);

/* Works for the delay time, on registers only. Not inlined: the optimiser cannot see that it has no effect. */
void epcc_delay(void);

/* The same, and leaves a mark in array[0]. */
void epcc_array_delay(double* array);

/* Makes the compiler believe that `value` is used. */
static inline void epcc_keep(double value) { __asm__ volatile("" : : "m"(value)); }

/* One-way hop in nanoseconds between the first two CPUs this process may use, or a negative number when it has only
 * one. Runs in two plain pthreads, pinned and joined here, so no OpenMP thread and no binding is touched. */
double epcc_one_way_hop(void);

#endif
