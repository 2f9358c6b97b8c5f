/* How long does one call take? Batches of calls, as IMB and the OSU benchmarks make them.
 *
 * 1. The number of calls in a batch is raised until a batch lasts about as long as asked for; rank 0 decides, everybody
 *    is told by a broadcast. These trials are the warm-up.
 * 2. A batch is a barrier and a tight loop. Its time per call is (loop's time / calls) of the slowest rank.
 * 3. The figure is the median over the batches, beside it the fastest and the slowest batch.
 *
 * Such a loop is loose (HotPar'09): ranks run ahead of each other, as far as the collective lets them. Strict, a
 * barrier follows every call and is part of its time: the time for a program that needs everybody's result before it
 * goes on. (The OSU benchmarks put a barrier there as well and leave it out of the time; then the first rank to leave
 * the barrier decides the seeming cost of a call.)
 *
 * With a skew, every rank waits a random time, at most the skew, before each call, from a common start on. The time of
 * a call is then from the arrival of the last rank to the exit of the last rank, so the waiting for the last one is not
 * counted: only the collective's remaining work once all are there is. A batch's time is the median over its calls.
 */
#ifndef SMELT_BENCH_MPI_MEASURE_H
#define SMELT_BENCH_MPI_MEASURE_H

#include "kernels.h"

struct plan {
  double batch_ns;
  int batches;
  double skew_ns; /* 0: tight loop */
  bool strict;
};

struct timing {
  double median_us, min_us, max_us; /* of the batches; on rank 0 only */
  long calls;                       /* in a batch */
};

/* Collective over MPI_COMM_WORLD. */
struct timing measure(const struct kernel* kernel, const struct work* work, const struct plan* plan);

#endif
