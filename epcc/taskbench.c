/* Overheads of OpenMP's tasks: making them, waiting for them, nesting them. Kernel by kernel after EPCC's taskbench
 * (J. M. Bull, F. Reid, N. McDonnell, "A Microbenchmark Suite for OpenMP Tasks", IWOMP 2012): each thread makes as many
 * tasks around the same delay, so the figures can be compared.
 *
 * In every kernel a repetition is one delay per thread of the team. Where EPCC divides the repetitions, and lets the
 * remainder go, we do the remainder too: else the figure of a slow machine, which settles for few repetitions, would
 * come out too small.
 */
#include <omp.h>

#include "common.h"

enum { kDepth = 6, kTree = 1 << kDepth }; /* of the task trees; delays in one tree */

static void delay_alone(unsigned long repetitions) {
  for (unsigned long i = 0; i < repetitions; i++) epcc_delay();
}

/* The condition of a task that is not deferred, hidden from the optimiser. */
static __attribute__((noinline)) int never(void) {
  int no = 0;
  __asm__ volatile("" : "+r"(no));
  return no;
}

/* ---- every thread makes tasks, or only the master does ---- */

static void parallel_task(unsigned long repetitions) {
#pragma omp parallel
  for (unsigned long i = 0; i < repetitions; i++) {
#pragma omp task
    epcc_delay();
  }
}

static void master_task(unsigned long repetitions) {
  const unsigned long all = repetitions * (unsigned long)epcc_threads;
#pragma omp parallel
  {
#pragma omp master
    for (unsigned long i = 0; i < all; i++) {
#pragma omp task
      epcc_delay();
    }
  }
}

/* The others have work of their own. */
static void master_task_busy_workers(unsigned long repetitions) {
#pragma omp parallel
  {
    const int thread = omp_get_thread_num();
    for (unsigned long i = 0; i < repetitions; i++) {
      if (thread == 0) {
#pragma omp task
        epcc_delay();
      } else {
        epcc_delay();
      }
    }
  }
}

static void conditional_task(unsigned long repetitions) {
#pragma omp parallel
  for (unsigned long i = 0; i < repetitions; i++) {
#pragma omp task if (never())
    epcc_delay();
  }
}

/* ---- something waits for each task ---- */

static void task_wait(unsigned long repetitions) {
#pragma omp parallel
  for (unsigned long i = 0; i < repetitions; i++) {
#pragma omp task
    epcc_delay();
#pragma omp taskwait
  }
}

static void task_barrier(unsigned long repetitions) {
#pragma omp parallel
  for (unsigned long i = 0; i < repetitions; i++) {
#pragma omp task
    epcc_delay();
#pragma omp barrier
  }
}

/* ---- tasks that make as many tasks as there are threads, and wait for them ---- */

static void nested_task(unsigned long repetitions) {
  const unsigned long threads = (unsigned long)epcc_threads;
#pragma omp parallel
  for (unsigned long done = 0; done < repetitions; done += threads) {
    const unsigned long inner = repetitions - done < threads ? repetitions - done : threads;
#pragma omp task firstprivate(inner)
    {
      for (unsigned long i = 0; i < inner; i++) {
#pragma omp task untied
        epcc_delay();
      }
#pragma omp taskwait
    }
  }
}

static void nested_master_task(unsigned long repetitions) {
#pragma omp parallel
  {
#pragma omp master
    for (unsigned long i = 0; i < repetitions; i++) {
#pragma omp task
      {
        for (int inner = 0; inner < epcc_threads; inner++) {
#pragma omp task
          epcc_delay();
        }
#pragma omp taskwait
      }
    }
  }
}

/* ---- trees of tasks: kTree delays in each ---- */

/* A delay in every task: 2^depth - 1 of them, and one in the task that plants the tree. */
static void branch_tree(int depth) {
  if (depth == 0) return;
#pragma omp task
  {
    branch_tree(depth - 1);
    branch_tree(depth - 1);
    epcc_delay();
  }
}

static void branch_task_tree(unsigned long repetitions) {
#pragma omp parallel
  {
    for (unsigned long tree = 0; tree < repetitions / kTree; tree++) {
#pragma omp task
      {
        branch_tree(kDepth);
        epcc_delay();
      }
    }
    for (unsigned long i = 0; i < repetitions % kTree; i++) { /* too few for a tree */
#pragma omp task
      epcc_delay();
    }
  }
}

/* Delays at the leaves only, 2^depth of them. */
static void leaf_tree(int depth) {
  if (depth == 0) {
    epcc_delay();
    return;
  }
#pragma omp task
  {
    leaf_tree(depth - 1);
    leaf_tree(depth - 1);
  }
}

static void leaf_task_tree(unsigned long repetitions) {
#pragma omp parallel
  {
    for (unsigned long tree = 0; tree < repetitions / kTree; tree++) leaf_tree(kDepth);
    for (unsigned long i = 0; i < repetitions % kTree; i++) { /* too few for a tree */
#pragma omp task
      epcc_delay();
    }
  }
}

int main(int argc, char** argv) {
  static const struct epcc_reference reference = {"reference time 1", delay_alone};
  static const struct epcc_kernel kernels[] = {
      {"PARALLEL TASK", parallel_task, &reference, 0},
      {"MASTER TASK", master_task, &reference, 0},
      {"MASTER TASK BUSY WORKERS", master_task_busy_workers, &reference, 0},
      {"CONDITIONAL TASK", conditional_task, &reference, 0},
      {"TASK WAIT", task_wait, &reference, 0},
      {"TASK BARRIER", task_barrier, &reference, 0},
      {"NESTED TASK", nested_task, &reference, 0},
      {"NESTED MASTER TASK", nested_master_task, &reference, 0},
      {"BRANCH TASK TREE", branch_task_tree, &reference, 0},
      {"LEAF TASK TREE", leaf_task_tree, &reference, 0},
  };
  static const struct epcc_suite suite = {"taskbench", kernels, sizeof kernels / sizeof kernels[0], 0, NULL};
  return epcc_main(argc, argv, &suite);
}
