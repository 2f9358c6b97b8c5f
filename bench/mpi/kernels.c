#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kGuard = 64, kGuardByte = 0xa5, kPage = 4096 };

/* ---- contents ---- */

static bool of_doubles(const struct work* work) { return work->bytes >= sizeof(double); }
static size_t elements(const struct work* work) {
  return of_doubles(work) ? work->bytes / sizeof(double) : work->bytes;
}
static MPI_Datatype type_of(const struct work* work) { return of_doubles(work) ? MPI_DOUBLE : MPI_BYTE; }
static MPI_Op op_of(const struct work* work) { return of_doubles(work) ? MPI_SUM : MPI_BXOR; }

/* The contribution of rank `rank` to call `number`. A double is a whole number below 1024, a byte its low bits. */
static unsigned value(long number, int rank, size_t element) {
  return (unsigned)((unsigned long)number * 7 + (unsigned long)rank * 131 + element * 5) & 1023;
}

static void put(const struct work* work, unsigned char* buffer, size_t element, unsigned what) {
  if (of_doubles(work))
    ((double*)buffer)[element] = what;
  else
    buffer[element] = (unsigned char)what;
}

static void stamp(const struct work* work, long number) { put(work, work->send, 0, value(number, work->rank, 0)); }

/* Of a row, the block for rank `to`; the first `count` elements of each block. */
static unsigned value_for(long number, int rank, int to, size_t element) {
  return value(number, rank, element + 3 * (size_t)to);
}
static void stamp_row(const struct work* work, long number, size_t count) {
  for (int to = 0; to < work->ranks; to++)
    for (size_t i = 0; i < count; i++)
      put(work, work->row + work->bytes * (size_t)to, i, value_for(number, work->rank, to, i));
}

static void fill(struct work* work, long number) {
  for (size_t i = 0; i < elements(work); i++) put(work, work->send, i, value(number, work->rank, i));
  memset(work->receive, 0, work->bytes);
  memset(work->send + work->bytes, kGuardByte, kGuard);
  memset(work->receive + work->bytes, kGuardByte, kGuard);
}

