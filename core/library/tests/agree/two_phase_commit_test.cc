// Two-phase commit between threads and processes: all or none, whoever says no, stops, or is killed, at any step.
#include <smelt/two_phase_commit.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "members.h"

namespace smelt::test {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<unsigned char>;

struct FreeMember {
  void operator()(smelt_two_phase_commit* member) const { smelt_two_phase_commit_free(member); }
};
using Member = std::unique_ptr<smelt_two_phase_commit, FreeMember>;

std::vector<Member> between_threads(unsigned members, const smelt_tree* tree, unsigned limit,
                                    int64_t timeout_ns = kPatience) {
  std::vector<smelt_two_phase_commit*> made(members);
  EXPECT_EQ(smelt_two_phase_commit_create(members, tree, limit, timeout_ns, made.data()), 0);
  std::vector<Member> owned;
  for (smelt_two_phase_commit* one : made) owned.emplace_back(one);
  return owned;
}

uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t x = (a * 1024 + b + 1) * 0x9e3779b97f4a7c15;
  x ^= x >> 29;
  return x * 0xbf58476d1ce4e5b9 >> 8;
}

// The proposal of a round; and what each votes in it: two rounds of three commit.
Bytes proposal(uint64_t round, size_t limit) {
  Bytes bytes(mixed(round, 7) % (limit + 1));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(round + i);
  return bytes;
}
bool votes_yes(uint64_t round, unsigned member) { return round % 3 != 0 || mixed(round, member) % 3 != 0; }

// --- threads

TEST(TwoPhaseCommit, AllCommitOrNobodyDoes) {
  constexpr uint64_t kRounds = 100;
  constexpr size_t kLimit = 4096;
  for (const char* pattern : {"sequential", "binary", "knomial:2"})
    for (const unsigned members : {1u, 2u, 3u, 6u}) {
      const unsigned root = members / 2;
      const TreePointer tree = tree_of(pattern, members, static_cast<int>(root));
      const std::vector<Member> all = between_threads(members, tree.get(), kLimit);
      std::vector<std::string> wrong(members);
      std::vector<std::vector<int>> outcomes(members, std::vector<int>(kRounds, -1));
      std::vector<std::thread> threads;
      for (unsigned i = 0; i < members; ++i)
        threads.emplace_back([&, i] {
          Delays delays(i);
          Bytes data(kLimit);
          size_t bytes = 0;
          for (uint64_t round = 0; round < kRounds; ++round) {
            delays.maybe();
            const Bytes proposed = proposal(round, kLimit);
            int error;
            if (i == root) {
              error = smelt_two_phase_commit_propose(all[i].get(), proposed.data(), proposed.size());
              delays.maybe();
              if (!error) error = smelt_two_phase_commit_decide(all[i].get(), &outcomes[i][round]);
            } else {
              error = smelt_two_phase_commit_begin(all[i].get(), data.data(), data.size(), &bytes);
              if (!error && Bytes(data.begin(), data.begin() + static_cast<long>(bytes)) != proposed)
                wrong[i] += "not what was proposed in round " + std::to_string(round) + "; ";
              delays.maybe();
              if (!error) error = smelt_two_phase_commit_vote(all[i].get(), votes_yes(round, i));
              delays.maybe();
              if (!error) error = smelt_two_phase_commit_outcome(all[i].get(), &outcomes[i][round]);
            }
            if (error) {
              wrong[i] += "error " + std::to_string(error) + " in round " + std::to_string(round);
              return;
            }
          }
        });
      for (std::thread& one : threads) one.join();
      EXPECT_EQ(wrong, std::vector<std::string>(members));
      for (uint64_t round = 0; round < kRounds; ++round) {
        bool yes = true;
        for (unsigned i = 0; i < members; ++i) yes &= i == root || votes_yes(round, i);
        for (unsigned i = 0; i < members; ++i)
          ASSERT_EQ(outcomes[i][round], yes ? SMELT_COMMIT : SMELT_ABORT) << pattern << ", round " << round;
      }
    }
}

