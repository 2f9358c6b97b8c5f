// For two pretended nodes: proves that results on a communicator that spans nodes are right, and that the component
// serves it as well as the communicators of each node, neither disturbing the other. Counters tell who served.
//   nodes [unserved | alone | crowded]
// unserved: the component is absent. alone: it is to leave the communicator that spans nodes to others, as with one
// rank on each node, or with SMELT_NODES=0. crowded: of that one it is to leave to others what is slower where ranks
// share CPUs (longest_in_crowd in rails/nodes/nodes.c).
#include "check.h"

enum { kCounters = 5, kCounts = 6 };
// Of the calls with each root. In a crowd: barriers; reductions of 40,000 bytes at most, allreduces of 40.
enum { kAll = kCounters * kCounts, kInCrowd = kCounts + 5 + 2 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[kCounters];
static int found;

// Handles are kept: Open MPI counts from a handle's creation on.
static void open_counters(void) {
  static const char *const names[kCounters] = {"coll_smelt_barrier_served", "coll_smelt_bcast_served",
                                               "coll_smelt_reduce_served", "coll_smelt_allreduce_served",
                                               "coll_smelt_allgather_served"};
  int provided, index, count;
  CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
  for (int i = 0; i < kCounters; ++i) {
    if (MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS) continue;
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[found++], &count) == MPI_SUCCESS);
  }
}

static void close_counters(void) {
  for (int i = 0; i < found; ++i) MPI_T_pvar_handle_free(session, &handles[i]);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
}

static unsigned long long all_served(void) {
  unsigned long long value, sum = 0;
  for (int i = 0; i < found; ++i) {
    CHECK(MPI_T_pvar_read(session, handles[i], &value) == MPI_SUCCESS);
    sum += value;
  }
  return sum;
}

// Returns how many collectives it called.
static int exercise(MPI_Comm comm, const char *name) {
  int rank, size, calls = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int i = 0, count = 1; i < kCounts; ++i, count *= 10) {
    int *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * (size_t)size * sizeof *out);
    for (int root = 0; root < size; ++root, calls += kCounters) {
      for (int k = 0; k < count; ++k) in[k] = rank == root ? root + k : -1;
      MPI_Bcast(in, count, MPI_INT, root, comm);
      for (int k = 0; k < count; ++k)
        if (in[k] != root + k)
          fail("%s: bcast MPI_INT count %d root %d: element %d is %d", name, count, root, k, in[k]);
      for (int k = 0; k < count; ++k) in[k] = rank + k;
      MPI_Barrier(comm);
      MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, comm);
      for (int k = 0; rank == root && k < count; ++k)
        if (out[k] != size * k + size * (size - 1) / 2)
          fail("%s: reduce MPI_SUM MPI_INT count %d root %d: element %d is %d", name, count, root, k, out[k]);
      MPI_Allreduce(in, out, count, MPI_INT, MPI_MAX, comm);
      for (int k = 0; k < count; ++k)
        if (out[k] != size - 1 + k)
          fail("%s: allreduce MPI_MAX MPI_INT count %d: element %d is %d", name, count, k, out[k]);
      MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comm);
      for (int k = 0; k < count * size; ++k)
        if (out[k] != k / count + k % count)
          fail("%s: allgather MPI_INT count %d: element %d is %d", name, count, k, out[k]);
    }
    free(in);
    free(out);
  }
  return calls;
}

// Twice, as a new communicator's first calls may go elsewhere (SMELT_TUNE=patience). `served`: of kAll, how many are
// ours?
static void expect_served(MPI_Comm comm, const char *name, int served) {
  exercise(comm, name);
  const unsigned long long before = all_served();
  const int calls = exercise(comm, name), wanted = calls / kAll * served;
  if (all_served() - before != (unsigned long long)wanted)
    fail("%s: %llu of %d collectives were served instead of %d", name, all_served() - before, calls, wanted);
}

int main(int argc, char **argv) {
  int node_size;
  start(&argc, &argv);
  const int absent = has_argument(argc, argv, "unserved"), alone = has_argument(argc, argv, "alone");
  const int crowded = has_argument(argc, argv, "crowded");
  open_counters();
  expect_served(MPI_COMM_WORLD, "world", absent || alone ? 0 : crowded ? kInCrowd : kAll);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &node_size);
  if (node_size == world_size) fail("all ranks are on one node");
  expect_served(node, "node", !absent && node_size > 1 ? kAll : 0);
  for (int round = 0; round < 5; ++round) {
    exercise(node, "node, in turns");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_free(&node);
  close_counters();
  return finish();
}
