// The matching table: order per key, every meeting exactly once, wildcards as two lists would have them, growth; from
// one thread against a reference, and from many.
#include "message/match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace smelt::test {
namespace {

struct Table : MatchTable {
  explicit Table(uint32_t first_buckets) { EXPECT_EQ(create(first_buckets), 0); }
  ~Table() { destroy(); }
};

// A receive or a message, and whom it met.
struct Party {
  MatchMessage node;
  std::atomic<Party*> peer{nullptr};
};
Party* party(MatchNode* node) { return reinterpret_cast<Party*>(node); }

// False: one of them has met somebody before.
bool meet(Party* a, Party* b) {
  Party *none = nullptr, *nobody = nullptr;
  return a->peer.compare_exchange_strong(none, b) && b->peer.compare_exchange_strong(nobody, a);
}

TEST(Match, AMessageWaitsForItsReceiveAndTheOtherWayRound) {
  Table table(4);
  MatchMessage first, second;
  MatchNode receive, other;
  first.key = second.key = receive.key = match_key(1, 2, 3);
  other.key = match_key(1, 2, 4);
  EXPECT_EQ(table.arrive(&first), nullptr);
  EXPECT_EQ(table.arrive(&second), nullptr);
  EXPECT_EQ(table.post(&other), nullptr);
  EXPECT_EQ(table.post(&receive), &first);
  EXPECT_EQ(table.post(&receive), &second);
  EXPECT_EQ(table.post(&receive), nullptr);
  EXPECT_EQ(table.arrive(&second), &receive);
  EXPECT_TRUE(table.cancel(&other));
  EXPECT_FALSE(table.cancel(&other));
}

TEST(Match, AMessageThatDoesNotWaitMeetsItsReceiveOrIsNotHere) {
  for (const bool ordered : {false, true}) {
    Table table(4);
    MatchMessage message;
    MatchNode receive, wildcard;
    message.key = receive.key = match_key(1, 2, 3);
    wildcard.key = match_key(1, 0, 3);
    wildcard.mask = kAnySource;
    if (ordered) {
      EXPECT_EQ(table.post(&wildcard), nullptr);
      EXPECT_EQ(table.arrive(&message, false), &wildcard);
    }
    EXPECT_EQ(table.arrive(&message, false), nullptr);
    EXPECT_EQ(table.post(&receive), nullptr) << "it is not here";
    EXPECT_EQ(table.arrive(&message, false), &receive);
    EXPECT_EQ(table.arrive(&message), nullptr);
    EXPECT_EQ(table.post(&receive), &message);
  }
}

TEST(Match, KeysDifferInContextSourceAndTag) {
  EXPECT_NE(match_key(1, 0, 0), match_key(0, 1, 0));
  EXPECT_NE(match_key(0, 1, 0), match_key(0, 0, 1));
  MatchNode any;
  any.key = match_key(7, 0, 0);
  any.mask = kAnySource & kAnyTag;
  EXPECT_TRUE(fits(match_key(7, 9, 0x7fffffff), any));
  EXPECT_FALSE(fits(match_key(7, 9, -1), any)) << "tags below 0 are no matter of wildcards";
  EXPECT_FALSE(fits(match_key(8, 9, 1), any));
}

// Two lists, walked from the front: what MPI says.
struct Lists {
  std::list<MatchNode*> receives;
  std::list<MatchMessage*> messages;
  MatchMessage* post(MatchNode* receive) {
    for (auto at = messages.begin(); at != messages.end(); ++at)
      if (fits((*at)->key, *receive)) {
        MatchMessage* met = *at;
        messages.erase(at);
        return met;
      }
    receives.push_back(receive);
    return nullptr;
  }
  MatchNode* arrive(MatchMessage* message) {
    for (auto at = receives.begin(); at != receives.end(); ++at)
      if (fits(message->key, **at)) {
        MatchNode* met = *at;
        receives.erase(at);
        return met;
      }
    messages.push_back(message);
    return nullptr;
  }
};

struct Mixture {
  int contexts, sources, tags;
  int wildcards;  // in 1000 receives
};

MatchMessage random_receive(std::mt19937_64& random, const Mixture& mixture) {
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<uint64_t>(limit)); };
  MatchMessage node;
  int source = below(mixture.sources), tag = below(mixture.tags);
  if (below(1000) < mixture.wildcards) {
    const int which = below(3);
    if (which != 0) node.mask &= kAnySource, source = 0;
    if (which != 1) node.mask &= kAnyTag, tag = 0;
  } else {
    tag -= below(2) * 2;  // a few below 0
  }
  node.key = match_key(below(mixture.contexts), source, tag);
  return node;
}

