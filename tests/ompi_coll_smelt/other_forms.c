// To be preloaded: programs written with blocking collectives are run with another form of them (FORM=...), so that one
// set of checks serves all.
//   nonblocking  the nonblocking call, then MPI_Wait
//   persistent   a persistent request, started and waited for twice where that gives the same again, and freed
// Whether a nonblocking call is served may depend on blocking ones before it on the communicator: the first of a
// communicator is preceded by as many as are left to the components below, and a long one, and every 16th by a barrier.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <mpi.h>
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define FORM_INIT(name) MPIX_##name##_init
#else
#define FORM_INIT(name) MPI_##name##_init
#endif

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int key = MPI_KEYVAL_INVALID;
static int is_persistent;

static void set_up(void) {
  const char *form = getenv("FORM");
  is_persistent = form != NULL && strcmp(form, "persistent") == 0;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
}

static int persistent(MPI_Comm comm) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  enum { kPatience = 8, kLong = 500 };
  void *value;
  int known, size, inter;
  pthread_once(&once, set_up);
  MPI_Comm_get_attr(comm, key, &value, &known);
  const intptr_t calls = known ? (intptr_t)value : 0;
  MPI_Comm_set_attr(comm, key, (void *)(calls + 1));
  MPI_Comm_size(comm, &size);
  MPI_Comm_test_inter(comm, &inter);
  if (calls == 0 && !inter && size > 1) {
    long in[kLong] = {0}, out[kLong];
    for (int i = 0; i < kPatience; ++i) PMPI_Barrier(comm);
    PMPI_Allreduce(in, out, kLong, MPI_LONG, MPI_SUM, comm);
  } else if (calls % 16 == 15) {
    PMPI_Barrier(comm);
  }
  return is_persistent;
}

static int completed(int error, MPI_Request *request) {
  return error == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : error;
}

// In place, or where an operand is the result, the second time would begin with other operands.
static int started(int error, MPI_Request *request, int times) {
  for (int i = 0; i < times && error == MPI_SUCCESS; ++i) {
    error = MPI_Start(request);
    if (error == MPI_SUCCESS) error = MPI_Wait(request, MPI_STATUS_IGNORE);
  }
  if (*request != MPI_REQUEST_NULL) MPI_Request_free(request);
  return error;
}

int MPI_Barrier(MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm)) return started(FORM_INIT(Barrier)(comm, MPI_INFO_NULL, &request), &request, 2);
  return completed(MPI_Ibarrier(comm, &request), &request);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm))
    return started(FORM_INIT(Bcast)(buffer, count, type, root, comm, MPI_INFO_NULL, &request), &request, 2);
  return completed(MPI_Ibcast(buffer, count, type, root, comm, &request), &request);
}

// Open MPI's persistent reductions refuse equal addresses even of nothing, which the others allow.
int MPI_Reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm) && in != out)
    return started(FORM_INIT(Reduce)(in, out, count, type, op, root, comm, MPI_INFO_NULL, &request), &request, 1);
  return completed(MPI_Ireduce(in, out, count, type, op, root, comm, &request), &request);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm) && in != out)
    return started(FORM_INIT(Allreduce)(in, out, count, type, op, comm, MPI_INFO_NULL, &request), &request, 1);
  return completed(MPI_Iallreduce(in, out, count, type, op, comm, &request), &request);
}

int MPI_Allgather(const void *in, int send, MPI_Datatype send_type, void *out, int count, MPI_Datatype type,
                  MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm))
    return started(FORM_INIT(Allgather)(in, send, send_type, out, count, type, comm, MPI_INFO_NULL, &request), &request,
                   2);
  return completed(MPI_Iallgather(in, send, send_type, out, count, type, comm, &request), &request);
}

int MPI_Reduce_scatter(const void *in, void *out, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm) && in != out)
    return started(FORM_INIT(Reduce_scatter)(in, out, counts, type, op, comm, MPI_INFO_NULL, &request), &request, 1);
  return completed(MPI_Ireduce_scatter(in, out, counts, type, op, comm, &request), &request);
}

int MPI_Reduce_scatter_block(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm) && in != out)
    return started(FORM_INIT(Reduce_scatter_block)(in, out, count, type, op, comm, MPI_INFO_NULL, &request), &request,
                   1);
  return completed(MPI_Ireduce_scatter_block(in, out, count, type, op, comm, &request), &request);
}

int MPI_Scan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm) && in != out)
    return started(FORM_INIT(Scan)(in, out, count, type, op, comm, MPI_INFO_NULL, &request), &request, 1);
  return completed(MPI_Iscan(in, out, count, type, op, comm, &request), &request);
}

int MPI_Exscan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm) && in != out)
    return started(FORM_INIT(Exscan)(in, out, count, type, op, comm, MPI_INFO_NULL, &request), &request, 1);
  return completed(MPI_Iexscan(in, out, count, type, op, comm, &request), &request);
}

int MPI_Alltoall(const void *in, int send, MPI_Datatype send_type, void *out, int count, MPI_Datatype type,
                 MPI_Comm comm) {
  MPI_Request request;
  const int times = in == MPI_IN_PLACE ? 1 : 2;
  if (persistent(comm))
    return started(FORM_INIT(Alltoall)(in, send, send_type, out, count, type, comm, MPI_INFO_NULL, &request), &request,
                   times);
  return completed(MPI_Ialltoall(in, send, send_type, out, count, type, comm, &request), &request);
}

