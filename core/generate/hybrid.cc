// Hybrid: gather inside each last-level cache, exchange between the leaders, release inside each cache.
//
//   round 0       members -> leader        the leader collects in the expected order of arrival
//   rounds 1..    leaders <-> leaders      all-to-all; above kAllToAllLeaders dissemination, kLeaderWidth at a time
//   last round    leader -> members        one store to one line that all members poll
//
// Inside one cache reads overlap, so a flat gather costs little more than one message; between caches every message
// is dear, so only leaders talk there, and they need one hop to hear everybody. With one cache there are no other
// leaders: gather and release remain. After the project's own measurements (a gather of 32 lines and its release take
// a quarter longer than of one); the shape is that of the hierarchical barriers since Mellor-Crummey and Scott, 1991.
#include <algorithm>

#include "generate/clusters.h"
#include "generate/patterns.h"
#include "policy/thresholds.h"

namespace smelt {

namespace {

constexpr uint32_t kAllToAllLeaders = typical(ThresholdId::kLeadersAllToAll);  // up to so many leaders, all-to-all
constexpr uint32_t kLeaderWidth = typical(ThresholdId::kLeaderWidth);          // else dissemination of this width

struct Groups {
  uint32_t count = 0;
  uint16_t* of = nullptr;      // [n] group of a participant
  uint16_t* leader = nullptr;  // [count]
  double* total = nullptr;     // [n] hops to and from everybody
  uint16_t* sorted = nullptr;  // [n] members by group, the leader's excepted, in expected order of arrival
};

bool find_groups(const Costs& costs, Arena& arena, Groups* out) {
  const uint32_t n = costs.n;
  out->of = arena.make<uint16_t>(n);
  out->leader = arena.make<uint16_t>(n);
  out->total = arena.make<double>(n);
  out->sorted = arena.make<uint16_t>(n);
  if (!out->of || !out->leader || !out->total || !out->sorted) return false;
  out->count = number_clusters(n, costs.node, costs.llc, out->of);
  for (uint32_t g = 0; g < out->count; ++g) out->leader[g] = kNobody;
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t j = 0; j < n; ++j) out->total[i] += costs.hop[costs.at(i, j)] + costs.hop[costs.at(j, i)];
    // A leader talks to its members and to the other leaders, so the total over everybody counts.
    uint16_t& leader = out->leader[out->of[i]];
    if (leader == kNobody || out->total[i] < out->total[leader]) leader = static_cast<uint16_t>(i);
  }
  uint32_t members = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (out->leader[out->of[i]] != i) out->sorted[members++] = static_cast<uint16_t>(i);
  }
  // All start together as far as anybody knows, so the nearest arrives first.
  std::sort(out->sorted, out->sorted + members, [out, &costs](uint16_t a, uint16_t b) {
    if (out->of[a] != out->of[b]) return out->of[a] < out->of[b];
    const float from_a = costs.hop[costs.at(a, out->leader[out->of[a]])];
    const float from_b = costs.hop[costs.at(b, out->leader[out->of[b]])];
    return from_a != from_b ? from_a < from_b : a < b;
  });
  return true;
}

}  // namespace

int hybrid_exchange(const Costs& costs, uint32_t, Arena& arena, Exchange* out) {
  const uint32_t n = costs.n;
  if (n == 0 || n > kMaxParticipants) return -EINVAL;
  // The messages are allocated first, so that the scratch behind them can be given back: gather and release take
  // fewer than n each, and the leaders' all-to-all at most 15 per leader, their dissemination 7 in each of 4 rounds.
  char* const start = arena.mark();
  static_assert(kMaxParticipants <= 4096, "8^4: four rounds of dissemination");
  RoundMessage* const messages = arena.make<RoundMessage>(size_t{n} * (2 + 4 * kLeaderWidth));
  char* const scratch = arena.mark();
  Groups groups;
  if (!messages || !find_groups(costs, arena, &groups)) {
    arena.rewind(start);
    return -ENOMEM;
  }
  const uint32_t members = n - groups.count;
  uint32_t count = 0, round = 0;
  for (uint32_t k = 0; k < members; ++k) {
    const uint16_t member = groups.sorted[k];
    messages[count++] = {0, member, groups.leader[groups.of[member]]};
  }
  if (members) ++round;
  const uint32_t width = groups.count <= kAllToAllLeaders ? kAllToAllLeaders : kLeaderWidth;
  count += disseminate(groups.leader, groups.count, width, round, messages + count);
  round += dissemination_rounds(groups.count, width);
  for (uint32_t k = 0; k < members; ++k) {
    const uint16_t member = groups.sorted[k];
    messages[count++] = {static_cast<uint16_t>(round), groups.leader[groups.of[member]], member};
  }
  if (members) ++round;
  arena.rewind(scratch);
  *out = Exchange{n, round, count, messages};
  return 0;
}

}  // namespace smelt
