/* Messages by the threads of OpenMP regions: thread t of process 0 and thread t of process 1 send each other 8 bytes
 * and wait for them, `rounds` times per region, with a barrier of the region after each, under MPI_THREAD_MULTIPLE.
 *   mpirun -n 2 mpi_openmp [THREADS [ROUNDS [REGIONS]]]
 * Prints µs per message: the best region's and the median's. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 1000 };

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int count, char** arguments) {
  int level = 0, me = 0, size = 0;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int threads = count > 1 ? atoi(arguments[1]) : 64, rounds = count > 2 ? atoi(arguments[2]) : 20;
  const int regions = count > 3 && atoi(arguments[3]) < kMost ? atoi(arguments[3]) : 20;
  if (size != 2 || level != MPI_THREAD_MULTIPLE || threads < 1 || rounds < 1 || regions < 1) {
    fprintf(stderr, "mpi_openmp: two processes, and MPI_THREAD_MULTIPLE\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  static double took[kMost];
  int wrong = 0;
  for (int region = -2; region < regions; ++region) { /* two to warm up */
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
    {
      const int mine = omp_get_thread_num();
      for (int round = 0; round < rounds; ++round) {
        int out[2] = {mine, round}, in[2] = {-1, -1};
        if (me == 0) {
          MPI_Send(out, 2, MPI_INT, 1, mine, MPI_COMM_WORLD);
          MPI_Recv(in, 2, MPI_INT, 1, mine, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
          MPI_Recv(in, 2, MPI_INT, 0, mine, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          MPI_Send(out, 2, MPI_INT, 0, mine, MPI_COMM_WORLD);
        }
        wrong += in[0] != mine || in[1] != round;
#pragma omp barrier
      }
    }
    if (region >= 0) took[region] = (MPI_Wtime() - began) * 1e6 / (2.0 * threads * rounds);
  }
  qsort(took, (size_t)regions, sizeof *took, by_size);
  if (me == 0)
    printf("%d threads, 8 bytes: %.3f us per message (median %.3f)%s\n", threads, took[0], took[regions / 2],
           wrong ? ", WRONG" : "");
  MPI_Finalize();
  return wrong != 0;
}
