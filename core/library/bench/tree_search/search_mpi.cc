// The search by kernel threads and MPI_THREAD_MULTIPLE: mpirun -n 2 tree_search_mpi [--threads 64] [--roots 2000]
#include "library/bench/waiting_threads/kernel_threads.h"
#include "main.h"

int main(int count, char** words) {
  using namespace smelt::tree_search;
  Options options;
  const int rank = smelt::waiting_threads::begin_two_ranks(&count, &words, "tree_search_mpi",
                                                           [&] { return read_options(count, words, &options); });
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  smelt::waiting_threads::KernelThreads threads{1 - rank};
  const uint64_t nodes = Search(options.tree, &threads, options.explorers).count(rank == 0);
  if (rank == 0) print_result("MPI, kernel threads", nodes, MPI_Wtime() - start);
  MPI_Finalize();
  return 0;
}
