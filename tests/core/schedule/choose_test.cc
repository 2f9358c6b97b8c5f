#include "schedule/choose.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "machines.h"
#include "schedule/validate.h"

using namespace smelt;
using namespace smelt::test;

namespace {

constexpr Operation kOperations[] = {Operation::kBroadcast, Operation::kReduce, Operation::kBarrier};

Pattern pattern(const char* name) {
  Pattern found;
  EXPECT_EQ(find_pattern(name, &found), 0) << name;
  return found;
}

bool is_correct(const Schedule& schedule) {
  MappedArena arena(kBlockBytes);
  Verdict verdict;
  return validate(schedule, arena, &verdict) == 0 && verdict.flaw == Flaw::kNone;
}

TEST(Plan, ExchangesServeBarriersOnly) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 2, 4, 100, 600, 0.1f, 1).overlap(arena);
  const size_t left = arena.left();
  Choice choice;
  for (const char* name : {"dissemination", "all-to-all", "hybrid", "pair"}) {
    EXPECT_EQ(plan(pattern(name), Operation::kBroadcast, -1, costs, arena, &choice), -EINVAL) << name;
    EXPECT_EQ(plan(pattern(name), Operation::kReduce, -1, costs, arena, &choice), -EINVAL) << name;
  }
  EXPECT_EQ(plan(pattern("pair"), Operation::kBarrier, -1, costs, arena, &choice), -EINVAL);
  EXPECT_EQ(plan(pattern("binary"), Operation::kBarrier, 8, costs, arena, &choice), -EINVAL);
  EXPECT_EQ(plan({}, Operation::kBarrier, -1, costs, arena, &choice), -EINVAL);
  EXPECT_EQ(plan(pattern("dissemination"), Operation::kBarrier, 3, costs, arena, &choice), -EINVAL);
  EXPECT_EQ(arena.left(), left) << "a refused plan must leave the arena as it was";
}

TEST(Plan, ATreeBarrierIsReductionThenBroadcast) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 2, 4, 100, 600, 0.1f, 1).paper(arena);
  Choice reduce, broadcast, barrier;
  ASSERT_EQ(plan(pattern("mst"), Operation::kReduce, 3, costs, arena, &reduce), 0);
  ASSERT_EQ(plan(pattern("mst"), Operation::kBroadcast, 3, costs, arena, &broadcast), 0);
  ASSERT_EQ(plan(pattern("mst"), Operation::kBarrier, 3, costs, arena, &barrier), 0);
  EXPECT_EQ(barrier.tree.root, 3);
  EXPECT_NEAR(barrier.predicted, reduce.predicted + broadcast.predicted, 1e-6);
}

TEST(Best, IsCorrectAndNoDearerThanAnyPattern) {
  for (const Machine& machine : machines()) {
    MappedArena arena(kBlockBytes);
    for (const Costs& costs : {machine.paper(arena), machine.overlap(arena)}) {
      for (Operation op : kOperations) {
        char* const mark = arena.mark();
        Choice best;
        ASSERT_EQ(choose_best(op, -1, costs, arena, &best), 0) << machine;
        EXPECT_TRUE(is_correct(best.schedule)) << best.pattern.info->name << " on " << machine;
        EXPECT_EQ(best.schedule.op, op);
        if (machine.name == "zeros_2x6") {
          EXPECT_EQ(best.predicted, 0);
        } else {
          EXPECT_GT(best.predicted, 0) << machine;
        }
        for (const PatternInfo& info : pattern_registry()) {
          if (std::strcmp(info.name, "all-to-all") == 0 && costs.n > 64) continue;  // no candidate there
          char* const candidate = arena.mark();
          Choice other;
          const int error = plan({&info, info.default_argument}, op, -1, costs, arena, &other);
          if (error == 0) {
            EXPECT_LE(best.predicted, other.predicted) << info.name << ' ' << operation_name(op) << " on " << machine;
          } else {
            EXPECT_EQ(error, -EINVAL) << info.name << " on " << machine;
          }
          arena.rewind(candidate);
        }
        arena.rewind(mark);
      }
    }
  }
}

