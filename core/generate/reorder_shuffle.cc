// Adaptive tree, then reordered and shuffled: Smelt, OSDI 2016, §3.3.2.
//
// Reorder: every node serves its children by falling t_receive + subtree, that is by the time that still passes
// after the send. All sends of a node are done by a fixed time, so this is scheduling jobs with tails, for which
// the longest tail first is optimal (an exchange argument): no other order of the same tree is faster.
//
// Shuffle, repeated until it gains nothing:
//   1. find the core that is informed last;
//   2. find the core that could inform it earliest after its own sends;
//   3. if that is earlier than now, move the last core there;
//   4. reorder the two parents and all above them.
// A move delays nobody and a reordering is optimal, so the time never grows. It may stay the same when several
// cores are last, so the moves are bounded: kMovesPerCore for each core, O(n) each but for the sorting.

#include "generate/patterns.h"
#include "generate/problem.h"

namespace smelt {

namespace {

constexpr uint32_t kMovesPerCore = 4;  // see above

struct Shuffler {
  const Costs& costs;
  Tree& tree;
  double* below;       // [n] from being informed to the last of the own subtree being informed
  double* informed;    // [n]
  double* idle;        // [n] when all own sends are done
  double* tail;        // [n] scratch: t_receive + below of each child
  uint16_t* order;     // [n] scratch: top-down order
  uint16_t* children;  // [n] scratch

  bool complete() const { return below && informed && idle && tail && order && children; }

  void reorder(uint16_t i) {
    const uint32_t count = children_of(tree, i, children);
    for (uint32_t k = 0; k < count; ++k) tail[children[k]] = costs.t_receive(i, children[k]) + below[children[k]];
    below[i] = serve_by_tail(tree, i, children, count, tail, [&](uint16_t c) { return costs.t_send(i, c); });
  }

  void reorder_all() {
    for (uint32_t k = top_down_order(tree, order); k-- > 0;) reorder(order[k]);
  }

  void reorder_upwards(uint16_t i) {
    for (; i != kNobody; i = tree.parent[i]) reorder(i);
  }

  // Fills in `informed` and `idle`; returns the last informed.
  uint16_t play() {
    const uint32_t count = top_down_order(tree, order);
    informed[tree.root] = 0;
    uint16_t last = tree.root;
    for (uint32_t k = 0; k < count; ++k) {
      const uint16_t i = order[k];
      if (informed[i] > informed[last] || (informed[i] == informed[last] && i < last)) last = i;
      idle[i] = informed[i];
      for (uint16_t c = tree.first[i]; c != kNobody; c = tree.next[c]) {
        idle[i] += costs.t_send(i, c);
        informed[c] = idle[i] + costs.t_receive(i, c);
      }
    }
    return last;
  }

  // One move; false when none gains.
  bool shuffle() {
    const uint16_t last = play();  // 1
    uint16_t best = kNobody;
    double earliest = informed[last];
    // Its own subtree is idle after it is informed, and its parent after having sent to it: neither can be earlier.
    for (uint16_t i = 0; i < tree.n; ++i) {  // 2
      const double then = idle[i] + costs.t_send(i, last) + costs.t_receive(i, last);
      if (then < earliest) {
        best = i;
        earliest = then;
      }
    }
    if (best == kNobody) return false;
    const uint16_t before = tree.parent[last];
    cut_child(tree, last);  // 3
    append_child(tree, best, last);
    reorder_upwards(before);  // 4
    reorder_upwards(best);
    return true;
  }
};

}  // namespace

int adaptive_sorted_tree(const Costs& costs, uint32_t arg, int root, Arena& arena, Tree* out) {
  if (int error = adaptive_tree(costs, arg, root, arena, out)) return error;
  const uint32_t n = costs.n;
  char* const scratch = arena.mark();
  Shuffler shuffler{costs,
                    *out,
                    arena.make<double>(n),
                    arena.make<double>(n),
                    arena.make<double>(n),
                    arena.make<double>(n),
                    arena.make<uint16_t>(n),
                    arena.make<uint16_t>(n)};
  const bool fits = shuffler.complete();
  if (fits) {
    shuffler.reorder_all();
    for (uint32_t moves = 0; moves < kMovesPerCore * n && shuffler.shuffle();) ++moves;
  }
  arena.rewind(scratch);
  return fits ? 0 : -ENOMEM;
}

}  // namespace smelt
