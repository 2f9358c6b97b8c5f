// streamcluster with OpenMP's barrier between the phases, to run as it is and under Smelt's shim:
//   build/core/library/streamcluster_omp --threads 4
//   build/core/smelt run -- build/core/library/streamcluster_omp --threads 4
// The same kernel as the other program's; one parallel region per run. Threads stay where OMP_PLACES says.
#include <fmt/format.h>
#include <omp.h>

#include "streamcluster/request.h"

namespace {

using namespace smelt::bench;

struct OpenmpBarrier {
  void wait(uint32_t) {
#pragma omp barrier
  }
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Clusters a stream of points with OpenMP's barriers", "streamcluster_omp"};
  Request request;
  describe_request(app, request);
  CLI11_PARSE(app, argc, argv);

  std::vector<double> seconds;
  Clustering first;
  for (uint32_t round = 0; round < request.rounds; round++) {
    Shared shared(request.problem, request.threads);
    double took = 0;
    bool complete = true;
#pragma omp parallel num_threads(static_cast <int>(request.threads))
    {
      const auto thread = static_cast<uint32_t>(omp_get_thread_num());
      if (omp_get_num_threads() == static_cast<int>(request.threads)) {
        OpenmpBarrier barrier;
        Worker<OpenmpBarrier> worker(shared, barrier, thread);
        barrier.wait(thread);
        const double start = omp_get_wtime();
        worker.run();
        barrier.wait(thread);
        if (thread == 0) took = omp_get_wtime() - start;
      } else if (thread == 0) {
        complete = false;
      }
    }
    if (!complete) {
      fmt::print(stderr, "streamcluster_omp: OpenMP gives fewer than {} threads\n", request.threads);
      return 1;
    }
    seconds.push_back(took);
    if (round == 0) first = shared.result;
    if (shared.result.digest != first.digest) {
      fmt::print(stderr, "streamcluster_omp: the result is another one: digest {:016x}, {:016x} expected\n",
                 shared.result.digest, first.digest);
      return 1;
    }
  }
  fmt::print("{} threads, {} rounds: {} points of {} dimensions in chunks of {}\n", request.threads, request.rounds,
             request.problem.points, request.problem.dimensions, request.problem.chunk);
  fmt::print("{} centres, cost {:.6g}, {} barriers\ndigest {:016x}\n", first.centers, first.cost, first.barriers,
             first.digest);
  const Spread s = spread_of(seconds);
  fmt::print("openmp: median {:.4f} s ({:.4f} .. {:.4f})\n", s.median, s.least, s.most);
  return 0;
}
