// examples/onepaxos: one order for all, nothing lost and nothing twice, whoever stops at whichever step, alone or with
// another, with random delays, and with patience so short that the living are suspected all the time.
#include "replica.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace onepaxos {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Stop {
  Step step;
  unsigned times = 1;
  int replica = -1;  // -1: whoever comes there first
};

struct Plan {
  unsigned replicas = 3, clients = 2, commands = 40;  // commands of each client
  Broadcast broadcast = Broadcast::kTree;
  std::chrono::milliseconds patience = 20ms;
  std::vector<Stop> stops;
  unsigned seed = 0;  // not 0: threads pause at random
  unsigned busy = 0;  // threads beside that do nothing but compute
};

struct Entry {
  uint64_t index, sequence;
  uint16_t client;
  bool operator==(const Entry& o) const {
    return std::tie(index, sequence, client) == std::tie(o.index, o.sequence, o.client);
  }
};

Command command(uint16_t client, uint64_t sequence) {
  Command result;
  result.client = client;
  result.sequence = sequence;
  result.bytes = static_cast<uint8_t>(sequence % (kCommandBytes + 1));
  for (unsigned i = 0; i < result.bytes; ++i) result.data[i] = static_cast<uint8_t>(client + sequence * 7 + i);
  return result;
}

// A replica, its thread, and the letter box where clients leave their commands.
struct Member {
  std::mutex lock;
  std::deque<Command> box;
  std::vector<Entry> log;
  std::vector<bool> asked;  // by client: it gets its answers here
  std::atomic<uint64_t> length{0};
  std::atomic<unsigned> leader{0}, acceptor{0};
  std::atomic<bool> stopped{false};
  bool damaged = false;
  Counters counters;
  std::thread thread;
};

class World {
 public:
  explicit World(const Plan& plan) : plan_(plan), group_(plan.replicas, options(plan)), answered_(plan.clients) {
    for (auto& a : answered_) a.store(0, std::memory_order_relaxed);
    for (const Stop& stop : plan.stops) left_.push_back(std::make_unique<std::atomic<int>>(stop.replica < 0 ? 1 : 0));
    for (unsigned r = 0; r < plan.replicas; ++r) {
      members_.push_back(std::make_unique<Member>());
      members_[r]->asked.resize(plan.clients);
    }
    // A replica has one stop. One that is meant for it goes first; else they share the others among them.
    for (unsigned r = 0; r < plan.replicas; ++r) {
      std::vector<size_t> anybody;
      bool own = false;
      for (size_t s = 0; s < plan.stops.size(); ++s) {
        if (plan.stops[s].replica == static_cast<int>(r)) {
          group_[r].stop_at(plan.stops[s].step, plan.stops[s].times);
          own = true;
        } else if (plan.stops[s].replica < 0) {
          anybody.push_back(s);
        }
      }
      if (own || anybody.empty()) continue;
      const size_t s = anybody[r % anybody.size()];
      group_[r].stop_at(plan.stops[s].step, plan.stops[s].times, left_[s].get());
    }
  }

  // Runs it all; true: every client got all its answers. False: two have stopped, one of them the acceptor, and the
  // others wait for it, as they must.
  bool run() {
    for (unsigned r = 0; r < plan_.replicas; ++r) members_[r]->thread = std::thread([this, r] { replica(r); });
    std::vector<std::thread> clients, busy;
    for (unsigned i = 0; i < plan_.busy; ++i)
      busy.emplace_back([this] {
        while (!done_.load(std::memory_order_relaxed)) {
        }
      });
    for (unsigned c = 0; c < plan_.clients; ++c) clients.emplace_back([this, c] { client(static_cast<uint16_t>(c)); });
    for (std::thread& thread : clients) thread.join();
    const bool finished = !given_up_.load();
    // All that live come to the same length.
    if (finished) {
      const auto limit = Clock::now() + 60s;
      while (!even() && Clock::now() < limit) std::this_thread::sleep_for(1ms);
      EXPECT_TRUE(even()) << "a living replica does not come up to the others\n" << describe();
    }
    done_ = true;
    for (auto& member : members_) member->thread.join();
    for (std::thread& thread : busy) thread.join();
    check(finished);
    return finished;
  }

