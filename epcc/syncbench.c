/* Overheads of OpenMP's synchronising constructs. Kernel by kernel after EPCC's syncbench, with the same constructs
 * around the delay and the same repetitions for each thread, so the figures can be compared.
 */
#include <omp.h>

#include "common.h"

static omp_lock_t lock;
static const double kGrowth = 1.0 + 1e-15; /* keeps the atomic's operand from being a constant */

/* ---- references: the same work on one thread ---- */

static void delay_alone(unsigned long repetitions) {
  for (unsigned long i = 0; i < repetitions; i++) epcc_delay();
}

static void add_alone(unsigned long repetitions) {
  double sum = 0, step = 1;
  for (unsigned long i = 0; i < repetitions; i++) {
    sum += step;
    step *= kGrowth;
  }
  epcc_keep(sum);
}

static void delay_and_count(unsigned long repetitions) {
  int count = 0;
  for (unsigned long i = 0; i < repetitions; i++) {
    epcc_delay();
    count += 1;
  }
  epcc_keep(count);
}

/* ---- every repetition is a region of its own ---- */

/* Not one of EPCC's: every thread of a region opens regions of two. */
static void nested_parallel(unsigned long repetitions) {
#pragma omp parallel
  for (unsigned long i = 0; i < repetitions; i++) {
#pragma omp parallel num_threads(2)
    epcc_delay();
  }
}

static void parallel(unsigned long repetitions) {
  for (unsigned long i = 0; i < repetitions; i++) {
#pragma omp parallel
    epcc_delay();
  }
}

static void parallel_for(unsigned long repetitions) {
  for (unsigned long i = 0; i < repetitions; i++) {
#pragma omp parallel for
    for (int turn = 0; turn < epcc_threads; turn++) epcc_delay();
  }
}

static void reduction(unsigned long repetitions) {
  int count = 0;
  for (unsigned long i = 0; i < repetitions; i++) {
#pragma omp parallel reduction(+ : count)
    {
      epcc_delay();
      count += 1;
    }
  }
  epcc_keep(count);
}

/* ---- one region, every thread meets the construct in every repetition ---- */

static void for_loop(unsigned long repetitions) {
#pragma omp parallel
  for (unsigned long i = 0; i < repetitions; i++) {
#pragma omp for
    for (int turn = 0; turn < epcc_threads; turn++) epcc_delay();
  }
}

static void barrier(unsigned long repetitions) {
#pragma omp parallel
  for (unsigned long i = 0; i < repetitions; i++) {
    epcc_delay();
#pragma omp barrier
  }
}

static void single(unsigned long repetitions) {
#pragma omp parallel
  for (unsigned long i = 0; i < repetitions; i++) {
#pragma omp single
    epcc_delay();
  }
}

/* ---- one region, the repetitions are divided among the threads ---- */

static void critical(unsigned long repetitions) {
#pragma omp parallel
  {
    const unsigned long share = epcc_share(repetitions, omp_get_thread_num());
    for (unsigned long i = 0; i < share; i++) {
#pragma omp critical
      epcc_delay();
    }
  }
}

static void lock_unlock(unsigned long repetitions) {
#pragma omp parallel
  {
    const unsigned long share = epcc_share(repetitions, omp_get_thread_num());
    for (unsigned long i = 0; i < share; i++) {
      omp_set_lock(&lock);
      epcc_delay();
      omp_unset_lock(&lock);
    }
  }
}

static void ordered(unsigned long repetitions) {
#pragma omp parallel for ordered schedule(static, 1)
  for (unsigned long i = 0; i < repetitions; i++) {
#pragma omp ordered
    epcc_delay();
  }
}

static void atomic(unsigned long repetitions) {
  double sum = 0;
#pragma omp parallel
  {
    const unsigned long share = epcc_share(repetitions, omp_get_thread_num());
    double step = 1;
    for (unsigned long i = 0; i < share; i++) {
#pragma omp atomic
      sum += step;
      step *= kGrowth;
    }
  }
  epcc_keep(sum);
}

int main(int argc, char** argv) {
  static const struct epcc_reference delay_reference = {"reference time 1", delay_alone};
  static const struct epcc_reference add_reference = {"reference time 2", add_alone};
  static const struct epcc_reference count_reference = {"reference time 3", delay_and_count};
  static const struct epcc_kernel kernels[] = {
      {"PARALLEL", parallel, &delay_reference, 0},
      {"FOR", for_loop, &delay_reference, 0},
      {"PARALLEL FOR", parallel_for, &delay_reference, 0},
      {"BARRIER", barrier, &delay_reference, 0},
      {"SINGLE", single, &delay_reference, 0},
      {"CRITICAL", critical, &delay_reference, 0},
      {"LOCK/UNLOCK", lock_unlock, &delay_reference, 0},
      {"ORDERED", ordered, &delay_reference, 0},
      {"ATOMIC", atomic, &add_reference, 0},
      {"REDUCTION", reduction, &count_reference, 0},
      {"NESTED PARALLEL", nested_parallel, &delay_reference, 0},
  };
  static const struct epcc_suite suite = {"syncbench", kernels, sizeof kernels / sizeof kernels[0], 0, NULL};
  omp_init_lock(&lock);
  omp_set_max_active_levels(2);
  const int status = epcc_main(argc, argv, &suite);
  omp_destroy_lock(&lock);
  return status;
}