TEST(TwoPhaseCommit, TheTreeOfThisMachineServes) {
  const std::vector<Member> all = between_threads(2, nullptr, 8);
  EXPECT_EQ(smelt_two_phase_commit_coordinator(all[1].get()), 0u);
  int outcomes[2] = {-1, -1};
  size_t bytes = 1;
  ASSERT_EQ(smelt_two_phase_commit_propose(all[0].get(), nullptr, 0), 0);
  ASSERT_EQ(smelt_two_phase_commit_begin(all[1].get(), nullptr, 0, &bytes), 0);
  EXPECT_EQ(bytes, 0u);
  ASSERT_EQ(smelt_two_phase_commit_vote(all[1].get(), 1), 0);
  ASSERT_EQ(smelt_two_phase_commit_decide(all[0].get(), &outcomes[0]), 0);
  ASSERT_EQ(smelt_two_phase_commit_outcome(all[1].get(), &outcomes[1]), 0);
  EXPECT_EQ(outcomes[0], SMELT_COMMIT);
  EXPECT_EQ(outcomes[1], SMELT_COMMIT);
}

// Members that do nothing before somebody says so: 0 propose, 1 decide; 0 begin, 1 vote, 2 outcome. With no time to
// wait in, each step is done or not.
class Player {
 public:
  Player(smelt_two_phase_commit* member, unsigned index, unsigned root)
      : member_(member), index_(index), coordinator_(index == root) {}

  // The next step; 0 or what came of it.
  int step(bool resolve) {
    int outcome = -1, error;
    size_t bytes;
    uint64_t round = outcomes.size();
    if (coordinator_)
      error = at_ == 0 ? smelt_two_phase_commit_propose(member_, &round, sizeof round)
                       : smelt_two_phase_commit_decide(member_, &outcome);
    else if (at_ == 0)
      error = smelt_two_phase_commit_begin(member_, &proposed_, sizeof proposed_, &bytes);
    else if (at_ == 1)
      error = smelt_two_phase_commit_vote(member_, yes());
    else
      error = resolve ? smelt_two_phase_commit_resolve(member_, &outcome)
                      : smelt_two_phase_commit_outcome(member_, &outcome);
    if (error) return error;
    if (!coordinator_ && at_ == 0) {
      EXPECT_EQ(proposed_, round);
    }
    ++steps;
    if (outcome >= 0) {
      outcomes.push_back(outcome);
      at_ = 0;
    } else {
      ++at_;
    }
    return 0;
  }
  bool yes() const { return mixed(outcomes.size() + 1000, index_) % 8 != 0; }
  bool voted() const { return !coordinator_ && at_ == 2; }
  bool is_idle() const { return at_ == 0; }

  std::vector<int> outcomes;
  unsigned steps = 0;

 private:
  smelt_two_phase_commit* member_;
  unsigned index_, at_ = 0;
  uint64_t proposed_ = 0;
  bool coordinator_;
};

// In any order of steps, whoever stops for good after any of them: no two members, the stopped one included, have
// different outcomes, a commit had only votes of yes, and none of the others stays in doubt.
TEST(TwoPhaseCommit, WhoeverStopsAtAnyStepTheOthersAgree) {
  unsigned commits = 0, aborts = 0, resolved = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::minstd_rand random(seed + 1);
    const unsigned members = 2 + seed % 3, root = seed / 3 % members;
    const TreePointer tree = tree_of(seed % 2 == 0 ? "knomial:1" : "sequential", members, static_cast<int>(root));
    const std::vector<Member> all = between_threads(members, tree.get(), 8, 0);
    std::vector<Player> players;
    for (unsigned i = 0; i < members; ++i) players.emplace_back(all[i].get(), i, root);
    const unsigned victim = random() % members, stops_after = random() % 10;
    for (unsigned turn = 0; turn < 200; ++turn) {
      const unsigned i = random() % members;
      if (i == victim && players[i].steps >= stops_after) continue;
      // Its patience is at an end: so the coordinator decides, and a participant that is in doubt may resolve.
      const bool in_doubt = players[i].voted() && random() % 16 == 0;
      if (i == root && !players[i].is_idle() && random() % 4 != 0) continue;
      const int error = players[i].step(in_doubt);
      ASSERT_TRUE(error == 0 || error == -ETIMEDOUT) << error << ", seed " << seed;
      resolved += error == 0 && in_doubt;
    }
    // A member that can still finish does.
    for (unsigned i = 0; i < members; ++i)
      if (i != victim && (players[i].voted() || (i == root && !players[i].is_idle()))) {
        ASSERT_EQ(players[i].step(true), 0) << "in doubt, seed " << seed;
      }
    for (unsigned i = 0; i < members; ++i)
      for (size_t round = 0; round < players[i].outcomes.size(); ++round) {
        const bool commit = players[i].outcomes[round] == SMELT_COMMIT;
        ++(commit ? commits : aborts);
        for (unsigned j = 0; j < i; ++j)
          if (round < players[j].outcomes.size()) {
            ASSERT_EQ(players[i].outcomes[round], players[j].outcomes[round]) << "round " << round << ", seed " << seed;
          }
        for (unsigned j = 0; j < members && commit; ++j)
          ASSERT_TRUE(j == root || mixed(round + 1000, j) % 8 != 0) << "a commit against a vote, seed " << seed;
      }
  }
  EXPECT_GT(commits, 500u);
  EXPECT_GT(aborts, 500u);
  EXPECT_GT(resolved, 100u);
}

