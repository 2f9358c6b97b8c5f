// The options of both programs, and the line that they print.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "graph.h"

namespace smelt::breadth_first {

struct Options {
  Shape shape;
  int searchers = 64, receivers = 1;  // of each process
  int rounds = 5;
  bool alone = false, polling = false;
};

// False, and says it: they are not understood.
inline bool read_options(int count, char** words, Options* options) {
  bool good = true;
  for (int i = 1; i < count && good; ++i) {
    const std::string_view word = words[i];
    if (word == "--alone") {
      options->alone = true;
      continue;
    }
    if (word == "--polling") {
      options->polling = true;
      continue;
    }
    const int value = i + 1 < count ? std::atoi(words[i + 1]) : 0;
    ++i;
    if (word == "--threads")
      options->searchers = value;
    else if (word == "--receivers")
      options->receivers = value;
    else if (word == "--rounds")
      options->rounds = value;
    else if (word == "--scale")
      options->shape.scale = static_cast<uint32_t>(value);
    else
      good = false;
  }
  if (good && options->searchers > 0 && options->searchers <= 65536 && options->receivers > 0 &&
      options->receivers <= options->searchers && options->rounds > 0 && options->shape.scale >= 2 &&
      options->shape.scale <= 26)
    return true;
  fmt::print(stderr,
             "usage: {} [--threads 64] [--receivers 1] [--scale 18] [--rounds 5] [--alone]\n"
             "MPI's has --polling, too: one thread, and calls that do not wait, as Graph500's bfs_simple\n",
             words[0]);
  return false;
}

// Prints the median of the rounds, which all found the same.
inline void print_result(const char* what, const Found& found, std::vector<double> seconds) {
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<ptrdiff_t>(seconds.size() / 2), seconds.end());
  const double middle = seconds[seconds.size() / 2];
  fmt::print("{}: {} vertices, {} edges, distances {} in all, {:.4f} s, {:.2f} million edges/s\n", what,
             found.vertices(), found.ends / 2, found.sum_of_distances(), middle,
             static_cast<double>(found.ends) / 2 / middle / 1e6);
}

}  // namespace smelt::breadth_first
