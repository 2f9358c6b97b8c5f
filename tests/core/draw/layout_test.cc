// The layout pass: order, blocks, scale, tidy trees, rounds, and a timeline that agrees with the prediction.
#include "draw/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "pictures.h"

using namespace smelt;
using namespace smelt::test;

namespace {

TEST(Rows, StandByNodeCacheAndCore) {
  Picture p = costs_picture(2, 2, 2);
  p.cpu = {7, 6, 5, 4, 3, 2, 1, 0};  // the kernel's numbers run the other way
  Rows rows = arrange(p);
  EXPECT_EQ(rows.order, (std::vector<uint16_t>{0, 1, 2, 3, 4, 5, 6, 7}));  // every CPU is a core of its own
  p.core.assign(8, 0);
  rows = arrange(p);
  EXPECT_EQ(rows.order, (std::vector<uint16_t>{1, 0, 3, 2, 5, 4, 7, 6}));  // by number within a cache
  ASSERT_EQ(rows.nodes.size(), 2u);
  EXPECT_EQ(rows.nodes[1].first, 4u);
  EXPECT_EQ(rows.nodes[1].count, 4u);
  ASSERT_EQ(rows.llcs.size(), 4u);
  for (uint32_t row = 0; row < 8; ++row) EXPECT_EQ(rows.row[rows.order[row]], row);
  EXPECT_TRUE(arrange(costs_picture(2, 1, 4)).llcs.empty());  // would repeat the nodes
}

TEST(Rows, OfManyAreFolded) {
  Picture p = costs_picture(2, 4, 8);  // 64 CPUs, 8 caches
  p.most_rows = 64;
  EXPECT_FALSE(arrange(p).folded());
  p.most_rows = 63;
  Rows rows = arrange(p);
  ASSERT_EQ(rows.kind, Rows::Kind::kCache);
  EXPECT_EQ(rows.order, (std::vector<uint16_t>{0, 8, 16, 24, 32, 40, 48, 56}));
  ASSERT_EQ(rows.row.size(), 64u);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(rows.row[i], i / 8);
  ASSERT_EQ(rows.nodes.size(), 2u);
  EXPECT_EQ(rows.nodes[1].first, 4u);
  EXPECT_EQ(rows.name(p, 3), "cache 3");
  p.most_rows = 7;
  rows = arrange(p);
  ASSERT_EQ(rows.kind, Rows::Kind::kNode);
  EXPECT_EQ(rows.row[31], 0u);
  EXPECT_EQ(rows.row[32], 1u);
  for (uint32_t i = 0; i < 64; ++i) p.core[i] = static_cast<uint16_t>(i / 2);
  p.most_rows = 32;
  rows = arrange(p);
  ASSERT_EQ(rows.kind, Rows::Kind::kCore);
  EXPECT_EQ(rows.name(p, 31), "core 31");
  p.most_rows = 1;  // there is no such group
  EXPECT_FALSE(arrange(p).folded());
}

// Two packages of 64 CPUs, each one node and one cache: neither two rows nor 128.
TEST(Rows, OfAMachineWithoutSmallGroupsAreBlocks) {
  Picture p = costs_picture(2, 1, 64);
  p.most_rows = 96;
  Rows rows = arrange(p);
  ASSERT_EQ(rows.kind, Rows::Kind::kBlock);
  ASSERT_EQ(rows.order.size(), 64u);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(rows.row[i], i / 2);
  EXPECT_EQ(rows.name(p, 33), "CPUs 66,67");
  EXPECT_EQ(rows.number(p, 33), 66u);
  ASSERT_EQ(rows.nodes.size(), 2u);
  EXPECT_EQ(rows.nodes[1].first, 32u);
  EXPECT_EQ(rows.nodes[1].count, 32u);
  // Blocks do not reach from one node into the other, and the last of a node may be smaller.
  p = costs_picture(2, 1, 17);
  p.most_rows = 32;
  rows = arrange(p);
  ASSERT_EQ(rows.kind, Rows::Kind::kBlock);
  ASSERT_EQ(rows.order.size(), 18u);
  EXPECT_EQ(rows.row[16], 8u);
  EXPECT_EQ(rows.row[17], 9u);
  EXPECT_EQ(rows.name(p, 8), "CPU 16");
  for (uint32_t i = 0; i < 34; ++i) p.core[i] = static_cast<uint16_t>(i / 2);
  EXPECT_EQ(arrange(p).kind, Rows::Kind::kCore) << "the machine's own groups come first";
}

TEST(HeatMap, OfFoldedRowsHasTheMeans) {
  Picture p = costs_picture(2, 2, 4, 0.3);
  p.most_rows = 8;
  const HeatMap map = lay_out_heat_map(p, CostKind::kHop);
  ASSERT_EQ(map.cells.size(), 16u);
  for (uint32_t from = 0; from < 4; ++from)
    for (uint32_t to = 0; to < 4; ++to) {
      double sum = 0, count = 0;
      for (uint16_t i = 0; i < 4; ++i)
        for (uint16_t k = 0; k < 4; ++k) {
          const auto a = static_cast<uint16_t>(4 * from + i), b = static_cast<uint16_t>(4 * to + k);
          if (a != b) sum += p.costs.hop[p.costs.at(a, b)], ++count;
        }
      EXPECT_NEAR(map.cells[4 * from + to], sum / count, 0.01);
      EXPECT_FALSE(map.is_empty(from, to));
    }
}

TEST(HeatMap, ScaleSpansTheCostsAndInverts) {
  const HeatMap narrow = lay_out_heat_map(costs_picture(1, 2, 2), CostKind::kHop);
  EXPECT_EQ(narrow.scale.low, 30);
  EXPECT_EQ(narrow.scale.high, 60);
  EXPECT_FALSE(narrow.scale.logarithmic);
  EXPECT_EQ(narrow.scale.position(45), 0.5);
  const HeatMap wide = lay_out_heat_map(costs_picture(2, 2, 2, 0.5), CostKind::kSend);
  EXPECT_TRUE(wide.scale.logarithmic);
  for (const double at : {0.0, 0.25, 0.5, 1.0}) EXPECT_NEAR(wide.scale.position(wide.scale.cost(at)), at, 1e-9);
  EXPECT_EQ(wide.scale.position(0), 0);
  EXPECT_EQ(wide.scale.position(1e9), 1);
  const HeatMap one = lay_out_heat_map(costs_picture(1, 1, 1), CostKind::kHop);
  EXPECT_EQ(one.scale.position(0), 0);
}

TEST(HeatMap, OneOutlierDoesNotFlattenTheRest) {
  Picture p = costs_picture(2, 1, 10);
  const_cast<float*>(p.costs.hop)[5] = 1e6f;
  const HeatMap map = lay_out_heat_map(p, CostKind::kHop);
  EXPECT_EQ(map.scale.high, 240);
  EXPECT_TRUE(map.scale.cut_above);
  EXPECT_FALSE(map.scale.cut_below);
}

TEST(TreeLayout, IsTidyForEveryTree) {
  for (const PatternInfo& row : pattern_registry()) {
    if (!row.tree) continue;
    SCOPED_TRACE(row.name);
    const Picture p = planned(costs_picture(3, 2, 5, 0.3), row.name, Operation::kBroadcast);
    const TreeLayout layout = lay_out_tree(p.tree);
    std::map<uint32_t, std::vector<double>> levels;
    for (uint32_t i = 0; i < p.tree.n; ++i) {
      EXPECT_GE(layout.x[i], -1e-9);
      EXPECT_LE(layout.x[i], layout.width + 1e-9);
      levels[layout.level[i]].push_back(layout.x[i]);
      const std::vector<uint16_t> list = children(p.tree, static_cast<uint16_t>(i));
      for (size_t k = 0; k < list.size(); ++k) {
        EXPECT_EQ(layout.level[list[k]], layout.level[i] + 1);
        if (k > 0) {
          EXPECT_GT(layout.x[list[k]], layout.x[list[k - 1]]);  // in send order
        }
      }
      if (!list.empty()) {
        EXPECT_NEAR(layout.x[i], (layout.x[list.front()] + layout.x[list.back()]) / 2, 1e-9);
      }
    }
    EXPECT_EQ(levels.size(), layout.levels);
    for (auto& [level, xs] : levels) {
      std::sort(xs.begin(), xs.end());
      for (size_t i = 1; i < xs.size(); ++i) EXPECT_GE(xs[i] - xs[i - 1], 1 - 1e-9) << "on level " << level;
    }
  }
}

TEST(TreeLayout, TakesTheLargestChainAndStar) {
  const Picture chain = planned(costs_picture(4, 4, 64), "knomial:1", Operation::kBroadcast);
  EXPECT_EQ(lay_out_tree(chain.tree).levels, 1024u);
  EXPECT_EQ(lay_out_tree(chain.tree).width, 0);
  const Picture star = planned(costs_picture(4, 4, 64), "sequential", Operation::kBroadcast);
  EXPECT_EQ(lay_out_tree(star.tree).levels, 2u);
  EXPECT_EQ(lay_out_tree(star.tree).width, 1022);
}

TEST(RoundChart, RoundsAreThoseOfThePattern) {
  const Picture exchange = planned(costs_picture(2, 1, 8), "dissemination", Operation::kBarrier);
  const RoundChart rounds = lay_out_rounds(exchange);
  EXPECT_EQ(rounds.rounds, exchange.exchange.rounds);
  EXPECT_EQ(rounds.messages.size(), exchange.exchange.count);
  // In a broadcast, a message to a child goes out in the round of its parent's level.
  const Picture tree = planned(costs_picture(2, 1, 8), "binary", Operation::kBroadcast);
  const TreeLayout layout = lay_out_tree(tree.tree);
  const RoundChart down = lay_out_rounds(tree);
  EXPECT_EQ(down.rounds, layout.levels - 1);
  EXPECT_EQ(down.messages.size(), 15u);
  for (const auto& m : down.messages) EXPECT_EQ(m.round, layout.level[m.from]);
}

TEST(Timeline, AgreesWithThePrediction) {
  for (const PatternInfo& row : pattern_registry())
    for (const Operation op : {Operation::kBroadcast, Operation::kReduce, Operation::kBarrier}) {
      if (!row.tree && op != Operation::kBarrier) continue;
      if (std::string(row.name) == "pair") continue;
      SCOPED_TRACE(std::string(row.name) + " " + operation_name(op));
      const Picture p = planned(costs_picture(2, 2, 3, 0.4), row.name, op);
      const Timeline line = lay_out_timeline(p);
      EXPECT_EQ(line.end, p.predicted);
      std::vector<double> now(p.cpu.size(), 0);
      for (const Timeline::Bar& bar : line.bars) {  // no gaps, no overlaps
        EXPECT_DOUBLE_EQ(bar.begin, now[bar.who]);
        EXPECT_GT(bar.end, bar.begin);
        now[bar.who] = bar.end;
      }
      for (size_t i = 0; i < now.size(); ++i) EXPECT_DOUBLE_EQ(now[i], p.done[i]);
      EXPECT_EQ(line.flights.size(), lay_out_rounds(p).messages.size());
      for (const Timeline::Flight& flight : line.flights) {
        EXPECT_LE(flight.begin, flight.end);
        EXPECT_NE(flight.from, flight.to);
      }
    }
}

TEST(Axis, TicksAreRoundAndFew) {
  EXPECT_EQ(axis_ticks(430, 6), (std::vector<double>{0, 100, 200, 300, 400}));
  EXPECT_EQ(axis_ticks(0, 6), std::vector<double>{0});
  for (const double end : {1e-3, 0.7, 1.0, 99.0, 1234.5, 1e9}) {
    const std::vector<double> ticks = axis_ticks(end, 10);
    EXPECT_GE(ticks.size(), 4u);
    EXPECT_LE(ticks.size(), 10u);
    EXPECT_LE(ticks.back(), end * (1 + 1e-6));
  }
}

}  // namespace
