// The search by kernel threads and MPI_THREAD_MULTIPLE, or by one thread of each rank, which polls:
//   mpirun -n 2 breadth_first_mpi [--threads 64] [--scale 18] [--polling]
#include "search.h"

#include "library/bench/waiting_threads/kernel_threads.h"
#include "main.h"

namespace {

using namespace smelt::breadth_first;

// As Graph500's bfs_simple does it: arrived messages are asked for between the vertices, and sends are not waited for
// but when the next one is due.
class Polling {
 public:
  Polling(const Part& part, uint32_t me)
      : part_(part), me_(me), seen_(part.count()), parents_(new Vertex[part.count()]), got_(kAtOnce) {}

  Found search(Vertex root) {
    Found found;
    if (root % 2 == me_) reach({root, root});
    for (;;) {
      now_.swap(next_);
      next_.clear();
      Totals all{}, mine{now_.size(), ends_};
      MPI_Allreduce(&mine, &all, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
      found.ends = all.ends;
      if (all.next == 0) return found;
      found.at.push_back(all.next);
      level();
    }
  }

 private:
  void reach(Reached what) {
    const Vertex own = what.vertex / 2;
    if (seen_[own]) return;
    seen_[own] = true;
    parents_[own] = what.from;
    next_.push_back(own);
  }

  void level() {
    is_over_ = false;
    MPI_Irecv(got_.data(), kAtOnce * sizeof(Reached), MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &receive_);
    for (const Vertex own : now_) {
      ends_ += static_cast<uint64_t>(part_.end(own) - part_.begin(own));
      for (const Vertex* to = part_.begin(own); to != part_.end(own); ++to) {
        if (*to % 2 == me_) {
          reach({*to, own * 2 + me_});
        } else if (out_[filling_].add({*to, own * 2 + me_})) {
          flush();
        }
      }
      poll();
    }
    if (out_[filling_].count != 0) flush();
    flush();  // nothing: it is over
    while (!is_over_ || !is_sent()) poll();
  }

  bool is_sent() {
    int done = 0;
    MPI_Test(&send_, &done, MPI_STATUS_IGNORE);
    return done;
  }
  void flush() {
    while (!is_sent()) poll();
    MPI_Isend(out_[filling_].reached, static_cast<int>(out_[filling_].bytes()), MPI_BYTE, static_cast<int>(1 - me_), 1,
              MPI_COMM_WORLD, &send_);
    filling_ = 1 - filling_;
    out_[filling_].count = 0;
  }

  void poll() {
    int done = 0, bytes = 0;
    MPI_Status status;
    if (!is_over_) MPI_Test(&receive_, &done, &status);
    if (!done) return;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    for (size_t i = 0; i < static_cast<size_t>(bytes) / sizeof(Reached); ++i) reach(got_[i]);
    is_over_ = bytes == 0;
    if (!is_over_)
      MPI_Irecv(got_.data(), kAtOnce * sizeof(Reached), MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &receive_);
  }

  const Part& part_;
  const Vertex me_;
  std::vector<bool> seen_;
  std::vector<Vertex> now_, next_;
  const std::unique_ptr<Vertex[]> parents_;
  std::vector<Reached> got_;
  Outgoing out_[2];
  int filling_ = 0;
  uint64_t ends_ = 0;
  bool is_over_ = false;
  MPI_Request receive_ = MPI_REQUEST_NULL, send_ = MPI_REQUEST_NULL;
};

}  // namespace

int main(int count, char** words) {
  using smelt::waiting_threads::KernelThreads;
  Options options;
  const int rank = smelt::waiting_threads::begin_two_ranks(&count, &words, "breadth_first_mpi",
                                                           [&] { return read_options(count, words, &options); });
  const auto me = static_cast<uint32_t>(rank);
  const Part part(options.shape, me, 2);
  KernelThreads threads{1 - rank};
  std::vector<double> seconds;
  Found found;
  for (int round = 0; round < options.rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (options.polling) {
      found = Polling(part, me).search(root_of(options.shape));
    } else {
      found = Search(part, me, &threads, options.searchers, options.receivers).search(root_of(options.shape));
    }
    seconds.push_back(MPI_Wtime() - begin);
  }
  if (rank == 0) print_result(options.polling ? "MPI, polling" : "MPI, kernel threads", found, seconds);
  MPI_Finalize();
  return 0;
}
