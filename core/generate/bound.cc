// A lower bound on the value of the best tree, without looking for the tree.
//
// 1. Distance. Nobody is told earlier than along the shortest path from the root (Dijkstra).
//
// 2. Growth. Participants are made anonymous: all that is kept of one is its group (the cores of a cache, say) and that
//    it has a core, which it shares with some; and of two groups the least edge and the least busy time between them.
//    Everything possible on the machine is possible here, so a value that is impossible here is impossible there.
//    Counted backwards from the end, as in the postal model (Bar-Noy, Kipnis: Designing broadcasting algorithms in the
//    postal model, SPAA 1992): let reach(K, s, j, k) be the most participants that a member of group K can tell with s
//    of time left, if at most k others of its group are told without leaving the group, and at most j others of its
//    core. It tells somebody first, or idles:
//
//      reach(K, s, j, k) = max of
//        reach(K, s - 1, j, k)
//        1 + reach(L, s - edge(K,L), all, all) + reach(K, s - busy(K,L), j, k)                    another group L
//        1 + reach(K, s - edge(K,K), all, i)   + reach(K, s - busy(K,K), j, k - 1 - i)            another core (i < k)
//        1 + reach(K, s - edge(core), h, i)    + reach(K, s - busy(core), j - 1 - h, k - 1 - i)   its core, h < j
//
//    The least s for which the root reaches everybody is a bound. Sizes are kept for each entry into a group, not over
//    several entries into one group: that is the relaxation that makes it cheap. Over k each row is replaced by its
//    concave hull (from above, so it stays a bound), and the best split i of two concave rows is a merge of their
//    slopes.
//
//    Time is counted in whole ticks, every cost rounded down: a sum of those is not above the rounded-down sum. The
//    range of ticks is fitted until the answer lies in its upper part.
//
// 3. Weights. Far groups are told late, and the relaxation would rather enter a near one twice. So a participant may
//    count more than 1, the more the farther its zone is from the root's: the bound is the least s for which the root
//    reaches the sum of all weights, and holds for any weights >= 0 (Lagrangian relaxation of "everybody once"). A few
//    slopes are tried.
//
// Groups and cores are levels found in the costs (levels.h). Every nested pair of them gives a bound, and the best one
// counts.
#include "generate/bound.h"

#include <algorithm>
#include <cmath>

#include "generate/levels.h"

namespace smelt {

namespace {

constexpr uint32_t kMostTicks = 5000, kLeastTicks = 300;  // as many as the work allows, within these
constexpr double kRoughWork = 8e6;               // steps of the inner loops that a reckoning may take: to choose by,
constexpr double kFineWork = 2.5e7;              // and to keep
constexpr size_t kMostRowBytes = 24 << 20;       // of all rows; the arena may have less
constexpr uint32_t kRefinements = 6;             // rounds that fit the range of ticks
constexpr uint32_t kMostGroups = 96;             // work grows with the square
constexpr uint32_t kMostZones = 8;               // more groups than these are no zones
constexpr uint32_t kMostPerCore = 8;             // larger groups are no cores
constexpr uint32_t kPairsKept = 5;               // of groupings, for the finer reckoning
constexpr uint32_t kTicksBetweenLooks = 64;      // at the limits
constexpr double kSlopes[] = {0.5, 1, 2, 4, 8};  // steepness of the weights, tried in turn

class Growth {
 public:
  explicit Growth(const SearchLimits& limits) : limits_(limits) {}

  // `root` -1: any. `cores` is finer than `groups`. `allowed` is the work of a reckoning. False when the arena is used
  // up.
  bool make(const TreeProblem& problem, int root, const Grouping& cores, const Grouping& groups, double allowed,
            Arena& arena) {
    count_ = groups.count;
    senders_ = count_ + (root >= 0);
    return allocate(problem.n, arena) && find_costs(problem, root, cores, groups, arena) &&
           lay_out_rows(allowed, arena);
  }

  float& weight(uint32_t group) { return weight_[group]; }  // of each of its participants; to be set before bound()