  unsigned stopped() const {
    return static_cast<unsigned>(
        std::count_if(members_.begin(), members_.end(), [](auto& m) { return m->stopped.load(); }));
  }
  uint64_t suspicions() const {
    uint64_t result = 0;
    for (auto& member : members_) result += member->counters.suspicions;
    return result;
  }
  const Counters& counters(unsigned r) const { return members_[r]->counters; }

 private:
  static Options options(const Plan& plan) {
    Options result;
    result.broadcast = plan.broadcast;
    result.patience = plan.patience;
    result.clients = plan.clients;
    return result;
  }

  void replica(unsigned r) {
    Member& self = *members_[r];
    Replica& replica = group_[r];
    std::minstd_rand random(plan_.seed * 977 + r + 1);
    replica.on_apply([&](uint64_t index, const Command& got) {
      self.log.push_back({index, got.sequence, got.client});
      const Command meant = command(got.client, got.sequence);
      self.damaged |= got.bytes != meant.bytes || !std::equal(meant.data, meant.data + meant.bytes, got.data);
      if (self.asked[got.client]) answer(got.client, got.sequence);
    });
    while (!done_.load(std::memory_order_relaxed)) {
      std::deque<Command> box;
      {
        const std::lock_guard guard(self.lock);
        box.swap(self.box);
      }
      for (const Command& each : box) {
        self.asked[each.client] = true;
        if (replica.submit(each) && replica.applied(each.client, each.sequence)) answer(each.client, each.sequence);
      }
      const bool busy = replica.poll();
      self.length.store(replica.length(), std::memory_order_relaxed);
      self.leader.store(replica.leader(), std::memory_order_relaxed);
      self.acceptor.store(replica.acceptor(), std::memory_order_relaxed);
      if (replica.stopped()) break;
      if (plan_.seed != 0 && random() % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      if (!busy) std::this_thread::yield();
    }
    self.stopped = replica.stopped();
    self.counters = replica.counters();
  }

  void answer(uint16_t client, uint64_t sequence) {
    uint64_t seen = answered_[client].load(std::memory_order_relaxed);
    while (seen < sequence && !answered_[client].compare_exchange_weak(seen, sequence)) {
    }
  }

  // One command after the other; who gets no answer asks another replica.
  void client(uint16_t c) {
    unsigned at = c % 2 == 0 ? 0 : c % plan_.replicas;
    auto progress = Clock::now();
    for (uint64_t s = 1; s <= plan_.commands; ++s) {
      for (bool first = true;; first = false) {
        if (!first) at = (at + 1) % plan_.replicas;
        {
          const std::lock_guard guard(members_[at]->lock);
          members_[at]->box.push_back(command(c, s));
        }
        const auto until = Clock::now() + 4 * plan_.patience;
        while (answered_[c].load() < s && Clock::now() < until) std::this_thread::yield();
        if (answered_[c].load() >= s) break;
        const auto waited = Clock::now() - progress;
        const bool must_wait = stopped() >= 2 && all_wait_for_the_acceptor();
        if ((must_wait && waited > 25 * plan_.patience) || waited > 60s || given_up_.load()) {
          EXPECT_TRUE(must_wait) << "client " << c << " gets no answer to " << s << "\n" << describe();
          given_up_ = true;
          return;
        }
      }
      progress = Clock::now();
    }
  }

  bool all_wait_for_the_acceptor() const {
    // A majority has gone, or those that are left know an acceptor that has stopped.
    if (plan_.replicas - stopped() <= plan_.replicas / 2) return true;
    for (auto& member : members_)
      if (!member->stopped.load() && !members_[member->acceptor.load()]->stopped.load()) return false;
    return true;
  }

  bool even() const {
    std::set<uint64_t> lengths;
    for (auto& member : members_)
      if (!member->stopped.load()) lengths.insert(member->length.load());
    return lengths.size() <= 1;
  }

  std::string describe() const {
    std::string text;
    for (auto& member : members_)
      text += "  length " + std::to_string(member->length.load()) + ", leader " +
              std::to_string(member->leader.load()) + ", acceptor " + std::to_string(member->acceptor.load()) +
              (member->stopped.load() ? ", stopped\n" : "\n");
    return text;
  }

  void check(bool finished) {
    const auto longest = std::max_element(members_.begin(), members_.end(),
                                          [](auto& a, auto& b) { return a->log.size() < b->log.size(); });
    const std::vector<Entry>& order = (*longest)->log;
    std::map<uint16_t, std::set<uint64_t>> applied;
    uint64_t next = 0;
    for (const Entry& entry : order) {
      EXPECT_GE(entry.index, next) << "indices rise";
      next = entry.index + 1;
      EXPECT_TRUE(applied[entry.client].insert(entry.sequence).second)
          << "client " << entry.client << "'s " << entry.sequence << " was applied twice";
    }
    for (unsigned r = 0; r < plan_.replicas; ++r) {
      const Member& member = *members_[r];
      EXPECT_FALSE(member.damaged);
      EXPECT_TRUE(std::equal(member.log.begin(), member.log.end(), order.begin())) << "another order at replica " << r;
      if (finished && !member.stopped) {
        EXPECT_EQ(member.log.size(), order.size()) << "replica " << r;
      }
    }
    // What a client was told is in the order, unless all who know it have stopped: then nothing was decided since.
    for (unsigned c = 0; c < plan_.clients; ++c) {
      for (uint64_t s = 1; s <= answered_[c].load(); ++s)
        EXPECT_TRUE(applied[static_cast<uint16_t>(c)].count(s)) << "client " << c << "'s " << s << " is lost";
      if (finished) {
        EXPECT_EQ(applied[static_cast<uint16_t>(c)].size(), plan_.commands);
      }
    }
  }

  const Plan plan_;
  std::vector<std::unique_ptr<std::atomic<int>>> left_;
  Replicas group_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::atomic<uint64_t>> answered_;
  std::atomic<bool> done_{false}, given_up_{false};
};

TEST(OnePaxos, EverybodyAppliesTheSame) {
  for (const Broadcast broadcast : {Broadcast::kTree, Broadcast::kSequential}) {
    for (const unsigned replicas : {2u, 3u, 8u}) {
      Plan plan;
      plan.replicas = replicas;
      plan.broadcast = broadcast;
      plan.patience = 2000ms;
      plan.clients = 3;
      plan.commands = 80;
      World world(plan);
      EXPECT_TRUE(world.run());
      EXPECT_EQ(world.stopped(), 0u);
    }
  }
}

// Every step, alone. Roles that only a change of configuration has come in the pairs below.
const Step kUsual[] = {Step::kLeaderBeforeProposing,   Step::kLeaderProposed,      Step::kLeaderLearned,
                       Step::kAcceptorBeforeAccepting, Step::kAcceptorAccepted,    Step::kAcceptorToldOne,
                       Step::kAcceptorToldAll,         Step::kForwarderToldNobody, Step::kForwarderToldOne,
                       Step::kLearnerApplied};
const Step kChange[] = {Step::kCandidateBefore,  Step::kCandidatePromised, Step::kCandidateOfferedOne,
                        Step::kCandidateDecided, Step::kCandidateToldOne,  Step::kVoterPromised,
                        Step::kVoterAccepted,    Step::kNewLeaderAdopted,  Step::kNewLeaderKnows,
                        Step::kOldLeaderSyncing, Step::kNewAcceptorSynced, Step::kNewAcceptorAdopted};

TEST(OnePaxos, OneStops) {
  for (const Broadcast broadcast : {Broadcast::kTree, Broadcast::kSequential}) {
    for (const unsigned replicas : {3u, 6u}) {
      for (const Step step : kUsual) {
        SCOPED_TRACE(name(step));
        Plan plan;
        plan.replicas = replicas;
        plan.broadcast = broadcast;
        plan.stops = {{step, 12}};
        World world(plan);
        EXPECT_TRUE(world.run());
        const bool forwards = step == Step::kForwarderToldNobody || step == Step::kForwarderToldOne;
        // A replica that has nobody to tell does not come there.
        if (!forwards && !(step == Step::kAcceptorToldOne && replicas == 3 && broadcast == Broadcast::kTree)) {
          EXPECT_EQ(world.stopped(), 1u);
        }
      }
    }
  }
}

// The leader or the acceptor stops somewhere, and while the others change the configuration another one does.
TEST(OnePaxos, TwoStop) {
  unsigned went_on = 0, waited = 0, second = 0;
  for (const Stop cause :
       {Stop{Step::kLeaderProposed, 9, 0}, Stop{Step::kLeaderLearned, 9, 0}, Stop{Step::kAcceptorBeforeAccepting, 9, 1},
        Stop{Step::kAcceptorAccepted, 9, 1}, Stop{Step::kAcceptorToldOne, 9, 1}}) {
    for (const Step step : kChange) {
      SCOPED_TRACE(std::string(name(cause.step)) + ", " + name(step));
      Plan plan;
      plan.replicas = 5;
      plan.commands = 20;
      plan.stops = {cause, {step}};
      World world(plan);
      (world.run() ? went_on : waited) += 1;
      second += world.stopped() == 2;
    }
  }
  printf("%u went on, %u wait for leader or acceptor; the second stopped in %u\n", went_on, waited, second);
  EXPECT_GT(went_on, waited);
}

// Two of the usual steps, both somewhere in the middle: mostly leader and acceptor.
TEST(OnePaxos, AnyTwoStop) {
  std::minstd_rand random(7);
  for (int i = 0; i < 30; ++i) {
    Plan plan;
    plan.replicas = 5;
    plan.commands = 20;
    plan.seed = static_cast<unsigned>(i) + 1;
    plan.broadcast = i % 2 == 0 ? Broadcast::kTree : Broadcast::kSequential;
    for (int k = 0; k < 2; ++k)
      plan.stops.push_back({kUsual[random() % std::size(kUsual)], 1 + static_cast<unsigned>(random() % 30)});
    SCOPED_TRACE(std::string(name(plan.stops[0].step)) + ", " + name(plan.stops[1].step));
    World(plan).run();
  }
}

// Patience is so short, and the machine so busy, that the living are suspected: that costs time only.
TEST(OnePaxos, SuspicionWithoutCause) {
  uint64_t suspicions = 0;
  for (unsigned i = 1; i <= 6; ++i) {
    Plan plan;
    plan.replicas = i % 2 == 0 ? 3 : 5;
    plan.patience = i < 4 ? 1ms : 5ms;
    plan.commands = 100;
    plan.seed = i;
    plan.busy = 4;
    if (i % 3 == 0) plan.stops = {{Step::kLeaderProposed, 30}};
    World world(plan);
    EXPECT_TRUE(world.run());
    suspicions += world.suspicions();
  }
  printf("%llu suspicions\n", static_cast<unsigned long long>(suspicions));
  EXPECT_GT(suspicions, 0u);
}

// --- Driven by hand, one thread for all: who is not polled does not run.

class Driven {
 public:
  explicit Driven(unsigned replicas, Broadcast broadcast = Broadcast::kSequential)
      : group_(replicas, options(broadcast)), logs_(replicas) {
    for (unsigned r = 0; r < replicas; ++r)
      group_[r].on_apply([this, r](uint64_t, const Command& got) { logs_[r].push_back(got.sequence); });
  }
  Replica& operator[](unsigned r) { return group_[r]; }
  const std::vector<uint64_t>& log(unsigned r) const { return logs_[r]; }
  void submit(unsigned r, uint64_t sequence) { EXPECT_TRUE(group_[r].submit(command(0, sequence))); }

