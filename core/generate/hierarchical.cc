// Hierarchical dissemination: level by level, everybody learns what the neighbouring groups of the next level know.
//
//   core        two hardware threads tell each other
//   cache       thread t of every core of the cache hears from thread t of other cores
//   socket      core c of every cache hears from core c of other caches, and so on
//
// Before a level everybody in a group knows all of that group. At the level, the g groups inside a larger one
// disseminate with width W among themselves: ceil(log(g) to the base W + 1) rounds, in which every participant hears
// from one counterpart in each of W other groups. Counterparts are those with the same place in their groups; where a
// group is smaller its places are used again. So each round of a near level costs a near message, and only the last
// levels' rounds cross the machine. Nobody has to pass anything on to its neighbours at the end. With s sockets that is
// log(s) far hops, where gather and release by a tree take two.
//
// Dissemination is Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988; doing it inside the
// node first is common for clusters of multicores (Hoefler et al., "Fast barrier synchronization for InfiniBand", IPDPS
// 2006). The levels are found in the costs (levels.cc), not named by the operating system.
#include <algorithm>

#include "generate/levels.h"
#include "generate/patterns.h"

namespace smelt {

namespace {

// The participants sorted so that every group of every level is a run of its neighbours.
struct Nesting {
  uint32_t n = 0;
  uint32_t levels = 0;         // 0 is everybody alone, levels - 1 everybody together
  uint16_t* sorted = nullptr;  // [n]
  uint16_t* begin = nullptr;   // [levels][n + 1] where the groups of a level begin in `sorted`
  uint32_t* count = nullptr;   // [levels] groups

  uint16_t* begins(uint32_t level) const { return begin + size_t{level} * (n + 1); }
  // visit(first, end) for each group of a level: its inner groups, as numbers of the level below.
  template <typename Visit>
  void for_each_group(uint32_t level, Visit visit) const {
    const uint16_t* const inner = begins(level - 1);
    for (uint32_t g = 0, first = 0, end = 0; g < count[level]; ++g, first = end) {
      while (end < count[level - 1] && inner[end] < begins(level)[g + 1]) ++end;
      visit(first, end);
    }
  }
};

int nest(const Levels& levels, uint32_t n, Arena& arena, Nesting* out) {
  *out = Nesting{n, levels.count, arena.make<uint16_t>(n), arena.make<uint16_t>(size_t{levels.count} * (n + 1)),
                 arena.make<uint32_t>(levels.count)};
  if (!out->sorted || !out->begin || !out->count) return -ENOMEM;
  // Two are in one group of a level if they are together in it and in all coarser ones, so that finer ones are always
  // inside. The clusters may cut across the levels found in the costs; then both cuts hold.
  sort_by_nearness(levels, n, out->sorted);
  for (uint32_t i = 0; i < levels.count; ++i) {
    uint16_t* const begin = out->begins(i);
    uint32_t groups = 0;
    for (uint32_t k = 0; k < n; ++k) {
      bool together = k > 0;
      for (uint32_t j = i; together && j < levels.count; ++j)
        together = levels.level[j].of[out->sorted[k]] == levels.level[j].of[out->sorted[k - 1]];
      if (!together) begin[groups++] = static_cast<uint16_t>(k);
    }
    begin[groups] = static_cast<uint16_t>(n);
    out->count[i] = groups;
  }
  return 0;
}

// The messages of all levels, into `out` unless that is null; returns how many, and the rounds.
uint32_t write(const Nesting& nesting, uint32_t width, RoundMessage* out, uint32_t* rounds) {
  uint32_t count = 0, round = 0;
  for (uint32_t level = 1; level < nesting.levels; ++level) {
    const uint16_t* const inner = nesting.begins(level - 1);
    uint32_t most = 0;  // inner groups in one
    nesting.for_each_group(level, [&](uint32_t first, uint32_t end) { most = std::max(most, end - first); });
    for (uint64_t step = 1; step < most; step *= width + 1, ++round) {
      nesting.for_each_group(level, [&](uint32_t first, uint32_t end) {
        const uint32_t groups = end - first;
        for (uint32_t a = 0; a < groups && step < groups; ++a) {
          for (uint64_t j = 1; j <= width && j * step < groups; ++j) {
            const auto from = static_cast<uint32_t>((a + groups - j * step % groups) % groups) + first;
            const uint32_t places = inner[from + 1] - inner[from];
            for (uint32_t k = inner[first + a]; k < inner[first + a + 1]; ++k, ++count) {
              if (!out) continue;
              const uint32_t place = inner[from] + (k - inner[first + a]) % places;
              out[count] = {static_cast<uint16_t>(round), nesting.sorted[place], nesting.sorted[k]};
            }
          }
        }
      });
    }
  }
  *rounds = round;
  return count;
}

}  // namespace

int hierarchical_exchange(const Costs& costs, uint32_t arg, Arena& arena, Exchange* out) {
  const uint32_t n = costs.n;
  if (arg == 0 || n == 0 || n > kMaxParticipants) return -EINVAL;
  char* const start = arena.mark();
  // The messages first, so that the scratch behind them can be given back. A level of g groups takes n messages for
  // each of the width * log(g) targets, which is never more than among n that are all alike at once, and one round more
  // for each level.
  const uint32_t most = std::min((dissemination_rounds(n, arg) + kMostLevels) * arg, n - 1);
  RoundMessage* const messages = arena.make<RoundMessage>(size_t{n} * std::max(most, 1u));
  char* const scratch = arena.mark();
  TreeProblem problem;
  Levels levels;
  Nesting nesting;
  int error = messages ? make_problem(costs, Direction::kBroadcast, arena, &problem) : -ENOMEM;
  if (!error) error = find_levels(problem, arena, &levels);
  if (!error) error = nest(levels, n, arena, &nesting);
  uint32_t rounds = 0, count = 0;
  if (!error) {
    count = write(nesting, arg, nullptr, &rounds);
    if (count > size_t{n} * std::max(most, 1u)) error = -ENOMEM;
  }
  if (error) {
    arena.rewind(start);
    return error;
  }
  write(nesting, arg, messages, &rounds);
  arena.rewind(scratch);
  *out = Exchange{n, rounds, count, messages};
  return 0;
}

}  // namespace smelt
