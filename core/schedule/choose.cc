// Trying all patterns.
//
// A candidate is built, priced and thrown away unless it is cheaper than all before it; so the arena holds those that
// once were the cheapest. (Building the winner again would save that room, but a search that ran out of time would not
// find it again.) The search is bounded, because this runs when a team starts:
//   - the arguments that the registry thinks worth trying;
//   - of trees that of "optimised", whose search begins with the others, and for broadcasts those by lines;
//   - all-to-all up to 64 participants: n^2 reads a barrier, more lines than the caches' links pass in the time of
//     the two further rounds it saves, and n^2 messages to price;
//   - for two, the pair alone, below which nothing is;
//   - while a program starts: of the patterns by groups those that tell one group at a time or nearly all; with more
//     than 64 participants only the families that win on large machines.
#include "schedule/choose.h"

#include <cerrno>

#include "generate/clusters.h"
#include "generate/patterns.h"
#include "generate/spread.h"
#include "policy/thresholds.h"
#include "schedule/barrier_search.h"
#include "schedule/partners.h"
#include "schedule/predict.h"

namespace smelt {

namespace {

constexpr uint32_t kMostAllToAll = typical(ThresholdId::kAllToAll);  // its messages are n squared
constexpr uint32_t kLeastHurriedWidth = 7;                           // of exchanges by groups while a program starts
constexpr uint32_t kMostClusters = 8;                                // for a tree in each, likewise ...
constexpr uint32_t kLeastCluster = 16;                               // ... participants, in the mean
constexpr uint32_t kMostPartnered = 3;                               // exchanges whose partners are searched for
// For the shares of a spread, where there is time: more tries are not always better, since what they make better leaves
// out the merges, and seeds differ by some percent.
constexpr ShareSearch kShareSearches[] = {{0},           {400},         {1600},           {12800},
                                          {51200, 1, 1}, {51200, 1, 2}, {51200, 0.5f, 1}, {51200, 0.5f, 3}};
constexpr uint32_t kMostSharedMoved = 64;  // participants, for other partners as well

// Are the participants in several clusters? Or even, if there are many and a program starts, in few that are large,
// where a tree in each pays?
bool is_of_clusters(const Costs& costs, bool large, Arena& arena) {
  char* const scratch = arena.mark();
  auto* of = arena.make<uint16_t>(costs.n);  // not on the stack, of which programs may have little
  if (!of) return false;
  const uint32_t clusters = number_clusters(costs.n, costs.node, costs.llc, of);
  arena.rewind(scratch);
  return clusters > 1 && (!large || (clusters <= kMostClusters && kLeastCluster * clusters <= costs.n));
}

bool is_tried(const Pattern& pattern, Operation op, int root, const Costs& costs, Arena& arena, bool all,
              const SearchEffort& effort) {
  const PatternInfo& info = *pattern.info;
  const uint32_t n = costs.n;
  const bool exchanges = op == Operation::kBarrier && root < 0;
  if (is_by_lines(info) && op == Operation::kBroadcast && !effort.lines) return false;
  if (info.exchange && !exchanges) return false;  // it has no root
  if (info.exchange == all_to_all && n > kMostAllToAll) return false;
  if (all) return true;
  if (exchanges && n == 2) return info.exchange == pair_exchange;
  if (info.tree) return info.tree == optimised_tree || (is_by_lines(info) && op == Operation::kBroadcast);
  const bool hurried = is_hurried(effort, n);
  if (info.exchange == forest_exchange) return is_of_clusters(costs, hurried, arena);
  if (hurried) return info.exchange == spread_exchange && pattern.argument >= kLeastHurriedWidth;
  const bool by_groups = info.exchange == hierarchical_exchange || info.exchange == spread_exchange;
  return effort.moves > 0 || !by_groups || pattern.argument == 1 || pattern.argument >= kLeastHurriedWidth;
}

// The cheapest few exchanges, the cheapest first.
struct Exchanges {
  Pattern pattern[kMostPartnered];
  double predicted[kMostPartnered];
  uint32_t count = 0;

