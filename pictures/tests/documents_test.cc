// Pictures for programs and terminals: the order of CPUs, rounds, a timeline that agrees with the prediction, the text
// of the costs.
#include "pictures/documents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "planned.h"

using namespace smelt;
using namespace smelt::test;

namespace {

TEST(Rows, StandByNodeCacheAndCore) {
  Picture p = costs_picture(2, 2, 2);
  p.cpu = {7, 6, 5, 4, 3, 2, 1, 0};                                            // the kernel's numbers run the other way
  EXPECT_EQ(shown_order(p), (std::vector<uint16_t>{0, 1, 2, 3, 4, 5, 6, 7}));  // every CPU is a core of its own
  p.core.assign(8, 0);
  EXPECT_EQ(shown_order(p), (std::vector<uint16_t>{1, 0, 3, 2, 5, 4, 7, 6}));  // by number within a cache
  const Document matrix = matrix_document(p, {CostKind::kHop});
  EXPECT_EQ(matrix["cpus"], Document({6, 7, 4, 5, 2, 3, 0, 1}));
  EXPECT_EQ(matrix["nodes"], Document({0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(matrix["caches"], Document({0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(matrix["hop"][0], Document({0, 30, 60, 60, 240, 240, 240, 240}));
}

TEST(Rounds, AreThoseOfThePattern) {
  const Picture exchange = planned(costs_picture(2, 1, 8), "dissemination", Operation::kBarrier);
  const Document rounds = rounds_document(exchange);
  EXPECT_EQ(rounds["rounds"], exchange.exchange.rounds);
  EXPECT_EQ(rounds["messages"].size(), exchange.exchange.count);
  // In a broadcast, a message to a child goes out in the round of its parent's level.
  const Picture tree = planned(costs_picture(2, 1, 8), "binary", Operation::kBroadcast);
  const Document down = rounds_document(tree);
  EXPECT_EQ(down["messages"].size(), 15u);
  for (const auto& m : down["messages"]) {
    uint32_t level = 0;
    for (uint16_t at = m["from"]; tree.tree.parent[at] != kNobody; at = tree.tree.parent[at]) ++level;
    EXPECT_EQ(m["round"], level);
    EXPECT_EQ(m["hop"], tree.costs.hop[tree.costs.at(m["from"], m["to"])]);
  }
}

TEST(Timeline, AgreesWithThePrediction) {
  for (const PatternInfo& row : pattern_registry())
    for (const Operation op : {Operation::kBroadcast, Operation::kReduce, Operation::kBarrier}) {
      if (!row.tree && op != Operation::kBarrier) continue;
      if (std::string(row.name) == "pair") continue;
      SCOPED_TRACE(std::string(row.name) + " " + operation_name(op));
      const Picture p = planned(costs_picture(2, 2, 3, 0.4), row.name, op);
      const Document line = timeline_document(p);
      EXPECT_EQ(line["end"], p.predicted);
      std::vector<double> now(p.cpu.size(), 0);
      for (const Document& bar : line["bars"]) {  // no gaps, no overlaps
        double& at = now[bar["cpu"].get<size_t>()];
        EXPECT_DOUBLE_EQ(bar["begin"], at);
        EXPECT_GT(bar["end"], bar["begin"]);
        at = bar["end"];
      }
      for (size_t i = 0; i < now.size(); ++i) {
        EXPECT_DOUBLE_EQ(now[i], p.done[i]);
        EXPECT_EQ(line["done"][i], p.done[line["cpus"][i].get<size_t>()]);
      }
      EXPECT_EQ(line["flights"].size(), rounds_document(p)["messages"].size());
      for (const Document& flight : line["flights"]) {
        EXPECT_LE(flight["begin"], flight["end"]);
        EXPECT_NE(flight["from"], flight["to"]);
      }
    }
}

TEST(Text, NumbersForSmallMachines) {
  EXPECT_EQ(text_heat_map(costs_picture(2, 1, 2), {CostKind::kSend}, {}),
            "machine     made up\n"
            "costs       a test\n"
            "CPUs        4: 0-3\n"
            "cost model  overlap\n"
            "drawn       2026-01-02\n"
            "\n"
            "send: how long a message keeps its sender, in ns (row: sender, column: receiver)\n"
            "\n"
            "     CPU       0      1 │      2      3\n"
            "       0       .   10.0 │   80.0   80.0\n"
            "       1    10.0      . │   80.0   80.0\n"
            "         ───────────────┼──────────────\n"
            "       2    80.0   80.0 │      .   10.0\n"
            "       3    80.0   80.0 │   10.0      .\n");
}

// Every CPU has its place, lines stay narrow, and nothing but ASCII comes when ASCII is asked for.
TEST(Text, ShadesForLargeMachines) {
  const Picture costs = costs_picture(8, 4, 8, 0.3);
  const std::vector<CostKind> both = {CostKind::kSend, CostKind::kReceive};
  const std::string ascii = text_heat_map(costs, both, {.utf8 = false});
  EXPECT_TRUE(std::all_of(ascii.begin(), ascii.end(), [](char c) { return c > 0; }));
  EXPECT_EQ(ascii.find("nan"), std::string::npos);
  std::istringstream lines(ascii);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
  EXPECT_NE(ascii.find("252-255 "), std::string::npos) << ascii;
  EXPECT_NE(ascii.find("a cell is the median between 4 and 4 CPUs"), std::string::npos);
  EXPECT_NE(ascii.find("logarithmic scale"), std::string::npos);  // beyond a factor of 8
  EXPECT_EQ(text_heat_map(costs, both, {}).find('\x1b'), std::string::npos);
  EXPECT_NE(text_heat_map(costs, both, {.colour = true}).find("\x1b[48;2;"), std::string::npos);
}

TEST(Text, OneOutlierDoesNotFlattenTheRest) {
  Picture p = costs_picture(2, 1, 10);
  const_cast<float*>(p.costs.hop)[5] = 1e6f;
  const std::string text = text_heat_map(p, {CostKind::kHop}, {});
  EXPECT_NE(text.find("the half per cent beyond either end looks like the end"), std::string::npos) << text;
  EXPECT_NE(text.find("-240 ns"), std::string::npos) << text;
}

}  // namespace
