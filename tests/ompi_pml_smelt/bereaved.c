// A rank dies while the other waits for it, in one of many ways, under `mpirun --enable-recovery`, which lets that one
// live. It is told, by an error, and says so in a line, "told". There are two ranks: nobody else could send either.
//   bereaved WAY
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLong = 1 << 20 };

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, error = MPI_SUCCESS;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    usleep(100000);  // it waits by now
    raise(SIGKILL);
  }
  const char *way = argc > 1 ? argv[1] : "";
  char *data = calloc(1, kLong);
  MPI_Request requests[2];
  MPI_Message message;
  if (strcmp(way, "receive") == 0) error = MPI_Recv(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(way, "any") == 0)
    error = MPI_Recv(data, 1, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(way, "probe") == 0) error = MPI_Probe(1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(way, "mprobe") == 0) error = MPI_Mprobe(1, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  if (strcmp(way, "synchronous") == 0) error = MPI_Ssend(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  if (strcmp(way, "long") == 0) error = MPI_Send(data, kLong, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  if (strcmp(way, "all") == 0) {
    MPI_Irecv(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Issend(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[1]);
    error = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  // Blocking sends of short ones go on until there is no room for more.
  for (int i = 0; strcmp(way, "short") == 0 && error == MPI_SUCCESS; ++i)
    error = MPI_Send(data, i % 3000, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  puts(error == MPI_SUCCESS ? "not told" : "told");
  fflush(stdout);
  _exit(0);  // MPI_Finalize would wait for the dead
}
