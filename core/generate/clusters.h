// Clusters: the participants behind one last-level cache of a NUMA node, the closest company that a machine names.
#pragma once

#include <cstdint>

namespace smelt {

// of[i]: the cluster of participant i, numbered by first appearance. `node` and `llc` as in Costs. Returns how many
// there are.
inline uint32_t number_clusters(uint32_t n, const uint16_t* node, const uint16_t* llc, uint16_t* of) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t k = 0;
    while (k < i && !(node[k] == node[i] && llc[k] == llc[i])) ++k;
    of[i] = k < i ? of[k] : static_cast<uint16_t>(count++);
  }
  return count;
}

}  // namespace smelt
