// The same (user_threads.h) by kernel threads and MPI_THREAD_MULTIPLE, on two ranks.
#pragma once

#include <mpi.h>

#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace smelt::waiting_threads {

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
  size_t receive(int key, void* data, size_t room) {
    MPI_Status status;
    int bytes = 0;
    MPI_Recv(data, static_cast<int>(room), MPI_BYTE, other, key, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    return static_cast<size_t>(bytes);
  }
};

// With MPI_THREAD_MULTIPLE, or the job ends: `ok` says whether the program's options were understood.
inline int begin_two_ranks(int* count, char*** words, const char* program, const std::function<bool()>& ok) {
  int given = 0, rank = 0, ranks = 0;
  MPI_Init_thread(count, words, MPI_THREAD_MULTIPLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const why = !ok()                          ? ""
                          : ranks != 2                   ? "of two ranks"
                          : given != MPI_THREAD_MULTIPLE ? "no MPI_THREAD_MULTIPLE"
                                                         : nullptr;
  if (!why) return rank;
  if (*why) std::fprintf(stderr, "%s: %s\n", program, why);
  MPI_Abort(MPI_COMM_WORLD, 2);
  return rank;
}

}  // namespace smelt::waiting_threads
