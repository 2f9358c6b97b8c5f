// The output of mpi_sweep, line by line: first the library, then one line of JSON per kernel and size.
//
// mpirun may mix lines of its own into the output, and a run that died leaves a part of its lines: foreign lines are
// skipped, and the lines before the end count.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt::bench {

struct Reading {
  double us = 0;  // median over the run's batches
  double min_us = 0, max_us = 0;
  long calls = 0;  // per batch
  bool verified = false;
  std::vector<double> hop_ns;  // before and after; empty: no ping-pong
};

struct SweepLine {
  std::string kernel;
  long size = 0;  // bytes; 0 for kernels without a message
  Reading reading;
};

struct SweepOutput {
  std::string library;  // "Open MPI v4.1.4", "MPICH 4.0.2"; empty: it was not said
  int ranks = 0;
  std::vector<SweepLine> lines;
};

SweepOutput parse_sweep(std::string_view text);

// "1:1M" (all powers of two), "8,64,1K" (just these): bytes in ascending order. Throws epcc::BadInput.
std::vector<long> parse_sizes(const std::string& text);

// 64, "8K", "16M"
std::string size_name(long bytes);

}  // namespace smelt::bench
