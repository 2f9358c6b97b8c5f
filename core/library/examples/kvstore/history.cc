// Whether a register's history is linearizable, two ways.
//
// Where every set has a value of its own, each get tells which set it saw: the events of one value are a cluster, the
// set and its gets, and in a linear order a cluster stands together. So cluster A must come before B as soon as one
// event of A was answered before one of B was asked:
//
//     earliest response in A  <  latest invocation in B          (A.finish < B.start)
//
// The history is linearizable if no get was answered before its set was asked, and no two clusters must each come
// before the other. (Longer circles need no search: in a circle, the cluster with the earliest finish must come before
// all others, also before the one that must come before it.) One at least of two such clusters has finish < start, a
// "forward zone"; sorted by finish, forward zones may not overlap, and then only the last one before can clash with the
// next. The time is that of a sort.
//
//     time  ------------------------------------------------->
//     A     |set 1|            |get 1|         A.finish = end of set 1, A.start = begin of get 1
//     B            |set 2|                     between them, from end to begin: a clash (the get is stale)
//
// Source: Gibbons and Korach, "Testing Shared Memories", SIAM Journal on Computing 26(4), 1997, section 4 (zones).
//
// Where values repeat, a search: the next event of the linear order is one that was asked before any event that is left
// was answered; a set changes the value, a get must agree with it. Wrong choices are taken back. What was tried already
// (which events were taken, what the value was) is remembered and not tried again.
//
// Source: Wing and Gong, "Testing and Verifying Concurrent Objects", JPDC 17, 1993; Lowe, "Testing for
// Linearizability", Concurrency and Computation 29(4), 2017 (what is remembered).
//
// An event that was never answered: a get tells nothing and is left out. A set may have happened: in the search its
// response is at the end of time and nobody must take it; a cluster without gets is left out, and with gets its set
// must have happened.
#include "history.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace kvstore {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::min();  // before all time: the "set" of kAbsent

std::string text_of(const Event& event) {
  char text[160], until[32] = "-";
  if (event.responded != kPending) std::snprintf(until, sizeof until, "%" PRId64, event.responded);
  std::snprintf(text, sizeof text, "client %u %s %016" PRIx64 " [%" PRId64 ", %s]", event.client,
                event.operation == Operation::kSet ? "set" : "got", event.value, event.invoked, until);
  return text;
}

Verdict violation(std::string why, std::vector<Event> culprits) {
  Verdict verdict{Outcome::kNotLinearizable, culprits.front().key, std::move(why), std::move(culprits)};
  for (const Event& event : verdict.culprits) verdict.why += "; " + text_of(event);
  return verdict;
}

// The events of one value. `first` is the one that was answered first, `last` the one that was asked last.
struct Cluster {
  const Event* set = nullptr;
  const Event* first = nullptr;
  const Event* last = nullptr;
  int64_t finish = kPending, start = kNever;
  unsigned gets = 0;

  void add(const Event& event) {
    if (event.operation == Operation::kGet) ++gets;
    if (!first || event.responded < finish) first = &event, finish = event.responded;
    if (!last || event.invoked > start) last = &event, start = event.invoked;
  }
};

struct State {
  std::vector<uint64_t> taken;  // a bit for each event
  Value value;
  bool operator==(const State&) const = default;
};

struct HashState {
  size_t operator()(const State& state) const {
    uint64_t hash = state.value;
    for (uint64_t word : state.taken) hash = (hash ^ word) * 0x9e3779b97f4a7c15, hash ^= hash >> 29;
    return hash;
  }
};

}  // namespace

// Eight bytes at a time; two values of one length that differ in one word never have the same.
Value fingerprint(const void* data, size_t bytes) {
  uint64_t hash = bytes * 0x9e3779b97f4a7c15 + 1;
  const auto* at = static_cast<const unsigned char*>(data);
  for (size_t done = 0; done < bytes; done += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at + done, std::min<size_t>(8, bytes - done));
    hash = (hash ^ word) * 0xd6e8feb86659fd93;
    hash ^= hash >> 32;
  }
  return hash == kAbsent ? 1 : hash;
}

bool has_unique_sets(const std::vector<Event>& events) {
  std::unordered_set<Value> values{kAbsent};
  return std::all_of(events.begin(), events.end(), [&](const Event& event) {
    return event.operation == Operation::kGet || values.insert(event.value).second;
  });
}