class Reference : public testing::TestWithParam<Mixture> {};
INSTANTIATE_TEST_SUITE_P(, Reference,
                         testing::Values(Mixture{3, 4, 5, 0}, Mixture{3, 4, 5, 1}, Mixture{2, 3, 4, 200},
                                         Mixture{66, 2, 2, 300}, Mixture{1, 1, 1, 500}, Mixture{5, 20, 200, 10}));

TEST_P(Reference, TheTableAnswersAsTwoListsDo) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    Table table(2);
    Lists lists;
    std::deque<MatchMessage> nodes;
    uint64_t number = 0;
    for (int step = 0; step < 4000; ++step) {
      MatchMessage node = random_receive(random, GetParam());
      const bool many_receives = step / 500 % 2;  // the longer list is now the one, now the other
      const uint64_t what = random() % 100;
      if (what < 5 && !lists.receives.empty()) {
        auto victim = lists.receives.begin();
        std::advance(victim, random() % lists.receives.size());
        ASSERT_TRUE(table.cancel(*victim)) << "seed " << seed << " step " << step;
        ASSERT_FALSE(table.cancel(*victim));
        lists.receives.erase(victim);
      } else if (what < 8) {
        const MatchNode* seen = nullptr;
        const bool found = table.probe(
            node.key, node.mask, [](const MatchNode* at, void* to) { *static_cast<const MatchNode**>(to) = at; },
            &seen);
        const auto expected = std::find_if(lists.messages.begin(), lists.messages.end(),
                                           [&](const MatchNode* message) { return fits(message->key, node); });
        ASSERT_EQ(found, expected != lists.messages.end()) << "seed " << seed << " step " << step;
        if (found) {
          ASSERT_EQ(seen, *expected);
        }
      } else if (what < (many_receives ? 65 : 45)) {
        nodes.push_back(node);
        ASSERT_EQ(table.post(&nodes.back()), lists.post(&nodes.back())) << "seed " << seed << " step " << step;
      } else {
        node.mask = kExact;
        node.number = ++number;
        nodes.push_back(node);
        ASSERT_EQ(table.arrive(&nodes.back()), lists.arrive(&nodes.back())) << "seed " << seed << " step " << step;
      }
    }
  }
}

TEST(Match, GrowsAndFindsEverythingAgain) {
  for (const bool messages_first : {false, true}) {
    Table table(2);
    constexpr int kNodes = 100'000;
    std::vector<MatchMessage> waiting(kNodes), asking(kNodes);
    for (int i = 0; i < kNodes; ++i) waiting[i].key = asking[i].key = match_key(i % 3, i % 7, i);
    for (MatchMessage& node : waiting) ASSERT_EQ(messages_first ? table.arrive(&node) : table.post(&node), nullptr);
    EXPECT_GT(table.buckets(), kNodes / 8u);
    for (int i = kNodes; i-- > 0;)
      ASSERT_EQ(messages_first ? table.post(&asking[i]) : table.arrive(&asking[i]), &waiting[i]);
  }
}

// Threads post, each under keys of its own, and one brings messages: the i-th of a key to the i-th receive of it.
TEST(Match, ManyThreadsKeepTheOrderOfEachKeyWhileTheTableGrows) {
  constexpr int kThreads = 4, kKeys = 500, kEach = 500;  // a million meetings
  Table table(2);
  struct Lane {
    std::vector<Party> receives, messages;
  };
  std::vector<Lane> lanes(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    lanes[t].receives = std::vector<Party>(kKeys * kEach);
    lanes[t].messages = std::vector<Party>(kKeys * kEach);
    for (int i = 0; i < kKeys * kEach; ++i) {
      lanes[t].receives[i].node.key = lanes[t].messages[i].node.key = match_key(t, i % 5, i % kKeys);
      lanes[t].messages[i].node.number = i;
    }
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (Party& receive : lanes[t].receives)
        if (MatchNode* met = table.post(&receive.node)) wrong += !meet(&receive, party(met));
    });
    threads.emplace_back([&, t] {
      for (Party& message : lanes[t].messages)
        if (MatchNode* met = table.arrive(&message.node)) wrong += !meet(&message, party(met));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0) << "met twice";
  for (Lane& lane : lanes)
    for (int i = 0; i < kKeys * kEach; ++i) ASSERT_EQ(lane.receives[i].peer, &lane.messages[i]);
}

