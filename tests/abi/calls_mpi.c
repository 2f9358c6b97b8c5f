/* A little of what an MPI program does, for a look at the system calls: short and long collectives and messages, two
 * communicators. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLong = 1 << 18 }; /* doubles */

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double *mine = calloc(kLong, sizeof *mine), *all = calloc(kLong, sizeof *all);
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (int round = 0; round < 12 && mine && all; ++round) {
    const int count = round % 2 ? kLong : 1;
    for (int i = 0; i < count; ++i) mine[i] = rank + round;
    MPI_Barrier(round % 3 ? MPI_COMM_WORLD : other);
    MPI_Allreduce(mine, all, count, MPI_DOUBLE, MPI_SUM, round % 3 ? MPI_COMM_WORLD : other);
    wrong += all[count - 1] != ranks * (ranks - 1) / 2. + ranks * round;
    if (rank == 0) all[0] = round;
    MPI_Bcast(all, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    wrong += all[0] != round;
    MPI_Sendrecv(mine, count, MPI_DOUBLE, (rank + 1) % ranks, 1, all, count, MPI_DOUBLE, (rank + ranks - 1) % ranks, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += all[count - 1] != (rank + ranks - 1) % ranks + round;
  }
  MPI_Comm_free(&other);
  if (rank == 0) puts(!wrong && mine && all ? "ok" : "wrong");
  free(mine);
  free(all);
  MPI_Finalize();
  return wrong != 0;
}
