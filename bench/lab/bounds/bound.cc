// A lower bound on the value of the best tree, without looking for the tree.
//
// 1. Distance. Nobody is told earlier than along the shortest path from the root (Dijkstra).
//
// 2. Growth. Participants are made anonymous, and what one can reach of them in time is reckoned: growth.h.
//
// 3. Weights. Far groups are told late, and the relaxation would rather enter a near one twice. So a participant may
//    count more than 1, the more the farther its zone is from the root's: the bound is the least s for which the root
//    reaches the sum of all weights, and holds for any weights >= 0 (Lagrangian relaxation of "everybody once"). A few
//    slopes are tried.
//
// Groups and cores are levels found in the costs (levels.h). Every nested pair of them gives a bound, and the best one
// counts.
#include "bench/lab/bounds/bound.h"

#include <algorithm>
#include <cmath>

#include "bench/lab/bounds/growth.h"
#include "generate/levels.h"

namespace smelt {

namespace {

constexpr double kRoughWork = 8e6;               // steps of the inner loops that a reckoning may take: to choose by,
constexpr double kFineWork = 2.5e7;              // and to keep
constexpr uint32_t kRefinements = 6;             // rounds that fit the range of ticks
constexpr uint32_t kMostGroups = 96;             // work grows with the square
constexpr uint32_t kMostZones = 8;               // more groups than these are no zones
constexpr uint32_t kMostPerCore = 8;             // larger groups are no cores
constexpr uint32_t kPairsKept = 5;               // of groupings, for the finer reckoning
constexpr double kSlopes[] = {0.5, 1, 2, 4, 8};  // steepness of the weights, tried in turn

// 1. The farthest from the root by shortest paths; for any root, the second dearest to tell.
double distance_bound(const TreeProblem& problem, int root, double* distance, bool* done) {
  const uint32_t n = problem.n;
  if (root < 0) {
    double first = 0, second = 0;
    for (uint32_t c = 0; c < n; ++c) {
      double least = HUGE_VAL;
      for (uint32_t v = 0; v < n; ++v) {
        if (v != c) least = std::min<double>(least, problem.edge_of(v, c));
      }
      if (least > first) std::swap(least, first);
      second = std::max(second, least);
    }
    return second;
  }
  std::fill_n(distance, n, HUGE_VAL);
  std::fill_n(done, n, false);
  distance[root] = 0;
  double farthest = 0;
  for (uint32_t k = 0; k < n; ++k) {
    uint32_t v = n;
    for (uint32_t w = 0; w < n; ++w) {
      if (!done[w] && (v == n || distance[w] < distance[v])) v = w;
    }
    done[v] = true;
    farthest = distance[v];
    for (uint32_t c = 0; c < n; ++c) distance[c] = std::min(distance[c], distance[v] + problem.edge_of(v, c));
  }
  return farthest;
}

// Does every group of `fine` lie in one of `coarse`? `seen` has room for fine.count.
bool nested(uint32_t n, const Grouping& fine, const Grouping& coarse, uint16_t* seen) {
  std::fill_n(seen, fine.count, kNobody);
  for (uint32_t v = 0; v < n; ++v) {
    if (seen[fine.of[v]] != kNobody && seen[fine.of[v]] != coarse.of[v]) return false;
    seen[fine.of[v]] = coarse.of[v];
  }
  return true;
}

uint32_t largest(uint32_t n, const Grouping& grouping, uint16_t* members) {
  std::fill_n(members, grouping.count, uint16_t{0});
  uint32_t most = 0;
  for (uint32_t v = 0; v < n; ++v) most = std::max<uint32_t>(most, ++members[grouping.of[v]]);
  return most;
}

// Shortest ways between zones: [zones * zones], row = from.
void zone_distances(const TreeProblem& problem, const Grouping& zones, double* distance) {
  const uint32_t z = zones.count;
  std::fill_n(distance, size_t{z} * z, HUGE_VAL);
  for (uint32_t v = 0; v < problem.n; ++v) {
    for (uint32_t c = 0; c < problem.n; ++c) {
      double& way = distance[size_t{zones.of[v]} * z + zones.of[c]];
      if (zones.of[v] == zones.of[c]) {
        way = 0;
      } else {
        way = std::min<double>(way, problem.edge_of(v, c));
      }
    }
  }
  for (uint32_t by = 0; by < z; ++by) {
    for (uint32_t a = 0; a < z; ++a) {
      for (uint32_t b = 0; b < z; ++b)
        distance[a * z + b] = std::min(distance[a * z + b], distance[a * z + by] + distance[by * z + b]);
    }
  }
}

struct Pair {
  const Grouping* cores = nullptr;
  const Grouping* groups = nullptr;
  double bound = 0;  // a rough one, without weights
};

// 2 with unit weights: at least `best`, the bound known already.
double unweighted(Growth& growth, double best) {
  double range = best > 0 ? 1.5 * best : 1;
  for (uint32_t round = 0; round < kRefinements; ++round) {
    const double bound = growth.bound(range, [](uint32_t) { return true; });
    best = std::max(best, bound);
    if (bound >= range) {
      range *= 1.6;
    } else if (bound < 0.7 * range && bound > 0.5 * best) {
      range = 1.1 * best;
    } else {
      break;
    }
  }
  return best;
}

// 3: zones by the root's. Slopes are chosen by `rough`; only `fine` counts.
double weighted(const TreeProblem& problem, int root, const Grouping& groups, const Grouping& zones, Growth& rough,
                Growth& fine, double best, Arena& arena) {
  auto* zone_of = arena.make<uint16_t>(groups.count);
  auto* distance = arena.make<double>(size_t{zones.count} * zones.count);
  if (!zone_of || !distance) return best;
  for (uint32_t v = 0; v < problem.n; ++v) zone_of[groups.of[v]] = zones.of[v];
  zone_distances(problem, zones, distance);
  double least = HUGE_VAL;
  for (uint32_t z = 0; z < zones.count && least > best; ++z) {
    if (root >= 0 && z != zones.of[root]) continue;
    const double* const from = distance + size_t{z} * zones.count;
    const double farthest = *std::max_element(from, from + zones.count);
    auto weigh = [&](Growth& growth, double slope) {
      for (uint32_t k = 0; k < groups.count; ++k) {
        growth.weight(k) = static_cast<float>(1 + (farthest > 0 ? slope * from[zone_of[k]] / farthest : 0));
      }
      return growth.bound(1.4 * best, [&](uint32_t k) { return zone_of[k] == z; });
    };
    double highest = 0, chosen = 0;
    for (double slope : kSlopes) {
      const double bound = weigh(rough, slope);
      if (bound < highest) break;
      highest = bound;
      chosen = slope;
    }
    least = std::min(least, std::max(highest, weigh(fine, chosen)));
  }
  return std::max(best, least < HUGE_VAL ? least : 0);
}

// Zones for `groups`: the coarsest level that parts at all.
Grouping zones_for(uint32_t n, const Levels& levels, const Grouping& groups, uint16_t* seen) {
  for (uint32_t z = levels.count; z-- > 1;) {
    const Grouping& level = levels.level[z];
    if (level.count >= 2 && level.count <= kMostZones && nested(n, groups, level, seen)) return level;
  }
  return {};
}

// visit(cores, groups) for the nested pairs of levels that growth can be reckoned with. `seen`: room for n.
template <typename Visit>
void for_each_pair(uint32_t n, const Levels& levels, uint16_t* seen, Visit visit) {
  for (uint32_t outer = 1; outer < levels.count; ++outer) {
    const Grouping& groups = levels.level[outer];
    if (groups.count > kMostGroups) continue;
    for (uint32_t inner = 0; inner < outer; ++inner) {
      const Grouping& cores = levels.level[inner];
      if (cores.count != groups.count && nested(n, cores, groups, seen) && largest(n, cores, seen) <= kMostPerCore)
        visit(cores, groups);
    }
  }
}

// 2 and 3 for the nested pairs of levels: all of them roughly, the most promising ones again.
double growth_bound(const TreeProblem& problem, int root, const Levels& levels, double best, const SearchLimits& limits,
                    double enough, uint16_t* seen, Arena& arena) {
  const uint32_t n = problem.n;
  Pair pairs[kMostLevels * (kMostLevels - 1) / 2];
  uint32_t count = 0;
  char* const scratch = arena.mark();
  for_each_pair(n, levels, seen, [&](const Grouping& cores, const Grouping& groups) {
    if (best >= enough) return;
    Growth rough(limits);
    if (rough.make(problem, root, cores, groups, kRoughWork, arena)) {
      const double bound = unweighted(rough, best);
      // Of those that do not raise the best, how near they come is not known; the zones may still tell.
      pairs[count++] =
          Pair{&cores, &groups, bound > best ? bound : rough.bound(1.5 * best, [](uint32_t) { return true; })};
      best = std::max(best, bound);
    }
    arena.rewind(scratch);
  });
  std::sort(pairs, pairs + count, [](const Pair& a, const Pair& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.groups->count > b.groups->count;
  });
  for (uint32_t i = 0; i < std::min(count, kPairsKept) && best < enough; ++i) {
    const Pair& pair = pairs[i];
    const Grouping zones = zones_for(n, levels, *pair.groups, seen);
    Growth rough(limits), fine(limits);
    if (fine.make(problem, root, *pair.cores, *pair.groups, kFineWork, arena)) {
      best = unweighted(fine, best);
      if (zones.count > 1 && rough.make(problem, root, *pair.cores, *pair.groups, kRoughWork, arena)) {
        best = weighted(problem, root, *pair.groups, zones, rough, fine, best, arena);
      }
    }
    arena.rewind(scratch);
  }
  return best;
}

}  // namespace

void lower_heard(const TreeProblem& problem, double range, uint32_t count, float* most, Arena& arena,
                 const SearchLimits& limits) {
  char* const start = arena.mark();
  auto* seen = arena.make<uint16_t>(problem.n);
  Levels levels;
  if (seen && find_levels(problem, arena, &levels) == 0)
    for_each_pair(problem.n, levels, seen, [&](const Grouping& cores, const Grouping& groups) {
      char* const scratch = arena.mark();
      Growth growth(limits);
      if (growth.make(problem, -1, cores, groups, kRoughWork, arena)) growth.lower_curve(range, count, most);
      arena.rewind(scratch);
    });
  arena.rewind(start);
}

double lower_bound(const TreeProblem& problem, int root, Arena& arena, const SearchLimits& limits, double enough) {
  const uint32_t n = problem.n;
  if (n < 2) return 0;
  char* const start = arena.mark();
  double best = 0;
  auto* distance = arena.make<double>(n);
  auto* done = arena.make<bool>(n);
  auto* seen = arena.make<uint16_t>(n);
  Levels levels;
  if (distance && done && seen) {
    best = distance_bound(problem, root, distance, done);
    if (find_levels(problem, arena, &levels) == 0)
      best = growth_bound(problem, root, levels, best, limits, enough, seen, arena);
  }
  arena.rewind(start);
  // The value of a tree is a sum of floats, each edge - busy rounded to 2^-24 of itself: it may lie below its exact sum
  // by that much.
  return best * (1 - 1e-6);
}

}  // namespace smelt
