// The campaign of compare: which programs, for which sides, in which environment, in which order.
//
// For every pair, for every job (one kernel of our programs, or one whole program of the original suite), the sides run
// directly one after the other: stock, Smelt, libomp, each in a process of its own. So the two runs of a pair see
// the same machine, and the pairs of one kernel are spread over the whole campaign.
#pragma once

#include <string>
#include <vector>

#include "epcc/child.h"
#include "epcc/pairs.h"
#include "epcc/program.h"

namespace smelt::epcc {

struct Request {
  int pairs = 5;
  int threads = 2;
  std::vector<std::string> kernels;  // empty: all of the chosen suites
  std::vector<std::string> suites{"syncbench", "arraybench", "taskbench"};
  std::vector<long> array_sizes{1, 729};  // of arraybench kernels that were not asked for by size
  bool bind = true;
  std::string wait_policy = "default";  // "default", "passive", "active"
  int hogs = 0;
  int outer_repetitions = 20;
  double test_time_us = 1000;  // least duration of a sample
  double delay_time_us = 0.1;
  double timeout_s = 120;
  std::string over = "reference";   // the base of schedbench's overheads: "reference", "static"
  std::string own_dir;              // of our syncbench, arraybench, taskbench and schedbench
  std::string original_dir;         // of a build of the original suite; empty: ours is run
  std::string runtime = "libgomp";  // of the programs; "libomp": as clang built them
  std::string smelt_library;
  std::string libomp;                  // empty: no third side
  std::string libgomp;                 // another libgomp as third side, in place of libomp; empty: libomp
  std::vector<std::string> smelt_env;  // "SMELT_...=value" of the Smelt side
  bool plain = false;                  // third side, in place of libomp: Smelt without smelt_env
};

struct Results {
  std::vector<Construct> constructs;
  std::vector<double> hop_ns;         // all readings
  std::vector<std::string> warnings;  // one line each
  std::vector<std::string> settings;  // OpenMP's variables that the runs had, "NAME=value"
  std::string smelt_says;             // the symbols that the library reported as taken over; empty: it did not report
  std::string libomp_says;            // version, of a libgomp its path, of plain that it is; empty: no third side
  size_t moved = 0;                   // pairs during which the machine changed between near and far
};

// `cpus`: one per core first, in the order in which threads are bound. Throws BadInput or FailedRun.
Results run_campaign(const Request& request, const std::vector<int>& cpus, const Progress& progress);

// Does the word name the kernel? Case does not matter, '_' stands for ' ', and "COPYIN" names "COPYIN 27".
bool names_kernel(std::string_view word, std::string_view kernel);

}  // namespace smelt::epcc
