#include "schedule/winner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <vector>

#include "machines.h"
#include "plans.h"
#include "schedule/choose.h"
#include "schedule/predict.h"
#include "schedule/validate.h"

using namespace smelt;
using namespace smelt::test;

namespace {

// A profile that holds winners and nothing else that stored_winner asks for.
struct Stored {
  std::vector<Winner> winners;
  std::vector<uint32_t> words;
  Profile profile;

  explicit Stored(uint32_t cpus) { profile.header.cpus = cpus; }
  void add(const Schedule& schedule, const std::vector<uint16_t>& members) {
    Winner winner{};
    std::strcpy(winner.pattern, "hierarchical:2, partners searched");
    winner.operation = static_cast<uint32_t>(schedule.op);
    winner.participants = schedule.n;
    winner.first_word = static_cast<uint32_t>(words.size());
    winner.words = winner_words(schedule);
    words.resize(words.size() + winner.words);
    write_winner(schedule, members.data(), words.data() + winner.first_word);
    winners.push_back(winner);
    publish();
  }
  void publish() {
    profile.winners = winners.data();
    profile.winner_words = words.data();
    profile.header.winners = static_cast<uint32_t>(winners.size());
    profile.header.winner_words = static_cast<uint32_t>(words.size());
  }
};

Schedule plan_of(const char* name, Operation op, int root, const Costs& costs, Arena& arena) {
  Choice choice;
  EXPECT_EQ(build(pattern(name), op, root, costs, arena, &choice), 0) << name;
  return choice.schedule;
}

double price(const Schedule& schedule, const Costs& costs, Arena& arena) {
  Prediction prediction;
  EXPECT_EQ(predict(schedule, costs, arena, &prediction), 0);
  return prediction.makespan;
}

// Whoever runs on a CPU takes over its part, so the price does not depend on how the threads are numbered. (Of two who
// come to a queue at the same time the lower number goes first; so the price is that without queues.)
TEST(StoredWinner, IsTheSamePatternOnTheSameCpusInAnyOrder) {
  MappedArena arena(kBlockBytes);
  Costs machine = make_machine("m", 2, 6, 60, 300, 0.3f, 7).overlap(arena);
  std::fill_n(machine.service, kDistances, 0.0f);
  const std::vector<uint16_t> members = {1, 4, 7, 8, 11};
  Costs costs;
  ASSERT_EQ(subset_costs(machine, members, arena, &costs), 0);
  for (const char* name : {"hybrid", "optimised", "dissemination:2", "spread:1", "mst"}) {
    const Schedule schedule = plan_of(name, Operation::kBarrier, -1, costs, arena);
    Stored stored(12);
    stored.add(schedule, members);
    std::vector<uint16_t> order = members;
    std::mt19937 random(3);
    for (int trial = 0; trial < 5; ++trial) {
      StoredWinner found;
      ASSERT_EQ(stored_winner(stored.profile, Operation::kBarrier, -1, order, arena, &found), 0);
      EXPECT_TRUE(is_correct(found.schedule));
      Costs here;
      ASSERT_EQ(subset_costs(machine, order, arena, &here), 0);
      EXPECT_NEAR(price(found.schedule, here, arena), price(schedule, costs, arena), 1e-3) << name;
      std::shuffle(order.begin(), order.end(), random);
    }
  }
}

TEST(StoredWinner, IsForItsOperationItsCpusAndItsRoot) {
  MappedArena arena(kBlockBytes);
  const Costs machine = make_machine("m", 2, 4, 60, 300, 0.3f, 7).overlap(arena);
  const std::vector<uint16_t> members = {0, 2, 5}, others = {0, 2, 6}, fewer = {0, 2};
  Costs costs;
  ASSERT_EQ(subset_costs(machine, members, arena, &costs), 0);
  Stored stored(8);
  StoredWinner found;
  EXPECT_EQ(stored_winner(stored.profile, Operation::kBarrier, -1, members, arena, &found), -ENOENT);
  stored.add(plan_of("binomial", Operation::kBroadcast, 1, costs, arena), members);
  EXPECT_EQ(stored_winner(stored.profile, Operation::kBarrier, -1, members, arena, &found), -ENOENT);
  EXPECT_EQ(stored_winner(stored.profile, Operation::kBroadcast, 0, members, arena, &found), -ENOENT);
  EXPECT_EQ(stored_winner(stored.profile, Operation::kBroadcast, 1, others, arena, &found), -ENOENT);
  EXPECT_EQ(stored_winner(stored.profile, Operation::kBroadcast, 1, fewer, arena, &found), -ENOENT);
  ASSERT_EQ(stored_winner(stored.profile, Operation::kBroadcast, 1, members, arena, &found), 0);
  EXPECT_EQ(found.schedule.root, 1);
  EXPECT_EQ(found.winner, &stored.profile.winners[0]);
  EXPECT_STREQ(found.pattern.info->name, "hierarchical");
  EXPECT_EQ(found.pattern.argument, 2u);
  std::strcpy(stored.winners[0].pattern, "no such pattern");
  EXPECT_EQ(stored_winner(stored.profile, Operation::kBroadcast, 1, members, arena, &found), -EINVAL);
}

// The words come from a file. Whatever they are, nothing outside the arrays is touched, and what is not sound is seen.
TEST(StoredWinner, NonsenseIsRefusedOrFailsValidation) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 2, 3, 60, 300, 0.3f, 7).overlap(arena);
  const std::vector<uint16_t> members = {0, 1, 2, 3, 4, 5};
  Stored good(6);
  good.add(plan_of("hybrid", Operation::kBarrier, -1, costs, arena), members);
  std::mt19937 random(11);
  uint32_t refused = 0, unsound = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    char* const mark = arena.mark();
    Stored bad(6);
    bad.words = good.words;
    bad.winners = good.winners;
    const size_t at = members.size() + random() % (bad.words.size() - members.size());  // the loader checks the members
    bad.words[at] = trial % 3 == 0 ? static_cast<uint32_t>(random()) : bad.words[at] ^ 1u << random() % 32;
    bad.publish();
    StoredWinner found;
    const int error = stored_winner(bad.profile, Operation::kBarrier, -1, members, arena, &found);
    if (error) {
      EXPECT_EQ(error, -EINVAL);
      ++refused;
    } else {
      unsound += !is_correct(found.schedule);
    }
    arena.rewind(mark);
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(unsound, 10u);
}