// Stopped, and later it goes on: rounds it has not voted in abort, it finds their outcomes, and no round is lost.
TEST(TwoPhaseCommit, WhoWasLateFindsTheOutcomesOfBefore) {
  const TreePointer tree = tree_of("sequential", 3, 0);
  const std::vector<Member> all = between_threads(3, tree.get(), 8, 0);
  std::vector<Player> players;
  for (unsigned i = 0; i < 3; ++i) players.emplace_back(all[i].get(), i, 0);
  for (unsigned round = 0; round < 2; ++round) {
    ASSERT_EQ(players[0].step(false), 0);
    for (int step = 0; step < 2; ++step) ASSERT_EQ(players[1].step(false), 0);
    ASSERT_EQ(players[0].step(false), 0) << "it decides without member 2";
    ASSERT_EQ(players[1].step(false), 0);
  }
  EXPECT_EQ(players[0].step(false), -ETIMEDOUT) << "the place of round 0 is not free yet";
  for (int step = 0; step < 3; ++step) ASSERT_EQ(players[2].step(false), 0);
  EXPECT_EQ(players[0].step(false), 0);
  EXPECT_EQ(players[1].step(false), 0);
  for (int step = 0; step < 3; ++step) ASSERT_EQ(players[2].step(false), 0);
  EXPECT_EQ(players[2].outcomes, (std::vector<int>{SMELT_ABORT, SMELT_ABORT}));
  EXPECT_EQ(players[1].outcomes, players[2].outcomes);
  EXPECT_EQ(players[0].outcomes, players[2].outcomes);
}

// The member between stops after its vote: the coordinator counts the votes itself.
TEST(TwoPhaseCommit, AMemberBetweenThatStopsAfterItsVoteStopsNobody) {
  const TreePointer tree = tree_of("knomial:1", 3, 0);  // 0 - 1 - 2
  const std::vector<Member> all = between_threads(3, tree.get(), 8, 0);
  int outcome = -1;
  size_t bytes;
  ASSERT_EQ(smelt_two_phase_commit_propose(all[0].get(), "x", 1), 0);
  char data[8];
  EXPECT_EQ(smelt_two_phase_commit_begin(all[2].get(), data, sizeof data, &bytes), -ETIMEDOUT) << "not passed on yet";
  for (unsigned i = 1; i < 3; ++i) {
    ASSERT_EQ(smelt_two_phase_commit_begin(all[i].get(), data, sizeof data, &bytes), 0);
    ASSERT_EQ(smelt_two_phase_commit_vote(all[i].get(), 1), 0);
  }
  EXPECT_EQ(smelt_two_phase_commit_outcome(all[2].get(), &outcome), -ETIMEDOUT) << "in doubt";
  EXPECT_EQ(outcome, -1);
  ASSERT_EQ(smelt_two_phase_commit_decide(all[0].get(), &outcome), 0);
  EXPECT_EQ(outcome, SMELT_COMMIT);
  outcome = -1;
  ASSERT_EQ(smelt_two_phase_commit_outcome(all[2].get(), &outcome), 0) << "although member 1 tells nobody";
  EXPECT_EQ(outcome, SMELT_COMMIT);
}