// Several threads ask for the same: everybody gets one, nobody the same.
TEST(Match, ThreadsThatShareAKeyMeetEachExactlyOnce) {
  constexpr int kThreads = 4, kEach = 100'000;
  Table table(2);
  std::vector<Party> receives(kThreads * kEach), messages(kThreads * kEach);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t <= kThreads; ++t)
    threads.emplace_back([&, t] {
      const bool posts = t < kThreads;
      for (int i = 0; i < (posts ? kEach : kThreads * kEach); ++i) {
        Party* mine = posts ? &receives[t * kEach + i] : &messages[i];
        mine->node.key = match_key(0, 0, i % 3);
        mine->node.number = i;
        MatchNode* met = posts ? table.post(&mine->node) : table.arrive(&mine->node);
        if (met) wrong += !meet(mine, party(met));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  const auto unmet = [](const std::vector<Party>& all) {
    return std::count_if(all.begin(), all.end(), [](const Party& one) { return one.peer == nullptr; });
  };
  // As many messages of a tag as receives, but for what the division leaves.
  EXPECT_LE(unmet(receives), 3 * kThreads);
  EXPECT_EQ(unmet(receives), unmet(messages));
}

// Threads post batches, exact and wildcards, the first wildcards while everything is under way. Of two receives of a
// thread that both fit both of two messages, the first gets the first (MPI: messages do not overtake).
TEST(Match, WildcardsOfManyThreadsDoNotOvertake) {
  constexpr int kThreads = 3, kBatches = 60, kBatch = 48;
  const Mixture mixture{1, 3, 3, 0};
  Table table(2);
  std::atomic<bool> over{false};
  std::atomic<int64_t> outstanding{0};
  std::atomic<int> wrong{0};
  std::thread bringer([&] {
    std::mt19937_64 random(99);
    std::deque<Party> messages;
    while (!over) {
      Party& message = messages.emplace_back();
      message.node.key = match_key(0, random() % 3, random() % 3);
      message.node.number = messages.size();
      outstanding += 1;
      if (MatchNode* met = table.arrive(&message.node)) {
        outstanding -= 1;
        wrong += !meet(&message, party(met));
      }
      if (outstanding > 500 && messages.size() % 64 == 0) std::this_thread::yield();
    }
    // Nobody asks any more; what waits is taken out, as the nodes end here.
    Party rest;
    rest.node.mask = kAnySource & kAnyTag;
    while (table.post(&rest.node)) {
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int b = 0; b < kBatches; ++b) {
        Mixture now = mixture;
        now.wildcards = b < 10 ? 0 : 250;
        std::vector<Party> batch(kBatch);
        for (Party& receive : batch) {
          do receive.node = random_receive(random, now);
          while (static_cast<int32_t>(receive.node.key) < 0);
          if (MatchNode* met = table.post(&receive.node)) {
            outstanding -= 1;
            wrong += !meet(&receive, party(met));
          }
        }
        for (Party& receive : batch)
          while (!receive.peer) std::this_thread::yield();
        for (int i = 0; i < kBatch; ++i)
          for (int j = i + 1; j < kBatch; ++j) {
            const MatchNode &first = batch[i].node, &second = batch[j].node;
            const MatchNode &a = batch[i].peer.load()->node, &b = batch[j].peer.load()->node;
            wrong += !fits(a.key, first);
            if ((a.key ^ b.key) >> 32 == 0 && fits(b.key, first) && fits(a.key, second)) wrong += a.number > b.number;
          }
      }
    });
  for (std::thread& thread : threads) thread.join();
  over = true;
  bringer.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(table.is_ordered(0));
}

}  // namespace
}  // namespace smelt::test