TEST(StoredWinner, AFullArenaIsReported) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 2, 3, 60, 300, 0.3f, 7).overlap(arena);
  const std::vector<uint16_t> members = {0, 1, 2, 3, 4, 5};
  Stored stored(6);
  stored.add(plan_of("hybrid", Operation::kBarrier, -1, costs, arena), members);
  std::vector<char> memory(100);
  Arena tiny(memory.data(), memory.size());
  StoredWinner found;
  EXPECT_EQ(stored_winner(stored.profile, Operation::kBarrier, -1, members, tiny, &found), -ENOMEM);
  EXPECT_EQ(tiny.left(), memory.size());
}

// What programs use: the winner where it is for them and sound, else the cheapest.
TEST(ChooseFor, TakesTheWinnerIfItIsSoundElseTheCheapest) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 2, 3, 60, 300, 0.3f, 7).overlap(arena);
  const std::vector<uint16_t> members = {0, 1, 2, 3, 4, 5};
  Stored stored(6);
  stored.add(plan_of("bad", Operation::kReduce, 2, costs, arena), members);
  Choice choice, best;
  const auto chosen = [&](int root) {
    return choose_for(&stored.profile, members, Operation::kReduce, root, costs, arena, &choice);
  };
  ASSERT_EQ(choose_best(Operation::kReduce, 1, costs, arena, &best), 0);
  char text[40];
  ASSERT_EQ(chosen(2), 0);
  choice_text(choice, text, sizeof text);
  EXPECT_STREQ(text, "hierarchical:2, partners searched");  // the name under which it was stored
  EXPECT_EQ(choice.schedule.root, 2);
  ASSERT_EQ(chosen(1), 0);  // another root: nobody raced
  EXPECT_EQ(choice.pattern.info, best.pattern.info);
  EXPECT_EQ(choice.predicted, best.predicted);
  // A reduction that says it is a barrier: well formed, but nobody hears the root.
  stored.winners[0].operation = static_cast<uint32_t>(Operation::kBarrier);
  ASSERT_EQ(choose_for(&stored.profile, members, Operation::kBarrier, -1, costs, arena, &choice), 0);
  EXPECT_EQ(check_schedule(choice.schedule, arena), 0);
  EXPECT_STRNE((choice_text(choice, text, sizeof text), text), "hierarchical:2, partners searched");
  ASSERT_EQ(choose_for(nullptr, {}, Operation::kReduce, 1, costs, arena, &choice), 0);
  EXPECT_EQ(choice.pattern.info, best.pattern.info);
}

}  // namespace
