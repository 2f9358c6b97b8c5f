// The checker of histories: known ones, random ones of a register that works and of one that does not, both ways
// against each other and against trying every order.
#include "kvstore/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

namespace kvstore::test {
namespace {

constexpr uint64_t kKey = 7, kBudget = 1'000'000;

Event set(Value value, int64_t invoked, int64_t responded, unsigned client = 0) {
  return {Operation::kSet, client, kKey, value, invoked, responded};
}
Event get(Value value, int64_t invoked, int64_t responded, unsigned client = 1) {
  return {Operation::kGet, client, kKey, value, invoked, responded};
}

// Both ways say so; the first only where it may be used.
void expect(Outcome outcome, const std::vector<Event>& events) {
  EXPECT_EQ(search(events, kBudget).outcome, outcome);
  if (has_unique_sets(events)) {
    EXPECT_EQ(check_unique(events).outcome, outcome) << check_unique(events).why;
  }
  EXPECT_EQ(check_history(events).outcome, outcome);
}
constexpr Outcome kGood = Outcome::kLinearizable, kBad = Outcome::kNotLinearizable;

TEST(History, Empty) { expect(kGood, {}); }

TEST(History, OneAfterTheOther) {
  expect(kGood, {get(kAbsent, 0, 1), set(5, 2, 3), get(5, 4, 5), set(6, 6, 7), get(6, 8, 9)});
}

TEST(History, ConcurrentGetsSeeOldOrNew) {
  expect(kGood, {set(5, 0, 10), get(kAbsent, 1, 2), get(5, 3, 4), get(5, 11, 12)});
  expect(kGood, {set(5, 0, 10), get(5, 1, 4), get(kAbsent, 2, 3)});  // the gets overlap
}

TEST(History, StaleGet) {
  expect(kBad, {set(5, 0, 1), set(6, 2, 3), get(5, 4, 5)});
  expect(kBad, {set(5, 0, 1), get(kAbsent, 2, 3)});
}

TEST(History, NewThenOld) {
  expect(kBad, {set(5, 0, 10), get(5, 1, 2), get(kAbsent, 3, 4)});
  expect(kBad, {set(5, 0, 1), set(6, 2, 20), get(6, 3, 4), get(5, 5, 6)});
}

TEST(History, LostSet) { expect(kBad, {set(5, 0, 1), set(6, 2, 3), get(6, 4, 5), get(5, 6, 7), get(5, 8, 9)}); }

TEST(History, TwiceSet) { expect(kBad, {set(5, 0, 10), get(5, 1, 2), set(6, 3, 4), get(6, 5, 6), get(5, 7, 8)}); }

TEST(History, NeverSet) {
  expect(kBad, {set(5, 0, 1), get(9, 2, 3)});
  expect(kBad, {get(9, 2, 3)});
}

TEST(History, FromTheFuture) { expect(kBad, {get(5, 0, 1), set(5, 2, 3)}); }

TEST(History, TwoReadersDisagreeAboutTheOrder) {
  expect(kBad, {set(5, 0, 20), set(6, 0, 20), get(5, 1, 2, 2), get(6, 3, 4, 2), get(5, 5, 6, 3)});
  expect(kGood, {set(5, 0, 20), set(6, 0, 20), get(5, 1, 2, 2), get(6, 3, 4, 2), get(6, 5, 6, 3)});
}

TEST(History, PendingSetMayHaveHappenedOrNot) {
  expect(kGood, {set(5, 0, 1), set(6, 2, kPending), get(5, 3, 4), get(5, 5, 6)});
  expect(kGood, {set(5, 0, 1), set(6, 2, kPending), get(5, 3, 4), get(6, 5, 6)});
  expect(kBad, {set(5, 0, 1), set(6, 2, kPending), get(6, 3, 4), get(5, 5, 6)});
  expect(kBad, {set(6, 2, kPending), get(6, 0, 1)});
  expect(kGood, {set(6, 0, kPending), set(5, 1, 2), get(5, 3, 4), get(6, 5, 6), get(6, 7, 8)});
}

TEST(History, PendingGetTellsNothing) { expect(kGood, {set(5, 0, 1), get(kAbsent, 2, kPending), get(5, 3, 4)}); }

TEST(History, EqualTimesAreConcurrent) {
  expect(kGood, {set(5, 0, 3), set(6, 3, 6), get(5, 6, 7)});
  expect(kGood, {set(5, 0, 3), get(kAbsent, 3, 3)});
}

TEST(History, TheSameValueTwice) {
  expect(kGood, {set(5, 0, 1), set(6, 2, 3), set(5, 4, 5), get(5, 6, 7)});
  expect(kBad, {set(5, 0, 1), set(6, 2, 3), set(5, 4, 5), get(6, 6, 7)});
  expect(kGood, {set(5, 0, 9), set(6, 0, 9), set(5, 0, 9), get(5, 1, 2), get(6, 3, 4), get(5, 5, 6)});
  expect(kBad, {set(5, 0, 9), set(6, 0, 9), set(5, 0, 9), get(6, 1, 2), get(5, 3, 4), get(6, 5, 6)});
}

TEST(History, KeysDoNotDependOnEachOther) {
  std::vector<Event> events{set(5, 0, 1), get(5, 2, 3)};
  Event other = get(kAbsent, 4, 5);
  other.key = 8;
  events.push_back(other);
  EXPECT_EQ(check_history(events).outcome, kGood);
  other = set(6, 0, 1);
  other.key = 8;
  events.push_back(other);
  const Verdict verdict = check_history(events);
  EXPECT_EQ(verdict.outcome, kBad);
  EXPECT_EQ(verdict.key, 8u);
  EXPECT_FALSE(verdict.culprits.empty());
}

TEST(History, BudgetIsKept) {
  // Each subset of sets that are all concurrent is tried before it is found that no order serves the last get.
  std::vector<Event> events;
  for (Value value = 1; value <= 24; ++value) events.push_back(set(value, 0, 100));
  events.push_back(set(1, 0, 100));
  events.push_back(get(99, 200, 201));
  EXPECT_EQ(check_history(events, 10'000).outcome, Outcome::kGaveUp);
}

TEST(History, FingerprintsDiffer) {
  std::vector<unsigned char> bytes(200);
  std::vector<Value> seen;
  for (size_t length = 0; length <= bytes.size(); ++length) seen.push_back(fingerprint(bytes.data(), length));
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = 1;
    seen.push_back(fingerprint(bytes.data(), bytes.size()));
    bytes[i] = 0;
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(std::count(seen.begin(), seen.end(), kAbsent), 0);
}

TEST(History, Recorder) {
  Recorder recorder(3);
  recorder.invoke(Operation::kSet, 1, 2);
  EXPECT_EQ(recorder.events().back().responded, kPending);
  recorder.respond_set(Recorder::now());
  recorder.invoke(Operation::kGet, 1, kAbsent);
  recorder.respond_get(2, Recorder::now());
  ASSERT_EQ(recorder.events().size(), 2u);
  for (const Event& event : recorder.events()) {
    EXPECT_LE(event.invoked, event.responded);
    EXPECT_EQ(event.client, 3u);
    EXPECT_EQ(event.value, 2u);
  }
  EXPECT_LE(recorder.events()[0].responded, recorder.events()[1].invoked);
}

// --- Random histories.
struct Shape {
  unsigned clients, events_each;
  bool unique;
};

// What clients of a register that works may see: every operation happens at one moment between its two times.
std::vector<Event> of_a_register(std::mt19937& random, const Shape& shape) {
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  struct Happening {
    Event event;
    int64_t moment;
  };
  std::vector<Happening> happenings;
  Value fresh = 0;
  for (unsigned client = 0; client < shape.clients; ++client) {
    int64_t time = below(5);
    for (unsigned i = 0; i < shape.events_each; ++i) {
      const int64_t invoked = time + below(4), moment = invoked + below(8), responded = moment + below(8);
      const bool sets = below(3) == 0;
      happenings.push_back({sets ? set(shape.unique ? ++fresh : 1 + below(3), invoked, responded, client)
                                 : get(kAbsent, invoked, responded, client),
                            moment});
      time = responded + 1;
    }
    if (below(3) == 0) happenings.back().event.responded = kPending;
  }
  std::stable_sort(happenings.begin(), happenings.end(),
                   [](const Happening& a, const Happening& b) { return a.moment < b.moment; });
  Value value = kAbsent;
  std::vector<Event> events;
  for (Happening& happening : happenings) {
    Event& event = happening.event;
    const bool happens = event.responded != kPending || below(2) == 0;
    if (event.operation == Operation::kGet) event.value = value;
    if (event.operation == Operation::kSet && happens) value = event.value;
    events.push_back(event);
  }
  std::shuffle(events.begin(), events.end(), random);
  return events;
}

TEST(History, RandomOfAGoodRegisterAreAccepted) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 400; ++round) {
    const std::vector<Event> events = of_a_register(random, {2 + round % 4u, 20, round % 2 == 0});
    EXPECT_EQ(search(events, kBudget).outcome, kGood);
    if (has_unique_sets(events)) {
      const Verdict verdict = check_unique(events);
      EXPECT_EQ(verdict.outcome, kGood) << verdict.why;
    }
  }
}

TEST(History, LongOneOfAGoodRegisterIsAcceptedQuickly) {
  std::mt19937 random(2);
  const Verdict verdict = check_history(of_a_register(random, {8, 25'000, true}), 0);
  EXPECT_EQ(verdict.outcome, kGood) << verdict.why;
}

// A get is given the value of a set that was overwritten before the get was asked: stale, whatever else happened.
TEST(History, RandomWithAStaleGetAreRefused) {
  std::mt19937 random(3);
  int refused = 0;
  for (unsigned round = 0; round < 400; ++round) {
    std::vector<Event> events = of_a_register(random, {2 + round % 4u, 20, true});
    const auto stale = [&]() -> bool {
      for (Event& late : events)
        for (const Event& newer : events)
          for (const Event& older : events)
            if (late.operation == Operation::kGet && late.responded != kPending && newer.operation == Operation::kSet &&
                older.operation == Operation::kSet && older.responded < newer.invoked &&
                newer.responded < late.invoked) {
              late.value = older.value;
              return true;
            }
      return false;
    };
    if (!stale()) continue;
    ++refused;
    EXPECT_EQ(check_unique(events).outcome, kBad);
    EXPECT_EQ(search(events, kBudget).outcome, kBad);
  }
  EXPECT_GT(refused, 300);
}

// Any get gets any value: whether that is linearizable is for both to say alike.
TEST(History, BothWaysAgree) {
  std::mt19937 random(4);
  int good = 0, bad = 0;
  for (unsigned round = 0; round < 3000; ++round) {
    std::vector<Event> events = of_a_register(random, {2 + round % 3u, 6, true});
    for (Event& event : events)
      if (event.operation == Operation::kGet && random() % 6 == 0) event.value = random() % 5;
    const Verdict verdict = check_unique(events);
    ASSERT_EQ(search(events, kBudget).outcome, verdict.outcome) << "round " << round << ": " << verdict.why;
    (verdict.outcome == kGood ? good : bad) += 1;
  }
  EXPECT_GT(good, 300);
  EXPECT_GT(bad, 300);
}

// Every order of every choice of pending sets.
bool some_order_serves(std::vector<Event> events) {
  std::erase_if(events, [](const Event& e) { return e.operation == Operation::kGet && e.responded == kPending; });
  const size_t n = events.size();
  for (size_t left_out = 0; left_out < size_t{1} << n; ++left_out) {
    std::vector<size_t> order;
    bool allowed = true;
    for (size_t i = 0; i < n; ++i) {
      if (!(left_out >> i & 1))
        order.push_back(i);
      else if (events[i].responded != kPending)
        allowed = false;
    }
    if (!allowed) continue;
    do {
      Value value = kAbsent;
      bool serves = true;
      for (size_t i = 0; i < order.size() && serves; ++i) {
        const Event& event = events[order[i]];
        if (event.operation == Operation::kSet)
          value = event.value;
        else if (event.value != value)
          serves = false;
        for (size_t j = i + 1; j < order.size(); ++j)
          if (events[order[j]].responded < event.invoked) serves = false;
      }
      if (serves) return true;
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return false;
}

TEST(History, SmallOnesAgreeWithEveryOrderTried) {
  std::mt19937 random(5);
  int good = 0, bad = 0;
  for (unsigned round = 0; round < 3000; ++round) {
    const bool unique = round % 2 == 0;
    std::vector<Event> events = of_a_register(random, {2, 3, unique});
    for (Event& event : events)
      if (event.operation == Operation::kGet && random() % 3 == 0) event.value = random() % 4;
    const bool serves = some_order_serves(events);
    ASSERT_EQ(search(events, kBudget).outcome, serves ? kGood : kBad) << "round " << round;
    if (unique) {
      ASSERT_EQ(check_unique(events).outcome, serves ? kGood : kBad) << "round " << round;
    }
    (serves ? good : bad) += 1;
  }
  EXPECT_GT(good, 300);
  EXPECT_GT(bad, 300);
}

}  // namespace
}  // namespace kvstore::test
