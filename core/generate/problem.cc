#include "generate/problem.h"

#include <algorithm>
#include <cerrno>

namespace smelt {

int make_problem(const Costs& costs, Direction direction, Arena& arena, TreeProblem* out) {
  const uint32_t n = costs.n;
  char* const start = arena.mark();
  auto* edge = arena.make<float>(size_t{n} * n);
  auto* busy = arena.make<float>(size_t{n} * n);
  if (!edge || !busy) {
    arena.rewind(start);
    return -ENOMEM;
  }
  // A sender is busy with a message at least until it has left: an edge shorter than that would be one for nobody.
  if (direction == Direction::kBroadcast) {
    std::copy_n(costs.send_busy, size_t{n} * n, busy);
    for (size_t i = 0; i < size_t{n} * n; ++i) edge[i] = std::max(costs.hop[i], busy[i]);
  } else {
    walk_by_tiles(n, [&](uint32_t v, uint32_t c) {
      const size_t up = costs.at(c, v), at = size_t{v} * n + c;
      busy[at] = costs.recv_busy[up];
      edge[at] = std::max(costs.hop[up], busy[at]);
    });
  }
  *out = TreeProblem{n, direction, edge, busy, costs.node, costs.llc};
  return 0;
}

double sort_and_value(const TreeProblem& problem, Tree& tree, double* scratch, uint16_t* order) {
  double* const value = scratch;
  double* const tail = scratch + problem.n;
  uint16_t* const children = order + problem.n;
  for (uint32_t k = top_down_order(tree, order); k-- > 0;) {
    const uint16_t v = order[k];
    const uint32_t count = children_of(tree, v, children);
    for (uint32_t i = 0; i < count; ++i) {
      const uint16_t c = children[i];
      tail[c] = problem.edge_of(v, c) - problem.busy_of(v, c) + value[c];
    }
    value[v] = serve_by_tail(tree, v, children, count, tail, [&](uint16_t c) { return problem.busy_of(v, c); });
  }
  return value[tree.root];
}

}  // namespace smelt
