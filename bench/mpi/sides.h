// The sides of the comparison: one MPI library, or one collective component of Open MPI, each with the command and the
// environment under which mpi_sweep meets it.
//
//   tuned     Open MPI as it chooses by itself (coll/tuned on one machine)
//   sm        Open MPI with coll/sm preferred, which has barrier, bcast, reduce and allreduce (up to 5)
//   han       Open MPI with coll/han preferred, which leaves a single machine alone
//   xhc       Open MPI with coll/xhc preferred, which has the same four (from 6)
//   acoll     Open MPI with coll/acoll preferred, from two ranks on (from 6)
//   mpich     MPICH as it chooses by itself, with an mpi_sweep of its own
//   mpich-rg  MPICH, with release_gather for those four
//   smelt     Open MPI with mca_coll_smelt.so preferred
#pragma once

#include <string>
#include <vector>

#include "epcc/child.h"

namespace smelt::bench {

// An MPI library. Empty paths: it is not there.
struct Installation {
  std::string mpirun, sweep;  // its mpi_sweep
};

struct Request {
  int ranks = 2;
  int rounds = 5;
  std::vector<std::string> kernels;  // empty: all
  std::vector<long> sizes;
  std::vector<std::string> sides;  // empty: all that are there
  double batch_ms = 5;
  int batches = 5;
  double skew_ns = 0;
  bool strict = false;     // with a barrier after each call
  bool together = false;   // all kernels in one mpirun: where starting takes longer than measuring
  double timeout_s = 120;  // of one run
  bool bind = true;
  bool verify = true;
  int cores = 1, cpus = 1;  // that this process may use
  std::string own_dir;      // of this program
  Installation open_mpi;    // that Smelt's component was built for
  Installation peers;       // the Open MPI of the sides beside Smelt's
  Installation mpich;
  std::string smelt_dir;  // of mca_coll_smelt.so

  bool oversubscribed() const { return ranks > cpus; }
};

struct Side {
  std::string name;                   // as in --sides
  std::string column;                 // as in the table
  std::string component;              // of Open MPI's coll framework, must win the choice; empty: any may
  std::vector<std::string> command;   // mpirun ... mpi_sweep, without mpi_sweep's options
  std::vector<std::string> settings;  // environment beside the common one, "NAME=value"
  epcc::Environment environment;
  bool open_mpi = true;

  std::string shown() const;  // as one would type it
};

inline constexpr const char* kSideNames[] = {"tuned", "sm", "han", "xhc", "acoll", "mpich", "mpich-rg", "smelt"};

// Of the installation below `prefix` the mpirun, and an mpi_sweep that its mpicc makes in `folder`. Throws
// epcc::BadInput where it lacks one of the two, epcc::FailedRun where mpi_sweep does not compile.
Installation installation_at(const std::string& prefix, bool mpich, const std::string& folder);

// In the order of kSideNames. A side that the request does not name, and that is not there, is left out, with a line in
// `warnings`. If it names one that is not there: throws epcc::BadInput.
std::vector<Side> make_sides(const Request& request, std::vector<std::string>& warnings);

// The user's own settings that reach the runs: OMPI_MCA_*, MPIR_CVAR_*, SMELT_*; and without those that would make one
// side another than it should be.
epcc::Environment common_environment();
std::vector<std::string> shown_settings(const epcc::Environment& environment);

}  // namespace smelt::bench
