// Levels by single linkage: a minimum spanning tree joins near ones before far ones, so where its sorted lengths jump,
// the longer edges part groups (Gower, Ross: Minimum spanning trees and single linkage cluster analysis, Applied
// Statistics 18, 1969). On a machine these are cores with their hardware threads, caches, dies, sockets, whether or not
// anybody has named them.
#include "generate/levels.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "generate/clusters.h"

namespace smelt {

namespace {

constexpr uint32_t kMostJumps = kMostLevels - 3;  // everybody alone, the clusters and everybody together are no jumps
constexpr float kJump = 1.2f;                     // a length and the next one, at least

// A spanning tree from participant 0 (Prim), by the dearer of the two directions of each pair.
struct SpanningTree {
  uint16_t* nearest;  // [n] neighbour towards participant 0
  uint16_t* order;    // [n] in which they came in
  float* length;      // [n] of the edge to `nearest`
  float* sorted;      // [n] the same, sorted, from 1 on
  float* both;        // [n * n] the dearer of the two directions
  uint16_t* outside;  // [n] those that are not in yet, in ascending order

  bool complete() const { return nearest && order && length && sorted && both && outside; }

  void grow(const TreeProblem& problem) {
    const uint32_t n = problem.n;
    walk_by_tiles(n, [&](uint32_t v, uint32_t c) {
      both[size_t{v} * n + c] = std::max(problem.edge_of(v, c), problem.edge_of(c, v));
    });
    std::fill_n(length, n, HUGE_VALF);
    length[0] = -1;  // no edge, and sorted first
    for (uint32_t i = 0; i < n; ++i) outside[i] = static_cast<uint16_t>(i);
    for (uint32_t k = 0; k < n; ++k) {
      const uint32_t left = n - k;
      uint32_t at = 0;
      for (uint32_t i = 1; i < left; ++i) at = length[outside[i]] < length[outside[at]] ? i : at;
      const uint16_t v = outside[at];
      order[k] = v;
      std::copy(outside + at + 1, outside + left, outside + at);
      const float* const row = both + size_t{v} * n;
      for (uint32_t i = 0; i + 1 < left; ++i) {
        const uint16_t c = outside[i];
        if (row[c] >= length[c]) continue;
        length[c] = row[c];
        nearest[c] = v;
      }
    }
    std::copy_n(length, n, sorted);
    std::sort(sorted, sorted + n);
  }

  bool jumps_after(uint32_t i, float ratio) const { return sorted[i + 1] > ratio * sorted[i]; }

  // Groups joined by edges up to `longest`.
  void cut(uint32_t n, float longest, Grouping& out) const {
    out.count = 0;
    for (uint32_t k = 0; k < n; ++k) {
      const uint16_t v = order[k];
      out.of[v] = k > 0 && length[v] <= longest ? out.of[nearest[v]] : static_cast<uint16_t>(out.count++);
    }
  }
};

}  // namespace

void list_members(const Grouping& grouping, uint32_t n, uint16_t* members, uint16_t* first) {
  std::fill_n(first, grouping.count + 1, uint16_t{0});
  for (uint32_t v = 0; v < n; ++v) ++first[grouping.of[v] + 1];
  for (uint32_t k = 0; k < grouping.count; ++k) first[k + 1] = static_cast<uint16_t>(first[k + 1] + first[k]);
  // Filled from the front, which moves every start to its end, and back again.
  for (uint32_t v = 0; v < n; ++v) members[first[grouping.of[v]]++] = static_cast<uint16_t>(v);
  for (uint32_t k = grouping.count; k > 0; --k) first[k] = first[k - 1];
  first[0] = 0;
}

void sort_by_nearness(const Levels& levels, uint32_t n, uint16_t* sorted) {
  for (uint32_t v = 0; v < n; ++v) sorted[v] = static_cast<uint16_t>(v);
  std::sort(sorted, sorted + n, [&](uint16_t a, uint16_t b) {
    for (uint32_t i = levels.count; i-- > 0;) {
      if (levels.level[i].of[a] != levels.level[i].of[b]) return levels.level[i].of[a] < levels.level[i].of[b];
    }
    return false;
  });
}

int find_levels(const TreeProblem& problem, Arena& arena, Levels* out) {
  const uint32_t n = problem.n;
  char* const start = arena.mark();
  auto* numbers = arena.make<uint16_t>(size_t{kMostLevels} * n);
  char* const scratch = arena.mark();
  SpanningTree tree{arena.make<uint16_t>(n), arena.make<uint16_t>(n),          arena.make<float>(n),
                    arena.make<float>(n),    arena.make<float>(size_t{n} * n), arena.make<uint16_t>(n)};
  if (!numbers || !tree.complete()) {
    arena.rewind(start);
    return -ENOMEM;
  }
  for (uint32_t i = 0; i < kMostLevels; ++i) out->level[i].of = numbers + size_t{i} * n;
  tree.grow(problem);
  for (uint32_t v = 0; v < n; ++v) out->level[0].of[v] = static_cast<uint16_t>(v);
  out->level[0].count = n;
  out->count = 1;
  // Only the largest jumps count, if there are many.
  float ratio = kJump;
  for (;; ratio *= 1.1f) {
    uint32_t jumps = 0;
    for (uint32_t i = 1; i + 1 < n; ++i) jumps += tree.jumps_after(i, ratio);
    // A length of 0 is left by a jump of any ratio; a matrix has at most one such place.
    if (jumps <= kMostJumps) break;
  }
  for (uint32_t i = 1; i + 1 < n; ++i) {
    if (tree.jumps_after(i, ratio)) tree.cut(n, tree.sorted[i], out->level[out->count++]);
  }
  Grouping& clusters = out->level[out->count++];
  clusters.count = number_clusters(n, problem.node, problem.llc, clusters.of);
  std::fill_n(out->level[out->count].of, n, uint16_t{0});
  out->level[out->count++].count = 1;
  arena.rewind(scratch);
  return 0;
}

}  // namespace smelt