  // Polls these in turns until it is so.
  template <class Condition>
  void run(std::initializer_list<unsigned> who, Condition condition) {
    const auto limit = Clock::now() + 30s;
    while (!condition()) {
      for (const unsigned r : who) group_[r].poll();
      if (Clock::now() > limit) {
        for (unsigned r = 0; r < group_.size(); ++r)
          ADD_FAILURE() << "replica " << r << ": length " << group_[r].length() << ", leader " << group_[r].leader()
                        << ", acceptor " << group_[r].acceptor()
                        << (group_[r].leads()     ? ", leads"
                            : group_[r].stopped() ? ", stopped"
                                                  : "");
        return;
      }
    }
  }

 private:
  static Options options(Broadcast broadcast) {
    Options result;
    result.broadcast = broadcast;
    result.patience = 5ms;
    return result;
  }
  Replicas group_;
  std::vector<std::vector<uint64_t>> logs_;
};

using Numbers = std::vector<uint64_t>;

// The trap of an active acceptor: it lives, it has been replaced, and proposals are waiting for it.
TEST(OnePaxos, TheOldAcceptorAcceptsWhatWasHandedOver) {
  Driven group(3);
  for (const uint64_t s : {1, 2, 3}) group.submit(0, s);
  group[0].poll();  // all three are in the queue to 1, which sleeps
  group.run({0, 2}, [&] { return group[0].acceptor() == 2 && group.log(2).size() == 3; });
  group.submit(0, 4);
  group.run({0, 2}, [&] { return group.log(0).size() == 4; });
  group.run({0, 1, 2}, [&] { return group[1].acceptor() == 2 && group.log(1).size() == 4; });
  for (const unsigned r : {0, 1, 2}) EXPECT_EQ(group.log(r), (Numbers{1, 2, 3, 4}));
}

// The leader has handed over, and stops before it says anything else: what it had under way is decided all the same.
TEST(OnePaxos, WhatWasHandedOverIsDecided) {
  Driven group(5);
  for (const uint64_t s : {1, 2, 3}) group.submit(0, s);
  group[0].stop_at(Step::kNewLeaderAdopted);
  group[0].poll();  // all three are in the queue to 1, which sleeps
  group.run({0, 2, 3, 4}, [&] { return group[0].stopped(); });
  group.submit(3, 10);
  group.run({2, 3, 4}, [&] { return group[3].applied(0, 10) && group[4].applied(0, 10); });
  group.run({1, 2, 3, 4}, [&] { return group[1].length() >= group[4].length(); });
  EXPECT_EQ(group.log(4), (Numbers{1, 2, 3, 10}));
  EXPECT_EQ(group.log(1), group.log(4));
}

// It has accepted, and told one of them; then it and the leader are not heard of any more.
TEST(OnePaxos, WhatOneWasToldSurvives) {
  Driven group(5);
  group[1].poll();  // it knows whom to tell
  for (const uint64_t s : {1, 2}) group.submit(0, s);
  group[1].stop_at(Step::kAcceptorToldOne);  // the first command, to the first of them, which is 0
  group[0].poll();
  group.run({1}, [&] { return group[1].stopped(); });
  // 2 takes over, but the acceptor answers nothing: as long as 0 says nothing either, all must wait.
  group.run({2, 3, 4}, [&] { return group[2].leader() == 2; });
  const auto until = Clock::now() + 100ms;
  group.run({2, 3, 4}, [&] { return Clock::now() > until; });
  EXPECT_EQ(group.log(2).size(), 0u);
  EXPECT_EQ(group[2].acceptor(), 1u);
  group.submit(2, 3);
  // 0 was only slow. It says what it had proposed, and there is an acceptor again.
  group.run({0, 2, 3, 4},
            [&] { return group.log(2).size() == 3 && group.log(3).size() == 3 && group.log(4).size() == 3; });
  group.run({0, 2, 3, 4}, [&] { return group.log(0).size() == 3; });
  for (const unsigned r : {0, 2, 3, 4}) EXPECT_EQ(group.log(r), (Numbers{1, 2, 3}));
  EXPECT_NE(group[2].acceptor(), 1u);
}

// A leader that was replaced while it slept goes on as if nothing had happened: nobody accepts that.
TEST(OnePaxos, AReplacedLeaderIsNotAccepted) {
  Driven group(3);
  group.submit(0, 1);
  group.run({0, 1, 2}, [&] { return group.log(2).size() == 1; });
  for (const uint64_t s : {2, 3}) group.submit(0, s);
  group.run({1, 2}, [&] { return group[2].leads() && group[1].leader() == 2; });
  for (const uint64_t s : {10, 11}) group.submit(2, s);
  group[0].poll();  // it proposes 2 and 3 before it hears anything
  group.run({1, 2}, [&] { return group.log(2).size() >= 3; });
  group.run({0, 1, 2},
            [&] { return group.log(0).size() == 5 && group.log(1).size() == 5 && group.log(2).size() == 5; });
  EXPECT_EQ(group.log(0), group.log(2));
  EXPECT_EQ(group.log(1), group.log(2));
}

// Many commands submitted through several replicas, again and again: each is applied once.
TEST(OnePaxos, SubmittedTwiceAppliedOnce) {
  Driven group(3, Broadcast::kTree);
  for (uint64_t s = 1; s <= 500; ++s) {
    for (const unsigned r : {2, 0, 1}) {
      group.submit(r, s);
      group.submit(r, s);
    }
    if (s % 50 == 0) group.run({0, 1, 2}, [&] { return group.log(0).size() == s && group.log(2).size() == s; });
  }
  Numbers sorted = group.log(0);
  std::sort(sorted.begin(), sorted.end());
  for (uint64_t s = 1; s <= 500; ++s) ASSERT_EQ(sorted[s - 1], s);
  EXPECT_GT(group[0].counters().duplicates, 0u);
}

// A replica that slept for long catches up with everything, and so does one that was given up for dead.
TEST(OnePaxos, ASleeperCatchesUp) {
  Driven group(4, Broadcast::kTree);
  uint64_t s = 0;
  for (int part = 0; part < 100; ++part) {
    for (int i = 0; i < 50; ++i) group.submit(0, ++s);
    group.run({0, 1, 2}, [&] { return group.log(0).size() == s && group.log(2).size() == s; });
  }
  group.run({0, 1, 2, 3}, [&] { return group.log(3).size() == s; });
  EXPECT_EQ(group.log(3), group.log(0));
}

TEST(OnePaxos, OptionsThatCannotBe) {
  EXPECT_THROW(Replicas(1, {}), std::invalid_argument);
  EXPECT_THROW(Replicas(65, {}), std::invalid_argument);
  Options options;
  options.acceptor = options.leader;
  EXPECT_THROW(Replicas(3, options), std::invalid_argument);
  options = {};
  options.pattern = "no such pattern";
  EXPECT_THROW(Replicas(3, options), std::invalid_argument);
  Replicas group(3, {});
  Command command;
  EXPECT_FALSE(group[0].submit(command)) << "sequence numbers begin at 1";
  command.sequence = 1;
  command.client = 64;
  EXPECT_FALSE(group[0].submit(command)) << "no such client";
  command.client = 0;
  EXPECT_TRUE(group[0].submit(command));
  group[0].crash();
  EXPECT_FALSE(group[0].submit(command));
  EXPECT_FALSE(group[0].poll());
}

}  // namespace
}  // namespace onepaxos
