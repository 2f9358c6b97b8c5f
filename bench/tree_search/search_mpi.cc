// The search by kernel threads and MPI_THREAD_MULTIPLE: mpirun -n 2 tree_search_mpi [--threads 64] [--roots 2000]
#include <mpi.h>
#include <sched.h>

#include <functional>
#include <mutex>
#include <thread>

#include "main.h"

namespace {

using namespace smelt::tree_search;

struct KernelThreads {
  using Lock = std::mutex;
  int other;

  void run(int count, const std::function<void(int)>& body) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  }
  void yield() {}  // the kernel shares the CPU out
  void send(int key, const void* data, size_t bytes) {
    MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, other, key, MPI_COMM_WORLD);
  }
  void receive(int key, void* data, size_t bytes) {
    MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, other, key, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
};

}  // namespace

int main(int count, char** words) {
  Options options;
  int given = 0, rank = 0, ranks = 0;
  MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const why = !read_options(count, words, &options) ? ""
                          : ranks != 2                          ? "of two ranks"
                          : given != MPI_THREAD_MULTIPLE        ? "no MPI_THREAD_MULTIPLE"
                                                                : nullptr;
  if (why) {
    if (*why) fmt::print(stderr, "tree_search_mpi: {}\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  KernelThreads threads{1 - rank};
  const uint64_t nodes = Search(options.tree, &threads, options.explorers).count(rank == 0);
  if (rank == 0) print_result("MPI, kernel threads", nodes, MPI_Wtime() - start);
  MPI_Finalize();
  return 0;
}
