/* The ranks of one machine share, beside MPI, a page of memory, and with it three tools that do not depend on the
 * collectives under test. All three are the same code for every library that is measured.
 *
 *   ping-pong   how far apart ranks 0 and 1 are just now, one way, in nanoseconds
 *   gate        lets all ranks go at nearly the same moment (--skew)
 *   slots       one counter per rank: did everybody arrive before the barrier let anybody go?
 *
 * The memory is mapped by hand, not an MPI window, so that the tools lean on no library's one-sided communication
 * either. That is a matter of independence, not of speed: beside an open window Open MPI 4.1's barrier of two ranks
 * took the same time (fastest batch 0.142 µs near and 0.39 µs far with and without, 8 to 10 runs each).
 */
#ifndef SMELT_BENCH_MPI_NODE_H
#define SMELT_BENCH_MPI_NODE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct board;

struct node {
  MPI_Comm comm; /* the ranks of this machine */
  int rank, ranks;
  bool whole_world; /* every rank of the program is on this machine */
  struct board* board;
  size_t bytes;    /* of the board */
  uint32_t passed; /* how often this rank went through the gate */
};

/* Collective over MPI_COMM_WORLD. */
void node_open(struct node* node);
void node_close(struct node* node);

/* Ranks 0 and 1 of the machine play, the others return at once. The median one-way hop on rank 0; negative elsewhere,
 * and where it cannot be known: a single rank, ranks 0 and 1 on different machines, or both on one CPU. */
double node_hop_ns(struct node* node);

void node_gate(struct node* node);

void node_arrive(struct node* node, uint32_t turn);         /* before the barrier */
int node_latecomer(const struct node* node, uint32_t turn); /* after it: a rank that had not arrived, or -1 */

double now_ns(void);                        /* CLOCK_MONOTONIC, common to all processes of a machine */
int by_value(const void* a, const void* b); /* of doubles, for qsort */

#endif