Verdict check_unique(const std::vector<Event>& events) {
  std::unordered_map<Value, Cluster> by_value;
  Cluster& absent = by_value[kAbsent];
  absent.finish = kNever;  // what was before all sets
  for (const Event& event : events) {
    if (event.operation == Operation::kGet && event.responded == kPending) continue;
    Cluster& cluster = by_value[event.value];
    if (event.operation == Operation::kSet) cluster.set = &event;
    if (&cluster == &absent) {
      if (event.invoked > cluster.start) cluster.last = &event, cluster.start = event.invoked;
      continue;
    }
    cluster.add(event);
  }

  std::vector<const Cluster*> clusters;
  for (const auto& [value, cluster] : by_value) {
    if (&cluster != &absent) {
      if (!cluster.set) return violation("a value that was never set", {*cluster.first});
      if (cluster.finish < cluster.set->invoked)
        return violation("a value before it was set", {*cluster.first, *cluster.set});
      if (cluster.gets == 0 && cluster.finish == kPending) continue;  // it need not have happened
    }
    clusters.push_back(&cluster);
  }
  std::sort(clusters.begin(), clusters.end(), [](const Cluster* a, const Cluster* b) { return a->finish < b->finish; });
  const Cluster* forward = nullptr;  // the last forward zone so far
  for (const Cluster* cluster : clusters) {
    if (forward && cluster->finish < forward->start && forward->finish < cluster->start) {
      std::vector<Event> culprits{*cluster->first, *forward->last};
      if (forward->first) culprits.insert(culprits.begin(), *forward->first);
      return violation("a value was seen again after another one", std::move(culprits));
    }
    if (cluster->finish < cluster->start) forward = cluster;
  }
  return {};
}

Verdict search(const std::vector<Event>& events, uint64_t budget) {
  std::vector<const Event*> order;
  for (const Event& event : events)
    if (event.operation == Operation::kSet || event.responded != kPending) order.push_back(&event);
  if (order.empty()) return {};
  std::sort(order.begin(), order.end(), [](const Event* a, const Event* b) { return a->invoked < b->invoked; });
  const size_t answered =
      std::count_if(order.begin(), order.end(), [](const Event* event) { return event->responded != kPending; });

  State state{std::vector<uint64_t>((order.size() + 63) / 64), kAbsent};
  const auto is_taken = [&](size_t i) { return state.taken[i / 64] >> i % 64 & 1; };
  const auto flip = [&](size_t i) { state.taken[i / 64] ^= uint64_t{1} << i % 64; };
  struct Step {
    size_t event;
    Value before;
    size_t first;  // all events before this one were taken
  };
  std::vector<Step> path;
  std::unordered_set<State, HashState> tried{state};
  size_t taken_answered = 0, best = 0, next = 0, first = 0;
  const Event* stuck = order.front();

  while (taken_answered < answered) {
    if (budget-- == 0) return {Outcome::kGaveUp, order.front()->key, "more steps than allowed", {}};
    // The earliest response of what is left: what was asked later cannot be next. Events are sorted by invocation, so
    // those after the first that was asked later than an earlier one's response were asked later still.
    while (first < order.size() && is_taken(first)) ++first;
    int64_t earliest = kPending;
    size_t i = first;
    bool found = false;
    for (; i < order.size() && order[i]->invoked <= earliest; ++i) {
      if (is_taken(i)) continue;
      earliest = std::min(earliest, order[i]->responded);
      if (i < next) continue;
      if (order[i]->operation == Operation::kGet && order[i]->value != state.value) continue;
      const Value before = state.value;
      flip(i);
      state.value = order[i]->value;
      if (tried.insert(state).second) {
        path.push_back({i, before, first});
        taken_answered += order[i]->responded != kPending;
        found = true;
        break;
      }
      state.value = before;
      flip(i);
    }
    if (found) {
      next = 0;
      if (taken_answered > best) best = taken_answered;
      continue;
    }
    if (taken_answered == best && first < order.size()) stuck = order[first];
    if (path.empty()) return violation("no order agrees with what was answered", {*stuck});
    flip(path.back().event);
    state.value = path.back().before;
    taken_answered -= order[path.back().event]->responded != kPending;
    next = path.back().event + 1;
    first = path.back().first;
    path.pop_back();
  }
  return {};
}

Verdict check_history(std::vector<Event> history, uint64_t budget) {
  std::map<uint64_t, std::vector<Event>> by_key;
  for (const Event& event : history) by_key[event.key].push_back(event);
  for (const auto& [key, events] : by_key) {
    const Verdict verdict = has_unique_sets(events) ? check_unique(events) : search(events, budget);
    if (verdict.outcome != Outcome::kLinearizable) return verdict;
  }
  return {};
}

}  // namespace kvstore
