#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "machines.h"
#include "schedule/fixed_order.h"
#include "schedule/validate.h"

using namespace smelt;
using namespace smelt::test;

namespace {

// One program as text: "wait 1 2; signal 0", a shared line as "signal* 1 2".
std::string program(const Schedule& schedule, uint32_t participant) {
  std::string out;
  for (uint32_t s = schedule.begin[participant]; s < schedule.begin[participant + 1]; ++s) {
    const Step& step = schedule.steps[s];
    if (!out.empty()) out += "; ";
    out += step.kind == StepKind::kSignal ? "signal" : "wait";
    if (step.shared_line) out += '*';
    for (uint32_t k = 0; k < step.count; ++k) out += ' ' + std::to_string(schedule.peers[step.first + k]);
  }
  return out;
}

class ScheduleTest : public testing::Test {
 protected:
  MappedArena arena{1 << 22};
  Tree tree;  // 0(1(3) 2)
  Schedule schedule;

  void SetUp() override {
    ASSERT_EQ(make_tree(4, 0, arena, &tree), 0);
    append_child(tree, 0, 1);
    append_child(tree, 0, 2);
    append_child(tree, 1, 3);
  }
  int of_messages(uint32_t n, uint32_t rounds, std::vector<RoundMessage> messages) {
    Exchange exchange{n, rounds, static_cast<uint32_t>(messages.size()), messages.data()};
    return barrier_schedule(exchange, arena, &schedule);
  }
};

TEST_F(ScheduleTest, BroadcastGoesDown) {
  ASSERT_EQ(broadcast_schedule(tree, arena, &schedule), 0);
  EXPECT_EQ(schedule.op, Operation::kBroadcast);
  EXPECT_EQ(schedule.root, 0);
  EXPECT_EQ(program(schedule, 0), "signal 1 2");
  EXPECT_EQ(program(schedule, 1), "wait 0; signal 3");
  EXPECT_EQ(program(schedule, 3), "wait 1");
}

TEST_F(ScheduleTest, ReductionGoesUpAndWaitsForAllChildrenAtOnce) {
  ASSERT_EQ(reduce_schedule(tree, arena, &schedule), 0);
  EXPECT_EQ(program(schedule, 0), "wait 1 2");
  EXPECT_EQ(program(schedule, 1), "wait 3; signal 0");
  EXPECT_EQ(program(schedule, 2), "signal 0");
}

TEST_F(ScheduleTest, TheFixedOrderIsTakenFromTheRight) {
  ASSERT_EQ(fixed_order_schedule(5, 2, 0, arena, &schedule), 0);
  EXPECT_EQ(schedule.op, Operation::kReduce);
  EXPECT_EQ(program(schedule, 2), "wait 4 3 1 0");
  EXPECT_TRUE(schedule.steps[schedule.begin[2]].in_order);
  EXPECT_EQ(program(schedule, 4), "signal 2");
  // Beyond a block its first combines it, in the root's own the root.
  ASSERT_EQ(fixed_order_schedule(35, 18, 0, arena, &schedule), 0);
  EXPECT_EQ(program(schedule, 0), "wait 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1; signal 18");
  EXPECT_EQ(program(schedule, 18), "wait 31 30 29 28 27 26 25 24 23 22 21 20 19 17 16 32 0");
  EXPECT_EQ(program(schedule, 32), "wait 34 33; signal 18");
  EXPECT_EQ(program(schedule, 16), "signal 18");
  // Of up to a block, the last ones may be a part together.
  ASSERT_EQ(fixed_order_schedule(6, 1, 4, arena, &schedule), 0);
  EXPECT_EQ(program(schedule, 1), "wait 3 2 0");
  EXPECT_EQ(program(schedule, 3), "wait 5 4; signal 1");
  EXPECT_EQ(program(schedule, 4), "signal 3");
  EXPECT_EQ(program(schedule, 2), "signal 1");
  EXPECT_EQ(check_schedule(schedule, arena), 0);
  for (const uint32_t n : {1u, 2u, 16u, 17u, 33u, 256u})
    for (const uint32_t root : {0u, n / 2, n - 1}) {
      ASSERT_EQ(fixed_order_schedule(n, root, 0, arena, &schedule), 0);
      EXPECT_EQ(check_schedule(schedule, arena), 0) << n << " to " << root;
    }
}

TEST_F(ScheduleTest, ABarrierMayReleaseDownAnotherTree) {
  Tree chain;
  ASSERT_EQ(make_tree(4, 0, arena, &chain), 0);
  for (uint16_t i = 1; i < 4; ++i) append_child(chain, i - 1, i);
  ASSERT_EQ(barrier_schedule(tree, chain, arena, &schedule), 0);
  EXPECT_EQ(program(schedule, 0), "wait 1 2; signal 1");
  EXPECT_EQ(program(schedule, 1), "wait 3; signal 0; wait 0; signal 2");
  EXPECT_EQ(program(schedule, 3), "signal 1; wait 2");
}

TEST_F(ScheduleTest, OneParticipantHasNothingToDo) {
  Tree one;
  ASSERT_EQ(make_tree(1, 0, arena, &one), 0);
  ASSERT_EQ(barrier_schedule(one, one, arena, &schedule), 0);
  EXPECT_EQ(program(schedule, 0), "");
  ASSERT_EQ(of_messages(1, 0, {}), 0);
  EXPECT_EQ(program(schedule, 0), "");
}

TEST_F(ScheduleTest, TreesThatDoNotFitAreRefused) {
  Tree other;
  ASSERT_EQ(make_tree(4, 1, arena, &other), 0);
  EXPECT_EQ(broadcast_schedule(other, arena, &schedule), -EINVAL) << "not spanning";
  for (uint16_t i : {0, 2, 3}) append_child(other, 1, i);
  EXPECT_EQ(broadcast_schedule(other, arena, &schedule), 0);
  EXPECT_EQ(barrier_schedule(tree, other, arena, &schedule), -EINVAL) << "another root";
  Tree smaller;
  ASSERT_EQ(make_tree(1, 0, arena, &smaller), 0);
  EXPECT_EQ(barrier_schedule(tree, smaller, arena, &schedule), -EINVAL);
}

TEST_F(ScheduleTest, RoundsBecomeSignalThenWait) {
  ASSERT_EQ(of_messages(3, 2, {{0, 0, 1}, {0, 1, 2}, {0, 2, 0}, {1, 0, 2}, {1, 1, 0}, {1, 2, 1}}), 0);
  EXPECT_EQ(schedule.root, kNobody);
  EXPECT_EQ(program(schedule, 0), "signal 1; wait 2; signal 2; wait 1");
  EXPECT_EQ(program(schedule, 2), "signal 0; wait 1; signal 1; wait 0");
}

TEST_F(ScheduleTest, TwoTargetsInARoundShareALine) {
  ASSERT_EQ(of_messages(4, 4, {{1, 3, 2}, {1, 1, 2}, {3, 2, 1}, {3, 2, 3}, {3, 2, 0}}), 0);
  EXPECT_EQ(program(schedule, 2), "wait 3 1; signal* 1 3 0");  // both lists in the order of the messages
  EXPECT_EQ(program(schedule, 1), "signal 2; wait 2");
  EXPECT_EQ(program(schedule, 0), "wait 2");
  ASSERT_EQ(of_messages(3, 2, {{0, 0, 1}, {0, 0, 2}, {1, 0, 1}}), 0);
  EXPECT_EQ(program(schedule, 0), "signal* 1 2; signal 1") << "two in one round, then one";
}

TEST_F(ScheduleTest, MessagesOutOfRangeAreRefused) {
  EXPECT_EQ(of_messages(2, 1, {{0, 0, 2}}), -EINVAL);
  EXPECT_EQ(of_messages(2, 1, {{0, 2, 0}}), -EINVAL);
  EXPECT_EQ(of_messages(2, 1, {{0, 1, 1}}), -EINVAL) << "itself";
  EXPECT_EQ(of_messages(2, 1, {{1, 0, 1}}), -EINVAL) << "round";
  EXPECT_EQ(of_messages(2, 2, {{1, 0, 1}, {0, 1, 0}}), -EINVAL) << "order of rounds";
  EXPECT_EQ(of_messages(0, 0, {}), -EINVAL);
}

TEST_F(ScheduleTest, AFullArenaIsReportedAndLeftAsItWas) {
  std::vector<RoundMessage> messages{{0, 0, 1}, {0, 1, 0}};
  const Exchange exchange{2, 1, 2, messages.data()};
  for (size_t bytes = 0; bytes < 160; bytes += 8) {
    alignas(8) char memory[160];
    Arena tiny(memory, bytes);
    if (barrier_schedule(exchange, tiny, &schedule) == -ENOMEM) {
      EXPECT_EQ(tiny.left(), bytes);
    }
    Arena other(memory, bytes);
    if (broadcast_schedule(tree, other, &schedule) == -ENOMEM) {
      EXPECT_EQ(other.left(), bytes);
    }
  }
  Arena none(nullptr, 0);
  EXPECT_EQ(barrier_schedule(exchange, none, &schedule), -ENOMEM);
}

}  // namespace
