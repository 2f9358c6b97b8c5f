#include "measure.h"

#include <stdio.h>
#include <stdlib.h>

enum { kFewestCalls = 3, kMostCalls = 10 * 1000 * 1000, kMostSkewedCalls = 20000 };

struct batch {
  double call_ns; /* on rank 0 */
  double wall_ns; /* of the whole batch, on rank 0; with skew it holds the waiting too */
};

static double slowest(double mine) {
  double most = mine;
  MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return most;
}

static struct batch tight_batch(const struct kernel* kernel, const struct work* work, long calls, bool strict) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now_ns();
  for (long i = 0; i < calls; i++) {
    kernel->call(work, i);
    if (strict) MPI_Barrier(MPI_COMM_WORLD);
  }
  const double wall = slowest(now_ns() - start);
  return (struct batch){wall / (double)calls, wall};
}

/* xorshift64*, uniform in 0..1; the seed depends on the rank only, so that every library meets the same delays. */
static double random_fraction(uint64_t* state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return (double)((*state * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0;
}

static void delay(double ns) {
  const double until = now_ns() + ns;
  while (now_ns() < until) {
  }
}

static double* doubles(long count) {
  double* result = calloc((size_t)count, sizeof *result);
  if (!result) {
    fprintf(stderr, "mpi_sweep: no memory for %ld times\n", count);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return result;
}

/* The latest of all ranks, call by call, in place on rank 0. */
static void latest(double* times, long count, int rank) {
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : times, times, (int)count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
}

static struct batch skewed_batch(const struct kernel* kernel, const struct work* work, long calls, double skew_ns) {
  double *arrival = doubles(calls), *exit = doubles(calls);
  uint64_t state = UINT64_C(0x9e3779b97f4a7c15) * ((uint64_t)work->rank + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now_ns();
  for (long i = 0; i < calls; i++) {
    node_gate(work->node);
    delay(skew_ns * random_fraction(&state));
    arrival[i] = now_ns();
    kernel->call(work, i);
    exit[i] = now_ns();
  }
  const double wall = slowest(now_ns() - start);
  latest(arrival, calls, work->rank);
  latest(exit, calls, work->rank);
  for (long i = 0; i < calls; i++) exit[i] -= arrival[i];
  qsort(exit, (size_t)calls, sizeof exit[0], by_value);
  const double call_ns = exit[calls / 2];
  free(arrival);
  free(exit);
  return (struct batch){call_ns, wall};
}

static struct batch one_batch(const struct kernel* kernel, const struct work* work, const struct plan* plan,
                              long calls) {
  if (plan->skew_ns > 0) return skewed_batch(kernel, work, calls, plan->skew_ns);
  return tight_batch(kernel, work, calls, plan->strict);
}

static long clamp(double calls, long most) {
  return calls < kFewestCalls ? kFewestCalls : calls > (double)most ? most : (long)calls;
}

/* Step 1. At most 16 times as many calls from one trial to the next: the first trials are slower than the rest. */
static long agree_on_calls(const struct kernel* kernel, const struct work* work, const struct plan* plan) {
  const long most = plan->skew_ns > 0 ? kMostSkewedCalls : kMostCalls;
  long next[2] = {kFewestCalls, 1}; /* calls, and whether another trial is wanted */
  while (next[1]) {
    const double wall = one_batch(kernel, work, plan, next[0]).wall_ns;
    const double wanted = (double)next[0] * plan->batch_ns / wall;
    next[1] = wall < plan->batch_ns / 2 && next[0] < most;
    next[0] = clamp(wanted < 16.0 * (double)next[0] ? wanted : 16.0 * (double)next[0], most);
    MPI_Bcast(next, 2, MPI_LONG, 0, MPI_COMM_WORLD);
  }
  return next[0];
}

struct timing measure(const struct kernel* kernel, const struct work* work, const struct plan* plan) {
  const long calls = agree_on_calls(kernel, work, plan);
  double* us = doubles(plan->batches);
  for (int i = 0; i < plan->batches; i++) us[i] = one_batch(kernel, work, plan, calls).call_ns / 1000;
  qsort(us, (size_t)plan->batches, sizeof us[0], by_value);
  const int upper = plan->batches / 2, lower = (plan->batches - 1) / 2;
  const struct timing result = {(us[lower] + us[upper]) / 2, us[0], us[plan->batches - 1], calls};
  free(us);
  return result;
}
