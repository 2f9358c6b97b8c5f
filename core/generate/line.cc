// Line: one line that many poll, for a broadcast and for the half of a barrier that releases.
//
//   line      the root stores one line, which everybody polls          0 --> 1 2 3 4 5 6 7
//   line:G    it stores a line for each group                          0 --> 1 2 3,  0 --> 4 5 6 7
//   relay:G   a leader of each other group polls a line of the root's  0 --> 1 2 3,  0 --> 4 --> 5 6 7
//             own, and stores one for its group
//
// A store to a line is one, however many poll it, and their reads overlap. So there is nothing to share out inside a
// socket: there the star is as quick for 24 as for two (release.cc). But readers on both sides of a boundary take the
// line from each other, which all of them pay for (Costs::crossing). A line for each side avoids that, as long as the
// root may be busy with so many; and a leader pays a hop more to keep all reads but its own inside its group. The
// flat line is what the "xhc" component of Open MPI does by default, and its authors found the price of the crossing
// (Katevenis-Bitzes, Ploumidis, Marazakis, "Impact of Cache Coherence on the Performance of Shared-Memory based MPI
// Primitives: A Case Study for Broadcast on Intel Xeon Scalable Processors", ICPP 2023).
#include <algorithm>

#include "generate/clusters.h"
#include "generate/patterns.h"

namespace smelt {

uint32_t number_line_groups(const Costs& costs, uint32_t level, uint16_t* of) {
  if (level == kCacheLines) return number_clusters(costs.n, costs.node, costs.llc, of);
  if (level == kPackageLines) return number_clusters(costs.n, costs.package, costs.package, of);
  std::fill_n(of, costs.n, uint16_t{0});
  return 1;
}

namespace {

// The children of each by groups, the root's own group last: a line that has a longer way is stored first.
int grow(const Costs& costs, uint32_t level, int root, Arena& arena, bool leaders, Tree* out) {
  const uint32_t n = costs.n;
  char* const start = arena.mark();
  if (int error = start_tree(n, root, 0, arena, out)) return error;
  char* const scratch = arena.mark();
  auto* of = arena.make<uint16_t>(n);
  auto* leader = arena.make<uint16_t>(n);
  if (!of || !leader) {
    arena.rewind(start);
    return -ENOMEM;
  }
  const uint32_t groups = number_line_groups(costs, level, of), own = of[out->root];
  for (uint32_t g = 0; g < groups; ++g) leader[g] = leaders ? kNobody : out->root;
  leader[own] = out->root;
  for (uint16_t i = 0; i < n; ++i)
    if (leader[of[i]] == kNobody) append_child(*out, out->root, leader[of[i]] = i);
  for (uint32_t g = 0; g <= groups; ++g)
    for (uint16_t i = 0; i < n; ++i)
      if (of[i] == (g < groups ? g : own) && (g != own) && i != leader[of[i]]) append_child(*out, leader[of[i]], i);
  arena.rewind(scratch);
  return 0;
}

}  // namespace

int line_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out) {
  return grow(costs, arg, root, arena, false, out);
}

int relay_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out) {
  return grow(costs, arg, root, arena, true, out);
}

}  // namespace smelt
