// The optimal tree, by dynamic programming over subsets: S. E. Dreyfus, R. A. Wagner, "The Steiner Problem in Graphs",
// Networks 1 (1971), whose idea of splitting a set between one branch and the rest of the tree is used here with an
// order of service and a maximum instead of a sum.
//
// Let f[v][S] be the least value with which v serves all of S, itself not in S. Some participant c is served first, and
// c serves some part of S in turn; with c that is T. The rest, S - T, is v's:
//
//   f[v][0] = 0
//   f[v][S] = min over T in S, c in T of   max( edge(v,c) + f[c][T - c],  busy(v,c) + f[v][S - T] )
//
//        v                  v is busy with c and then stands where it would with S - T alone, only later. So the two
//       / \                 branches know of each other but by the sets they were given, and the value falls with
//      c   (S - T)          either's: the best of each makes the best of both. As every tree whose nodes have an
//     /                     order of service is one way of choosing c and T again and again, the minimum is over all.
//  (T - c)
//
// There are 3^n pairs of S and T (a participant is in T, in S - T, or outside S), each for several v and c. Two things
// make it fast. All v are computed at once: with every set goes a row of numbers, one for each participant, the lanes
// of vectors. And few pairs are looked into. Whichever c of T is first, T's value for f[v][S] is not below
//
//   max( reach[T][v], pause[v] + f[v][S - T] )      reach[T][v] = min over c in T of edge(v,c) + f[c][T - c]
//                                                   pause[v]    = min over c in S of busy(v,c)
//
// and a T for which that is not below the best so far is done with: 7 to 9 of 10 for 9 participants, more for 16. The
// sets are taken as binary numbers, in rising order, which has every set after its subsets. For each S:
//   1. those in S: f[c][S - c] is known, and kept in the lanes of the row that no parent needs;
//   2. reach[S], and pause. T = S, v with one child only, gives just reach, as no edge is shorter than busy;
//   3. every other T: the bound, and where some v's is below what it has, all c in T.
// S never holds a root that was asked for, which leaves a third of the work. The tree is read off at the end by
// repeating, for the n - 1 sets it is made of, the search that gave their values.
#include "generate/exact.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>

namespace smelt {

namespace {

constexpr uint32_t kLanes = kMostExact;           // one for each participant
constexpr uint32_t kPairsBetweenLooks = 1 << 16;  // half a millisecond or so between two looks at the limits

// Four lanes, the width that every vector unit has.
constexpr uint32_t kWidth = 4;
constexpr uint32_t kVectors = kLanes / kWidth;
static_assert(kLanes % kWidth == 0);
typedef float Vector __attribute__((vector_size(kWidth * sizeof(float))));
typedef int32_t Truth __attribute__((vector_size(kWidth * sizeof(int32_t))));

Vector less_of(Vector a, Vector b) { return a < b ? a : b; }
Vector more_of(Vector a, Vector b) { return a > b ? a : b; }
Vector all_lanes(float x) { return Vector{} + x; }

bool any(Truth truth) {
  uint64_t half[2];
  static_assert(sizeof half == sizeof truth);
  std::memcpy(half, &truth, sizeof half);
  return (half[0] | half[1]) != 0;
}

// A number for each participant.
struct alignas(sizeof(Vector)) Row {
  float of[kLanes];

  Vector get(uint32_t k) const {
    Vector lanes;
    std::memcpy(&lanes, of + k * kWidth, sizeof lanes);
    return lanes;
  }
  void set(uint32_t k, Vector lanes) { std::memcpy(of + k * kWidth, &lanes, sizeof lanes); }
};

uint32_t lowest(uint32_t set) { return static_cast<uint32_t>(std::countr_zero(set)); }
uint32_t without_lowest(uint32_t set) { return set & (set - 1); }

struct Search {
  uint32_t n;
  uint32_t places;               // those that may be in a set: everybody, or all but the root
  uint16_t participant[kLanes];  // the participant at each place; a given root at the last
  Row edge[kLanes];              // [c].of[v]: by places, and other than in the problem the child first
  Row busy[kLanes];
  Row* best;   // [1 << places] .of[v]: f[v][S]; of those in S f[c][S - c]
  Row* reach;  // [1 << places] .of[v], for v outside S

  uint32_t sets() const { return 1u << places; }
  uint32_t everybody() const { return (1u << n) - 1; }

  void take_in(const TreeProblem& problem, int root) {
    n = problem.n;
    places = root < 0 ? n : n - 1;
    uint32_t place = 0;
    for (uint32_t i = 0; i < n; ++i) {
      if (static_cast<int>(i) != root) participant[place++] = static_cast<uint16_t>(i);
    }
    if (root >= 0) participant[place] = static_cast<uint16_t>(root);
    // A value is a sum of at most n edges. Should that be too much for a float, everything is measured by a larger
    // unit.
    const float largest = *std::max_element(problem.edge, problem.edge + size_t{n} * n);
    const float unit = largest > std::numeric_limits<float>::max() / (2 * kLanes) ? 0.5f / kLanes : 1.0f;
    std::memset(edge, 0, sizeof edge);
    std::memset(busy, 0, sizeof busy);
    for (uint32_t c = 0; c < n; ++c) {
      for (uint32_t v = 0; v < n; ++v) {
        edge[c].of[v] = unit * problem.edge_of(participant[v], participant[c]);
        busy[c].of[v] = unit * problem.busy_of(participant[v], participant[c]);
      }
    }
  }

