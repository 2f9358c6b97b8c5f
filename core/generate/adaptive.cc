// Adaptive tree: play the broadcast through, and let every core that is free choose whom to tell next.
//
// Smelt, OSDI 2016, §3.3.1 and Algorithm 1 (whose C_inactive is to be read as a complement). A core that is free
//   1. considers every participant that neither has the message nor has it on the way, on its own NUMA node or on a
//      node where nobody has: a link between nodes is not crossed twice;
//   2. takes the dearest by t_send + t_receive: the long ways dominate, so they start first;
//   3. if that one is on another node, tells the core of that node that is cheapest to send to instead;
//   4. is free again t_send later; the receiver is free, and chooses for itself, t_send + t_receive later.
// Without a root asked for, it is the core with the lowest average cost of sending. Ties go to the lower index.
#include "generate/patterns.h"

namespace smelt {

namespace {

constexpr double kRetired = -1;   // has nobody left to tell, and never will have
constexpr double kInactive = -2;  // nobody has told it yet

uint16_t cheapest_sender(const Costs& costs) {
  uint16_t best = 0;
  double best_sum = 0;
  for (uint32_t i = 0; i < costs.n; ++i) {
    double sum = 0;
    for (uint32_t j = 0; j < costs.n; ++j) {
      if (i != j) sum += costs.t_send(i, j);
    }
    if (i == 0 || sum < best_sum) {
      best = static_cast<uint16_t>(i);
      best_sum = sum;
    }
  }
  return best;
}

struct Simulation {
  const Costs& costs;
  double* free_at;  // [n] when a core can send next, or one of the above
  bool* reached;    // [n] whether anybody on i's NUMA node is active

  bool active(uint32_t i) const { return free_at[i] != kInactive; }

  void activate(uint16_t i, double when) {
    free_at[i] = when;
    for (uint32_t k = 0; k < costs.n; ++k) reached[k] |= costs.node[k] == costs.node[i];
  }

  // The core that is free first. There is one as long as somebody is inactive: a core retires only when its own
  // node is complete and every node is reached, and then the nodes that are not complete have cores of their own.
  uint16_t first_free() const {
    uint16_t best = kNobody;
    for (uint16_t i = 0; i < costs.n; ++i) {
      if (free_at[i] >= 0 && (best == kNobody || free_at[i] < free_at[best])) best = i;
    }
    return best;
  }

  // Steps 1 to 3; kNobody when nobody is left for this core.
  uint16_t next_target(uint16_t from) const {
    uint16_t dearest = kNobody;
    for (uint16_t i = 0; i < costs.n; ++i) {
      if (active(i) || (costs.node[i] != costs.node[from] && reached[i])) continue;
      if (dearest == kNobody || costs.hop[costs.at(from, i)] > costs.hop[costs.at(from, dearest)]) dearest = i;
    }
    if (dearest == kNobody || costs.node[dearest] == costs.node[from]) return dearest;
    uint16_t cheapest = kNobody;
    for (uint16_t i = 0; i < costs.n; ++i) {
      if (costs.node[i] != costs.node[dearest]) continue;
      if (cheapest == kNobody || costs.t_send(from, i) < costs.t_send(from, cheapest)) cheapest = i;
    }
    return cheapest;
  }
};

}  // namespace

int adaptive_tree(const Costs& costs, uint32_t, int root, Arena& arena, Tree* out) {
  const uint32_t n = costs.n;
  if (int error = start_tree(n, root, root < 0 ? cheapest_sender(costs) : uint16_t{0}, arena, out)) return error;
  char* const scratch = arena.mark();
  Simulation now{costs, arena.make<double>(n), arena.make<bool>(n)};
  if (!now.free_at || !now.reached) {
    arena.rewind(scratch);
    return -ENOMEM;
  }
  for (uint32_t i = 0; i < n; ++i) now.free_at[i] = kInactive;
  now.activate(out->root, 0);
  for (uint32_t informed = 1; informed < n;) {
    const uint16_t from = now.first_free();
    const uint16_t to = now.next_target(from);
    if (to == kNobody) {
      now.free_at[from] = kRetired;
      continue;
    }
    append_child(*out, from, to);
    now.activate(to, now.free_at[from] + costs.t_send(from, to) + costs.t_receive(from, to));
    now.free_at[from] += costs.t_send(from, to);
    ++informed;
  }
  arena.rewind(scratch);
  return 0;
}

}  // namespace smelt
