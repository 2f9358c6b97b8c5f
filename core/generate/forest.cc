// Forest: a tree in each last-level cache gathers, the roots exchange, and each releases its tree.
//
//   rounds 0..    children -> parents      up the best tree of the cluster, all of a parent's children in one round
//   rounds ..     roots <-> roots          all-to-all; above kAllToAllLeaders dissemination, kLeaderWidth at a time
//   last rounds   root -> members          one store to one line that all members poll, or, where that is quicker,
//                                          the leaders of smaller groups, who store one for theirs
//
//   0 <-------> 4
//  / \         / \      the far message goes both ways at once, where a single tree's goes there to gather and back
// 1   2       5   6     to release
// |           |
// 3           7
//
// It suits few clusters of many participants, where a leader that all tell would take in dozens of messages one after
// the other: machines of two large sockets. The trees are those that a search for the cluster's own reduction builds
// (optimised.h, without annealing, so that the pattern is the same for everybody).
//
// Hybrid: the same with a flat tree in each cache, under the participant that is nearest to everybody. Inside one cache
// reads overlap, so a flat gather costs little more than one message (the project's own measurements: of 32 lines, and
// its release, a quarter longer than of one). The shape is that of the hierarchical barriers since Mellor-Crummey and
// Scott, 1991.
#include <algorithm>

#include "generate/clusters.h"
#include "generate/levels.h"
#include "generate/optimised.h"
#include "generate/patterns.h"
#include "generate/release.h"
#include "policy/thresholds.h"