TEST(Best, ServesSmallTeamsRandomSubsetsAndEveryRoot) {
  for (const Machine& machine : machines()) {
    for (uint32_t size : {1u, 2u, 3u, 8u}) {
      const auto members = random_subset(machine.n, size, 5 * machine.n + size);
      const auto n = static_cast<int>(members.size());
      MappedArena arena(kBlockBytes);
      Costs part;
      ASSERT_EQ(subset_costs(machine.overlap(arena), members, arena, &part), 0);
      for (Operation op : kOperations) {
        for (int root = -1; root < n; ++root) {
          char* const mark = arena.mark();
          Choice best;
          ASSERT_EQ(choose_best(op, root, part, arena, &best), 0) << machine;
          EXPECT_TRUE(is_correct(best.schedule)) << best.pattern.info->name << " on " << machine;
          if (root >= 0 && best.pattern.info->tree) {
            EXPECT_EQ(best.schedule.root, root);
          }
          arena.rewind(mark);
        }
      }
    }
  }
}

TEST(Best, TwoExchangeAPair) {
  MappedArena arena(kBlockBytes);
  Choice best;
  ASSERT_EQ(choose_best(Operation::kBarrier, -1, make_machine("m", 1, 2, 57, 57, 0, 1).overlap(arena), arena, &best),
            0);
  EXPECT_STREQ(best.pattern.info->name, "pair");
}

TEST(Best, ABarrierInOneCacheIsAllToAll) {
  MappedArena arena(kBlockBytes);
  for (uint32_t n : {3u, 8u, 16u}) {
    Choice best;
    ASSERT_EQ(choose_best(Operation::kBarrier, -1, make_machine("m", 1, n, 57, 57, 0, 1).overlap(arena), arena, &best),
              0);
    // Dissemination that reaches everybody in one round is the same exchange, and a later row.
    EXPECT_STREQ(best.pattern.info->name, "all-to-all") << n;
  }
}

TEST(Best, ARootThatDoesNotExistIsRefusedForTrees) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 1, 4, 57, 57, 0, 1).overlap(arena);
  Choice best;
  EXPECT_EQ(choose_best(Operation::kBroadcast, 4, costs, arena, &best), -EINVAL);
}

TEST(Fork, IsACorrectTreeUnderParticipantZeroAndNoDearerThanFlat) {
  for (const Machine& machine : machines()) {
    MappedArena arena(kBlockBytes);
    const Costs costs = machine.overlap(arena);
    Choice choice, flat;
    ASSERT_EQ(choose_fork(costs, arena, &choice), 0) << machine.name;
    EXPECT_TRUE(is_spanning(choice.tree));
    EXPECT_EQ(choice.tree.root, 0);
    EXPECT_TRUE(is_correct(choice.schedule)) << machine.name;
    ASSERT_EQ(pattern("sequential").info->tree(costs, 0, 0, arena, &flat.tree), 0);
    ASSERT_EQ(fork_join_schedule(flat.tree, arena, &flat.schedule), 0);
    Prediction prediction;
    ASSERT_EQ(predict(flat.schedule, costs, arena, &prediction), 0);
    EXPECT_LE(choice.predicted, prediction.makespan) << machine.name;
  }
}

TEST(Fork, InOneCacheIsFlat) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 1, 8, 50, 50, 0, 1).overlap(arena);
  Choice choice;
  ASSERT_EQ(choose_fork(costs, arena, &choice), 0);
  for (uint32_t i = 1; i < costs.n; ++i) EXPECT_EQ(choice.tree.parent[i], 0);
}

TEST(Best, AFullArenaIsReported) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 2, 8, 57, 260, 0, 1).overlap(arena);
  std::vector<char> memory(2000);
  Arena tiny(memory.data(), memory.size());
  Choice best;
  EXPECT_EQ(choose_best(Operation::kBarrier, -1, costs, tiny, &best), -ENOMEM);
  EXPECT_EQ(tiny.left(), memory.size());
}

}  // namespace
