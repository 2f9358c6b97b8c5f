// The whole store: clients ask, everything is recorded, and the history is checked. With replicas that stop at named
// steps of the agreement, are slow, or come and go; and with mistakes planted, which the check must find.
#include "kvstore/store.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdio>
#include <cstring>
#include <string>

#include "kvstore/history.h"
#include "kvstore/load.h"

namespace kvstore::test {
namespace {

using onepaxos::Step;

StoreOptions options_for(size_t value_bytes) {
  StoreOptions options;
  options.value_bytes = value_bytes;
  options.keys = 8;
  options.replica_patience = 200ms;
  return options;
}

// Few keys: sets of the same one meet.
Load load_for(size_t value_bytes, uint64_t operations) {
  Load load;
  load.keys = 4;
  load.value_bytes = value_bytes;
  load.varied = value_bytes > 16;
  load.operations = operations;
  load.time = {};
  load.record = true;
  return load;
}

void expect_linearizable(const Loaded& loaded, const StoreOptions& options, const Load& load) {
  const Verdict verdict = check_history(loaded.history);
  EXPECT_EQ(verdict.outcome, Outcome::kLinearizable) << "key " << verdict.key << ": " << verdict.why;
  EXPECT_EQ(loaded.unanswered, 0u);
  EXPECT_EQ(loaded.history.size(), options.clients * load.operations);
  EXPECT_EQ(loaded.gets.total() + loaded.sets.total(), options.clients * load.operations);
}

struct Shape {
  unsigned replicas;
  size_t value_bytes;
  onepaxos::Broadcast broadcast;
};

class Healthy : public testing::TestWithParam<Shape> {};

TEST_P(Healthy, IsLinearizable) {
  StoreOptions options = options_for(GetParam().value_bytes);
  options.replicas = GetParam().replicas;
  options.agreement.broadcast = GetParam().broadcast;
  Store store(options);
  store.start();
  const Load load = load_for(GetParam().value_bytes, 200);
  expect_linearizable(run(store, options, load), options, load);
  store.stop();
}
constexpr auto kTree = onepaxos::Broadcast::kTree, kSequential = onepaxos::Broadcast::kSequential;
INSTANTIATE_TEST_SUITE_P(Shapes, Healthy,
                         testing::Values(Shape{2, 16, kTree}, Shape{3, 16, kTree}, Shape{3, 16, kSequential},
                                         Shape{3, 200, kTree}, Shape{5, 16, kTree}));

TEST(Store, WhatWasSetIsThereAtEveryReplica) {
  StoreOptions options = options_for(kMaxValueBytes);
  Store store(options);
  store.start();
  std::vector<uint8_t> value, got;
  EXPECT_EQ(store.client(0).get(1, &got), Reply::kAbsent);
  uint64_t n = 0;
  for (const size_t bytes :
       {size_t{0}, size_t{1}, size_t{16}, size_t{17}, size_t{1024}, size_t{1025}, size_t{20'000}}) {
    make_value(0, ++n, bytes, &value);
    ASSERT_EQ(store.client(0).set(1, value), Reply::kYes);
    for (unsigned client = 0; client < store.clients(); ++client) {
      ASSERT_EQ(store.client(client).get(1, &got), Reply::kYes);
      EXPECT_EQ(got, value);
    }
  }
  store.stop();
  for (unsigned i = 0; i < store.replicas(); ++i) {
    const Table::Entry* entry = store.server(i).table().find(1);
    ASSERT_NE(entry, nullptr);
    EXPECT_TRUE(std::ranges::equal(entry->value(), value));
  }
}

TEST(Store, TheLongestValue) {
  StoreOptions options = options_for(kMaxValueBytes);
  Store store(options);
  store.start();
  std::vector<uint8_t> value, got;
  make_value(0, 1, kMaxValueBytes, &value);
  ASSERT_EQ(store.client(0).set(1, value), Reply::kYes);
  ASSERT_EQ(store.client(2).get(1, &got), Reply::kYes);
  EXPECT_EQ(got, value);
}

TEST(Store, BadOptionsAreRefused) {
  StoreOptions options;
  options.clients = 0;
  EXPECT_THROW(Store{options}, std::invalid_argument);
  options = {};
  options.value_bytes = kMaxValueBytes + 1;
  EXPECT_THROW(Store{options}, std::invalid_argument);
  options = {};
  options.replica_cpus = {0};
  EXPECT_THROW(Store{options}, std::invalid_argument);
  options = {};
  options.replicas = 1;
  EXPECT_THROW(Store{options}, std::invalid_argument);
}

// --- One replica of three stops for good, in the middle.
struct Stop {
  unsigned replica;
  Step step;
  unsigned times;
  size_t value_bytes;
};

class Stopped : public testing::TestWithParam<Stop> {};

TEST_P(Stopped, TheOthersGoOnAndAllIsLinearizable) {
  const Stop stop = GetParam();
  StoreOptions options = options_for(stop.value_bytes);
  Store store(options);
  store.agreement(stop.replica).stop_at(stop.step, stop.times);
  store.start();
  const Load load = load_for(stop.value_bytes, 150);
  const Loaded loaded = run(store, options, load);
  store.stop();
  expect_linearizable(loaded, options, load);
  EXPECT_TRUE(store.server(stop.replica).stopped());
  EXPECT_TRUE(store.members().is_excluded(stop.replica));
  EXPECT_GT(loaded.moves, 0u);
}
INSTANTIATE_TEST_SUITE_P(
    Steps, Stopped,
    testing::Values(Stop{0, Step::kLeaderBeforeProposing, 20, 16}, Stop{0, Step::kLeaderProposed, 20, 16},
                    Stop{0, Step::kLeaderLearned, 20, 16}, Stop{1, Step::kAcceptorBeforeAccepting, 20, 16},
                    Stop{1, Step::kAcceptorAccepted, 20, 16}, Stop{1, Step::kAcceptorToldOne, 20, 16},
                    Stop{1, Step::kAcceptorToldAll, 20, 16}, Stop{2, Step::kLearnerApplied, 20, 16},
                    Stop{0, Step::kLeaderProposed, 99, 200}, Stop{1, Step::kAcceptorAccepted, 99, 200},
                    Stop{1, Step::kAcceptorToldOne, 99, 200}),
    [](const auto& info) {
      std::string text = onepaxos::name(info.param.step);
      std::erase_if(text, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
      return text + std::to_string(info.param.value_bytes) + "_" + std::to_string(info.index);
    });

// --- Replicas that lag: for 4 ms of 8 each hears nothing of the others, and goes on to answer its clients.
class Lags : public Server {
 public:
  using Server::Server;

 protected:
  bool learn() override { return (Clock::now().time_since_epoch() / 4ms + id()) % 2 == 0 && Server::learn(); }
};

TEST(Store, LaggingReplicasAreLinearizable) {
  StoreOptions options = options_for(16);
  Store store(options, std::make_unique<Lags, Server::Links>);
  store.start();
  const Load load = load_for(16, 150);
  expect_linearizable(run(store, options, load), options, load);
  store.stop();
}

// With so little patience replicas are excluded all the time, and return.
TEST(Store, ImpatientReplicasAreLinearizable) {
  StoreOptions options = options_for(16);
  options.replica_patience = 300us;
  options.client_patience = 50ms;
  Store store(options, std::make_unique<Lags, Server::Links>);
  store.start();
  const Load load = load_for(16, 150);
  expect_linearizable(run(store, options, load), options, load);
  store.stop();
  uint64_t excluded = 0, returned = 0;
  for (unsigned i = 0; i < store.replicas(); ++i) {
    excluded += store.server(i).served().excluded;
    returned += store.server(i).served().returned;
  }
  EXPECT_GT(excluded, 0u);
  EXPECT_GT(returned, 0u);
}

// --- Mistakes. Each is one that an implementation may well make, and that most runs of a store survive unseen.

// Sets go on meanwhile: leader and acceptor hear each other.
class LearnersLag : public Lags {
 protected:
  using Lags::Lags;
  bool learn() override { return id() < 2 ? Server::learn() : Lags::learn(); }
};

template <Operation kMistaken>
class DoesNotWait : public LearnersLag {
  using LearnersLag::LearnersLag;
  bool may_leave(Operation operation, uint64_t position) override {
    return operation == kMistaken || LearnersLag::may_leave(operation, position);
  }
};
using GetsDoNotWait = DoesNotWait<Operation::kGet>;  // a key that was set is shown before all replicas have it
using SetsDoNotWait = DoesNotWait<Operation::kSet>;  // a set is over before all replicas have it

// Every eighth set takes effect again after the one that follows it.
class AppliesTwice : public Server {
  using Server::Server;
  void take_effect(uint64_t key, Bytes value, uint64_t position) override {
    Server::take_effect(key, value, position);
    if (again_.empty()) {
      if (++sets_ % 8 == 0) again_.assign(value.begin(), value.end()), key_ = key;
    } else {
      Server::take_effect(key_, again_, position);
      again_.clear();
    }
  }
  unsigned sets_ = 0;
  uint64_t key_ = 0;
  std::vector<uint8_t> again_;
};

// Fragments go to the table one by one.
class Tears : public Server {
  using Server::Server;
  void gather(unsigned client, uint64_t first, const Fragment& fragment, uint64_t position) override {
    std::vector<uint8_t> value(fragment.total);
    if (const Table::Entry* entry = table_.find(fragment.key))
      std::copy_n(entry->value().begin(), std::min(entry->value().size(), value.size()), value.begin());
    std::copy_n(fragment.data, std::min<size_t>(Fragment::kRoom, fragment.total - fragment.offset),
                value.begin() + fragment.offset);
    table_.set(fragment.key, value, position);
    Server::gather(client, first, fragment, position);
  }
};

// Sets that one replica leaves out.
class Forgets : public Server {
  using Server::Server;
  void take_effect(uint64_t key, Bytes value, uint64_t position) override {
    if (++sets_ % 8 != 0) Server::take_effect(key, value, position);
  }
  unsigned sets_ = 0;
};

// Found within so many stores, each with so many operations.
template <class Mistaken>
void expect_found(size_t value_bytes) {
  constexpr unsigned kStores = 400;  // one in ten has it found
  for (unsigned i = 0; i < kStores; ++i) {
    StoreOptions options = options_for(value_bytes);
    Store store(options, std::make_unique<Mistaken, Server::Links>);
    store.start();
    Load load = load_for(value_bytes, 150);
    load.keys = 2;
    load.gets = 60;
    load.seed = i + 1;
    const Loaded loaded = run(store, options, load);
    store.stop();
    const Verdict verdict = check_history(loaded.history);
    if (verdict.outcome == Outcome::kLinearizable) continue;
    EXPECT_EQ(verdict.outcome, Outcome::kNotLinearizable);
    std::printf("found in store %u: key %llu: %s\n", i, static_cast<unsigned long long>(verdict.key),
                verdict.why.c_str());
    return;
  }
  ADD_FAILURE() << "not found in " << kStores << " stores";
}

TEST(Mistakes, GetsDoNotWait) { expect_found<GetsDoNotWait>(16); }
TEST(Mistakes, SetsDoNotWait) { expect_found<SetsDoNotWait>(16); }
TEST(Mistakes, AppliesTwice) { expect_found<AppliesTwice>(16); }
TEST(Mistakes, Tears) { expect_found<Tears>(400); }
TEST(Mistakes, Forgets) { expect_found<Forgets>(16); }

// --- An exclusion and a return, step by step, by one thread. Replica 2 hears nothing while a key is set again.
class Deaf : public Server {
 public:
  using Server::Server;
  bool hears = true;

 private:
  bool learn() override { return hears && Server::learn(); }
};

// Answers as soon as it knows that it was excluded, out of what it has.
class ReturnsAtOnce : public Deaf {
  using Deaf::Deaf;
  uint64_t come_back() override {
    Deaf::come_back();
    return 0;
  }
};

template <class Third>
Verdict set_again_behind_the_third(bool* answered_while_deaf) {
  onepaxos::Options agreement;
  agreement.broadcast = onepaxos::Broadcast::kSequential;  // nobody hears through replica 2
  agreement.patience = 60s;
  agreement.clients = 2;
  onepaxos::Replicas group(3, agreement);
  Members members(3);
  Queue client_ends[3][2];
  const auto links = [&](unsigned replica) {
    Server::Links links{group[replica], members, {}, 1ms, 8};
    for (Queue& end : client_ends[replica]) {
      smelt_queue* ends[2] = {};
      EXPECT_EQ(smelt_queue_create("ump", 4, 2, -1, ends), 0);
      end.reset(ends[0]);
      links.clients.emplace_back(ends[1]);
    }
    return links;
  };
  Server first(links(0)), second(links(1));
  Third third(links(2));

  // A request of a client to a replica, and its answer; of a deaf one, if it comes within so many steps.
  Recorder recorders[2] = {Recorder(0), Recorder(1)};
  const auto ask = [&](unsigned client, unsigned replica, Request request, Value value) {
    recorders[client].invoke(request.operation, request.key, value);
    uint8_t message[SMELT_QUEUE_SLOT];
    std::memcpy(message, &request, sizeof request);
    std::memcpy(message + sizeof request, &value, request.bytes);
    EXPECT_EQ(smelt_queue_send(client_ends[replica][client].get(), message, sizeof request + request.bytes), 0);
  };
  const auto answered = [&](unsigned client, unsigned replica, Operation operation) {
    const auto end = Server::Clock::now() + 20s;
    for (unsigned steps = 0; third.hears || replica != 2 ? Server::Clock::now() < end : steps < 1000; ++steps) {
      first.step(), second.step();
      // Deaf, it takes no step before replica 0 has excluded it and gone on.
      if (third.hears || replica == 2) third.step();
      uint8_t message[SMELT_QUEUE_SLOT];
      size_t bytes = 0;
      if (smelt_queue_try_receive(client_ends[replica][client].get(), message, sizeof message, &bytes) != 0) continue;
      Value value = kAbsent;
      std::memcpy(&value, message + sizeof(Answer), bytes - sizeof(Answer));
      if (operation == Operation::kGet)
        recorders[client].respond_get(value, Recorder::now());
      else
        recorders[client].respond_set(Recorder::now());
      return true;
    }
    return false;
  };

  ask(0, 0, {1, 1, 1, sizeof(Value), Operation::kSet}, 111);
  EXPECT_TRUE(answered(0, 0, Operation::kSet));
  third.hears = false;
  ask(0, 0, {1, 2, 2, sizeof(Value), Operation::kSet}, 222);
  EXPECT_TRUE(answered(0, 0, Operation::kSet));
  EXPECT_TRUE(members.is_excluded(2));
  ask(1, 2, {1, 1, 0, 0, Operation::kGet}, kAbsent);
  *answered_while_deaf = answered(1, 2, Operation::kGet);
  third.hears = true;
  if (!*answered_while_deaf) {
    EXPECT_TRUE(answered(1, 2, Operation::kGet));
    EXPECT_EQ(recorders[1].events().back().value, 222u);
  }
  std::vector<Event> history = recorders[0].events();
  history.insert(history.end(), recorders[1].events().begin(), recorders[1].events().end());
  return check_history(history);
}

TEST(Store, WhoWasExcludedAnswersWhenItHasCaughtUp) {
  bool answered_while_deaf = true;
  const Verdict verdict = set_again_behind_the_third<Deaf>(&answered_while_deaf);
  EXPECT_FALSE(answered_while_deaf);
  EXPECT_EQ(verdict.outcome, Outcome::kLinearizable) << verdict.why;
}

TEST(Mistakes, ReturnsAtOnce) {
  bool answered_while_deaf = false;
  const Verdict verdict = set_again_behind_the_third<ReturnsAtOnce>(&answered_while_deaf);
  EXPECT_TRUE(answered_while_deaf);
  EXPECT_EQ(verdict.outcome, Outcome::kNotLinearizable);
}

}  // namespace
}  // namespace kvstore::test