int MPI_Alltoallv(const void *in, const int *send, const int *from, MPI_Datatype send_type, void *out,
                  const int *counts, const int *places, MPI_Datatype type, MPI_Comm comm) {
  MPI_Request request;
  const int times = in == MPI_IN_PLACE ? 1 : 2;
  if (persistent(comm))
    return started(
        FORM_INIT(Alltoallv)(in, send, from, send_type, out, counts, places, type, comm, MPI_INFO_NULL, &request),
        &request, times);
  return completed(MPI_Ialltoallv(in, send, from, send_type, out, counts, places, type, comm, &request), &request);
}

int MPI_Alltoallw(const void *in, const int *send, const int *from, const MPI_Datatype *send_types, void *out,
                  const int *counts, const int *places, const MPI_Datatype *types, MPI_Comm comm) {
  MPI_Request request;
  const int times = in == MPI_IN_PLACE ? 1 : 2;
  if (persistent(comm))
    return started(
        FORM_INIT(Alltoallw)(in, send, from, send_types, out, counts, places, types, comm, MPI_INFO_NULL, &request),
        &request, times);
  return completed(MPI_Ialltoallw(in, send, from, send_types, out, counts, places, types, comm, &request), &request);
}

int MPI_Neighbor_allgather(const void *in, int send, MPI_Datatype send_type, void *out, int count, MPI_Datatype type,
                           MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm))
    return started(FORM_INIT(Neighbor_allgather)(in, send, send_type, out, count, type, comm, MPI_INFO_NULL, &request),
                   &request, 2);
  return completed(MPI_Ineighbor_allgather(in, send, send_type, out, count, type, comm, &request), &request);
}

int MPI_Neighbor_allgatherv(const void *in, int send, MPI_Datatype send_type, void *out, const int *counts,
                            const int *places, MPI_Datatype type, MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm))
    return started(
        FORM_INIT(Neighbor_allgatherv)(in, send, send_type, out, counts, places, type, comm, MPI_INFO_NULL, &request),
        &request, 2);
  return completed(MPI_Ineighbor_allgatherv(in, send, send_type, out, counts, places, type, comm, &request), &request);
}

int MPI_Neighbor_alltoall(const void *in, int send, MPI_Datatype send_type, void *out, int count, MPI_Datatype type,
                          MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm))
    return started(FORM_INIT(Neighbor_alltoall)(in, send, send_type, out, count, type, comm, MPI_INFO_NULL, &request),
                   &request, 2);
  return completed(MPI_Ineighbor_alltoall(in, send, send_type, out, count, type, comm, &request), &request);
}

int MPI_Neighbor_alltoallv(const void *in, const int *send, const int *from, MPI_Datatype send_type, void *out,
                           const int *counts, const int *places, MPI_Datatype type, MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm))
    return started(FORM_INIT(Neighbor_alltoallv)(in, send, from, send_type, out, counts, places, type, comm,
                                                 MPI_INFO_NULL, &request),
                   &request, 2);
  return completed(MPI_Ineighbor_alltoallv(in, send, from, send_type, out, counts, places, type, comm, &request),
                   &request);
}

int MPI_Neighbor_alltoallw(const void *in, const int *send, const MPI_Aint *from, const MPI_Datatype *send_types,
                           void *out, const int *counts, const MPI_Aint *places, const MPI_Datatype *types,
                           MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm))
    return started(FORM_INIT(Neighbor_alltoallw)(in, send, from, send_types, out, counts, places, types, comm,
                                                 MPI_INFO_NULL, &request),
                   &request, 2);
  return completed(MPI_Ineighbor_alltoallw(in, send, from, send_types, out, counts, places, types, comm, &request),
                   &request);
}

int MPI_Gather(const void *in, int send, MPI_Datatype send_type, void *out, int count, MPI_Datatype type, int root,
               MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm))
    return started(FORM_INIT(Gather)(in, send, send_type, out, count, type, root, comm, MPI_INFO_NULL, &request),
                   &request, 2);
  return completed(MPI_Igather(in, send, send_type, out, count, type, root, comm, &request), &request);
}

int MPI_Scatter(const void *in, int send, MPI_Datatype send_type, void *out, int count, MPI_Datatype type, int root,
                MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm))
    return started(FORM_INIT(Scatter)(in, send, send_type, out, count, type, root, comm, MPI_INFO_NULL, &request),
                   &request, 2);
  return completed(MPI_Iscatter(in, send, send_type, out, count, type, root, comm, &request), &request);
}

int MPI_Allgatherv(const void *in, int send, MPI_Datatype send_type, void *out, const int *counts, const int *at,
                   MPI_Datatype type, MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm))
    return started(FORM_INIT(Allgatherv)(in, send, send_type, out, counts, at, type, comm, MPI_INFO_NULL, &request),
                   &request, 2);
  return completed(MPI_Iallgatherv(in, send, send_type, out, counts, at, type, comm, &request), &request);
}

int MPI_Scatterv(const void *in, const int *counts, const int *at, MPI_Datatype send_type, void *out, int count,
                 MPI_Datatype type, int root, MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm))
    return started(
        FORM_INIT(Scatterv)(in, counts, at, send_type, out, count, type, root, comm, MPI_INFO_NULL, &request), &request,
        2);
  return completed(MPI_Iscatterv(in, counts, at, send_type, out, count, type, root, comm, &request), &request);
}

int MPI_Gatherv(const void *in, int send, MPI_Datatype send_type, void *out, const int *counts, const int *at,
                MPI_Datatype type, int root, MPI_Comm comm) {
  MPI_Request request;
  if (persistent(comm))
    return started(FORM_INIT(Gatherv)(in, send, send_type, out, counts, at, type, root, comm, MPI_INFO_NULL, &request),
                   &request, 2);
  return completed(MPI_Igatherv(in, send, send_type, out, counts, at, type, root, comm, &request), &request);
}
