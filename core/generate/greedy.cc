// Greedy tree: again and again, of all messages that could be sent next, the one that promises the earliest end.
//
// Bhat, Raghavendra, Prasanna: Efficient collective communication in distributed heterogeneous systems (ICDCS 1999;
// JPDC 63, 2003), the heuristic "earliest completing edge first with look-ahead". Sender v is free at ready(v); the
// next message is the one from v to c with the smallest
//
//   ready(v) + edge(v,c) + look-ahead(c)
//
// among all v that have it and all c that have not. Two things are looked ahead at:
//   1. the use that c has for it: its mean edge to its own cluster. A good sender is told before a bad one.
//   2. the group that waits for it: if nobody in c's group has been told yet, all of that group waits, and takes about
//      as long as a broadcast among as many equal participants takes (below). It is subtracted: without it a greedy
//      choice puts off the long ways to the end, where they cost the most. This is the paper's "remote first", but only
//      as far as the group is worth it. Groups are those of all levels (levels.h), from cores to sockets; the one that
//      takes the longest counts.
//
// The score of c rises when a group of it is entered, and never falls; so a sender's best choice of an earlier moment
// is a lower bound of its best choice now, and is only looked for again when it comes first and is no longer true.
#include "generate/greedy.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <functional>

namespace smelt {

namespace {

// A broadcast among `members` that are all alike: each member that has it sends every `busy`, each message takes
// `edge`. The times at which members are free lie in a heap; the earliest sends.
float alike(uint32_t members, double edge, double busy, double* heap) {
  std::greater<double> later;
  heap[0] = 0;
  double end = 0;
  for (uint32_t free = 1; free < members; ++free) {
    std::pop_heap(heap, heap + free, later);
    const double now = heap[free - 1];
    heap[free - 1] = now + busy;
    std::push_heap(heap, heap + free, later);
    heap[free] = now + edge;
    std::push_heap(heap, heap + free + 1, later);
    end = std::max(end, now + edge);
  }
  return static_cast<float>(end);
}

struct Sums {
  double edge, busy;
  uint32_t members;
};

struct Greedy {
  const TreeProblem& problem;
  const Levels& levels;
  const GroupNeeds& needs;
  GreedyWeights weights;
  uint16_t* choice;  // [n] whom an informed one would tell next
  uint16_t* told;    // [n] the informed, in that order
  double* ahead;     // [n] look-ahead; infinite for the informed
  bool* entered;     // [levels][n] by group
  double* ready;     // [n] when an informed one can send next
  double* promise;   // [n] of its choice: edge + look-ahead
  uint32_t count = 0;

  bool complete() const { return choice && told && ahead && entered && ready && promise; }

  double look_ahead(uint16_t c) const {
    // Neither the first level nor the last has groups that wait for being entered.
    float waiting = 0;
    for (uint32_t i = 1; weights.urgency > 0 && i + 1 < levels.count; ++i) {
      const size_t at = size_t{i} * problem.n + levels.level[i].of[c];
      if (!entered[at]) waiting = std::max(waiting, needs.time[at]);
    }
    return weights.look_ahead * needs.local_edge[c] - weights.urgency * waiting;
  }

  void choose(uint16_t v) {
    const float* const edge = problem.edge + size_t{v} * problem.n;
    uint16_t best = 0;
    double least = edge[0] + ahead[0];
    for (uint16_t c = 1; c < problem.n; ++c) {
      const double score = edge[c] + ahead[c];
      if (score >= least) continue;
      best = c;
      least = score;
    }
    choice[v] = best;
    promise[v] = least;
  }

  void tell(uint16_t c, double when) {
    ahead[c] = HUGE_VAL;
    for (uint32_t i = 1; i + 1 < levels.count; ++i) {
      const uint16_t* const group = levels.level[i].of;
      bool& in = entered[size_t{i} * problem.n + group[c]];
      if (in) continue;
      in = true;
      for (uint16_t w = 0; w < problem.n; ++w) {
        if (group[w] == group[c] && ahead[w] != HUGE_VAL) ahead[w] = look_ahead(w);
      }
    }
    ready[c] = when;
    told[count++] = c;
    if (count < problem.n) choose(c);
  }

  void grow(Tree& tree) {
    for (uint16_t c = 0; c < problem.n; ++c) ahead[c] = look_ahead(c);
    tell(tree.root, 0);
    while (count < problem.n) {
      uint16_t from = told[0];
      for (uint32_t i = 1; i < count; ++i) {
        if (ready[told[i]] + promise[told[i]] < ready[from] + promise[from]) from = told[i];
      }
      const uint16_t to = choice[from];
      if (promise[from] != problem.edge_of(from, to) + ahead[to]) {
        choose(from);
        continue;
      }
      const double start = ready[from];
      ready[from] += problem.busy_of(from, to);
      append_child(tree, from, to);
      tell(to, start + problem.edge_of(from, to));
    }
  }
};

}  // namespace

int study_groups(const TreeProblem& problem, const Levels& levels, Arena& arena, GroupNeeds* out) {
  const uint32_t n = problem.n;
  char* const start = arena.mark();
  *out = GroupNeeds{arena.make<float>(size_t{kMostLevels} * n), arena.make<float>(n)};
  char* const scratch = arena.mark();
  auto* sums = arena.make<Sums>(n);
  auto* heap = arena.make<double>(n);
  if (!out->time || !out->local_edge || !sums || !heap) {
    arena.rewind(start);
    return -ENOMEM;
  }
  for (uint32_t i = 1; i + 1 < levels.count; ++i) {
    const uint16_t* const group = levels.level[i].of;
    std::fill_n(sums, n, Sums{});
    for (uint32_t v = 0; v < n; ++v) {
      Sums& sum = sums[group[v]];
      ++sum.members;
      double edges = 0;
      uint32_t others = 0;
      for (uint32_t c = 0; c < n; ++c) {
        if (c == v || group[c] != group[v]) continue;
        edges += problem.edge_of(v, c);
        sum.busy += problem.busy_of(v, c);
        ++others;
      }
      sum.edge += edges;
      out->local_edge[v] =
          others ? static_cast<float>(edges / others) : 0;  // the last level to write it is the clusters
    }
    for (uint32_t k = 0; k < levels.level[i].count; ++k) {
      const double pairs = std::max(1.0, static_cast<double>(sums[k].members) * (sums[k].members - 1));
      out->time[size_t{i} * n + k] = alike(sums[k].members, sums[k].edge / pairs, sums[k].busy / pairs, heap);
    }
  }
  arena.rewind(scratch);
  return 0;
}

int greedy_tree(const TreeProblem& problem, const Levels& levels, const GroupNeeds& needs, uint16_t root,
                GreedyWeights weights, Arena& arena, Tree* out) {
  const uint32_t n = problem.n;
  if (root >= n || out->n != n) return -EINVAL;
  char* const scratch = arena.mark();
  Greedy greedy{problem,
                levels,
                needs,
                weights,
                arena.make<uint16_t>(n),
                arena.make<uint16_t>(n),
                arena.make<double>(n),
                arena.make<bool>(size_t{kMostLevels} * n),
                arena.make<double>(n),
                arena.make<double>(n)};
  const bool fits = greedy.complete();
  if (fits) {
    std::fill_n(out->parent, n, kNobody);
    std::fill_n(out->first, n, kNobody);
    std::fill_n(out->next, n, kNobody);
    std::fill_n(out->last, n, kNobody);
    out->root = root;
    greedy.grow(*out);
  }
  arena.rewind(scratch);
  return fits ? 0 : -ENOMEM;
}

}  // namespace smelt