namespace smelt {

namespace {

constexpr uint32_t kAllToAllLeaders = typical(ThresholdId::kLeadersAllToAll);
constexpr uint32_t kLeaderWidth = typical(ThresholdId::kLeaderWidth);

// The trees of all clusters, by participant.
struct Forest {
  uint32_t clusters = 0, height = 0, depth = 0;  // of the highest tree to gather, and to release
  uint16_t* of = nullptr;                        // [n]
  uint16_t* root = nullptr;                      // [clusters]
  uint16_t* parent = nullptr;                    // [n] kNobody for roots
  uint16_t* level = nullptr;                     // [n] 0 for leaves, else above all children's
  double* arrival = nullptr;                     // [n] when its parent can see its message
  uint16_t* by_arrival = nullptr;                // [n]
  uint16_t* teller = nullptr;                    // [n] who releases it, kNobody for roots
  uint16_t* told = nullptr;                      // [n] in which round of the release: 0 for roots' lines
};

// One cluster's, from its tree over `members`: heights, and when everybody has heard its subtree.
void take_tree(const Tree& tree, const uint16_t* members, const Costs& costs, uint16_t* scratch, Forest* out) {
  uint16_t *const order = scratch, *const children = scratch + tree.n;
  for (uint32_t k = top_down_order(tree, order); k-- > 0;) {
    const uint16_t v = order[k], self = members[v];
    const uint32_t count = children_of(tree, v, children);
    std::sort(children, children + count, [&](uint16_t a, uint16_t b) {
      const double at_a = out->arrival[members[a]], at_b = out->arrival[members[b]];
      return at_a != at_b ? at_a < at_b : a < b;
    });
    double now = 0;
    uint16_t level = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const uint16_t child = members[children[i]];
      const size_t message = costs.at(child, self);
      now = std::max(now + (i == 0 ? costs.ready_read : costs.recv_busy)[message], out->arrival[child]);
      level = std::max(level, static_cast<uint16_t>(out->level[child] + 1));
    }
    out->level[self] = level;
    out->height = std::max(out->height, uint32_t{level});
    out->parent[self] = tree.parent[v] == kNobody ? kNobody : members[tree.parent[v]];
    out->arrival[self] = now + (out->parent[self] == kNobody ? 0 : costs.hop[costs.at(self, out->parent[self])]);
  }
}

// When the last one has heard, if each inner participant stores one line that its children poll.
double release_time(const Tree& tree, const Costs& costs, uint16_t* scratch, double* at) {
  uint16_t *const order = scratch, *const children = scratch + tree.n;
  double last = at[tree.root] = 0;
  const uint32_t n = top_down_order(tree, order);
  for (uint32_t k = 0; k < n; ++k) {
    const uint16_t v = order[k];
    const uint32_t count = children_of(tree, v, children);
    for (uint32_t i = 0; i < count; ++i) {
      at[children[i]] = at[v] + (count - 1) * double{costs.poller} + double{costs.hop[costs.at(v, children[i])]};
      last = std::max(last, at[children[i]]);
    }
  }
  return last;
}

// One cluster's release under this root: straight, or by leaders of the groups of some level, whichever is quickest.
int take_release(const Costs& part, uint16_t root, const uint16_t* members, uint16_t* scratch, Arena& arena,
                 Forest* out) {
  auto* at = arena.make<double>(part.n);
  TreeProblem problem;
  Levels levels;
  if (!at) return -ENOMEM;
  if (int error = make_problem(part, Direction::kBroadcast, arena, &problem)) return error;
  if (int error = find_levels(problem, arena, &levels)) return error;
  Tree best;
  double least = 0;
  for (uint32_t level = levels.count; level-- > 1;) {
    Tree tree;
    if (int error = release_tree(part, levels, level, root, arena, &tree)) return error;
    const double now = release_time(tree, part, scratch, at);
    if (level + 1 < levels.count && now >= least) continue;
    best = tree;
    least = now;
  }
  const uint32_t n = top_down_order(best, scratch);
  for (uint32_t k = 0; k < n; ++k) {
    const uint16_t v = scratch[k], parent = best.parent[v];
    out->teller[members[v]] = parent == kNobody ? kNobody : members[parent];
    if (parent == kNobody) continue;
    out->told[members[v]] = parent == root ? uint16_t{0} : static_cast<uint16_t>(out->told[members[parent]] + 1);
    out->depth = std::max(out->depth, out->told[members[v]] + 1u);
  }
  return 0;
}

// The member whose hops to and from everybody take the least: a leader talks to its members and to other leaders.
uint16_t nearest_to_all(const Costs& costs, const uint16_t* members, uint32_t count) {
  uint16_t nearest = 0;
  double least = 0;
  for (uint16_t k = 0; k < count; ++k) {
    double total = 0;
    for (uint32_t j = 0; j < costs.n; ++j)
      total += costs.hop[costs.at(members[k], j)] + costs.hop[costs.at(j, members[k])];
    if (k > 0 && total >= least) continue;
    nearest = k;
    least = total;
  }
  return nearest;
}

int grow(const Costs& costs, bool flat, Arena& arena, Forest* out) {
  const uint32_t n = costs.n;
  *out = Forest{0,
                0,
                0,
                arena.make<uint16_t>(n),
                arena.make<uint16_t>(n),
                arena.make<uint16_t>(n),
                arena.make<uint16_t>(n),
                arena.make<double>(n),
                arena.make<uint16_t>(n),
                arena.make<uint16_t>(n),
                arena.make<uint16_t>(n)};
  auto* members = arena.make<uint16_t>(n);
  auto* scratch = arena.make<uint16_t>(2 * size_t{n});
  if (!out->of || !out->root || !out->parent || !out->level || !out->arrival || !out->by_arrival || !out->teller ||
      !out->told || !members || !scratch)
    return -ENOMEM;
  out->clusters = number_clusters(n, costs.node, costs.llc, out->of);
  for (uint32_t c = 0; c < out->clusters; ++c) {
    uint32_t count = 0;
    for (uint16_t i = 0; i < n; ++i)
      if (out->of[i] == c) members[count++] = i;
    char* const mark = arena.mark();
    Costs part;
    Tree tree;
    double value = 0;
    if (int error = subset_costs(costs, {members, count}, arena, &part)) return error;
    if (int error = flat ? sequential_tree(part, 0, nearest_to_all(costs, members, count), arena, &tree)
                         : search_tree(part, Direction::kReduce, -1, kStartEffort, arena, &tree, &value))
      return error;
    take_tree(tree, members, costs, scratch, out);
    out->root[c] = members[tree.root];
    if (int error = take_release(part, tree.root, members, scratch, arena, out)) return error;
    arena.rewind(mark);
  }
  for (uint16_t i = 0; i < n; ++i) out->by_arrival[i] = i;
  std::sort(out->by_arrival, out->by_arrival + n, [out](uint16_t a, uint16_t b) {
    return out->arrival[a] != out->arrival[b] ? out->arrival[a] < out->arrival[b] : a < b;
  });
  return 0;
}

int exchange_of(const Costs& costs, bool flat, Arena& arena, Exchange* out) {
  const uint32_t n = costs.n;
  if (n == 0 || n > kMaxParticipants) return -EINVAL;
  // The messages are allocated first, so that the scratch behind them can be given back: gather and release take
  // fewer than n each, and the leaders' all-to-all at most 15 per leader, their dissemination 7 in each of 4 rounds.
  char* const start = arena.mark();
  static_assert(kMaxParticipants <= 4096, "8^4: four rounds of dissemination");
  RoundMessage* const messages = arena.make<RoundMessage>(size_t{n} * (2 + 4 * kLeaderWidth));
  char* const scratch = arena.mark();
  Forest forest;
  int error = messages ? grow(costs, flat, arena, &forest) : -ENOMEM;
  if (error) {
    arena.rewind(start);
    return error;
  }
  // By rounds; in a round a parent looks for its children's messages in their expected order of arrival.
  uint32_t count = 0, round = 0;
  for (; round < forest.height; ++round)
    for (uint32_t k = 0; k < n; ++k) {
      const uint16_t child = forest.by_arrival[k], parent = forest.parent[child];
      if (parent != kNobody && forest.level[parent] == round + 1)
        messages[count++] = {static_cast<uint16_t>(round), child, parent};
    }
  const uint32_t width = forest.clusters <= kAllToAllLeaders ? kAllToAllLeaders : kLeaderWidth;
  count += disseminate(forest.root, forest.clusters, width, round, messages + count);
  round += dissemination_rounds(forest.clusters, width);
  for (uint32_t told = 0; told < forest.depth; ++told, ++round)
    for (uint32_t k = 0; k < n; ++k) {
      const uint16_t i = forest.by_arrival[k];
      if (forest.teller[i] != kNobody && forest.told[i] == told)
        messages[count++] = {static_cast<uint16_t>(round), forest.teller[i], i};
    }
  arena.rewind(scratch);
  *out = Exchange{n, round, count, messages};
  return 0;
}

}  // namespace

int forest_exchange(const Costs& costs, uint32_t, Arena& arena, Exchange* out) {
  return exchange_of(costs, false, arena, out);
}

int hybrid_exchange(const Costs& costs, uint32_t, Arena& arena, Exchange* out) {
  return exchange_of(costs, true, arena, out);
}

}  // namespace smelt
