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
  walk_by_tiles(n, [&](uint32_t v, uint32_t c) {
    const size_t down = costs.at(v, c), up = costs.at(c, v), at = size_t{v} * n + c;
    busy[at] = direction == Direction::kBroadcast ? costs.send_busy[down] : costs.recv_busy[up];
    // A sender is busy with a message at least until it has left: an edge shorter than that would be one for nobody.
    edge[at] = std::max(direction == Direction::kBroadcast ? costs.hop[down] : costs.hop[up], busy[at]);
  });
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