  void consider(const Choice& candidate) {
    if (!candidate.pattern.info->exchange) return;
    uint32_t at = count;
    while (at > 0 && candidate.predicted < predicted[at - 1]) --at;
    if (at == kMostPartnered) return;
    if (count < kMostPartnered) ++count;
    for (uint32_t i = count - 1; i > at; --i) {
      pattern[i] = pattern[i - 1];
      predicted[i] = predicted[i - 1];
    }
    pattern[at] = candidate.pattern;
    predicted[at] = candidate.predicted;
  }
};

// Takes the place of *best if the exchange with other partners is cheaper.
int try_partners(const Choice& plain, const Costs& costs, const SearchEffort& effort, Arena& arena, Choice* best) {
  char* const start = arena.mark();
  auto* place = arena.make<uint16_t>(costs.n);
  Choice moved = plain;
  int error = place ? search_partners(plain.schedule, costs, effort, arena, place, &moved.predicted) : -ENOMEM;
  if (error || moved.predicted >= best->predicted) {
    arena.rewind(start);
    return error;
  }
  auto* const messages = arena.make<RoundMessage>(plain.exchange.count);
  error = messages ? move_participants(plain.schedule, place, arena, &moved.schedule) : -ENOMEM;
  if (error) {
    arena.rewind(start);
    return error;
  }
  moved.partners = true;
  moved.exchange.messages = messages;
  for (uint32_t m = 0; m < moved.exchange.count; ++m) {
    const RoundMessage& message = plain.exchange.messages[m];
    messages[m] = {message.round, place[message.from], place[message.to]};
  }
  *best = moved;
  return 0;
}

// Is a loop of these no slower than one of those? Both are barriers.
int is_no_slower_in_a_loop(const Choice& these, const Choice& those, const Costs& costs, Arena& arena, bool* out) {
  double now = 0, then = 0;
  int error = steady_price(these.schedule, costs, arena, &now);
  if (!error) error = steady_price(those.schedule, costs, arena, &then);
  *out = now <= then;
  return error;
}

// The spread with other shares is taken, too, if it is cheaper, as it is or with other partners. Annealing, which goes
// farthest for the price of one episode alone, must not make a loop slower for it.
int try_shares(const Pattern& pattern, const Costs& costs, const SearchEffort& effort, Arena& arena, Choice* best) {
  Choice cheapest;
  for (const ShareSearch& search : kShareSearches) {
    if (search.tries > effort.moves || effort.limits.exceeded()) break;
    char* const start = arena.mark();
    Choice shared;
    shared.pattern = pattern;
    shared.partners = true;
    int error = spread_with(costs, pattern.argument, search, arena, &shared.exchange);
    if (!error) error = barrier_schedule(shared.exchange, arena, &shared.schedule, &costs);
    if (!error) error = price_schedule(shared.schedule, costs, arena, &shared.predicted);
    if (error) return error;
    if (cheapest.pattern.info && shared.predicted >= cheapest.predicted) {
      arena.rewind(start);
      continue;
    }
    Choice trial = shared.predicted < best->predicted ? shared : *best;
    if (costs.n <= kMostSharedMoved) error = try_partners(shared, costs, effort, arena, &trial);
    bool wanted = true;
    if (!error && search.heat > 0 && trial.predicted < best->predicted)
      error = is_no_slower_in_a_loop(trial, *best, costs, arena, &wanted);
    if (error) return error;
    if (!wanted) {
      arena.rewind(start);
      continue;
    }
    cheapest = shared;
    *best = trial;
  }
  return 0;
}

}  // namespace

int choose_best(Operation op, int root, const Costs& costs, Arena& arena, Choice* out, const SearchEffort& effort,
                const CandidateVisitor* visitor) {
  char* const start = arena.mark();
  Exchanges exchanges;
  Choice best;
  bool spread_at_once = false;  // in one round inside clusters: wider ones are the same
  const auto consider = [&](const Pattern& pattern) {
    if (spread_at_once && !visitor && pattern.info->exchange == spread_exchange) return 0;
    if (!is_tried(pattern, op, root, costs, arena, visitor != nullptr, effort)) return 0;
    char* const scratch = arena.mark();
    Choice candidate;
    const int error = build(pattern, op, root, costs, arena, &candidate, effort);
    if (error == -EINVAL) return 0;  // it is not for this many participants, or there is no such root
    if (error) return error;
    exchanges.consider(candidate);
    spread_at_once |= pattern.info->exchange == spread_exchange && candidate.exchange.rounds <= 3;
    if (visitor) visitor->call(visitor->context, candidate);
    if (!best.pattern.info || candidate.predicted < best.predicted)
      best = candidate;
    else
      arena.rewind(scratch);
    return 0;
  };
  int error = 0;
  for (const PatternInfo& info : pattern_registry())
    for (const uint32_t argument : candidate_arguments(info))
      if (!error) error = consider({&info, argument});
  if (!error && !best.pattern.info) error = -EINVAL;
  bool shared = false;  // the cheapest spread's shares are enough
  for (uint32_t i = 0; i < exchanges.count && !error && effort.moves > 0; ++i) {
    Choice plain;
    error = build(exchanges.pattern[i], Operation::kBarrier, -1, costs, arena, &plain, effort);
    if (!error) error = try_partners(plain, costs, effort, arena, &best);
    if (error || shared || plain.pattern.info->exchange != spread_exchange) continue;
    shared = true;
    error = try_shares(plain.pattern, costs, effort, arena, &best);
  }
  if (error)
    arena.rewind(start);
  else
    *out = best;
  return error;
}

int choose_fork(const Costs& costs, Arena& arena, Choice* out) {
  char* const start = arena.mark();
  Choice made;
  if (int error = search_fork(costs, kStartEffort, arena, &made)) {
    arena.rewind(start);
    return error;
  }
  bool flat = true;
  for (uint32_t i = 0; i < costs.n; ++i) flat &= i == 0 || (made.tree.parent[i] == 0 && made.gather.parent[i] == 0);
  find_pattern(flat ? "sequential" : "optimised", &made.pattern);
  *out = made;
  return 0;
}

}  // namespace smelt
