// Negative control, to be preloaded: an MPI whose collectives are wrong in one way (BROKEN=...), so that the driver
// sees the test programs fail. Where a call is wrong, it is so on all ranks or in a way that does not deadlock.
//   bit       every 10th allreduce, allgather, alltoall and alltoallw has one bit flipped on rank 1,
//             every 10th gather on the root
//   block     every 10th reduce_scatter has one bit flipped on rank 1
//   prefix    every 10th scan and exscan has one bit flipped on rank 1
//   order     reductions combine in reversed rank order
//   early     every 7th barrier is none
//   spill     bcast writes one byte behind the buffer
//   stale     bcast leaves the last element alone where it is longer than 100 elements
//   source    allreduce changes its send buffer
//   swapped   neighbours get each other's blocks
//   NAME      every 10th scatter, scatterv, gatherv, allgatherv, neighbor_allgather, neighbor_allgatherv,
//             neighbor_alltoallv or neighbor_alltoallw has one bit flipped where something arrives
//   groups    of every allgather between two groups one bit is flipped
//   restart   a persistent bcast sends what its buffer held when it was made
//   operand   every 10th nonblocking allreduce of rank 1 has one bit of its operand flipped
//   leak      every communicator leaves a file and a mapping behind
//   stuck     waiting in a barrier lets nothing else proceed
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static int is(const char *wanted) {
  const char *how = getenv("BROKEN");
  return how != NULL && strcmp(how, wanted) == 0;
}

static int rank_in(MPI_Comm comm) {
  int rank;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

static int is_inter(MPI_Comm comm) {
  int yes;
  PMPI_Comm_test_inter(comm, &yes);
  return yes;
}

// The place after the last element's last byte.
static unsigned char *end_of(void *buffer, int count, MPI_Datatype type) {
  MPI_Aint lower, extent;
  PMPI_Type_get_true_extent(type, &lower, &extent);
  MPI_Aint ignored, step;
  PMPI_Type_get_extent(type, &ignored, &step);
  return (unsigned char *)buffer + (count - 1) * step + lower + extent;
}

static MPI_Comm reversed_copy(MPI_Comm comm) {
  MPI_Comm reversed;
  PMPI_Comm_split(comm, 0, -rank_in(comm), &reversed);
  return reversed;
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static atomic_uint calls;
  if (is("order") && count > 0 && !is_inter(comm)) {
    MPI_Comm reversed = reversed_copy(comm);
    const int result = PMPI_Allreduce(in, out, count, type, op, reversed);
    PMPI_Comm_free(&reversed);
    return result;
  }
  const int result = PMPI_Allreduce(in, out, count, type, op, comm);
  if (count == 0) return result;
  if (is("bit") && atomic_fetch_add(&calls, 1) % 10 == 9 && rank_in(comm) == 1) end_of(out, count, type)[-1] ^= 1;
  if (is("source") && in != MPI_IN_PLACE) end_of((void *)in, count, type)[-1] ^= 1;
  return result;
}

int MPI_Iallreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request) {
  static atomic_uint calls;
  void *const operand = in == MPI_IN_PLACE ? out : (void *)in;
  if (count > 0 && is("operand") && atomic_fetch_add(&calls, 1) % 10 == 9 && rank_in(comm) == 1)
    end_of(operand, count, type)[-1] ^= 1;
  return PMPI_Iallreduce(in, out, count, type, op, comm, request);
}

int MPI_Allgather(const void *in, int send, MPI_Datatype send_type, void *out, int count, MPI_Datatype type,
                  MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Allgather(in, send, send_type, out, count, type, comm);
  if (count > 0 && is("groups") && is_inter(comm)) end_of(out, count, type)[-1] ^= 1;
  if (count > 0 && is("bit") && atomic_fetch_add(&calls, 1) % 10 == 9 && rank_in(comm) == 1)
    end_of(out, count, type)[-1] ^= 1;
  return result;
}

int MPI_Gather(const void *in, int send, MPI_Datatype send_type, void *out, int count, MPI_Datatype type, int root,
               MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Gather(in, send, send_type, out, count, type, root, comm);
  if (rank_in(comm) == root && count > 0 && is("bit") && atomic_fetch_add(&calls, 1) % 10 == 9)
    end_of(out, count, type)[-1] ^= 1;
  return result;
}

// One bit of the first block that has anything, every tenth time.
static void flip_in_row(atomic_uint *calls, void *out, int blocks, const int *counts, const int *places,
                        MPI_Datatype type) {
  MPI_Aint lower, extent;
  PMPI_Type_get_extent(type, &lower, &extent);
  if (atomic_fetch_add(calls, 1) % 10 != 9) return;
  for (int i = 0; i < blocks; ++i)
    if (counts[i] > 0) {
      end_of((char *)out + places[i] * extent, counts[i], type)[-1] ^= 1;
      return;
    }
}

