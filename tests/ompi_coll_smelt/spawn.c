// Proves that processes of two jobs work together: two ranks are spawned, and all four collectives are checked on the
// intercommunicator's merged form, on both sides' own worlds, and again after the children have left.
#include "check.h"

enum { kChildren = 2 };

static void exercise(MPI_Comm comm, const char *name) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int round = 0; round < 50; ++round) {
    const int root = round % size;
    int word = rank == root ? round : -1, one = rank + round, sum = -1;
    MPI_Barrier(comm);
    MPI_Bcast(&word, 1, MPI_INT, root, comm);
    if (word != round) fail("%s: bcast MPI_INT count 1 root %d: %d", name, root, word);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != size * round + size * (size - 1) / 2) fail("%s: allreduce MPI_SUM MPI_INT count 1: %d", name, sum);
    sum = -1;
    MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_MAX, root, comm);
    if (rank == root && sum != size - 1 + round)
      fail("%s: reduce MPI_MAX MPI_INT count 1 root %d: %d", name, root, sum);
  }
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  MPI_Comm parent, other, merged;
  exercise(MPI_COMM_WORLD, "own world, before");
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, kChildren, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
  else
    other = parent;
  MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &merged);
  exercise(merged, "merged");
  exercise(MPI_COMM_WORLD, "own world, with the others there");
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&other);
  exercise(MPI_COMM_WORLD, "own world, after");
  if (parent == MPI_COMM_NULL) return finish();
  MPI_Finalize();
  return 0;
}