  // f[.][S], all of its subsets done.
  void serve(uint32_t set) {
    Row& row = best[set];
    for (uint32_t in = set; in != 0; in = without_lowest(in)) {  // 1
      const uint32_t c = lowest(in);
      row.of[c] = best[set ^ (1u << c)].of[c];
    }
    const uint32_t parents = everybody() & ~set;
    if (parents == 0) return;
    Vector least[kVectors], pause[kVectors];  // 2
    for (uint32_t k = 0; k < kVectors; ++k) least[k] = pause[k] = all_lanes(std::numeric_limits<float>::infinity());
    for (uint32_t in = set; in != 0; in = without_lowest(in)) {
      const uint32_t c = lowest(in);
      for (uint32_t k = 0; k < kVectors; ++k) {
        least[k] = less_of(least[k], edge[c].get(k) + all_lanes(row.of[c]));
        pause[k] = less_of(pause[k], busy[c].get(k));
      }
    }
    for (uint32_t k = 0; k < kVectors; ++k) reach[set].set(k, least[k]);
    // The lanes of those in S, and of nobody, are made 0: no bound is below that.
    Row found{};
    for (uint32_t out = parents; out != 0; out = without_lowest(out))
      found.of[lowest(out)] = reach[set].of[lowest(out)];
    for (uint32_t k = 0; k < kVectors; ++k) least[k] = found.get(k);
    for (uint32_t part = (set - 1) & set; part != 0; part = (part - 1) & set) {  // 3
      const Row& first = reach[part];
      const Row& rest = best[set ^ part];
      Truth hope{};
      for (uint32_t k = 0; k < kVectors; ++k) hope |= more_of(first.get(k), pause[k] + rest.get(k)) < least[k];
      if (!any(hope)) continue;
      for (uint32_t in = part; in != 0; in = without_lowest(in)) {
        const uint32_t c = lowest(in);
        const Vector below = all_lanes(best[part].of[c]);
        for (uint32_t k = 0; k < kVectors; ++k) {
          least[k] = less_of(least[k], more_of(edge[c].get(k) + below, busy[c].get(k) + rest.get(k)));
        }
      }
    }
    for (uint32_t k = 0; k < kVectors; ++k) found.set(k, least[k]);
    for (uint32_t out = parents; out != 0; out = without_lowest(out)) row.of[lowest(out)] = found.of[lowest(out)];
  }

  // Every set. 0 or -EINTR.
  int run(const SearchLimits& limits) {
    uint64_t pairs = 0;
    for (uint32_t set = 1; set < sets(); ++set) {
      if (pairs >= kPairsBetweenLooks) {
        if (limits.exceeded()) return -EINTR;
        pairs = 0;
      }
      serve(set);
      pairs += uint64_t{1} << std::popcount(set);
    }
    return 0;
  }

  // Whose tree is the best.
  uint32_t top() const {
    if (places < n) return places;
    const float* const values = best[everybody()].of;
    return static_cast<uint32_t>(std::min_element(values, values + n) - values);
  }

  // The children of v, which serves `set`, and all below them. If several trees are best, the one with the most direct
  // children is taken, because the parts T are tried in rising order.
  void grow(uint32_t v, uint32_t set, Tree& tree) const {
    while (set != 0) {
      uint32_t child = lowest(set), part = set;  // they stay should a cost be no number
      float least = std::numeric_limits<float>::infinity();
      for (uint32_t t = (0 - set) & set; t != 0 && !(least <= best[set].of[v]); t = (t - set) & set) {
        const float rest = best[set ^ t].of[v];
        if (reach[t].of[v] > best[set].of[v]) continue;
        for (uint32_t in = t; in != 0; in = without_lowest(in)) {
          const uint32_t c = lowest(in);
          const float by = std::max(edge[c].of[v] + best[t].of[c], busy[c].of[v] + rest);
          if (by >= least) continue;
          least = by;
          child = c;
          part = t;
        }
      }
      append_child(tree, participant[v], participant[child]);
      grow(child, part ^ (1u << child), tree);
      set ^= part;
    }
  }
};

}  // namespace

size_t exact_bytes(uint32_t n) {
  if (n > kMostExact) return 0;
  const size_t tables = 2 * sizeof(Row) << n;
  const size_t to_sort = 2 * n * (sizeof(double) + sizeof(uint16_t));
  return 4 * n * sizeof(uint16_t) + sizeof(Search) + std::max(tables, to_sort) + 2 * alignof(Row);
}

int exact_tree(const TreeProblem& problem, int root, const SearchLimits& limits, Arena& arena, Tree* out,
               double* value) {
  const uint32_t n = problem.n;
  if (n > kMostExact) return -ERANGE;
  if (n == 0 || root < -1 || root >= static_cast<int>(n)) return -EINVAL;
  if (limits.exceeded()) return -EINTR;
  char* const start = arena.mark();
  Tree tree;
  if (int error = make_tree(n, 0, arena, &tree)) return error;
  char* const scratch = arena.mark();
  auto* const made = arena.make<Search>(1);  // on the arena: the caller may be a thread with the smallest stack
  if (!made) {
    arena.rewind(start);
    return -ENOMEM;
  }
  Search& search = *made;
  search.take_in(problem, root);
  search.best = arena.make<Row>(search.sets());
  search.reach = arena.make<Row>(search.sets());
  int error = search.best && search.reach ? search.run(limits) : -ENOMEM;
  if (error == 0) {
    const uint32_t top = search.top();
    tree.root = search.participant[top];
    search.grow(top, search.everybody() ^ (1u << top), tree);
    arena.rewind(scratch);
    auto* const values = arena.make<double>(2 * n);
    auto* const order = arena.make<uint16_t>(2 * n);
    if (values && order) {
      *value = sort_and_value(problem, tree, values, order);
    } else {
      error = -ENOMEM;
    }
  }
  arena.rewind(error == 0 ? scratch : start);
  if (error == 0) *out = tree;
  return error;
}

}  // namespace smelt
