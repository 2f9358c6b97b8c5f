#include "generate/line_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "machines.h"
#include "schedule/predict.h"
#include "schedule/schedule.h"

using namespace smelt;
using namespace smelt::test;

namespace {

struct Split {
  std::vector<uint16_t> receivers, line;
  std::vector<float> visible;
  uint32_t lines = 0;
};

Split split(const Costs& costs, uint16_t from, std::vector<uint16_t> receivers) {
  Split out;
  const auto count = static_cast<uint32_t>(receivers.size());
  out.receivers = std::move(receivers);
  out.line.resize(count);
  out.visible.resize(count);
  out.lines = split_lines(costs, from, out.receivers.data(), count, out.line.data(), out.visible.data());
  return out;
}

// The costs of a machine of packages, without queues.
Costs unqueued(Arena& arena, uint32_t packages, uint32_t cores, float jitter) {
  Costs costs = make_machine("m", packages, cores, 50, 300, jitter, 3).overlap(arena);
  std::fill_n(costs.service, kDistances, 0.0f);
  return costs;
}

TEST(LineSplit, OneLineWhereNothingCrosses) {
  MappedArena arena(1 << 20);
  const Costs costs = unqueued(arena, 2, 6, 0.3f);
  const Split near = split(costs, 0, {3, 1, 4, 2, 5});
  EXPECT_EQ(near.lines, 1u);
  EXPECT_EQ(near.receivers, (std::vector<uint16_t>{3, 1, 4, 2, 5})) << "and in their order";
  EXPECT_EQ(split(costs, 0, {7, 8, 9}).lines, 1u) << "all on the other side";
  EXPECT_EQ(split(costs, 0, {7}).lines, 1u);
  EXPECT_EQ(split(costs, 0, {}).lines, 0u);
}

TEST(LineSplit, ALineForEachSideTheFarOneFirst) {
  MappedArena arena(1 << 20);
  const Split both = split(unqueued(arena, 2, 6, 0), 0, {1, 2, 3, 7, 8, 9});
  EXPECT_EQ(both.lines, 2u);
  EXPECT_EQ(both.receivers, (std::vector<uint16_t>{7, 8, 9, 1, 2, 3}));
  EXPECT_EQ(both.line, (std::vector<uint16_t>{0, 0, 0, 1, 1, 1}));
}

TEST(LineSplit, TwoOnFarSidesHaveALineEach) {
  MappedArena arena(1 << 20);
  EXPECT_EQ(split(unqueued(arena, 4, 4, 0), 0, {4, 8}).lines, 2u);
}

// Storing is dear, so there is one line for nine on nine sides: they are sorted, and a schedule of it says the same
// of each.
TEST(LineSplit, OneLineThatCrossesIsSorted) {
  MappedArena arena(1 << 22);
  Costs costs = unqueued(arena, 10, 1, 0.9f);
  const std::vector<float> dear(100, 10000);
  costs.send_busy = dear.data();
  const Split made = split(costs, 0, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(made.lines, 1u);
  EXPECT_NE(made.receivers, (std::vector<uint16_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  std::vector<RoundMessage> messages;
  for (uint16_t i = 1; i < 10; ++i) messages.push_back({0, 0, i});
  Schedule schedule;
  ASSERT_EQ(barrier_schedule(Exchange{10, 1, 9, messages.data()}, arena, &schedule, &costs), 0);
  ASSERT_EQ(schedule.begin[1], 1u);
  EXPECT_EQ(std::vector<uint16_t>(schedule.peers, schedule.peers + 9), made.receivers);
}

// What it says of each receiver is what the pricing says; and all on one line are told no sooner.
TEST(LineSplit, SaysWhenEachSeesItsLine) {
  for (uint32_t packages : {2u, 3u, 5u}) {
    MappedArena arena(1 << 22);
    const Costs costs = unqueued(arena, packages, 3, 0.4f);
    for (uint32_t mask = 1; mask < 1u << (costs.n - 1); mask += packages) {
      char* const mark = arena.mark();
      std::vector<uint16_t> receivers;
      std::vector<RoundMessage> messages;
      for (uint16_t i = 1; i < costs.n; ++i)
        if (mask >> (i - 1) & 1) receivers.push_back(i), messages.push_back({0, 0, i});
      const Split made = split(costs, 0, receivers);
      EXPECT_TRUE(std::is_permutation(receivers.begin(), receivers.end(), made.receivers.begin()));
      EXPECT_TRUE(std::is_sorted(made.line.begin(), made.line.end()));
      Schedule schedule;
      Prediction prediction;
      const Exchange exchange{costs.n, 1, static_cast<uint32_t>(messages.size()), messages.data()};
      ASSERT_EQ(barrier_schedule(exchange, arena, &schedule, &costs), 0);
      ASSERT_EQ(predict(schedule, costs, arena, &prediction), 0);
      for (size_t k = 0; k < receivers.size(); ++k) {
        // Nobody sees what is there before it could have read it.
        const double ready = double{costs.ready_read[costs.at(0, made.receivers[k])]};
        EXPECT_NEAR(prediction.done[made.receivers[k]], std::max(ready, double{made.visible[k]}), 1e-3);
      }
      arena.rewind(mark);
    }
  }
}

TEST(LineSplit, CostsOfOthersAreRefused) {
  MappedArena arena(1 << 20);
  const Costs costs = unqueued(arena, 2, 2, 0);
  RoundMessage message{0, 0, 1};
  Schedule schedule;
  EXPECT_EQ(barrier_schedule(Exchange{3, 1, 1, &message}, arena, &schedule, &costs), -EINVAL);
}

}  // namespace
