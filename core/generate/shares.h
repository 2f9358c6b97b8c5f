// Which core of a cluster tells which other cluster, and which core there hears it: see shares.cc.
#pragma once

#include "base/arena.h"
#include "model/cost_model.h"

namespace smelt {

// Participants by cluster.
struct Clusters {
  uint32_t count = 0;
  uint16_t* of = nullptr;      // [n]
  uint16_t* member = nullptr;  // [n] by cluster
  uint32_t* begin = nullptr;   // [count + 1]

  uint32_t size(uint32_t c) const { return begin[c + 1] - begin[c]; }
  uint16_t at(uint32_t c, uint32_t place) const { return member[begin[c] + place % size(c)]; }
};

// One message from each cluster to each other one. Arrays [count * count], row = from.
struct Shares {
  uint16_t* sends = nullptr;  // the core that tells that cluster ...
  uint16_t* hears = nullptr;  // ... and the core there that is told
  float* visible = nullptr;   // when it sees that, if all begin together
  uint32_t* order = nullptr;  // [count * (count - 1)] the messages, those that are seen first in front
  float* done = nullptr;      // [n] when each core has read the last of its own
};

// How the shares are searched for. The result is the same for everybody.
struct ShareSearch {
  uint32_t tries = 0;  // 0: by turns
  float heat = 0;      // of annealing, as a share of what the latest core counts; 0: nothing that is worse is kept
  uint64_t seed = 1;
};

// Deals them out by turns round the ring of clusters, then tries to make it better. The arrays lie in the arena, and
// what is behind them is scratch. 0 or -ENOMEM.
int share_clusters(const Costs& costs, const Clusters& clusters, const ShareSearch& search, Arena& arena, Shares* out);

}  // namespace smelt