TEST(TwoPhaseCommit, StepsOutOfTurnAreRefused) {
  smelt_two_phase_commit* made[3] = {};
  EXPECT_EQ(smelt_two_phase_commit_create(0, nullptr, 8, 0, made), -EINVAL);
  EXPECT_EQ(smelt_two_phase_commit_create(2, nullptr, SMELT_TWO_PHASE_COMMIT_MAX_LIMIT + 1, 0, made), -EINVAL);
  EXPECT_EQ(smelt_two_phase_commit_create(2, nullptr, 8, 0, nullptr), -EINVAL);
  EXPECT_EQ(smelt_two_phase_commit_size(2, SMELT_TWO_PHASE_COMMIT_MAX_LIMIT + 1), 0u);
  const std::vector<Member> all = between_threads(2, nullptr, 8, 0);
  smelt_two_phase_commit *coordinator = all[0].get(), *participant = all[1].get();
  int outcome;
  size_t bytes = 0;
  char data[8];
  EXPECT_EQ(smelt_two_phase_commit_propose(nullptr, nullptr, 0), -EINVAL);
  EXPECT_EQ(smelt_two_phase_commit_propose(participant, nullptr, 0), -ENOTSUP);
  EXPECT_EQ(smelt_two_phase_commit_decide(participant, &outcome), -ENOTSUP);
  EXPECT_EQ(smelt_two_phase_commit_begin(coordinator, data, 8, &bytes), -ENOTSUP);
  EXPECT_EQ(smelt_two_phase_commit_decide(coordinator, &outcome), -EINVAL);
  EXPECT_EQ(smelt_two_phase_commit_vote(participant, 1), -EINVAL);
  EXPECT_EQ(smelt_two_phase_commit_outcome(participant, &outcome), -EINVAL);
  EXPECT_EQ(smelt_two_phase_commit_resolve(participant, &outcome), -EINVAL);
  EXPECT_EQ(smelt_two_phase_commit_propose(coordinator, nullptr, 1), -EINVAL);
  EXPECT_EQ(smelt_two_phase_commit_propose(coordinator, "123456789", 9), -EMSGSIZE);
  ASSERT_EQ(smelt_two_phase_commit_propose(coordinator, "12345678", 8), 0);
  EXPECT_EQ(smelt_two_phase_commit_propose(coordinator, nullptr, 0), -EINVAL);
  EXPECT_EQ(smelt_two_phase_commit_begin(participant, data, 7, &bytes), -EMSGSIZE);
  EXPECT_EQ(bytes, 8u);
  ASSERT_EQ(smelt_two_phase_commit_begin(participant, data, 8, &bytes), 0);
  EXPECT_EQ(smelt_two_phase_commit_begin(participant, data, 8, &bytes), -EINVAL);
  EXPECT_EQ(smelt_two_phase_commit_resolve(participant, &outcome), -EINVAL) << "it has not voted";
  smelt_two_phase_commit_free(nullptr);
}

// --- processes

constexpr unsigned kMembers = 4;
constexpr uint64_t kMost = 1 << 18;

struct Record {
  std::atomic<uint64_t> rounds;
  unsigned char outcomes[kMost];
};

// Rounds until an error comes; each outcome is written down. A participant that is in doubt resolves.
int rounds_of(smelt_two_phase_commit* member, unsigned index, unsigned root, Record& record, uint64_t most) {
  for (uint64_t round = 0; round < most; ++round) {
    uint64_t proposed = 0;
    size_t bytes;
    int outcome, error;
    if (index == root) {
      if ((error = smelt_two_phase_commit_propose(member, &round, sizeof round)) != 0) return -error;
      if ((error = smelt_two_phase_commit_decide(member, &outcome)) != 0) return -error;
    } else {
      if ((error = smelt_two_phase_commit_begin(member, &proposed, sizeof proposed, &bytes)) != 0) return -error;
      if (proposed != round) return 200;
      if ((error = smelt_two_phase_commit_vote(member, mixed(round, index) % 16 != 0)) != 0) return -error;
      error = smelt_two_phase_commit_outcome(member, &outcome);
      if (error == -ETIMEDOUT) error = smelt_two_phase_commit_resolve(member, &outcome);
      if (error != 0) return -error;
    }
    record.outcomes[round] = static_cast<unsigned char>(outcome);
    record.rounds.store(round + 1);
  }
  return 0;
}

