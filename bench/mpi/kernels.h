/* The collectives that are measured, each as one call of a tight loop, and the check that it does what it should.
 *
 * No call may be answered from what an earlier call left behind, so the contents differ from call to call: every
 * contribution's first element is stamped with the call's number before the call (one store: for small messages that is
 * the whole message). For the checks all elements are fresh.
 *
 * Reductions are MPI_SUM of MPI_DOUBLE from 8 bytes on and MPI_BXOR of MPI_BYTE below. The doubles are small whole
 * numbers, so that every order of summing gives the same bits.
 */
#ifndef SMELT_BENCH_MPI_KERNELS_H
#define SMELT_BENCH_MPI_KERNELS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "node.h"

struct work {
  struct node* node;
  int rank, ranks;
  size_t bytes;        /* of one message */
  unsigned char* send; /* also what bcast overwrites */
  unsigned char* receive;
  unsigned char* gathered; /* of all ranks */
  unsigned char* row;      /* for each */
  int *counts, *places;    /* of the blocks of both, in bytes */
  int* shares;             /* of a reduce-scatter: everybody's block, in elements, the longest of `bytes` */
};

struct kernel {
  const char* name;
  bool sized; /* false: has no message, is measured once with size 0 */
  void (*call)(const struct work* work, long number);
  void (*check)(struct work* work, long number); /* one call on fresh buffers; a wrong result ends the program */
};

extern const struct kernel kernels[];
extern const int kernel_count;

const struct kernel* find_kernel(const char* name); /* NULL: there is none */

/* Buffers of the size, first touched by this rank. */
void work_open(struct work* work, struct node* node, size_t bytes);
void work_close(struct work* work);

#endif
