#include "model/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>

#include "machines.h"

using namespace smelt;
using namespace smelt::test;

namespace {

class CostModel : public testing::Test {
 protected:
  MappedArena arena{kBlockBytes};
  // 0 and 1 on one node, 2 on another; every figure different.
  const float send[9] = {0, 1, 5, 2, 0, 6, 7, 8, 0};
  const float receive[9] = {0, 10, 50, 20, 0, 60, 70, 80, 0};
  const uint16_t node[3] = {4, 4, 9};

  Costs additive() {
    Costs costs;
    EXPECT_EQ(costs_from_send_receive(3, CostUnit::kCycles, send, receive, node, arena, &costs), 0);
    return costs;
  }
};

TEST_F(CostModel, AdditiveCostsAreSendAndReceive) {
  const Costs costs = additive();
  EXPECT_TRUE(costs_are_sane(costs));
  EXPECT_STREQ(cost_unit_name(costs.unit), "cycles");
  for (uint32_t i = 0; i < 3; ++i) {
    for (uint32_t j = 0; j < 3; ++j) {
      EXPECT_FLOAT_EQ(costs.t_send(i, j), send[i * 3 + j]);
      EXPECT_FLOAT_EQ(costs.t_receive(i, j), receive[i * 3 + j]);
      EXPECT_FLOAT_EQ(costs.hop[costs.at(i, j)], send[i * 3 + j] + receive[i * 3 + j]);
    }
  }
  EXPECT_EQ(costs.node[2], 9);
  EXPECT_EQ(costs.llc[0], costs.llc[1]);
}

TEST_F(CostModel, WithoutNodesEverythingIsOneNode) {
  Costs costs;
  ASSERT_EQ(costs_from_send_receive(3, CostUnit::kNanoseconds, send, receive, nullptr, arena, &costs), 0);
  EXPECT_EQ(costs.node[0], costs.node[2]);
  EXPECT_EQ(costs.llc[0], costs.llc[2]);
}

TEST_F(CostModel, InsaneFiguresAreRefused) {
  const float bad_values[] = {-1, std::numeric_limits<float>::infinity(), std::nanf("")};
  Costs costs;
  for (float bad : bad_values) {
    float broken[9];
    std::copy(send, send + 9, broken);
    broken[5] = bad;
    EXPECT_EQ(costs_from_send_receive(3, CostUnit::kCycles, broken, receive, node, arena, &costs), -EINVAL);
    EXPECT_EQ(costs_from_send_receive(3, CostUnit::kCycles, send, broken, node, arena, &costs), -EINVAL);
  }
  float diagonal[9] = {};
  diagonal[4] = 1;
  EXPECT_EQ(costs_from_send_receive(3, CostUnit::kCycles, diagonal, receive, node, arena, &costs), -EINVAL);
  const float huge = std::numeric_limits<float>::max();
  const float overflow[4] = {0, huge, huge, 0};
  EXPECT_EQ(costs_from_send_receive(2, CostUnit::kCycles, overflow, overflow, nullptr, arena, &costs), -EINVAL);
  EXPECT_EQ(costs_from_send_receive(0, CostUnit::kCycles, send, receive, node, arena, &costs), -EINVAL);
  EXPECT_EQ(costs_from_send_receive(kMaxParticipants + 1, CostUnit::kCycles, send, receive, node, arena, &costs),
            -EINVAL);
}

TEST_F(CostModel, SanityLooksAtEveryField) {
  const Costs good = additive();
  EXPECT_TRUE(costs_are_sane(good));
  Costs bad = good;
  bad.ready_read = nullptr;
  EXPECT_FALSE(costs_are_sane(bad));
  bad = good;
  bad.llc = nullptr;
  EXPECT_FALSE(costs_are_sane(bad));
  bad = good;
  bad.poller = -1;
  EXPECT_FALSE(costs_are_sane(bad));
  bad = good;
  bad.crossing[5] = std::nanf("");
  EXPECT_FALSE(costs_are_sane(bad));
  bad = good;
  const float not_a_number[9] = {0, 0, 0, 0, 0, 0, 0, std::nanf(""), 0};
  bad.recv_busy = not_a_number;
  EXPECT_FALSE(costs_are_sane(bad));
}

TEST_F(CostModel, SubsetTakesRowsColumnsAndNodes) {
  const Costs machine = additive();
  const uint16_t members[] = {2, 0};
  Costs part;
  ASSERT_EQ(subset_costs(machine, members, arena, &part), 0);
  EXPECT_EQ(part.n, 2u);
  EXPECT_EQ(part.unit, CostUnit::kCycles);
  EXPECT_FLOAT_EQ(part.t_send(0, 1), 7);
  EXPECT_FLOAT_EQ(part.t_receive(1, 0), 50);
  EXPECT_EQ(part.node[0], 9);
  EXPECT_EQ(part.llc[1], 4);
  EXPECT_TRUE(costs_are_sane(part));
  for (const auto matrix : {&Costs::hop, &Costs::send_busy, &Costs::recv_busy, &Costs::ready_read})
    for (uint32_t i : {0u, 1u})
      EXPECT_EQ((part.*matrix)[part.at(i, 1 - i)], (machine.*matrix)[machine.at(members[i], members[1 - i])]);
}

TEST_F(CostModel, SubsetRefusesStrangersAndDoubles) {
  const Costs machine = additive();
  Costs part;
  EXPECT_EQ(subset_costs(machine, std::vector<uint16_t>{0, 3}, arena, &part), -EINVAL);
  EXPECT_EQ(subset_costs(machine, std::vector<uint16_t>{1, 2, 1}, arena, &part), -EINVAL);
  EXPECT_EQ(subset_costs(machine, {}, arena, &part), -EINVAL);
}

TEST_F(CostModel, PaperCostsKeepHopAndSend) {
  for (const TestMachine& machine : machines()) {
    MappedArena own(kBlockBytes);
    const Costs overlap = machine.overlap(own);
    Costs paper;
    ASSERT_EQ(paper_costs(overlap, own, &paper), 0);
    EXPECT_TRUE(costs_are_sane(paper)) << machine;
    for (float service : paper.service) EXPECT_EQ(service, 0) << "nothing queues in the paper's model";
    for (float crossing : paper.crossing) EXPECT_EQ(crossing, 0);
    for (size_t at = 0; at < size_t{paper.n} * paper.n; ++at) {
      ASSERT_EQ(paper.hop[at], overlap.hop[at]) << machine;
      ASSERT_EQ(paper.send_busy[at], overlap.send_busy[at]) << machine;
      ASSERT_EQ(paper.recv_busy[at], paper.ready_read[at]) << machine;
      ASSERT_NEAR(paper.send_busy[at] + paper.recv_busy[at], paper.hop[at], 1e-3) << machine;
    }
  }
}

TEST_F(CostModel, OverlapKeepsTheHopAndBlocksLess) {
  for (const TestMachine& machine : machines()) {
    MappedArena own(kBlockBytes);
    const Costs additive = machine.paper(own);
    Costs overlap;
    ASSERT_EQ(overlap_costs_from_additive(additive, own, &overlap), 0);
    EXPECT_TRUE(costs_are_sane(overlap)) << machine;
    // What two nodes share is kept for a share of the mean hop between nodes; inside one nothing queues.
    double between = 0;
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < overlap.n; ++i)
      for (uint32_t j = 0; j < overlap.n; ++j)
        if (overlap.node[i] != overlap.node[j]) between += double{overlap.hop[overlap.at(i, j)]}, ++pairs;
    for (uint32_t d = 0; d < kDistances; ++d) {
      EXPECT_EQ(additive.service[d], 0) << machine;
      const bool link = pairs > 0 && d == static_cast<uint32_t>(Distance::kOther);
      const double rounding = 1e-3 * between / std::max(pairs, 1u);
      EXPECT_NEAR(overlap.service[d], link ? between / pairs / 100 : 0, rounding) << machine;
      EXPECT_NEAR(overlap.crossing[d], link ? 0.6 * between / pairs : 0, rounding) << machine;
    }
    for (uint32_t i = 0; i < overlap.n; ++i) {
      for (uint32_t j = 0; j < overlap.n; ++j) {
        const size_t at = overlap.at(i, j);
        const float hop = additive.hop[at];
        ASSERT_EQ(overlap.hop[at], hop) << machine;
        ASSERT_LE(overlap.send_busy[at], 0.25f * hop) << machine;
        ASSERT_LE(overlap.recv_busy[at], 0.1f * hop) << machine;
        ASSERT_GE(overlap.ready_read[at], 0.4f * hop) << machine;
        ASSERT_LE(overlap.ready_read[at], 0.5f * hop) << machine;
      }
    }
  }
}

