// For two pretended nodes: proves that results on a communicator that spans nodes are right and that the component
// leaves it alone, while it serves the communicators of each node. Counters tell who served; "unserved" as argument:
// the component is absent and only results are checked.
#include "check.h"

enum { kCounters = 4 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[kCounters];
static int found;

// Handles are kept: Open MPI counts from a handle's creation on.
static void open_counters(void) {
  static const char *const names[kCounters] = {"coll_smelt_barrier_served", "coll_smelt_bcast_served",
                                               "coll_smelt_reduce_served", "coll_smelt_allreduce_served"};
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
  for (int count = 1; count <= 100000; count *= 10) {
    int *in = malloc((size_t)count * sizeof *in), *out = malloc((size_t)count * sizeof *out);
    for (int root = 0; root < size; ++root, calls += 4) {
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
    }
    free(in);
    free(out);
  }
  return calls;
}

int main(int argc, char **argv) {
  int node_size;
  start(&argc, &argv);
  const int absent = has_argument(argc, argv, "unserved");
  open_counters();
  exercise(MPI_COMM_WORLD, "world");
  if (all_served() != 0) fail("%llu collectives of a communicator that spans nodes were served", all_served());
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &node_size);
  if (node_size == world_size) fail("all ranks are on one node");
  exercise(node, "node, at first");  // a new communicator's first calls may go elsewhere (SMELT_PATIENCE)
  const unsigned long long before = all_served();
  const int calls = exercise(node, "node");
  const int wanted = absent || node_size == 1 ? 0 : calls;
  if (all_served() - before != (unsigned long long)wanted)
    fail("%llu of a node's %d collectives were served", all_served() - before, calls);
  for (int round = 0; round < 20; ++round) {  // in turns: neither may disturb the other
    exercise(node, "node, in turns");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_free(&node);
  close_counters();
  return finish();
}