void work_open(struct work* work, struct node* node, size_t bytes) {
  const size_t room = (bytes + kGuard + kPage - 1) / kPage * kPage;
  work->node = node;
  work->bytes = bytes;
  MPI_Comm_rank(MPI_COMM_WORLD, &work->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &work->ranks);
  work->send = aligned_alloc(kPage, room);
  work->receive = aligned_alloc(kPage, room);
  work->gathered = aligned_alloc(kPage, room * (size_t)work->ranks);
  work->row = aligned_alloc(kPage, room * (size_t)work->ranks);
  work->counts = malloc((size_t)work->ranks * sizeof(int));
  work->places = malloc((size_t)work->ranks * sizeof(int));
  work->shares = malloc((size_t)work->ranks * sizeof(int));
  if (!work->send || !work->receive || !work->gathered || !work->row || !work->counts || !work->places ||
      !work->shares) {
    fprintf(stderr, "mpi_sweep: no memory for messages of %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  fill(work, 0);
  memset(work->gathered, 0, room * (size_t)work->ranks);
  memset(work->row, 0, room * (size_t)work->ranks);
  for (int i = 0; i < work->ranks; i++) work->counts[i] = (int)bytes, work->places[i] = i * (int)bytes;
  for (int i = 0; i < work->ranks; i++) work->shares[i] = (int)(i % 2 ? elements(work) / 2 : elements(work));
}

void work_close(struct work* work) {
  free(work->send);
  free(work->receive);
  free(work->gathered);
  free(work->row);
  free(work->counts);
  free(work->places);
  free(work->shares);
}

/* ---- complaints ---- */

static void wrong(const struct work* work, const char* kernel, long number, size_t element, double is, double should) {
  fprintf(stderr, "mpi_sweep: WRONG RESULT: %s, %zu bytes, call %ld, rank %d of %d, element %zu: %g instead of %g\n",
          kernel, work->bytes, number, work->rank, work->ranks, element, is, should);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check_guards(const struct work* work, const char* kernel, long number) {
  for (size_t i = work->bytes; i < work->bytes + kGuard; i++)
    if (work->send[i] != kGuardByte || work->receive[i] != kGuardByte) {
      fprintf(stderr, "mpi_sweep: WRONG RESULT: %s, %zu bytes, call %ld, rank %d of %d: wrote behind its buffer\n",
              kernel, work->bytes, number, work->rank, work->ranks);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static double get(const struct work* work, const unsigned char* buffer, size_t element) {
  return of_doubles(work) ? ((const double*)buffer)[element] : buffer[element];
}

static void check_broadcast(const struct work* work, const char* kernel, long number, int root) {
  for (size_t i = 0; i < elements(work); i++) {
    const unsigned sent = value(number, root, i);
    const double should = of_doubles(work) ? sent : (unsigned char)sent;
    if (get(work, work->send, i) != should) wrong(work, kernel, number, i, get(work, work->send, i), should);
  }
  check_guards(work, kernel, number);
}

/* Over the first `ranks`, of `count` of their elements from `first` on. */
static void check_sums(const struct work* work, const char* kernel, long number, int ranks, size_t first,
                       size_t count) {
  for (size_t i = 0; i < count; i++) {
    unsigned sum = 0, bits = 0;
    for (int rank = 0; rank < ranks; rank++) {
      sum += value(number, rank, first + i);
      bits ^= value(number, rank, first + i);
    }
    const double should = of_doubles(work) ? sum : (unsigned char)bits;
    if (get(work, work->receive, i) != should) wrong(work, kernel, number, i, get(work, work->receive, i), should);
  }
}

static void check_reduction(const struct work* work, const char* kernel, long number) {
  check_sums(work, kernel, number, work->ranks, 0, elements(work));
}

/* ---- the kernels ---- */

static int rotating_root(const struct work* work, long number) { return (int)(number % work->ranks); }

static void barrier(const struct work* work, long number) {
  (void)work, (void)number;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void barrier_check(struct work* work, long number) {
  const uint32_t turn = (uint32_t)number + 1;
  node_arrive(work->node, turn);
  MPI_Barrier(MPI_COMM_WORLD);
  const int late = node_latecomer(work->node, turn);
  if (late < 0) return;
  fprintf(stderr, "mpi_sweep: WRONG RESULT: barrier, call %ld: let rank %d go before rank %d had arrived\n", number,
          work->node->rank, late);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void broadcast_from(const struct work* work, long number, int root) {
  if (work->rank == root) stamp(work, number);
  MPI_Bcast(work->send, (int)work->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void broadcast(const struct work* work, long number) { broadcast_from(work, number, 0); }
static void broadcast_rotating(const struct work* work, long number) {
  broadcast_from(work, number, rotating_root(work, number));
}

static void broadcast_check(struct work* work, long number) {
  fill(work, number);
  broadcast(work, number);
  check_broadcast(work, "bcast", number, 0);
}

static void broadcast_rotating_check(struct work* work, long number) {
  fill(work, number);
  broadcast_rotating(work, number);
  check_broadcast(work, "bcast-rotating", number, rotating_root(work, number));
}

static void reduce_to(const struct work* work, long number, int root) {
  stamp(work, number);
  MPI_Reduce(work->send, work->receive, (int)elements(work), type_of(work), op_of(work), root, MPI_COMM_WORLD);
}

static void reduce(const struct work* work, long number) { reduce_to(work, number, 0); }
static void reduce_rotating(const struct work* work, long number) {
  reduce_to(work, number, rotating_root(work, number));
}

static void reduce_check(struct work* work, long number) {
  fill(work, number);
  reduce(work, number);
  if (work->rank == 0) check_reduction(work, "reduce", number);
  check_guards(work, "reduce", number);
}

static void reduce_rotating_check(struct work* work, long number) {
  fill(work, number);
  reduce_rotating(work, number);
  if (work->rank == rotating_root(work, number)) check_reduction(work, "reduce-rotating", number);
  check_guards(work, "reduce-rotating", number);
}

static void allreduce(const struct work* work, long number) {
  stamp(work, number);
  MPI_Allreduce(work->send, work->receive, (int)elements(work), type_of(work), op_of(work), MPI_COMM_WORLD);
}

static void allreduce_check(struct work* work, long number) {
  fill(work, number);
  allreduce(work, number);
  check_reduction(work, "allreduce", number);
  check_guards(work, "allreduce", number);
}

static void allgather(const struct work* work, long number) {
  stamp(work, number);
  MPI_Allgather(work->send, (int)work->bytes, MPI_BYTE, work->gathered, (int)work->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/* Everybody's data, each in its place: to all, or a row of which a block is for us. */
static void check_gathered(const struct work* work, const char* kernel, long number, bool rows) {
  for (int rank = 0; rank < work->ranks; rank++)
    for (size_t i = 0; i < elements(work); i++) {
      const unsigned sent = rows ? value_for(number, rank, work->rank, i) : value(number, rank, i);
      const double should = of_doubles(work) ? sent : (unsigned char)sent;
      const double is = get(work, work->gathered + work->bytes * (size_t)rank, i);
      if (is != should) wrong(work, kernel, number, i, is, should);
    }
  for (size_t i = 0; i < kGuard; i++) {
    const unsigned char behind = work->gathered[work->bytes * (size_t)work->ranks + i];
    if (behind != kGuardByte) wrong(work, kernel, number, i, behind, kGuardByte);
  }
  check_guards(work, kernel, number);
}

static void guard_gathered(struct work* work, long number) {
  fill(work, number);
  memset(work->gathered + work->bytes * (size_t)work->ranks, kGuardByte, kGuard);
}

static void allgather_check(struct work* work, long number) {
  guard_gathered(work, number);
  allgather(work, number);
  check_gathered(work, "allgather", number, false);
}

static void gather(const struct work* work, long number) {
  stamp(work, number);
  MPI_Gather(work->send, (int)work->bytes, MPI_BYTE, work->gathered, (int)work->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void gather_check(struct work* work, long number) {
  guard_gathered(work, number);
  gather(work, number);
  if (work->rank == 0) check_gathered(work, "gather", number, false);
  check_guards(work, "gather", number);
}

/* Of the vector forms all blocks have the same length, which the ranks do not know of each other. */
static void allgatherv(const struct work* work, long number) {
  stamp(work, number);
  MPI_Allgatherv(work->send, (int)work->bytes, MPI_BYTE, work->gathered, work->counts, work->places, MPI_BYTE,
                 MPI_COMM_WORLD);
}

static void allgatherv_check(struct work* work, long number) {
  guard_gathered(work, number);
  allgatherv(work, number);
  check_gathered(work, "allgatherv", number, false);
}

static void gatherv(const struct work* work, long number) {
  stamp(work, number);
  MPI_Gatherv(work->send, (int)work->bytes, MPI_BYTE, work->gathered, work->counts, work->places, MPI_BYTE, 0,
              MPI_COMM_WORLD);
}

static void gatherv_check(struct work* work, long number) {
  guard_gathered(work, number);
  gatherv(work, number);
  if (work->rank == 0) check_gathered(work, "gatherv", number, false);
  check_guards(work, "gatherv", number);
}

/* Of the row of rank 0. */
static void check_scattered(const struct work* work, const char* kernel, long number) {
  for (size_t i = 0; i < elements(work); i++) {
    const unsigned sent = value_for(number, 0, work->rank, i);
    const double should = of_doubles(work) ? sent : (unsigned char)sent;
    if (get(work, work->receive, i) != should) wrong(work, kernel, number, i, get(work, work->receive, i), should);
  }
  check_guards(work, kernel, number);
}

static void scatter(const struct work* work, long number) {
  if (work->rank == 0) stamp_row(work, number, 1);
  MPI_Scatter(work->row, (int)work->bytes, MPI_BYTE, work->receive, (int)work->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void scatter_check(struct work* work, long number) {
  fill(work, number);
  stamp_row(work, number, elements(work));
  scatter(work, number);
  check_scattered(work, "scatter", number);
}

static void scatterv(const struct work* work, long number) {
  if (work->rank == 0) stamp_row(work, number, 1);
  MPI_Scatterv(work->row, work->counts, work->places, MPI_BYTE, work->receive, (int)work->bytes, MPI_BYTE, 0,
               MPI_COMM_WORLD);
}

static void scatterv_check(struct work* work, long number) {
  fill(work, number);
  stamp_row(work, number, elements(work));
  scatterv(work, number);
  check_scattered(work, "scatterv", number);
}

static void alltoall(const struct work* work, long number) {
  stamp_row(work, number, 1);
  MPI_Alltoall(work->row, (int)work->bytes, MPI_BYTE, work->gathered, (int)work->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall_check(struct work* work, long number) {
  guard_gathered(work, number);
  stamp_row(work, number, elements(work));
  alltoall(work, number);
  check_gathered(work, "alltoall", number, true);
}

static void alltoallv(const struct work* work, long number) {
  stamp_row(work, number, 1);
  MPI_Alltoallv(work->row, work->counts, work->places, MPI_BYTE, work->gathered, work->counts, work->places, MPI_BYTE,
                MPI_COMM_WORLD);
}

static void alltoallv_check(struct work* work, long number) {
  guard_gathered(work, number);
  stamp_row(work, number, elements(work));
  alltoallv(work, number);
  check_gathered(work, "alltoallv", number, true);
}

/* Everybody gets a block of `bytes`; the row of all ranks' blocks is what allgather's result would be. */
static void stamp_blocks(const struct work* work, long number) {
  for (int block = 0; block < work->ranks; block++)
    put(work, work->gathered + work->bytes * (size_t)block, 0, value(number, work->rank, 0));
}

static void reduce_scatter_block(const struct work* work, long number) {
  stamp_blocks(work, number);
  MPI_Reduce_scatter_block(work->gathered, work->receive, (int)elements(work), type_of(work), op_of(work),
                           MPI_COMM_WORLD);
}

static void reduce_scatter_block_check(struct work* work, long number) {
  fill(work, number);
  for (int block = 0; block < work->ranks; block++)
    for (size_t i = 0; i < elements(work); i++)
      put(work, work->gathered + work->bytes * (size_t)block, i, value(number, work->rank, i + (size_t)block));
  MPI_Reduce_scatter_block(work->gathered, work->receive, (int)elements(work), type_of(work), op_of(work),
                           MPI_COMM_WORLD);
  check_sums(work, "reduce-scatter-block", number, work->ranks, (size_t)work->rank, elements(work));
  check_guards(work, "reduce-scatter-block", number);
}

/* Every other rank gets half a block: of one element, none. The row has the blocks one behind the other. */
static void stamp_shares(const struct work* work, long number, bool all) {
  size_t at = 0;
  for (int block = 0; block < work->ranks; at += (size_t)work->shares[block++])
    for (size_t i = 0; i < (size_t)work->shares[block] && (all || i == 0); i++)
      put(work, work->gathered, at + i, value(number, work->rank, at + i));
}

static void reduce_scatter(const struct work* work, long number) {
  stamp_shares(work, number, false);
  MPI_Reduce_scatter(work->gathered, work->receive, work->shares, type_of(work), op_of(work), MPI_COMM_WORLD);
}

static void reduce_scatter_check(struct work* work, long number) {
  const size_t own = (size_t)work->shares[work->rank];
  size_t first = 0;
  for (int block = 0; block < work->rank; block++) first += (size_t)work->shares[block];
  fill(work, number);
  stamp_shares(work, number, true);
  reduce_scatter(work, number);
  check_sums(work, "reduce-scatter", number, work->ranks, first, own);
  for (size_t i = own; i < elements(work); i++)
    if (get(work, work->receive, i) != 0) wrong(work, "reduce-scatter", number, i, get(work, work->receive, i), 0);
  check_guards(work, "reduce-scatter", number);
}

static void scan(const struct work* work, long number) {
  stamp(work, number);
  MPI_Scan(work->send, work->receive, (int)elements(work), type_of(work), op_of(work), MPI_COMM_WORLD);
}

static void scan_check(struct work* work, long number) {
  fill(work, number);
  scan(work, number);
  check_sums(work, "scan", number, work->rank + 1, 0, elements(work));
  check_guards(work, "scan", number);
}

static void exscan(const struct work* work, long number) {
  stamp(work, number);
  MPI_Exscan(work->send, work->receive, (int)elements(work), type_of(work), op_of(work), MPI_COMM_WORLD);
}

static void exscan_check(struct work* work, long number) {
  fill(work, number);
  exscan(work, number);
  if (work->rank > 0) check_sums(work, "exscan", number, work->rank, 0, elements(work));
  check_guards(work, "exscan", number);
}

/* The barrier makes the library set up what it defers to the first collective. */
static void duplicate(const struct work* work, long number) {
  MPI_Comm copy;
  (void)work, (void)number;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Barrier(copy);
  MPI_Comm_free(&copy);
}

static void duplicate_check(struct work* work, long number) {
  MPI_Comm copy;
  int result;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Barrier(copy);
  MPI_Comm_compare(copy, MPI_COMM_WORLD, &result);
  if (result != MPI_CONGRUENT) wrong(work, "dup", number, 0, result, MPI_CONGRUENT);
  MPI_Comm_free(&copy);
}

const struct kernel kernels[] = {
    {"barrier", false, barrier, barrier_check},
    {"bcast", true, broadcast, broadcast_check},
    {"bcast-rotating", true, broadcast_rotating, broadcast_rotating_check},
    {"reduce", true, reduce, reduce_check},
    {"reduce-rotating", true, reduce_rotating, reduce_rotating_check},
    {"allreduce", true, allreduce, allreduce_check},
    {"allgather", true, allgather, allgather_check},
    {"gather", true, gather, gather_check},
    {"scatter", true, scatter, scatter_check},
    {"allgatherv", true, allgatherv, allgatherv_check},
    {"gatherv", true, gatherv, gatherv_check},
    {"scatterv", true, scatterv, scatterv_check},
    {"alltoall", true, alltoall, alltoall_check},
    {"alltoallv", true, alltoallv, alltoallv_check},
    {"reduce-scatter-block", true, reduce_scatter_block, reduce_scatter_block_check},
    {"reduce-scatter", true, reduce_scatter, reduce_scatter_check},
    {"scan", true, scan, scan_check},
    {"exscan", true, exscan, exscan_check},
    {"dup", false, duplicate, duplicate_check},
};
const int kernel_count = sizeof kernels / sizeof kernels[0];

const struct kernel* find_kernel(const char* name) {
  for (int i = 0; i < kernel_count; i++)
    if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
  return NULL;
}
