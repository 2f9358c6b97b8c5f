// The radices of k-nomial trees that HotPar'09 searches (its Table 2).
#pragma once

#include <cstdint>
#include <vector>

namespace smelt::paper {

// Those that give so many participants a tree of their own: a higher one is flat.
inline std::vector<uint32_t> radices_for(uint32_t participants) {
  std::vector<uint32_t> out;
  for (const uint32_t radix : {1u, 2u, 4u, 8u, 16u})
    if (radix <= participants) out.push_back(radix);
  return out;
}

}  // namespace smelt::paper
