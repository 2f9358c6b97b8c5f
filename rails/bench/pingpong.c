/* The cost of one message between two ranks of MPI: from the send to the answer, which has 8 bytes. Open MPI deals
 * short messages to its interfaces in turn: the mean of the medians of the odd and of the even ones.
 *   pingpong ROUNDS BYTES...
 * Messages of up to 1 KiB go a hundred times as often: nothing is told by a few of them.
 * Prints "bytes microseconds" per line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  const int given = argc > 2 ? atoi(argv[1]) : 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (given < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  double* times = malloc(100 * (size_t)given * sizeof *times);
  for (int i = 2; i < argc; ++i) {
    const int bytes = atoi(argv[i]), rounds = bytes <= 1024 ? 100 * given : given, even = (rounds + 1) / 2;
    char *data = calloc(1, (size_t)bytes + 1), answer[8] = "";
    for (int round = -1 - rounds / 10; round < rounds; ++round) { /* the first one connects */
      if (rank == 0) {
        const double begin = MPI_Wtime();
        MPI_Send(data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(answer, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (round >= 0) times[round % 2 * even + round / 2] = 1e6 * (MPI_Wtime() - begin);
      } else {
        MPI_Recv(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(answer, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
      }
    }
    if (rank == 0) {
      qsort(times, (size_t)even, sizeof *times, compare);
      qsort(times + even, (size_t)(rounds - even), sizeof *times, compare);
      printf("%d %.1f\n", bytes, (times[even / 2] + times[even + (rounds - even) / 2]) / 2);
      fflush(stdout);
    }
    free(data);
  }
  free(times);
  MPI_Finalize();
  return 0;
}