Member attached(const smelt_two_phase_commit_ticket& ticket, unsigned index, int64_t timeout_ns) {
  smelt_two_phase_commit* member = nullptr;
  return Member(smelt_two_phase_commit_attach(&ticket, index, timeout_ns, &member) == 0 ? member : nullptr);
}

void expect_agreement(const Shared<Record>& records, unsigned root) {
  for (unsigned i = 0; i < kMembers; ++i)
    for (uint64_t round = 0; round < records[i].rounds; ++round) {
      for (unsigned j = 0; j < i; ++j)
        if (round < records[j].rounds) {
          ASSERT_EQ(records[i].outcomes[round], records[j].outcomes[round])
              << "members " << i << " and " << j << ", round " << round;
        }
      for (unsigned j = 0; j < kMembers && records[i].outcomes[round] == SMELT_COMMIT; ++j)
        ASSERT_TRUE(j == root || mixed(round, j) % 16 != 0) << "a commit against a vote, round " << round;
    }
}

// Killed at any time, whoever it is, the coordinator too.
TEST(TwoPhaseCommit, WhoeverIsKilledTheOthersAgree) {
  for (unsigned repetition = 0; repetition < 8; ++repetition) {
    const unsigned root = repetition % 2, victim = 1 + repetition % (kMembers - 1);
    const TreePointer tree =
        tree_of(repetition % 3 == 0 ? "sequential" : "knomial:2", kMembers, static_cast<int>(root));
    const Shared<Record> records(kMembers);
    smelt_two_phase_commit_ticket ticket;
    smelt_two_phase_commit* made = nullptr;
    ASSERT_EQ(smelt_two_phase_commit_create_shared(kMembers, tree.get(), 8, 4 * kShort, &ticket, &made), 0);
    const Member here(made);
    std::vector<pid_t> children(kMembers);
    for (unsigned i = 1; i < kMembers; ++i)
      children[i] = in_another_process([&] {
        Member there = attached(ticket, i, 4 * kShort);
        const int result = there ? rounds_of(there.get(), i, root, records[i], kMost) : 201;
        (void)there.release();
        return result;
      });
    std::thread killer([&] {
      // Wherever it is after so many rounds; or where others have given up before, since it was late.
      for (int i = 0; i < 2000 && records[victim].rounds < 40 + 13 * repetition; ++i) std::this_thread::sleep_for(1ms);
      EXPECT_EQ(kill(children[victim], SIGKILL), 0);
    });
    const int mine = rounds_of(here.get(), 0, root, records[0], kMost);
    killer.join();
    EXPECT_EQ(mine, ETIMEDOUT);
    for (unsigned i = 1; i < kMembers; ++i) {
      const int how = ended(children[i]);
      EXPECT_TRUE(how == ETIMEDOUT || (i == victim && how == 1000 + SIGKILL)) << "member " << i << ": " << how;
    }
    expect_agreement(records, root);
  }
}

// Stopped, longer than anybody waits, and then it goes on, as it knows of nothing: wherever that is.
TEST(TwoPhaseCommit, WhoeverIsStoppedForAWhileAgreesAfterwards) {
  for (unsigned repetition = 0; repetition < 6; ++repetition) {
    const unsigned root = repetition % 2, victim = 1 + repetition % (kMembers - 1);
    const TreePointer tree = tree_of("knomial:2", kMembers, static_cast<int>(root));
    const Shared<Record> records(kMembers);
    smelt_two_phase_commit_ticket ticket;
    smelt_two_phase_commit* made = nullptr;
    ASSERT_EQ(smelt_two_phase_commit_create_shared(kMembers, tree.get(), 8, kShort, &ticket, &made), 0);
    const Member here(made);
    std::vector<pid_t> children(kMembers);
    for (unsigned i = 1; i < kMembers; ++i)
      children[i] = in_another_process([&] {
        Member there = attached(ticket, i, kShort);
        const int result = there ? rounds_of(there.get(), i, root, records[i], kMost) : 201;
        (void)there.release();
        return result;
      });
    std::thread stopper([&] {
      for (int i = 0; i < 1000 && records[victim].rounds < 40 + 13 * repetition; ++i) std::this_thread::sleep_for(1ms);
      EXPECT_EQ(kill(children[victim], SIGSTOP), 0);
      std::this_thread::sleep_for(300ms);
      EXPECT_EQ(kill(children[victim], SIGCONT), 0);
    });
    // Whether all others have given up meanwhile or not, in the end one does: this one now.
    const int mine = rounds_of(here.get(), 0, root, records[0], 2000);
    EXPECT_TRUE(mine == 0 || mine == ETIMEDOUT) << mine;
    stopper.join();
    for (unsigned i = 1; i < kMembers; ++i) EXPECT_EQ(ended(children[i]), ETIMEDOUT) << "member " << i;
    expect_agreement(records, root);
  }
}

