#include "schedule/validate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "generate/patterns.h"
#include "machines.h"

using namespace smelt;
using namespace smelt::test;

namespace {

Validation verdict_of(const Schedule& schedule) {
  MappedArena arena(kBlockBytes);
  Validation verdict;
  EXPECT_EQ(validate(schedule, arena, &verdict), 0);
  EXPECT_EQ(arena.left(), kBlockBytes) << "scratch must be given back";
  return verdict;
}

// A schedule that can be taken apart: one list of steps per participant.
struct Draft {
  struct Part {
    StepKind kind;
    std::vector<uint16_t> peers;
  };
  Operation op = Operation::kBarrier;
  uint16_t root = kNobody;
  std::vector<std::vector<Part>> programs;
  std::vector<uint32_t> begin;
  std::vector<Step> steps;
  std::vector<uint16_t> peers;

  explicit Draft(const Schedule& from) : op(from.op), root(from.root), programs(from.n) {
    for (uint32_t i = 0; i < from.n; ++i) {
      for (uint32_t s = from.begin[i]; s < from.begin[i + 1]; ++s) {
        const uint16_t* const first = from.peers + from.steps[s].first;
        programs[i].push_back({from.steps[s].kind, {first, first + from.steps[s].count}});
      }
    }
  }
  void drop(uint16_t who, StepKind kind, uint16_t peer) {
    for (Part& part : programs[who]) {
      const auto at = std::find(part.peers.begin(), part.peers.end(), peer);
      if (part.kind != kind || at == part.peers.end()) continue;
      part.peers.erase(at);
      return;
    }
    FAIL() << "nothing to drop";
  }
  Schedule schedule() {
    begin.assign(1, 0), steps.clear(), peers.clear();
    for (const auto& program : programs) {
      for (const Part& part : program) {
        if (part.peers.empty()) continue;
        steps.push_back(
            {part.kind, false, static_cast<uint32_t>(peers.size()), static_cast<uint32_t>(part.peers.size())});
        peers.insert(peers.end(), part.peers.begin(), part.peers.end());
      }
      begin.push_back(static_cast<uint32_t>(steps.size()));
    }
    return {static_cast<uint32_t>(programs.size()), op, root, begin.data(), steps.data(), peers.data()};
  }
};

class Mutants : public testing::Test {
 protected:
  MappedArena arena{kBlockBytes};
  Costs costs = make_machine("m", 2, 4, 100, 600, 0.1f, 1).paper(arena);

