#include "bench/lab/bounds/bounds.h"

#include <algorithm>
#include <cmath>

#include "bench/lab/bounds/bound.h"
#include "bench/lab/bounds/cut_bound.h"
#include "generate/problem.h"

namespace smelt {
namespace {

// The shortest ways between all participants, row = from; nullptr when the limits end it: ways that may yet become
// shorter bound nothing.
float* shortest_ways(const Costs& costs, const SearchLimits& limits, Arena& arena) {
  const uint32_t n = costs.n;
  auto* way = arena.make<float>(size_t{n} * n);
  if (!way) return nullptr;
  std::copy(costs.hop, costs.hop + size_t{n} * n, way);
  for (uint32_t k = 0; k < n; ++k) {
    if (limits.exceeded()) return nullptr;
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t j = 0; j < n; ++j)
        way[costs.at(i, j)] = std::min(way[costs.at(i, j)], way[costs.at(i, k)] + way[costs.at(k, j)]);
  }
  return way;
}

// The longest of them: from `root`, from the root that has the shortest one (-1), or from anybody (`all`).
double longest_way(const Costs& costs, const float* way, int root, bool all) {
  if (!way) return 0;
  float longest = 0, shortest = HUGE_VALF;
  for (uint32_t i = 0; i < costs.n; ++i) {
    float own = 0;
    for (uint32_t j = 0; j < costs.n; ++j)
      if (i != j) own = std::max(own, way[costs.at(i, j)]);
    if (root == static_cast<int>(i)) return double{own};
    longest = std::max(longest, own);
    shortest = std::min(shortest, own);
  }
  return double{all ? longest : shortest};
}

// How long it takes one participant to hear from all. For each other participant, follow the last message that still
// brings its news there. These messages are a tree, because whatever a message carries was read before it left; and a
// participant that reads several reads them one after the other. So no participant has heard from all before the
// cheapest tree to gather under it has, whether the messages go by rounds, trees or lines; and no barrier is over
// before all have heard from all, the one that is farthest from the others included. A read takes its price alone or
// among others, whichever is less.
double gathering(const Costs& costs, int to, const SearchLimits& limits, Arena& arena, double enough = HUGE_VAL) {
  char* const scratch = arena.mark();
  TreeProblem problem;
  const double bound =
      make_gather_problem(costs, arena, &problem) == 0 ? lower_bound(problem, to, arena, limits, enough) : 0;
  arena.rewind(scratch);
  return bound;
}

// The one that has the longest hops from the others, in sum.
int farthest_from_all(const Costs& costs) {
  double longest = -1;
  int farthest = 0;
  for (uint32_t to = 0; to < costs.n; ++to) {
    double sum = 0;
    for (uint32_t from = 0; from < costs.n; ++from) sum += double{costs.hop[costs.at(from, to)]};
    if (sum <= longest) continue;
    longest = sum;
    farthest = static_cast<int>(to);
  }
  return farthest;
}

// An exchange is not over before the news of one side of the busiest cut is everywhere on the other (cut_bound.h); a
// barrier by trees, whose messages do not queue, not before some root has heard from all and the longest way from there
// is gone.
double any_barrier(const Costs& costs, const SearchLimits& limits, Arena& arena) {
  const float* const way = shortest_ways(costs, limits, arena);
  const double bound =
      std::max(longest_way(costs, way, -1, true), gathering(costs, farthest_from_all(costs), limits, arena));
  if (!way) return bound;
  const double cut = cut_bound(costs, way, bound, arena, limits);
  if (cut <= bound) return bound;
  const double back = longest_way(costs, way, -1, false);  // the trees' other half
  return std::max(bound, std::min(cut, gathering(costs, -1, limits, arena, 1.01 * (cut - back)) + back));
}

}  // namespace

double price_bound(const Costs& costs, Operation op, int root, Arena& arena, const SearchLimits& limits, bool lines) {
  if (costs.n <= 1) return 0;
  char* const scratch = arena.mark();
  double bound = 0;
  TreeProblem problem;
  if (op == Operation::kBarrier && root < 0) {
    bound = any_barrier(costs, limits, arena);
  } else if (op == Operation::kBarrier) {  // the root releases nobody before it has heard from all
    bound =
        longest_way(costs, shortest_ways(costs, limits, arena), root, false) + gathering(costs, root, limits, arena);
  } else if (op == Operation::kBroadcast && lines) {
    bound = longest_way(costs, shortest_ways(costs, limits, arena), root, false);
  } else if (make_problem(costs, op == Operation::kBroadcast ? Direction::kBroadcast : Direction::kReduce, arena,
                          &problem) == 0) {
    bound = lower_bound(problem, root, arena, limits);
  }
  arena.rewind(scratch);
  return bound;
}

}  // namespace smelt
