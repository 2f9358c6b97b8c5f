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
#include <cstring>
#include <functional>
#include <span>

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

// Finds where a[i] + b[i] is least, the first such i. First the least sum, by four chains of four numbers each, since
// one alone would wait for itself; then the first i that has it.
uint32_t least_sum(const float* a, const float* b, uint32_t n) {
  using Floats [[gnu::vector_size(16)]] = float;
  using Numbers [[gnu::vector_size(16)]] = int32_t;
  using Halves [[gnu::vector_size(16)]] = int64_t;
  constexpr uint32_t kLanes = 4, kChains = 4, kStep = kLanes * kChains;
  const auto sum = [a, b](uint32_t i) {
    Floats x, y;
    std::memcpy(&x, a + i, sizeof x);
    std::memcpy(&y, b + i, sizeof y);
    return x + y;
  };
  Floats least[kChains];
  for (Floats& chain : least) chain = Floats{} + HUGE_VALF;
  uint32_t i = 0;
  for (; i + kStep <= n; i += kStep) {
#pragma GCC unroll 4
    for (uint32_t k = 0; k < kChains; ++k) {
      const Floats now = sum(i + k * kLanes);
      least[k] = now < least[k] ? now : least[k];
    }
  }
  float value = HUGE_VALF;
  for (uint32_t k = 0; k < kStep; ++k) value = std::min(value, least[k / kLanes][k % kLanes]);
  for (; i < n; ++i) value = std::min(value, a[i] + b[i]);
  const Floats wanted = Floats{} + value;
  for (i = 0; i + kStep <= n; i += kStep) {
    Numbers here = {};
#pragma GCC unroll 4
    for (uint32_t k = 0; k < kChains; ++k) here |= sum(i + k * kLanes) == wanted;
    Halves halves;
    std::memcpy(&halves, &here, sizeof halves);
    if ((halves[0] | halves[1]) != 0) break;
  }
  while (i < n && a[i] + b[i] != value) ++i;
  return i < n ? i : 0;
}

struct Greedy {
  const TreeProblem& problem;
  const Levels& levels;
  const GroupNeeds& needs;
  GreedyWeights weights;
  float* ahead;   // [n] look-ahead; infinite for the informed
  bool* entered;  // [levels][n] by group
  // Of the informed, in that order:
  uint16_t* told;    // [n]
  uint16_t* choice;  // [n] whom each would tell next
  float* ready;      // [n] when it can send next
  float* promise;    // [n] of its choice: edge + look-ahead
  uint32_t count = 0;

  bool complete() const { return ahead && entered && told && choice && ready && promise; }

  const float* edges_of(uint32_t k) const { return problem.edge + size_t{told[k]} * problem.n; }

  float look_ahead(uint16_t c) const {
    // Neither the first level nor the last has groups that wait for being entered.
    float waiting = 0;
    for (uint32_t i = 1; weights.urgency > 0 && i + 1 < levels.count; ++i) {
      const size_t at = size_t{i} * problem.n + levels.level[i].of[c];
      if (!entered[at]) waiting = std::max(waiting, needs.time[at]);
    }
    return weights.look_ahead * needs.local_edge[c] - weights.urgency * waiting;
  }

  void choose(uint32_t k) {
    const float* const edge = edges_of(k);
    const uint32_t best = least_sum(edge, ahead, problem.n);
    choice[k] = static_cast<uint16_t>(best);
    promise[k] = edge[best] + ahead[best];
  }

  void tell(uint16_t c, float when) {
    ahead[c] = HUGE_VALF;
    for (uint32_t i = 1; i + 1 < levels.count; ++i) {
      const uint16_t* const group = levels.level[i].of;
      bool& in = entered[size_t{i} * problem.n + group[c]];
      if (in) continue;
      in = true;
      const uint16_t* const first = needs.first + size_t{i} * (problem.n + 1) + group[c];
      for (uint32_t k = first[0]; k < first[1]; ++k) {
        const uint16_t w = needs.members[size_t{i} * problem.n + k];
        if (ahead[w] != HUGE_VALF) ahead[w] = look_ahead(w);
      }
    }
    told[count] = c;
    ready[count] = when;
    ++count;
    if (count < problem.n) choose(count - 1);
  }

  void grow(Tree& tree) {
    for (uint16_t c = 0; c < problem.n; ++c) ahead[c] = look_ahead(c);
    tell(tree.root, 0);
    while (count < problem.n) {
      const uint32_t k = least_sum(ready, promise, count);
      const uint16_t from = told[k], to = choice[k];
      if (promise[k] != edges_of(k)[to] + ahead[to]) {
        choose(k);
        continue;
      }
      const float start = ready[k];
      ready[k] += problem.busy_of(from, to);
      append_child(tree, from, to);
      tell(to, start + problem.edge_of(from, to));
    }
  }
};

}  // namespace

int study_groups(const TreeProblem& problem, const Levels& levels, Arena& arena, GroupNeeds* out) {
  const uint32_t n = problem.n;
  char* const start = arena.mark();
  *out = GroupNeeds{arena.make<float>(size_t{kMostLevels} * n), arena.make<float>(n),
                    arena.make<uint16_t>(size_t{kMostLevels} * n), arena.make<uint16_t>(size_t{kMostLevels} * (n + 1))};
  char* const scratch = arena.mark();
  auto* sums = arena.make<Sums>(n);
  auto* heap = arena.make<double>(n);
  if (!out->time || !out->local_edge || !out->members || !out->first || !sums || !heap) {
    arena.rewind(start);
    return -ENOMEM;
  }
  for (uint32_t i = 1; i + 1 < levels.count; ++i) {
    const Grouping& level = levels.level[i];
    uint16_t *const members = out->members + size_t{i} * n, *const first = out->first + size_t{i} * (n + 1);
    list_members(level, n, members, first);
    for (uint32_t k = 0; k < level.count; ++k) {
      Sums& sum = sums[k] = {0, 0, static_cast<uint32_t>(first[k + 1] - first[k])};
      const std::span group(members + first[k], sum.members);
      for (const uint16_t v : group) {
        double edges = 0;
        for (const uint16_t c : group) {
          if (c == v) continue;
          edges += problem.edge_of(v, c);
          sum.busy += problem.busy_of(v, c);
        }
        sum.edge += edges;
        // The last level to write it is the clusters.
        out->local_edge[v] = sum.members > 1 ? static_cast<float>(edges / (sum.members - 1)) : 0;
      }
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
                arena.make<float>(n),
                arena.make<bool>(size_t{kMostLevels} * n),
                arena.make<uint16_t>(n),
                arena.make<uint16_t>(n),
                arena.make<float>(n),
                arena.make<float>(n)};
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