  Schedule tree_barrier() {
    Tree tree;
    Schedule schedule;
    EXPECT_EQ(binary_tree(costs, 0, -1, arena, &tree), 0);
    EXPECT_EQ(barrier_schedule(tree, tree, arena, &schedule), 0);
    return schedule;
  }
  Schedule exchange_barrier(uint32_t width) {
    Exchange exchange;
    Schedule schedule;
    EXPECT_EQ(dissemination(costs, width, arena, &exchange), 0);
    EXPECT_EQ(barrier_schedule(exchange, arena, &schedule), 0);
    return schedule;
  }
};

TEST_F(Mutants, TheOriginalsAreCorrect) {
  EXPECT_EQ(verdict_of(tree_barrier()).flaw, Flaw::kNone);
  EXPECT_EQ(verdict_of(exchange_barrier(1)).flaw, Flaw::kNone);
  EXPECT_EQ(verdict_of(Draft(exchange_barrier(1)).schedule()).flaw, Flaw::kNone);
}

TEST_F(Mutants, ASignalNotSentIsADeadlock) {
  Draft draft(exchange_barrier(1));
  draft.drop(3, StepKind::kSignal, 4);
  const Validation verdict = verdict_of(draft.schedule());
  EXPECT_EQ(verdict.flaw, Flaw::kDeadlock);
  EXPECT_NE(verdict.who, kNobody);
}

TEST_F(Mutants, AWaitLeftOutIsALeftover) {
  Draft draft(tree_barrier());
  draft.drop(1, StepKind::kWait, 3);
  const Validation verdict = verdict_of(draft.schedule());
  EXPECT_EQ(verdict.flaw, Flaw::kLeftover);
  EXPECT_EQ(verdict.who, 3);
  EXPECT_EQ(verdict.whom, 1);
}

TEST_F(Mutants, AnySingleMessageDroppedAtBothEndsIsNotHeard) {
  // Trees and dissemination over a power of two have not one message too many.
  for (const Schedule& schedule : {tree_barrier(), exchange_barrier(1)}) {
    uint32_t mutants = 0;
    for (uint16_t from = 0; from < schedule.n; ++from) {
      for (uint32_t s = schedule.begin[from]; s < schedule.begin[from + 1]; ++s) {
        if (schedule.steps[s].kind != StepKind::kSignal) continue;
        for (uint32_t k = 0; k < schedule.steps[s].count; ++k) {
          const uint16_t to = schedule.peers[schedule.steps[s].first + k];
          Draft draft(schedule);
          draft.drop(from, StepKind::kSignal, to);
          draft.drop(to, StepKind::kWait, from);
          const Validation verdict = verdict_of(draft.schedule());
          EXPECT_EQ(verdict.flaw, Flaw::kNotHeard) << from << " to " << to;
          ++mutants;
        }
      }
    }
    EXPECT_GE(mutants, 14u);
  }
}

TEST_F(Mutants, AnExtraMessageIsALeftover) {
  Draft draft(tree_barrier());
  draft.programs[5].push_back({StepKind::kSignal, {6}});
  Validation verdict = verdict_of(draft.schedule());
  EXPECT_EQ(verdict.flaw, Flaw::kLeftover);
  EXPECT_EQ(verdict.who, 5);
  EXPECT_EQ(verdict.whom, 6);
  draft.programs[6].push_back({StepKind::kWait, {5, 5}});
  verdict = verdict_of(draft.schedule());
  EXPECT_EQ(verdict.flaw, Flaw::kDeadlock) << "one sent, two waited for";
  EXPECT_EQ(verdict.who, 6);
  EXPECT_EQ(verdict.whom, 5);
}

TEST_F(Mutants, WaitingBeforeSignallingDeadlocks) {
  Draft draft(exchange_barrier(1));
  for (auto& program : draft.programs) std::swap(program[0], program[1]);  // the whole circle waits
  EXPECT_EQ(verdict_of(draft.schedule()).flaw, Flaw::kDeadlock);
  Draft tree(tree_barrier());
  std::swap(tree.programs[1][1], tree.programs[1][2]);  // waits for the release before it arrives
  const Validation verdict = verdict_of(tree.schedule());
  EXPECT_EQ(verdict.flaw, Flaw::kDeadlock);
}

TEST_F(Mutants, SwappedWaitsHearTooLittleOrDeadlock) {
  Draft draft(exchange_barrier(1));
  std::swap(draft.programs[2][1], draft.programs[2][3]);
  EXPECT_EQ(verdict_of(draft.schedule()).flaw, Flaw::kNotHeard) << "it passes on what it has not heard yet";
  Draft tree(tree_barrier());
  std::swap(tree.programs[1][0], tree.programs[1][1]);  // arrives before its children have
  EXPECT_EQ(verdict_of(tree.schedule()).flaw, Flaw::kNotHeard);
}

TEST_F(Mutants, MalformedProgramsAreNotRun) {
  Schedule schedule = exchange_barrier(1);
  uint16_t& peer = schedule.peers[schedule.steps[schedule.begin[2]].first];
  const uint16_t before = peer;
  peer = 8;
  EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kMalformed);
  peer = 2;
  EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kMalformed) << "itself";
  EXPECT_EQ(verdict_of(schedule).who, 2);
  peer = before;
  schedule.steps[3].first += 1;
  EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kMalformed);
  schedule.steps[3].first -= 1;
  schedule.steps[3].count = ~0u;
  EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kMalformed);
  schedule.steps[3].count = 1;
  EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kNone);
  std::swap(schedule.begin[2], schedule.begin[3]);
  EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kMalformed);
  std::swap(schedule.begin[2], schedule.begin[3]);
  schedule.root = 8;
  EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kMalformed);
  schedule.root = kNobody;
  schedule.op = Operation::kBroadcast;
  EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kMalformed) << "a broadcast has a root";
}

TEST_F(Mutants, ABroadcastIsNoBarrier) {
  Tree tree;
  Schedule schedule;
  ASSERT_EQ(binary_tree(costs, 0, -1, arena, &tree), 0);
  ASSERT_EQ(broadcast_schedule(tree, arena, &schedule), 0);
  EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kNone);
  schedule.op = Operation::kBarrier;
  EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kNotHeard);
  schedule.op = Operation::kReduce;
  EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kNotHeard);
  ASSERT_EQ(reduce_schedule(tree, arena, &schedule), 0);
  EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kNone);
  schedule.op = Operation::kBroadcast;
  EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kNotHeard);
}

TEST_F(Mutants, EveryFlawHasItsText) {
  for (Flaw flaw : {Flaw::kNone, Flaw::kMalformed, Flaw::kDeadlock, Flaw::kLeftover, Flaw::kNotHeard}) {
    EXPECT_GT(std::string(flaw_text(flaw)).size(), 5u);
  }
}

