// Spread: merge inside each cluster, divide the other clusters over the cluster's cores, merge again.
//
//   rounds 0..    everybody in a cluster hears of everybody in it        dissemination, width W
//   one round     of the other clusters, each core hears from its share  one message between any two clusters, each way
//   rounds ..     everybody in a cluster hears what the others heard     dissemination, width W
//
// Which core has which share decides how early the last one is through: shares.cc.
//
// Clusters are those behind a last-level cache, or, where there is only one, the smallest groups that the costs know:
// the cores, of several hardware threads. In clusters that take more than one round to merge, the threads of a core
// tell each other first, and then each tells its counterparts on other cores: one round of near messages and one or
// more of the cluster's.
//
// Between clusters there is one hop, as in the hybrid (forest.cc), but no leader that has to take in a message from
// every other cluster: with c clusters of k cores each core takes (c - 1) / k of them. It pays where clusters are many
// and messages keep the receiver busy.
#include "generate/spread.h"

#include <algorithm>

#include "generate/clusters.h"
#include "generate/levels.h"
#include "generate/patterns.h"
#include "generate/shares.h"

namespace smelt {

namespace {

constexpr ShareSearch kStartSearch{128};  // while a program starts: a third of a millisecond
constexpr float kSibling = 0.5f;          // of the mean hop inside a cluster: nearer ones are threads of one core

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

// The groups in which the members of the clusters merge: first inside each, then group by group. Groups follow each
// other in `member`, clusters too.
struct Groups {
  uint32_t* begin = nullptr;       // [groups + 1] in `member`
  uint32_t* first = nullptr;       // [clusters + 1] a cluster's first group
  uint16_t* member = nullptr;      // [n]
  uint32_t largest = 0, most = 0;  // members of a group; groups of a cluster

  uint32_t size(uint32_t g) const { return begin[g + 1] - begin[g]; }
};

// They are told apart by hops, because nobody need have named the cores.
bool find_siblings(const Costs& costs, const Clusters& clusters, bool wanted, Arena& arena, Groups* out) {
  const uint32_t n = costs.n;
  *out = Groups{arena.make<uint32_t>(n + 1), arena.make<uint32_t>(clusters.count + 1), arena.make<uint16_t>(n), 0, 0};
  auto* taken = arena.make<bool>(n);
  if (!out->begin || !out->first || !out->member || !taken) return false;
  uint32_t groups = 0, filled = 0;
  for (uint32_t c = 0; c < clusters.count; ++c) {
    const uint16_t* const member = clusters.member + clusters.begin[c];
    const uint32_t size = clusters.size(c);
    float sum = 0;
    for (uint32_t i = 0; i < size && wanted; ++i)
      for (uint32_t k = 0; k < size; ++k) sum += costs.hop[costs.at(member[i], member[k])];
    const float near = size > 1 ? kSibling * sum / static_cast<float>(size * (size - 1)) : 0;
    for (uint32_t i = 0; i < size; ++i) {
      if (taken[member[i]]) continue;
      out->begin[groups++] = filled;
      for (uint32_t k = i; k < size; ++k) {
        const float there = costs.hop[costs.at(member[i], member[k])], back = costs.hop[costs.at(member[k], member[i])];
        if (taken[member[k]] || (k != i && std::max(there, back) >= near)) continue;
        taken[member[k]] = true;
        out->member[filled++] = member[k];
      }
      out->largest = std::max(out->largest, filled - out->begin[groups - 1]);
    }
    out->first[c + 1] = groups;
    out->most = std::max(out->most, groups - out->first[c]);
  }
  out->begin[groups] = filled;
  return true;
}

// Everybody in a cluster hears of everybody in it, in all clusters at once.
struct Merge {
  const Groups& groups;
  const uint32_t clusters, width;

  uint32_t rounds() const { return (groups.largest > 1) + dissemination_rounds(groups.most, width); }