  // The bound for a root in one of those groups that `wanted` lets through (all the same when the root is given), in
  // ticks of range / ticks_; `range` itself when everybody is reached only later; 0 when the limits are exceeded before
  // that.
  template <typename Wanted>
  double bound(double range, Wanted wanted) {
    tick_ = range / ticks_;
    for (size_t i = 0; i < size_t{senders_} * count_; ++i) count_ticks(cost_[i]);
    for (uint32_t k = 0; k < senders_; ++k) count_ticks(core_cost_[k]);
    all_ = 0;
    for (uint32_t k = 0; k < count_; ++k) all_ += weight_[k] * static_cast<float>(size_[k]);
    const bool free_root = senders_ == count_;
    if (!free_root) all_ += weight_[count_] = weight_[home_];
    // Rows are floats, sums of at most two for each tick: their relative errors stay below this.
    const double enough = all_ * (1 - 2 * ticks_ * 1.2e-7);
    for (uint32_t s = 0; s < ticks_; ++s) {
      if (s % kTicksBetweenLooks == 0 && limits_.exceeded()) return 0;
      float most = 0;
      for (uint32_t k = 0; k < senders_; ++k) {
        if (size_[k] == 0) continue;
        fill(k, s);
        if (free_root ? wanted(k) : k == count_) most = std::max(most, told(k, s));
      }
      if (most >= enough) return s * tick_;
    }
    return range;
  }

 private:
  struct Cost {
    double edge, busy;
    uint32_t edge_ticks, busy_ticks;
  };
  static constexpr uint32_t kNever = ~0u;

  bool allocate(uint32_t n, Arena& arena) {
    const size_t pairs = size_t{senders_} * count_;
    size_ = arena.make<uint32_t>(senders_);
    per_core_ = arena.make<uint32_t>(senders_);
    row_at_ = arena.make<uint32_t>(senders_);
    weight_ = arena.make<float>(senders_);
    cost_ = arena.make<Cost>(pairs);
    core_cost_ = arena.make<Cost>(senders_);
    by_busy_ = arena.make<uint16_t>(pairs);
    hull_ = arena.make<uint16_t>(n + 1);
    if (!size_ || !per_core_ || !row_at_ || !weight_ || !cost_ || !core_cost_ || !by_busy_ || !hull_) return false;
    for (size_t i = 0; i < pairs; ++i) cost_[i] = Cost{HUGE_VAL, HUGE_VAL, 0, 0};
    for (uint32_t k = 0; k < senders_; ++k) core_cost_[k] = Cost{HUGE_VAL, HUGE_VAL, 0, 0};
    for (uint32_t k = 0; k < count_; ++k) weight_[k] = 1;
    return true;
  }

  // The least edge and the least busy time between groups, within a group and within a core; and how large these are.
  bool find_costs(const TreeProblem& problem, int root, const Grouping& cores, const Grouping& groups, Arena& arena) {
    const uint32_t n = problem.n;
    auto* core_size = arena.make<uint32_t>(cores.count);
    if (!core_size) return false;
    for (uint32_t v = 0; v < n; ++v) {
      const bool is_root = static_cast<int>(v) == root;
      const uint32_t from = is_root ? count_ : groups.of[v];
      if (!is_root) ++size_[from];
      per_core_[groups.of[v]] = std::max(per_core_[groups.of[v]], ++core_size[cores.of[v]]);
      for (uint32_t c = 0; c < n; ++c) {
        if (c == v || static_cast<int>(c) == root) continue;
        Cost& cost = cores.of[v] == cores.of[c] ? core_cost_[from] : cost_[size_t{from} * count_ + groups.of[c]];
        cost.edge = std::min<double>(cost.edge, problem.edge_of(v, c));
        cost.busy = std::min<double>(cost.busy, problem.busy_of(v, c));
      }
    }
    home_ = root >= 0 ? groups.of[root] : 0;
    // The root is a sender of its own kind that tells its own group as if it were one of it.
    if (root >= 0) {
      size_[count_] = size_[home_] + 1;
      per_core_[count_] = per_core_[home_];
    }
    return true;
  }

  // A row for each sender and tick, with as many ticks as the work and the room that are left allow.
  bool lay_out_rows(double allowed, Arena& arena) {
    double work = 0;
    for (uint32_t k = 0; k < senders_; ++k) {
      row_at_[k] = width_;
      size_[k] = std::max(size_[k], uint32_t{k == count_});
      per_core_[k] = std::max(per_core_[k], 1u);
      width_ += size_[k] * per_core_[k];
      work += size_[k] * per_core_[k] * (6.0 + 2 * per_core_[k]) + count_ * 4.0;
      uint16_t* const order = by_busy_ + size_t{k} * count_;
      const Cost* const cost = cost_ + size_t{k} * count_;
      for (uint32_t l = 0; l < count_; ++l) order[l] = static_cast<uint16_t>(l);
      std::sort(order, order + count_, [cost](uint16_t a, uint16_t b) {
        return cost[a].busy != cost[b].busy ? cost[a].busy < cost[b].busy : a < b;
      });
    }
    ticks_ = static_cast<uint32_t>(std::clamp(allowed / work, double{kLeastTicks}, double{kMostTicks}));
    const size_t room = std::min(kMostRowBytes, arena.left() - std::min(arena.left(), size_t{64}));
    ticks_ = static_cast<uint32_t>(std::min<size_t>(ticks_, room / (width_ * sizeof(float))));
    if (ticks_ < kLeastTicks) return false;
    rows_ = arena.make<float>(size_t{ticks_} * width_);
    return rows_ != nullptr;
  }

