// The options of both programs, and the line that they print.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "search.h"

namespace smelt::tree_search {

struct Options {
  Tree tree;
  int explorers = 64;  // of each process
  bool alone = false;
};

// False, and says it: they are not understood.
inline bool read_options(int count, char** words, Options* options) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--alone") {
      options->alone = true;
    } else if (i + 1 < count && word == "--threads") {
      options->explorers = std::atoi(words[++i]);
    } else if (i + 1 < count && word == "--roots") {
      options->tree.root_children = static_cast<uint32_t>(std::atoi(words[++i]));
    } else if (i + 1 < count && word == "--work") {
      options->tree.work = static_cast<uint32_t>(std::atoi(words[++i]));
    } else {
      options->explorers = 0;
      break;
    }
  }
  if (options->explorers > 0 && options->explorers <= 65536) return true;
  fmt::print(stderr, "usage: {} [--threads 64] [--roots 2000] [--work 20] [--alone]\n", words[0]);
  return false;
}

inline void print_result(const char* what, uint64_t nodes, double seconds) {
  fmt::print("{}: {} nodes, {:.3f} s, {:.2f} million nodes/s\n", what, nodes, seconds,
             static_cast<double>(nodes) / seconds / 1e6);
}

}  // namespace smelt::tree_search