// What was timed on a Zen 5 machine (ns, near and far): the two reads are it; what is a safe end is nowhere below it.
TEST_F(CostModel, OverlapIsOnTheSafeSideOfWhatWasTimed) {
  Costs near, far;
  std::vector<float> zero(4, 0), near_hop{0, 57, 57, 0}, far_hop{0, 260, 260, 0};
  const uint16_t apart[] = {0, 1};
  Costs plain;
  ASSERT_EQ(costs_from_send_receive(2, CostUnit::kNanoseconds, zero.data(), near_hop.data(), nullptr, arena, &plain),
            0);
  ASSERT_EQ(overlap_costs_from_additive(plain, arena, &near), 0);
  EXPECT_FLOAT_EQ(plain.poller, 0.007f * 57) << "the paper's model has the one that was timed";
  ASSERT_EQ(costs_from_send_receive(2, CostUnit::kNanoseconds, zero.data(), far_hop.data(), apart, arena, &plain), 0);
  ASSERT_EQ(overlap_costs_from_additive(plain, arena, &far), 0);
  EXPECT_NEAR(near.ready_read[1], 28.5, 1.5);
  EXPECT_NEAR(far.ready_read[1], 119, 3);
  // A release line each instead of a shared one, 32 children.
  EXPECT_GE(31 * near.send_busy[1], 194 - 152);
  EXPECT_GE(31 * far.send_busy[1], 1234 - 627);
  // Gathering 32 lines and releasing them by one instead of a pair.
  EXPECT_GE(31 * (near.recv_busy[1] + near.poller), 152 - 122);
  EXPECT_GE(31 * (far.recv_busy[1] + near.poller), 627 - 540);
  // Reads that are under way together: no more than ten.
  EXPECT_GE(near.recv_busy[1], near.ready_read[1] / 10 - 1e-6f);
  EXPECT_GE(far.recv_busy[1], far.ready_read[1] / 10);
  // And a store waits for no more than the transaction that it takes.
  EXPECT_LE(far.send_busy[1], far.hop[1] / 2);
}

TEST_F(CostModel, AFullArenaIsReportedAndLeftAsItWas) {
  const Costs machine = additive();
  char memory[100];
  Arena tiny(memory, sizeof memory);
  Costs out;
  const uint16_t members[] = {0, 1, 2};
  EXPECT_EQ(subset_costs(machine, members, tiny, &out), -ENOMEM);
  EXPECT_EQ(paper_costs(machine, tiny, &out), -ENOMEM);
  EXPECT_EQ(overlap_costs_from_additive(machine, tiny, &out), -ENOMEM);
  EXPECT_EQ(costs_from_send_receive(3, CostUnit::kCycles, send, receive, node, tiny, &out), -ENOMEM);
  EXPECT_EQ(tiny.left(), sizeof memory);
}

}  // namespace