  uint32_t whole_ticks(double cost) const {
    const double whole = cost / tick_ * (1 - 1e-9);
    return whole > ticks_ ? kNever : static_cast<uint32_t>(whole);
  }
  void count_ticks(Cost& cost) const {
    cost.edge_ticks = whole_ticks(cost.edge);
    cost.busy_ticks = whole_ticks(cost.busy);
  }

  float* row(uint32_t k, uint32_t s, uint32_t j) { return rows_ + size_t{s} * width_ + row_at_[k] + j * size_[k]; }
  // One of group k that is told from outside with s left, and all it reaches.
  float told(uint32_t k, uint32_t s) { return weight_[k] + row(k, s, per_core_[k] - 1)[size_[k] - 1]; }

  // The rows of sender k with s left. Telling nobody now is as good as s - 1; else another group comes first, or one's
  // own.
  void fill(uint32_t k, uint32_t s) {
    float* const first = row(k, s, 0);
    const uint32_t cells = size_[k] * per_core_[k];
    if (s == 0) {
      std::fill_n(first, cells, 0.0f);
    } else {
      std::copy_n(row(k, s - 1, 0), cells, first);
    }
    if (tell_other_groups(k, s, first, cells)) tell_own_group(k, s);
  }

  // Groups with the same busy time at once: only the best of them counts. False: one can tell as many as one likes in
  // no time.
  bool tell_other_groups(uint32_t k, uint32_t s, float* first, uint32_t cells) {
    const uint32_t home = k == count_ ? home_ : k;
    const Cost* const cost = cost_ + size_t{k} * count_;
    const uint16_t* const order = by_busy_ + size_t{k} * count_;
    for (uint32_t i = 0; i < count_;) {
      const uint32_t same = cost[order[i]].busy_ticks;
      if (same == kNever || same > s) break;
      float gain = -1;
      for (; i < count_ && cost[order[i]].busy_ticks == same; ++i) {
        const uint32_t l = order[i];
        const uint32_t edge = cost[l].edge_ticks;
        if (l == home || size_[l] == 0 || edge > s) continue;
        gain = std::max(gain, edge == 0 ? all_ : told(l, s - edge));
      }
      if (gain < 0) continue;
      if (same == 0) {
        std::fill_n(first, cells, all_);
        return false;
      }
      const float* const rest = row(k, s - same, 0);
      for (uint32_t j = 0; j < cells; ++j) first[j] = std::max(first[j], gain + rest[j]);
    }
    return true;
  }

  // Somebody on another core of one's group, or on one's own core.
  void tell_own_group(uint32_t k, uint32_t s) {
    const uint32_t home = k == count_ ? home_ : k;
    const uint32_t width = size_[k], members = size_[home];
    const Cost &local = cost_[size_t{k} * count_ + home], &core = core_cost_[k];
    for (uint32_t j = 0; j < per_core_[k]; ++j) {
      float* const now = row(k, s, j);
      // The one told has `told_row` for itself, the teller goes on with row `rest`.
      const auto tell = [&](const Cost& cost, uint32_t told_row, uint32_t rest) {
        if (cost.busy_ticks == 0)
          std::fill_n(now + 1, width - 1, all_);
        else
          add_local(now, width, row(home, s - cost.edge_ticks, told_row), members, row(k, s - cost.busy_ticks, rest),
                    weight_[home]);
      };
      if (width > 1 && members > 0) {
        if (local.edge_ticks <= s) tell(local, per_core_[home] - 1, j);
        for (uint32_t h = 0; h < j && core.edge_ticks <= s; ++h) tell(core, h, j - 1 - h);
      }
      for (uint32_t i = 0; i < width; ++i) now[i] = std::min(std::max(now[i], j > 0 ? (now - width)[i] : 0), all_);
      hull(now, width);
    }
  }