TEST(TwoPhaseCommit, MembersAreTakenOnceAndTicketsLookedAt) {
  smelt_two_phase_commit_ticket ticket;
  smelt_two_phase_commit* made = nullptr;
  ASSERT_EQ(smelt_two_phase_commit_create_shared(3, nullptr, 8, kShort, &ticket, &made), 0);
  Member here(made);
  smelt_two_phase_commit* none = nullptr;
  EXPECT_EQ(smelt_two_phase_commit_attach(&ticket, 0, 0, &none), -EINVAL) << "the creator is that";
  EXPECT_EQ(smelt_two_phase_commit_attach(&ticket, 3, 0, &none), -EINVAL);
  for (int word = 0; word < 3; ++word) {
    smelt_two_phase_commit_ticket wrong = ticket;
    wrong.word[word] ^= 0x10;
    EXPECT_EQ(smelt_two_phase_commit_attach(&wrong, 1, 0, &none), -ENOTSUP) << "word " << word;
  }
  const Member there = attached(ticket, 1, 0);
  ASSERT_TRUE(there);
  EXPECT_EQ(smelt_two_phase_commit_attach(&ticket, 1, 0, &none), -EBUSY);
  here.reset();
  EXPECT_EQ(smelt_two_phase_commit_attach(&ticket, 2, 0, &none), -ENOTSUP) << "gone";
}

// If others write anything into the memory, a member's calls end, with an error or without, and do not lead out of it.
TEST(TwoPhaseCommit, DamagedMemoryIsAnErrorAndNoMore) {
  const TreePointer tree = tree_of("sequential", 2, 0);
  const size_t bytes = smelt_two_phase_commit_size(2, 8);
  std::unique_ptr<unsigned char, decltype(&std::free)> memory(
      static_cast<unsigned char*>(std::aligned_alloc(SMELT_TWO_PHASE_COMMIT_ALIGNMENT, bytes)), std::free);
  unsigned errors = 0;
  for (size_t at = 0; at < bytes; at += 4)
    for (const uint32_t wrong : {0u, 3u, 7u, ~0u}) {
      ASSERT_EQ(smelt_two_phase_commit_init(memory.get(), bytes, 2, tree.get(), 8), 0);
      std::vector<Member> all(2);
      for (unsigned i = 0; i < 2; ++i) {
        smelt_two_phase_commit* made = nullptr;
        if (i == 1) std::memcpy(memory.get() + at, &wrong, sizeof wrong);
        if (smelt_two_phase_commit_open(memory.get(), bytes, i, 0, &made) == 0) all[i].reset(made);
      }
      char data[8];
      size_t length;
      int outcome;
      if (!all[1]) {
        ++errors;
        continue;
      }
      ASSERT_EQ(smelt_two_phase_commit_propose(all[0].get(), "12345678", 8), 0);
      std::memcpy(memory.get() + at, &wrong, sizeof wrong);
      int error = smelt_two_phase_commit_begin(all[1].get(), data, sizeof data, &length);
      if (error == 0) error = smelt_two_phase_commit_vote(all[1].get(), 1);
      if (error == 0) error = smelt_two_phase_commit_decide(all[0].get(), &outcome);
      if (error == 0) error = smelt_two_phase_commit_outcome(all[1].get(), &outcome);
      errors += error == -EPROTO;
    }
  EXPECT_GT(errors, 20u);
}

}  // namespace
}  // namespace smelt::test
