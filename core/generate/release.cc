// Release by shared lines: one store wakes every poller of the line.
//
// A tree for messages has to share the sending out, because each message keeps its sender busy. A line that many poll
// does not: the store is one, the reads overlap, and a further poller costs little (cost_model.h), so the star is hard
// to beat as long as the root is near. Across sockets it may pay to send one message to a leader there and let it store
// a line of its own for its neighbours: their reads then stay inside. One of the two is best on all machines we know;
// which one, and for which level of groups, is priced. The idea is that of the release flag of centralised barriers
// (Mellor-Crummey, Scott: Algorithms for scalable synchronization on shared-memory multiprocessors, ACM TOCS 9, 1991),
// which they found best wherever caches are coherent.
#include "generate/release.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

namespace smelt {

int release_tree(const Costs& costs, const Levels& levels, uint32_t level, uint16_t root, Arena& arena, Tree* out) {
  if (level >= levels.count || root >= costs.n) return -EINVAL;
  char* const start = arena.mark();
  Tree tree;
  if (int error = make_tree(costs.n, root, arena, &tree)) return error;
  char* const scratch = arena.mark();
  const Grouping& groups = levels.level[level];
  auto* leader = arena.make<uint16_t>(groups.count);
  auto* members = arena.make<uint16_t>(costs.n);
  auto* first = arena.make<uint16_t>(costs.n + 1);
  if (!leader || !members || !first) {
    arena.rewind(start);
    return -ENOMEM;
  }
  list_members(groups, costs.n, members, first);
  for (uint32_t g = 0; g < groups.count; ++g) {
    leader[g] = kNobody;
    if (g == groups.of[root]) continue;
    double least = HUGE_VAL;
    for (uint32_t i = first[g]; i < first[g + 1]; ++i) {
      const uint16_t v = members[i];
      const double way = costs.hop[costs.at(root, v)];
      double farthest = 0;
      for (uint32_t k = first[g]; k < first[g + 1] && way + farthest < least; ++k)
        farthest = std::max<double>(farthest, costs.hop[costs.at(v, members[k])]);
      if (leader[g] != kNobody && way + farthest >= least) continue;
      leader[g] = v;
      least = way + farthest;
    }
  }
  leader[groups.of[root]] = root;
  // Leaders before the root's own group: they still have to pass it on.
  for (uint32_t g = 0; g < groups.count; ++g)
    if (leader[g] != root) append_child(tree, root, leader[g]);
  for (uint16_t v = 0; v < costs.n; ++v) {
    const uint16_t above = leader[groups.of[v]];
    if (above != v) append_child(tree, above, v);
  }
  arena.rewind(scratch);
  *out = tree;
  return 0;
}

}  // namespace smelt
