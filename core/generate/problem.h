// The best tree: broadcast and reduction are one problem, read in opposite directions of time.
//
// A parent v serves its children one after another. Each keeps it busy for a while, and each message takes its way:
//
//   value(v) = max over its children c_1 .. c_k, in order, of   busy(v,c_1) + ... + busy(v,c_i-1) + edge(v,c_i) +
//                                                               value(c_i)
//
// Broadcast: c_1 is told first; edge is the hop from v to c, busy a further message's cost for the sender; value(root)
// is when the last participant has been told. Reduction, time reversed: c_1 is served last; edge is the hop from c to
// v, busy a further message's cost for the receiver; value(root) is when the root has everything. Under the paper's
// additive model edge = t_send + t_receive and busy = t_send (broadcast) or t_receive (reduction). Both equal
// predict.h's for such a tree, to rounding.
//
// For a given set of children the best order is by falling edge - busy + value: jobs with tails (reorder_shuffle.cc).
#pragma once

#include <cstdint>

#include <algorithm>

#include "generate/tree.h"

namespace smelt {

enum class Direction : uint8_t { kBroadcast, kReduce };

// visit(row, column) for all of an n by n matrix, by tiles: for a walk that reads another one by columns.
template <typename Visit>
void walk_by_tiles(uint32_t n, Visit visit) {
  constexpr uint32_t kTile = 16;
  for (uint32_t above = 0; above < n; above += kTile)
    for (uint32_t left = 0; left < n; left += kTile)
      for (uint32_t row = above; row < std::min(above + kTile, n); ++row)
        for (uint32_t column = left; column < std::min(left + kTile, n); ++column) visit(row, column);
}

struct TreeProblem {
  uint32_t n = 0;
  Direction direction = Direction::kBroadcast;
  const float* edge = nullptr;     // [n * n] row = parent, column = child; finite, >= busy
  const float* busy = nullptr;     // [n * n] row = parent, column = child; >= 0
  const uint16_t* node = nullptr;  // [n] NUMA node of each, as in Costs
  const uint16_t* llc = nullptr;   // [n]

  float edge_of(uint32_t parent, uint32_t child) const { return edge[size_t{parent} * n + child]; }
  float busy_of(uint32_t parent, uint32_t child) const { return busy[size_t{parent} * n + child]; }
};

// The problem that these costs pose. The matrices are copied into the arena. 0 or -ENOMEM.
int make_problem(const Costs& costs, Direction direction, Arena& arena, TreeProblem* out);

// Puts the `count` children of v into that order, by falling tail, and returns value(v). tail[c] is edge - busy + value
// of child c, busy(c) the time that it keeps v. `children` are v's, in any order; they are reordered in the tree and
// there.
template <typename Busy>
double serve_by_tail(Tree& tree, uint16_t v, uint16_t* children, uint32_t count, const double* tail, Busy busy) {
  std::sort(children, children + count,
            [tail](uint16_t a, uint16_t b) { return tail[a] != tail[b] ? tail[a] > tail[b] : a < b; });
  set_children(tree, v, children, count);
  double sent = 0, value = 0;
  for (uint32_t i = 0; i < count; ++i) {
    sent += busy(children[i]);
    value = std::max(value, sent + tail[children[i]]);
  }
  return value;
}

// value(root) of a spanning tree, its children put into the best order first. `scratch` has room for 2 n doubles and
// `order` for 2 n participants. O(n log n), allocates nothing. The child order left in the tree is that in which a
// broadcast sends; for a reduction it is the reverse of the order of service, which a schedule does not fix.
double sort_and_value(const TreeProblem& problem, Tree& tree, double* scratch, uint16_t* order);

}  // namespace smelt
