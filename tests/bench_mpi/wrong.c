/* Collectives that do the wrong thing, to see whether mpi_sweep notices. Preloaded; WRONG names the one that is broken.
   */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int broken(const char* name) {
  const char* wrong = getenv("WRONG");
  return wrong && strcmp(wrong, name) == 0;
}

static int rank_of(MPI_Comm comm) {
  int rank;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

/* The last byte of the payload; never a count that mpi_sweep's ranks agree on. */
static void spoil(void* buffer, int count, MPI_Datatype type) {
  int size;
  PMPI_Type_size(type, &size);
  if (count > 0) ((unsigned char*)buffer)[(long)count * size - 1] ^= 1;
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const int result = PMPI_Bcast(buffer, count, type, root, comm);
  if (broken("bcast") && type == MPI_BYTE && rank_of(comm) != root) spoil(buffer, count, type);
  return result;
}

int MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  const int result = PMPI_Reduce(send, receive, count, type, op, root, comm);
  if (broken("reduce") && op == MPI_SUM && rank_of(comm) == root) spoil(receive, count, type);
  return result;
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const int result = PMPI_Allreduce(send, receive, count, type, op, comm);
  if (broken("overrun")) spoil(receive, count + 1, type); /* the result is right, but one more is written */
  if (broken("allreduce") && rank_of(comm) == 1) spoil(receive, count, type);
  return result;
}

int MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int count, MPI_Datatype type,
                  MPI_Comm comm) {
  const int result = PMPI_Allgather(send, send_count, send_type, receive, count, type, comm);
  if (broken("allgather") && rank_of(comm) == 1) spoil(receive, count, type);
  return result;
}

int MPI_Gather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int count, MPI_Datatype type,
               int root, MPI_Comm comm) {
  const int result = PMPI_Gather(send, send_count, send_type, receive, count, type, root, comm);
  if (broken("gather") && rank_of(comm) == root) spoil(receive, count, type);
  return result;
}

int MPI_Scatter(const void* send, int send_count, MPI_Datatype send_type, void* receive, int count, MPI_Datatype type,
                int root, MPI_Comm comm) {
  const int result = PMPI_Scatter(send, send_count, send_type, receive, count, type, root, comm);
  if (broken("scatter") && rank_of(comm) == 1) spoil(receive, count, type);
  return result;
}

int MPI_Allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive, const int* counts,
                   const int* places, MPI_Datatype type, MPI_Comm comm) {
  const int result = PMPI_Allgatherv(send, send_count, send_type, receive, counts, places, type, comm);
  if (broken("allgatherv") && rank_of(comm) == 1) spoil(receive, counts[0], type);
  return result;
}

int MPI_Gatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive, const int* counts,
                const int* places, MPI_Datatype type, int root, MPI_Comm comm) {
  const int result = PMPI_Gatherv(send, send_count, send_type, receive, counts, places, type, root, comm);
  if (broken("gatherv") && rank_of(comm) == root) spoil(receive, counts[0], type);
  return result;
}

int MPI_Scatterv(const void* send, const int* counts, const int* places, MPI_Datatype send_type, void* receive,
                 int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const int result = PMPI_Scatterv(send, counts, places, send_type, receive, count, type, root, comm);
  if (broken("scatterv") && rank_of(comm) == 1) spoil(receive, count, type);
  return result;
}

int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive, int count, MPI_Datatype type,
                 MPI_Comm comm) {
  const int result = PMPI_Alltoall(send, send_count, send_type, receive, count, type, comm);
  if (broken("alltoall") && rank_of(comm) == 1) spoil(receive, count, type);
  return result;
}

int MPI_Alltoallv(const void* send, const int* send_counts, const int* from, MPI_Datatype send_type, void* receive,
                  const int* counts, const int* places, MPI_Datatype type, MPI_Comm comm) {
  const int result = PMPI_Alltoallv(send, send_counts, from, send_type, receive, counts, places, type, comm);
  if (broken("alltoallv") && rank_of(comm) == 1) spoil(receive, counts[0], type);
  return result;
}

int MPI_Reduce_scatter_block(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const int result = PMPI_Reduce_scatter_block(send, receive, count, type, op, comm);
  if (broken("reduce-scatter-block") && rank_of(comm) == 1) spoil(receive, count, type);
  return result;
}

int MPI_Reduce_scatter(const void* send, void* receive, const int* counts, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
  const int result = PMPI_Reduce_scatter(send, receive, counts, type, op, comm);
  if (broken("reduce-scatter") && rank_of(comm) == 1) spoil(receive, counts[1], type);
  return result;
}

int MPI_Scan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const int result = PMPI_Scan(send, receive, count, type, op, comm);
  if (broken("scan") && rank_of(comm) == 1) spoil(receive, count, type);
  return result;
}

int MPI_Exscan(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const int result = PMPI_Exscan(send, receive, count, type, op, comm);
  if (broken("exscan") && rank_of(comm) == 1) spoil(receive, count, type);
  return result;
}

int MPI_Barrier(MPI_Comm comm) {
  if (!broken("barrier")) return PMPI_Barrier(comm);
  if (rank_of(comm) != 0) usleep(2000);
  return MPI_SUCCESS;
}