  // now[j] = max(now[j], weight + the best split of j - 1 others between the one told and the teller).
  static void add_local(float* now, uint32_t width, const float* told, uint32_t told_width, const float* rest,
                        float weight) {
    uint32_t a = 0, b = 0;
    for (uint32_t j = 1; j < width; ++j) {
      now[j] = std::max(now[j], weight + told[a] + rest[b]);
      const float step_a = a + 1 < told_width ? told[a + 1] - told[a] : -1;
      const float step_b = b + 1 < width ? rest[b + 1] - rest[b] : -1;
      if (step_a >= step_b) {
        ++a;
      } else {
        ++b;
      }
    }
  }

  void hull(float* now, uint32_t width) {
    bool concave = true;
    for (uint32_t j = 1; j + 1 < width && concave; ++j) concave = now[j] - now[j - 1] >= now[j + 1] - now[j];
    if (concave) return;
    uint32_t corners = 0;
    for (uint32_t j = 0; j < width; ++j) {
      while (corners >= 2) {
        const uint32_t p = hull_[corners - 2], q = hull_[corners - 1];
        if ((now[q] - now[p]) * static_cast<float>(j - q) > (now[j] - now[q]) * static_cast<float>(q - p)) break;
        --corners;
      }
      hull_[corners++] = static_cast<uint16_t>(j);
    }
    for (uint32_t i = 0; i + 1 < corners; ++i) {
      const uint32_t p = hull_[i], q = hull_[i + 1];
      const float base = now[p], slope = (now[q] - base) / static_cast<float>(q - p);
      for (uint32_t j = p + 1; j < q; ++j) now[j] = std::max(now[j], base + slope * static_cast<float>(j - p));
    }
  }

  const SearchLimits limits_;
  uint32_t count_ = 0;            // groups
  uint32_t senders_ = 0;          // groups, and the root if it is given: the last
  uint32_t home_ = 0;             // the root's group
  uint32_t width_ = 0;            // of all rows of one tick
  uint32_t ticks_ = 0;            // rows that there is room for
  double tick_ = 0;               // length of one, in the costs' unit
  float all_ = 0;                 // sum of the weights
  uint32_t* size_ = nullptr;      // [senders] without the root, but in its own place
  uint32_t* per_core_ = nullptr;  // [senders] the most of one core
  uint32_t* row_at_ = nullptr;    // [senders]
  float* weight_ = nullptr;       // [senders]
  Cost* cost_ = nullptr;          // [senders * count]
  Cost* core_cost_ = nullptr;     // [senders]
  uint16_t* by_busy_ = nullptr;   // [senders * count] groups by busy time
  uint16_t* hull_ = nullptr;      // [n + 1]
  float* rows_ = nullptr;         // [ticks][width]
};

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

// 2 and 3 for the nested pairs of levels: all of them roughly, the most promising ones again.
double growth_bound(const TreeProblem& problem, int root, const Levels& levels, double best, const SearchLimits& limits,
                    uint16_t* seen, Arena& arena) {
  const uint32_t n = problem.n;
  Pair pairs[kMostLevels * (kMostLevels - 1) / 2];
  uint32_t count = 0;
  char* const scratch = arena.mark();
  for (uint32_t outer = 1; outer < levels.count; ++outer) {
    const Grouping& groups = levels.level[outer];
    if (groups.count > kMostGroups) continue;
    for (uint32_t inner = 0; inner < outer; ++inner) {
      const Grouping& cores = levels.level[inner];
      if (cores.count == groups.count || !nested(n, cores, groups, seen) || largest(n, cores, seen) > kMostPerCore)
        continue;
      Growth rough(limits);
      if (rough.make(problem, root, cores, groups, kRoughWork, arena)) {
        const double bound = unweighted(rough, best);
        // Of those that do not raise the best, how near they come is not known; the zones may still tell.
        pairs[count++] =
            Pair{&cores, &groups, bound > best ? bound : rough.bound(1.5 * best, [](uint32_t) { return true; })};
        best = std::max(best, bound);
      }
      arena.rewind(scratch);
    }
  }
  std::sort(pairs, pairs + count, [](const Pair& a, const Pair& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.groups->count > b.groups->count;
  });
  for (uint32_t i = 0; i < std::min(count, kPairsKept); ++i) {
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

double lower_bound(const TreeProblem& problem, int root, Arena& arena, const SearchLimits& limits) {
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
      best = growth_bound(problem, root, levels, best, limits, seen, arena);
  }
  arena.rewind(start);
  // The value of a tree is a sum of floats, each edge - busy rounded to 2^-24 of itself: it may lie below its exact sum
  // by that much.
  return best * (1 - 1e-6);
}

}  // namespace smelt
