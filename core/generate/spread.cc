// Spread: merge inside each cluster, divide the other clusters over the cluster's cores, merge again.
//
//   rounds 0..    everybody in a cluster hears of everybody in it        dissemination, width W
//   one round     of the other clusters, each core hears from its share  one message between any two clusters, each way
//   rounds ..     everybody in a cluster hears what the others heard     dissemination, width W
//
// Each core has a share of the near clusters and one of the far, so that it reads near news while far news is under
// way.
//
// Clusters are those behind a last-level cache, or, where there is only one, the smallest groups that the costs know:
// the cores, of several hardware threads.
//
// Between clusters there is one hop, as in the hybrid (hybrid.cc), but no leader that has to take in a message from
// every other cluster: with c clusters of k cores each core takes (c - 1) / k of them. It pays where clusters are many
// and messages keep the receiver busy.
#include <algorithm>

#include "generate/clusters.h"
#include "generate/levels.h"
#include "generate/patterns.h"

namespace smelt {

namespace {

struct Clusters {
  uint32_t count = 0;
  uint16_t* of = nullptr;      // [n]
  uint16_t* member = nullptr;  // [n] by cluster
  uint32_t* begin = nullptr;   // [count + 1]

  uint32_t size(uint32_t c) const { return begin[c + 1] - begin[c]; }
};

// The finest groups that the costs know, of two and more in the mean; if there are none, all stay one cluster. False:
// out of memory.
bool find_cores(const Costs& costs, Arena& arena, Clusters* out) {
  char* const scratch = arena.mark();
  TreeProblem problem;
  Levels levels;
  const bool found =
      make_problem(costs, Direction::kBroadcast, arena, &problem) == 0 && find_levels(problem, arena, &levels) == 0;
  for (uint32_t i = 1; found && i < levels.count; ++i) {
    if (2 * levels.level[i].count > costs.n) continue;
    out->count = levels.level[i].count;
    std::copy_n(levels.level[i].of, costs.n, out->of);
    break;
  }
  arena.rewind(scratch);
  return found;
}

bool find_clusters(const Costs& costs, Arena& arena, Clusters* out) {
  const uint32_t n = costs.n;
  *out = Clusters{0, arena.make<uint16_t>(n), arena.make<uint16_t>(n), arena.make<uint32_t>(n + 1)};
  if (!out->of || !out->member || !out->begin) return false;
  out->count = number_clusters(n, costs.node, costs.llc, out->of);
  if (out->count == 1 && !find_cores(costs, arena, out)) return false;
  uint32_t filled = 0;
  for (uint32_t c = 0; c < out->count; ++c) {
    for (uint32_t v = 0; v < n; ++v)
      if (out->of[v] == c) out->member[filled++] = static_cast<uint16_t>(v);
    out->begin[c + 1] = filled;
  }
  return true;
}

// Which core of a cluster deals with which other cluster: the nearest, the second nearest ... in turn, so that each has
// near ones and far ones. Of equally near ones the next in the ring comes first: `step` clusters on, times 1, 2 ... .
// `others` is scratch, [clusters].
template <typename Hop, typename Take>
void share_others(const Clusters& clusters, uint32_t own, uint32_t step, uint16_t* others, Hop hop, Take take) {
  const uint32_t count = clusters.count;
  const auto at = [&](uint32_t distance) { return (own + distance * step) % count; };
  for (uint32_t k = 1; k < count; ++k) others[k - 1] = static_cast<uint16_t>(k);
  std::sort(others, others + count - 1, [&](uint16_t a, uint16_t b) {
    const float to_a = hop(clusters.member[clusters.begin[at(a)]]), to_b = hop(clusters.member[clusters.begin[at(b)]]);
    return to_a != to_b ? to_a < to_b : a < b;
  });
  for (uint32_t k = 0; k + 1 < count; ++k)
    take(at(others[k]), clusters.member[clusters.begin[own] + k % clusters.size(own)]);
}

}  // namespace

int spread_exchange(const Costs& costs, uint32_t arg, Arena& arena, Exchange* out) {
  const uint32_t n = costs.n;
  if (arg == 0 || n == 0 || n > kMaxParticipants) return -EINVAL;
  char* const start = arena.mark();
  // The clusters say how many messages there are: two disseminations, and between them one for every ordered pair of
  // clusters. They stay in front of the messages; what is behind those is scratch, and given back.
  Clusters clusters;
  if (!find_clusters(costs, arena, &clusters)) {
    arena.rewind(start);
    return -ENOMEM;
  }
  uint32_t largest = 0, busiest = 0;
  size_t most = size_t{clusters.count} * (clusters.count - 1);
  for (uint32_t c = 0; c < clusters.count; ++c) {
    const uint32_t messages = disseminate(nullptr, clusters.size(c), arg, 0, nullptr);
    largest = std::max(largest, clusters.size(c));
    busiest = std::max(busiest, messages);
    most += 2 * size_t{messages};
  }
  Message* const messages = arena.make<Message>(most + 1);
  char* const scratch = arena.mark();
  Message* const merging = arena.make<Message>(busiest + 1);
  const size_t pairs = size_t{clusters.count} * clusters.count;
  uint16_t* const others = arena.make<uint16_t>(clusters.count);
  uint16_t* const sends = arena.make<uint16_t>(pairs);  // row = from: the core that tells that cluster
  uint16_t* const hears = arena.make<uint16_t>(pairs);  // ... and the core there that is told
  if (!messages || !merging || !others || !sends || !hears) {
    arena.rewind(start);
    return -ENOMEM;
  }
  const uint32_t local = dissemination_rounds(largest, arg), count = clusters.count;
  uint32_t rounds = 0, written = 0;
  const auto merge = [&] {  // in all clusters at once; rounds must ascend, so one round of all after the other
    for (uint32_t round = 0; round < local; ++round, ++rounds) {
      for (uint32_t c = 0; c < count; ++c) {
        const uint32_t here = disseminate(clusters.member + clusters.begin[c], clusters.size(c), arg, 0, merging);
        for (uint32_t k = 0; k < here; ++k) {
          if (merging[k].round != round) continue;
          messages[written++] = {static_cast<uint16_t>(rounds), merging[k].from, merging[k].to};
        }
      }
    }
  };
  merge();
  if (count > 1) {
    for (uint32_t own = 0; own < count; ++own) {
      const uint16_t here = clusters.member[clusters.begin[own]];
      share_others(
          clusters, own, 1, others, [&](uint16_t to) { return costs.hop[costs.at(here, to)]; },
          [&](uint32_t to, uint16_t core) { sends[own * count + to] = core; });
      share_others(
          clusters, own, count - 1, others, [&](uint16_t from) { return costs.hop[costs.at(from, here)]; },
          [&](uint32_t from, uint16_t core) { hears[from * count + own] = core; });
    }
    for (uint32_t distance = 1; distance < count; ++distance)
      for (uint32_t from = 0; from < count; ++from) {
        const uint32_t pair = from * count + (from + distance) % count;
        messages[written++] = {static_cast<uint16_t>(rounds), sends[pair], hears[pair]};
      }
    ++rounds;
    merge();
  }
  arena.rewind(scratch);
  *out = Exchange{n, rounds, written, messages};
  return 0;
}

}  // namespace smelt