  // Writes from round `round` on, into `out` unless that is null. Returns how many messages there are.
  uint32_t write(uint32_t round, RoundMessage* out) const {
    uint32_t count = 0;
    const auto add = [&](uint16_t from, uint16_t to) {
      if (out) out[count] = {static_cast<uint16_t>(round), from, to};
      ++count;
    };
    // All of a group tell each other.
    for (uint32_t distance = 1; distance < groups.largest; ++distance)
      for (uint32_t g = 0; g < groups.first[clusters]; ++g)
        for (uint32_t k = 0; distance < groups.size(g) && k < groups.size(g); ++k)
          add(groups.member[groups.begin[g] + k], groups.member[groups.begin[g] + (k + distance) % groups.size(g)]);
    round += groups.largest > 1;
    // Then each tells one in each of `width` other groups: since all of a group know the same, any one will do.
    for (uint64_t step = 1; step < groups.most; step *= width + 1, ++round)
      for (uint32_t c = 0; c < clusters; ++c) {
        const uint32_t first = groups.first[c], size = groups.first[c + 1] - first;
        for (uint32_t g = 0; g < size; ++g)
          for (uint64_t j = 1; j <= width && j * step < size; ++j) {
            const uint32_t from = first + g, to = first + static_cast<uint32_t>((g + j * step) % size);
            for (uint32_t k = 0; k < groups.size(to); ++k)
              add(groups.member[groups.begin[from] + k % groups.size(from)], groups.member[groups.begin[to] + k]);
          }
      }
    return count;
  }
};

// Puts the messages of each round into the order in which their senders begin it: a reader that waits for the last one
// first pays a whole read for the second (schedule/predict.h). `ready`: when each begins the first round; on return,
// when the last of those that it has heard of did. False: out of memory.
bool sort_by_sender(RoundMessage* messages, uint32_t count, float* ready, uint32_t n, Arena& arena) {
  char* const scratch = arena.mark();
  auto *by_time = arena.make<uint16_t>(n), *rank = arena.make<uint16_t>(n);
  auto* begin = arena.make<uint32_t>(n + 1);
  auto* sorted = arena.make<RoundMessage>(count);
  auto* heard = arena.make<float>(n);
  const bool fits = by_time && rank && begin && sorted && heard;
  for (uint32_t first = 0, end = 0; fits && first < count; first = end) {
    for (uint32_t i = 0; i < n; ++i) by_time[i] = static_cast<uint16_t>(i);
    std::sort(by_time, by_time + n,
              [ready](uint16_t a, uint16_t b) { return ready[a] != ready[b] ? ready[a] < ready[b] : a < b; });
    for (uint32_t k = 0; k < n; ++k) rank[by_time[k]] = static_cast<uint16_t>(k);
    std::copy_n(ready, n, heard);
    std::fill_n(begin, n + 1, 0u);
    for (; end < count && messages[end].round == messages[first].round; ++end) {
      const RoundMessage& message = messages[end];
      ++begin[rank[message.from] + 1];
      heard[message.to] = std::max(heard[message.to], ready[message.from]);
    }
    for (uint32_t k = 1; k < n; ++k) begin[k] += begin[k - 1];
    for (uint32_t m = first; m < end; ++m) sorted[begin[rank[messages[m].from]]++] = messages[m];
    std::copy_n(sorted, end - first, messages + first);
    std::copy_n(heard, n, ready);
  }
  arena.rewind(scratch);
  return fits;
}

}  // namespace

int spread_exchange(const Costs& costs, uint32_t arg, Arena& arena, Exchange* out) {
  return spread_with(costs, arg, kStartSearch, arena, out);
}

int spread_with(const Costs& costs, uint32_t arg, const ShareSearch& search, Arena& arena, Exchange* out) {
  const uint32_t n = costs.n;
  if (arg == 0 || n == 0 || n > kMaxParticipants) return -EINVAL;
  char* const start = arena.mark();
  // The clusters say how many messages there are: two merges, and between them one for every ordered pair of clusters.
  // That stays in front of the messages; the scratch behind those is given back.
  Clusters clusters;
  Groups groups;
  if (!find_clusters(costs, arena, &clusters)) {
    arena.rewind(start);
    return -ENOMEM;
  }
  uint32_t largest = 0;
  for (uint32_t c = 0; c < clusters.count; ++c) largest = std::max(largest, clusters.size(c));
  // Siblings first only where one round would not do.
  if (!find_siblings(costs, clusters, clusters.count > 1 && largest > arg + 1, arena, &groups)) {
    arena.rewind(start);
    return -ENOMEM;
  }
  const uint32_t count = clusters.count;
  const Merge merge{groups, count, arg};
  const uint32_t merging = merge.write(0, nullptr), across = count * (count - 1);
  RoundMessage* const messages = arena.make<RoundMessage>(size_t{2} * merging + across + 1);
  char* const scratch = arena.mark();
  Shares shares;
  if (!messages || share_clusters(costs, clusters, search, arena, &shares) != 0) {
    arena.rewind(start);
    return -ENOMEM;
  }
  uint32_t written = merge.write(0, messages), rounds = merge.rounds();
  if (count > 1) {
    for (uint32_t k = 0; k < across; ++k)
      messages[written++] = {static_cast<uint16_t>(rounds), shares.sends[shares.order[k]],
                             shares.hears[shares.order[k]]};
    const uint32_t heard = merge.write(rounds + 1, messages + written);
    if (!sort_by_sender(messages + written, heard, shares.done, n, arena)) {
      arena.rewind(start);
      return -ENOMEM;
    }
    written += heard;
    rounds += 1 + merge.rounds();
  }
  arena.rewind(scratch);
  *out = Exchange{n, rounds, written, messages};
  return 0;
}

}  // namespace smelt