static int size_of(MPI_Comm comm) {
  int size;
  PMPI_Comm_size(comm, &size);
  return size;
}

int MPI_Scatter(const void *in, int send, MPI_Datatype send_type, void *out, int count, MPI_Datatype type, int root,
                MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Scatter(in, send, send_type, out, count, type, root, comm);
  if (is("scatter") && rank_in(comm) != root) flip_in_row(&calls, out, 1, &count, (int[]){0}, type);
  return result;
}

int MPI_Scatterv(const void *in, const int *sends, const int *from, MPI_Datatype send_type, void *out, int count,
                 MPI_Datatype type, int root, MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Scatterv(in, sends, from, send_type, out, count, type, root, comm);
  if (is("scatterv") && rank_in(comm) != root) flip_in_row(&calls, out, 1, &count, (int[]){0}, type);
  return result;
}

int MPI_Gatherv(const void *in, int send, MPI_Datatype send_type, void *out, const int *counts, const int *places,
                MPI_Datatype type, int root, MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Gatherv(in, send, send_type, out, counts, places, type, root, comm);
  if (is("gatherv") && rank_in(comm) == root) flip_in_row(&calls, out, size_of(comm), counts, places, type);
  return result;
}

int MPI_Allgatherv(const void *in, int send, MPI_Datatype send_type, void *out, const int *counts, const int *places,
                   MPI_Datatype type, MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Allgatherv(in, send, send_type, out, counts, places, type, comm);
  if (is("allgatherv") && rank_in(comm) == 1) flip_in_row(&calls, out, size_of(comm), counts, places, type);
  return result;
}

static void flip_every_tenth(atomic_uint *calls, void *out, int count, MPI_Datatype type, MPI_Comm comm) {
  if (count > 0 && atomic_fetch_add(calls, 1) % 10 == 9 && rank_in(comm) == 1) end_of(out, count, type)[-1] ^= 1;
}

int MPI_Reduce_scatter(const void *in, void *out, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Reduce_scatter(in, out, counts, type, op, comm);
  if (is("block")) flip_every_tenth(&calls, out, counts[rank_in(comm)], type, comm);
  return result;
}

int MPI_Reduce_scatter_block(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Reduce_scatter_block(in, out, count, type, op, comm);
  if (is("block")) flip_every_tenth(&calls, out, count, type, comm);
  return result;
}

int MPI_Scan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Scan(in, out, count, type, op, comm);
  if (is("prefix")) flip_every_tenth(&calls, out, count, type, comm);
  return result;
}

int MPI_Exscan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Exscan(in, out, count, type, op, comm);
  if (is("prefix")) flip_every_tenth(&calls, out, count, type, comm);
  return result;
}

int MPI_Alltoall(const void *in, int send, MPI_Datatype send_type, void *out, int count, MPI_Datatype type,
                 MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Alltoall(in, send, send_type, out, count, type, comm);
  if (count > 0 && is("bit") && atomic_fetch_add(&calls, 1) % 10 == 9 && rank_in(comm) == 1)
    end_of(out, count, type)[-1] ^= 1;
  return result;
}

int MPI_Alltoallw(const void *in, const int *send, const int *from, const MPI_Datatype *send_types, void *out,
                  const int *counts, const int *places, const MPI_Datatype *types, MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Alltoallw(in, send, from, send_types, out, counts, places, types, comm);
  if (counts[0] > 0 && is("bit") && atomic_fetch_add(&calls, 1) % 10 == 9 && rank_in(comm) == 1)
    end_of((char *)out + places[0], counts[0], types[0])[-1] ^= 1;
  return result;
}

int MPI_Reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  if (!is("order") || is_inter(comm)) return PMPI_Reduce(in, out, count, type, op, root, comm);
  int size;
  PMPI_Comm_size(comm, &size);
  MPI_Comm reversed = reversed_copy(comm);
  const int result = PMPI_Reduce(in, out, count, type, op, size - 1 - root, reversed);
  PMPI_Comm_free(&reversed);
  return result;
}

