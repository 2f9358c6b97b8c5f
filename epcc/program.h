// The surroundings of a comparing program's main: where it lies and where others lie, how it shows progress, how it
// ends with one line. Shared by compare (OpenMP) and bench/mpi's mpi_compare.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

namespace smelt::epcc {

// A wish that cannot be met: one line for the user, exit status 2. A run that failed: exit status 1.
struct BadInput {
  std::string line;
};
struct FailedRun {
  std::string line;
};

// Told before every run: how many of how many, and what.
using Progress = std::function<void(size_t done, size_t total, const std::string& what)>;

// One line on standard error that is written over, or silence where that is no terminal.
Progress terminal_progress();
void end_progress();

// The directory of the running program; empty when the kernel does not tell.
std::string own_directory();

// The first of the names that PATH leads to, as a path; empty: none. A name with a slash is a path already.
std::string find_program(const std::vector<std::string>& names);

// Prints "<program>: <line>" on standard error and returns the status.
int complain(const char* program, const std::string& line, int status);

// Four significant digits or thereabouts.
inline std::string micros(double value) {
  const double size = value < 0 ? -value : value;
  return fmt::format("{:.{}f}", value, size < 10 ? 3 : size < 100 ? 2 : 1);
}

inline std::string times_as_fast(double ratio) {
  if (ratio < 0.1) return fmt::format("{:.2g}", ratio);
  return fmt::format("{:.{}f}", ratio, ratio < 10 ? 2 : 1);
}

}  // namespace smelt::epcc
