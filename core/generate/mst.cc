// Minimum spanning tree by Prim's algorithm, each node with at most two children.
//
// Start with the root alone; again and again add the outsider that is cheapest to reach (t_send + t_receive) from a
// member that has not yet two children. R. C. Prim, "Shortest connection networks and some generalizations", 1957;
// one of the static trees of Smelt, OSDI 2016, §2, whose bound of two children is kept: without it the tree of
// a machine with equal links is a star. It minimises the sum of the links, which is not when the last one is done.
#include <algorithm>

#include "generate/patterns.h"
#include "generate/prim.h"

namespace smelt {

namespace {

constexpr uint32_t kMostChildren = 2;  // the paper's, see above

struct Grower {
  const Costs& costs;
  float sign;  // +1: cheapest first; -1: dearest first, the same as inverted costs
  Tree& tree;
  uint16_t* order;    // [n * n] row i: the others by their distance from i, filled when i joins
  uint32_t* next;     // [n] how far row i has been used up
  uint8_t* children;  // [n]

  bool joined(uint16_t i) const { return i == tree.root || tree.parent[i] != kNobody; }
  float weight(uint16_t from, uint16_t to) const { return sign * costs.hop[costs.at(from, to)]; }

  void join(uint16_t i) {
    uint16_t* const row = order + size_t{i} * costs.n;
    for (uint32_t j = 0; j < costs.n; ++j) row[j] = static_cast<uint16_t>(j);
    std::sort(row, row + costs.n, [this, i](uint16_t a, uint16_t b) {
      const float to_a = weight(i, a), to_b = weight(i, b);
      return to_a != to_b ? to_a < to_b : a < b;
    });
  }

  // The nearest outsider of member i. A member that has joined stays joined, so each row is walked once: O(n^2) in all.
  uint16_t nearest(uint16_t i) {
    const uint16_t* const row = order + size_t{i} * costs.n;
    while (joined(row[next[i]])) ++next[i];
    return row[next[i]];
  }

  void grow() {
    join(tree.root);
    for (uint32_t size = 1; size < costs.n; ++size) {
      uint16_t best_from = kNobody, best_to = kNobody;
      for (uint16_t i = 0; i < costs.n; ++i) {  // ascending, and strictly better only: ties go to the lower index
        if (!joined(i) || children[i] == kMostChildren) continue;
        const uint16_t to = nearest(i);
        if (best_to == kNobody || weight(i, to) < weight(best_from, best_to)) {
          best_from = i;
          best_to = to;
        }
      }
      append_child(tree, best_from, best_to);
      ++children[best_from];
      join(best_to);
    }
  }
};

}  // namespace

int prim_tree(const Costs& costs, EdgeChoice link, int root, Arena& arena, Tree* out) {
  const uint32_t n = costs.n;
  if (int error = start_tree(n, root, 0, arena, out)) return error;
  char* const scratch = arena.mark();
  Grower grower{costs,
                link == EdgeChoice::kCheapest ? 1.f : -1.f,
                *out,
                arena.make<uint16_t>(size_t{n} * n),
                arena.make<uint32_t>(n),
                arena.make<uint8_t>(n)};
  const bool fits = grower.order && grower.next && grower.children;
  if (fits) grower.grow();
  arena.rewind(scratch);
  return fits ? 0 : -ENOMEM;
}

int mst_tree(const Costs& costs, uint32_t, int root, Arena& arena, Tree* out) {
  return prim_tree(costs, EdgeChoice::kCheapest, root, arena, out);
}

}  // namespace smelt