int MPI_Barrier(MPI_Comm comm) {
  static atomic_uint calls;
  if (is("early") && atomic_fetch_add(&calls, 1) % 7 == 6) return MPI_SUCCESS;
  if (is("stuck"))
    for (const time_t start = time(NULL); time(NULL) < start + 1000;) {
    }
  return PMPI_Barrier(comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const int receives = !is_inter(comm) && rank_in(comm) != root;
  unsigned char *end = count > 0 && buffer != NULL ? end_of(buffer, count, type) : NULL;
  const unsigned char last = end != NULL && is("stale") && count > 100 ? end[-1] : 0;
  const int result = PMPI_Bcast(buffer, count, type, root, comm);
  if (is("spill") && receives && end != NULL && buffer != MPI_BOTTOM) *end ^= 1;
  if (is("stale") && receives && end != NULL && count > 100) end[-1] = last;
  return result;
}

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Bcast_init MPIX_Bcast_init
#define PMPI_Bcast_init PMPIX_Bcast_init
#endif
int MPI_Bcast_init(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                   MPI_Request *request) {
  if (is("restart") && count > 0 && rank_in(comm) == root) {
    MPI_Aint lower, extent;
    PMPI_Type_get_true_extent(type, &lower, &extent);
    unsigned char *const begin = (unsigned char *)buffer + lower, *const copy = malloc(
                                                                      (size_t)(end_of(buffer, count, type) - begin));
    if (copy != NULL)
      buffer = (unsigned char *)memcpy(copy, begin, (size_t)(end_of(buffer, count, type) - begin)) - lower;
  }
  return PMPI_Bcast_init(buffer, count, type, root, comm, info, request);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy) {
  if (is("leak")) {
    const int file = open("/dev/zero", O_RDWR);
    if (file >= 0) mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  }
  return PMPI_Comm_dup(comm, copy);
}

// Of a ring, what is for above goes below and the other way round.
int MPI_Neighbor_alltoall(const void *in, int send, MPI_Datatype send_type, void *out, int count, MPI_Datatype type,
                          MPI_Comm comm) {
  enum { kMost = 16 };
  int topology, dimensions, counts[kMost], places[kMost], sends[kMost], sent[kMost];
  PMPI_Topo_test(comm, &topology);
  if (!is("swapped") || topology != MPI_CART || count == 0)
    return PMPI_Neighbor_alltoall(in, send, send_type, out, count, type, comm);
  PMPI_Cartdim_get(comm, &dimensions);
  for (int i = 0; i < 2 * dimensions && i < kMost; ++i) {
    counts[i] = count, places[i] = i * count;
    sends[i] = send, sent[i] = (i ^ 1) * send;
  }
  return PMPI_Neighbor_alltoallv(in, sends, sent, send_type, out, counts, places, type, comm);
}

// How many blocks arrive.
static int incoming(MPI_Comm comm) {
  int topology, count = 0, ignored;
  PMPI_Topo_test(comm, &topology);
  if (topology == MPI_CART) PMPI_Cartdim_get(comm, &count), count *= 2;
  if (topology == MPI_GRAPH) PMPI_Graph_neighbors_count(comm, rank_in(comm), &count);
  if (topology == MPI_DIST_GRAPH) PMPI_Dist_graph_neighbors_count(comm, &count, &ignored, &ignored);
  return count;
}

int MPI_Neighbor_allgather(const void *in, int send, MPI_Datatype send_type, void *out, int count, MPI_Datatype type,
                           MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Neighbor_allgather(in, send, send_type, out, count, type, comm);
  if (is("neighbor_allgather")) flip_in_row(&calls, out, incoming(comm) > 0, &count, (int[]){0}, type);
  return result;
}

int MPI_Neighbor_allgatherv(const void *in, int send, MPI_Datatype send_type, void *out, const int *counts,
                            const int *places, MPI_Datatype type, MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Neighbor_allgatherv(in, send, send_type, out, counts, places, type, comm);
  if (is("neighbor_allgatherv")) flip_in_row(&calls, out, incoming(comm), counts, places, type);
  return result;
}

int MPI_Neighbor_alltoallv(const void *in, const int *sends, const int *from, MPI_Datatype send_type, void *out,
                           const int *counts, const int *places, MPI_Datatype type, MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Neighbor_alltoallv(in, sends, from, send_type, out, counts, places, type, comm);
  if (is("neighbor_alltoallv")) flip_in_row(&calls, out, incoming(comm), counts, places, type);
  return result;
}

int MPI_Neighbor_alltoallw(const void *in, const int *sends, const MPI_Aint *from, const MPI_Datatype *send_types,
                           void *out, const int *counts, const MPI_Aint *places, const MPI_Datatype *types,
                           MPI_Comm comm) {
  static atomic_uint calls;
  const int result = PMPI_Neighbor_alltoallw(in, sends, from, send_types, out, counts, places, types, comm);
  if (is("neighbor_alltoallw") && incoming(comm) > 0)
    flip_in_row(&calls, (char *)out + places[0], 1, counts, (int[]){0}, types[0]);
  return result;
}
