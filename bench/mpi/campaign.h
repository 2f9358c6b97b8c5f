// The campaign of mpi_compare, and its order.
//
// For every round, for every kernel, the sides run directly one after the other, each in an mpirun of its own over all
// sizes; every second round in the opposite order, so that a slow drift of the machine favours nobody. Where the
// machine moved between near and far under more than a quarter of a round's sizes, that kernel is run once more; all is
// kept. With Request::together an mpirun has all kernels, until one of them fails.
#pragma once

#include <string>
#include <vector>

#include "bench/mpi/rounds.h"
#include "bench/mpi/sides.h"
#include "epcc/program.h"

namespace smelt::bench {

struct Failure {
  size_t side = 0;
  std::string kernel;
  std::string why;
};

struct Results {
  std::vector<Side> sides;
  size_t reference = 0;                // of the ratios: Smelt where it takes part, else the first side
  std::vector<std::string> libraries;  // by side, what its runs said; empty: no run succeeded
  std::vector<Series> series;
  std::vector<Failure> failures;  // one per side and kernel: the side was not asked again for that kernel
  std::vector<double> hop_ns;     // all readings
  std::vector<std::string> warnings;
  std::vector<std::string> settings;  // of the user's shell, that reached the runs

  std::vector<bool> failed(const std::string& kernel) const;  // by side
  std::vector<SweepRow> rows() const;
  size_t moved() const;  // cells
};

// Throws epcc::BadInput, or epcc::FailedRun when Smelt's side fails.
Results run_campaign(const Request& request, const epcc::Progress& progress);

// The one line of a failed mpirun's output that tells what happened, its banners left away.
std::string explain(const epcc::Finished& run);

// Out of Open MPI's coll_base_verbose output, "[host:PID] ... component available: NAME, priority: N": the name of
// highest priority for MPI_COMM_WORLD. Empty: there are no such lines.
std::string chosen_component(const std::string& verbose);
// Whether that output speaks of coll/NAME at all.
bool mentions_component(const std::string& verbose, const std::string& name);

}  // namespace smelt::bench