TEST_F(Mutants, AFullArenaIsReported) {
  char memory[64];
  Arena tiny(memory, sizeof memory);
  Validation verdict;
  EXPECT_EQ(validate(tree_barrier(), tiny, &verdict), -ENOMEM);
  EXPECT_EQ(tiny.left(), sizeof memory);
}

// All patterns, all operations they serve.
void expect_correct(const Costs& costs, int root, const std::string& where) {
  for (const PatternInfo& info : pattern_registry()) {
    std::vector<uint32_t> arguments{info.default_argument};
    if (info.argument) arguments = {1, 2, 3, 4, 7, 1023};
    for (uint32_t argument : arguments) {
      if (info.exchange && costs.n > 96 && argument > 7) continue;  // all-to-all, in one of its names: below
      MappedArena arena(kBlockBytes);
      Schedule schedule;
      const std::string what = std::string(info.name) + ':' + std::to_string(argument) + " on " + where;
      if (info.exchange) {
        Exchange exchange;
        const int error = info.exchange(costs, argument, arena, &exchange);
        if (error == -EINVAL && std::string(info.name) == "pair" && costs.n != 2) continue;
        ASSERT_EQ(error, 0) << what;
        for (const Costs* lined : {static_cast<const Costs*>(nullptr), &costs}) {
          ASSERT_EQ(barrier_schedule(exchange, arena, &schedule, lined), 0) << what;
          EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kNone) << what;
        }
        continue;
      }
      Tree tree;
      ASSERT_EQ(info.tree(costs, argument, root, arena, &tree), 0) << what;
      ASSERT_EQ(broadcast_schedule(tree, arena, &schedule), 0) << what;
      EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kNone) << what << " broadcast";
      ASSERT_EQ(reduce_schedule(tree, arena, &schedule), 0) << what;
      EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kNone) << what << " reduce";
      ASSERT_EQ(barrier_schedule(tree, tree, arena, &schedule), 0) << what;
      EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kNone) << what << " barrier";
      if (!is_by_lines(info)) continue;
      std::vector<uint16_t> group(costs.n);
      number_line_groups(costs, argument, group.data());
      ASSERT_EQ(lined_broadcast_schedule(tree, group.data(), arena, &schedule), 0) << what;
      EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kNone) << what << " broadcast by lines";
      ASSERT_EQ(lined_barrier_schedule(tree, tree, group.data(), arena, &schedule), 0) << what;
      EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kNone) << what << " barrier by lines";
    }
  }
}

TEST(Validate, EveryPatternIsCorrectOnEveryMachine) {
  for (const TestMachine& machine : machines()) {
    MappedArena arena(kBlockBytes);
    expect_correct(machine.overlap(arena), -1, machine.name);
    expect_correct(machine.paper(arena), static_cast<int>(machine.n) / 2, machine.name + " (paper)");
  }
}

TEST(Validate, EveryPatternIsCorrectOnSubsets) {
  for (const TestMachine& machine : machines()) {
    for (uint32_t size : {1u, 2u, 3u, 5u, machine.n / 3}) {
      const auto members = random_subset(machine.n, size, 77 * machine.n + size);
      if (members.empty()) continue;
      MappedArena arena(kBlockBytes);
      Costs part;
      ASSERT_EQ(subset_costs(machine.overlap(arena), members, arena, &part), 0);
      expect_correct(part, -1, machine.name + " in part");
      expect_correct(part, static_cast<int>(members.size()) - 1, machine.name + " in part");
    }
  }
}

TEST(Validate, DisseminationIsCorrectForEveryNumberAndWidth) {
  MappedArena arena(kBlockBytes);
  for (uint32_t n = 1; n <= 70; ++n) {
    const Costs costs = make_machine("m", 1, n, 1, 1, 0, 1).paper(arena);
    for (uint32_t width = 1; width <= 9; ++width) {
      char* const mark = arena.mark();
      Exchange exchange;
      Schedule schedule;
      ASSERT_EQ(dissemination(costs, width, arena, &exchange), 0);
      ASSERT_EQ(barrier_schedule(exchange, arena, &schedule), 0);
      ASSERT_EQ(verdict_of(schedule).flaw, Flaw::kNone) << n << ' ' << width;
      arena.rewind(mark);
    }
  }
}

TEST(Validate, TheLargestTeamIsChecked) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 64, 16, 50, 200, 0.3f, 9).overlap(arena);
  for (ExchangeFunction build : {dissemination, all_to_all, hybrid_exchange}) {
    char* const mark = arena.mark();
    Exchange exchange;
    Schedule schedule;
    ASSERT_EQ(build(costs, 7, arena, &exchange), 0);
    ASSERT_EQ(barrier_schedule(exchange, arena, &schedule), 0);
    EXPECT_EQ(verdict_of(schedule).flaw, Flaw::kNone);
    arena.rewind(mark);
  }
}

}  // namespace
