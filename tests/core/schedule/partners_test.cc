#include "schedule/partners.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "machines.h"
#include "plans.h"
#include "schedule/choose.h"
#include "schedule/predict.h"
#include "schedule/validate.h"

using namespace smelt;
using namespace smelt::test;

namespace {

double price(const Schedule& schedule, const Costs& costs) {
  MappedArena arena(kBlockBytes);
  Prediction prediction;
  EXPECT_EQ(predict(schedule, costs, arena, &prediction), 0);
  return prediction.makespan;
}

SearchEffort effort_of(uint32_t moves) {
  SearchEffort effort;
  effort.moves = moves;
  return effort;
}

// A ring through two sockets crosses between them in every round; another layout crosses less often.
TEST(Partners, CrossTheSocketsLessOften) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 2, 4, 50, 400, 0, 1).overlap(arena);
  Choice ring;
  ASSERT_EQ(build(pattern("dissemination:1"), Operation::kBarrier, -1, costs, arena, &ring), 0);
  std::vector<uint16_t> place(8);
  double found = 0;
  ASSERT_EQ(search_partners(ring.schedule, costs, effort_of(4000), arena, place.data(), &found), 0);
  EXPECT_LT(found, 0.9 * ring.predicted);
  Schedule moved;
  ASSERT_EQ(move_participants(ring.schedule, place.data(), arena, &moved), 0);
  EXPECT_NEAR(price(moved, costs), found, 1e-6) << "what is predicted for the search is what the schedule costs";
}

TEST(Partners, ArePermutationsOfCorrectSchedulesAndNeverWorse) {
  for (const TestMachine& machine : machines()) {
    if (machine.n > 40) continue;
    MappedArena arena(kBlockBytes);
    const Costs costs = machine.paper(arena);
    for (const char* name : {"dissemination:1", "hierarchical:1", "spread:2", "hybrid", "mst"}) {
      char* const mark = arena.mark();
      Choice plain;
      ASSERT_EQ(build(pattern(name), Operation::kBarrier, -1, costs, arena, &plain), 0) << name << " on " << machine;
      std::vector<uint16_t> place(machine.n);
      double found = 0;
      ASSERT_EQ(search_partners(plain.schedule, costs, effort_of(300), arena, place.data(), &found), 0);
      EXPECT_LE(found, plain.predicted) << name << " on " << machine;
      if (plain.schedule.root != kNobody) {
        EXPECT_EQ(place[plain.schedule.root], plain.schedule.root);
      }
      Schedule moved;
      ASSERT_EQ(move_participants(plain.schedule, place.data(), arena, &moved), 0);
      EXPECT_TRUE(is_correct(moved)) << name << " on " << machine;
      EXPECT_NEAR(price(moved, costs), found, 1e-6 * found + 1e-9);
      auto sorted = place;
      std::sort(sorted.begin(), sorted.end());
      for (uint16_t i = 0; i < machine.n; ++i) EXPECT_EQ(sorted[i], i);
      arena.rewind(mark);
    }
  }
}

TEST(Partners, WithoutMovesEverybodyStays) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 2, 4, 50, 400, 0.3f, 1).overlap(arena);
  Choice ring;
  ASSERT_EQ(build(pattern("dissemination:1"), Operation::kBarrier, -1, costs, arena, &ring), 0);
  std::vector<uint16_t> place(8);
  double found = 0;
  const size_t left = arena.left();
  ASSERT_EQ(search_partners(ring.schedule, costs, effort_of(0), arena, place.data(), &found), 0);
  EXPECT_EQ(arena.left(), left);
  EXPECT_EQ(found, ring.predicted);
  for (uint16_t i = 0; i < 8; ++i) EXPECT_EQ(place[i], i);
}

TEST(Partners, TheSameSeedFindsTheSame) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 2, 8, 50, 400, 0.5f, 3).paper(arena);
  Choice ring;
  ASSERT_EQ(build(pattern("dissemination:2"), Operation::kBarrier, -1, costs, arena, &ring), 0);
  std::vector<uint16_t> once(16), again(16);
  double a = 0, b = 0;
  ASSERT_EQ(search_partners(ring.schedule, costs, effort_of(1000), arena, once.data(), &a), 0);
  ASSERT_EQ(search_partners(ring.schedule, costs, effort_of(1000), arena, again.data(), &b), 0);
  EXPECT_EQ(once, again);
  EXPECT_EQ(a, b);
}

// Who signals whom, in whatever order and by whatever lines.
std::multiset<std::pair<uint16_t, uint16_t>> messages_of(const Schedule& schedule) {
  std::multiset<std::pair<uint16_t, uint16_t>> out;
  for (uint16_t i = 0; i < schedule.n; ++i)
    for (uint32_t s = schedule.begin[i]; s < schedule.begin[i + 1]; ++s) {
      const Step& step = schedule.steps[s];
      for (uint32_t k = 0; k < step.count && step.kind == StepKind::kSignal; ++k)
        out.insert({i, schedule.peers[step.first + k]});
    }
  return out;
}

// A barrier that is chosen with time may be an exchange with other partners: then schedule and messages tell the same
// story.
TEST(Partners, TheChoiceCarriesTheExchangeThatItRuns) {
  uint32_t searched = 0;
  for (const TestMachine& machine : machines()) {
    if (machine.n > 40) continue;
    MappedArena arena(kBlockBytes);
    const Costs costs = machine.paper(arena);
    Choice best;
    ASSERT_EQ(choose_best(Operation::kBarrier, -1, costs, arena, &best, effort_of(3000)), 0);
    EXPECT_TRUE(is_correct(best.schedule));
    searched += best.partners;
    if (!best.pattern.info->exchange) continue;
    Schedule again;
    ASSERT_EQ(barrier_schedule(best.exchange, arena, &again), 0);
    EXPECT_EQ(messages_of(again), messages_of(best.schedule)) << machine;
  }
  EXPECT_GT(searched, 0u) << "on no machine did the search find anything";
}

}  // namespace
