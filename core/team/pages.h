// Where a team's lines lie in its memory: participant by participant, those of each NUMA node on pages of their own. A
// page lies on the node that touches it first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/arch/cpu.h"

namespace smelt {

inline size_t rounded(size_t bytes, size_t unit = kLineBytes) { return (bytes + unit - 1) / unit * unit; }

// Where the lines of participant p begin, if those before it end at `at`. If its node is not its neighbour's, they
// begin a page. Where pages are larger than these, some lines lie with those of another node.
inline size_t lines_from(size_t at, const uint16_t* node, uint32_t p) {
  constexpr size_t kPageBytes = 4096;
  return node && p > 0 && node[p] != node[p - 1] ? rounded(at, kPageBytes) : at;
}

}  // namespace smelt
