// The pens: SVG that every parser takes and that names everybody, golden text pictures, DOT.
#include "draw/charts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/lab/tests/xml.h"
#include "draw/svg.h"
#include "generate/patterns.h"
#include "pictures.h"

using namespace smelt;
using namespace smelt::test;

namespace {

const std::vector<CostKind> kBoth = {CostKind::kSend, CostKind::kReceive};

// Well formed, with no number that is none, names every CPU, the machine and the date. Returns the words in it.
std::string expect_page(const std::string& svg, const Picture& p) {
  std::string words;
  EXPECT_EQ(xml_flaw(svg, &words), "");
  std::string lower = svg;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* no_number : {"=\"nan", "=\"inf", "=\"-nan", "=\"-inf", " nan ", ">nan", "mnan", "hnan", "e+"})
    EXPECT_EQ(lower.find(no_number), std::string::npos) << no_number;
  for (const uint32_t cpu : p.cpu) {
    const std::string name = "CPU " + std::to_string(cpu);
    bool there = false;
    for (size_t at = words.find(name); at != std::string::npos && !there; at = words.find(name, at + 1))
      there = !std::isdigit(static_cast<unsigned char>(words[at + name.size()]));
    EXPECT_TRUE(there) << name;
  }
  for (const std::string& word : {p.machine, p.date, p.origin})
    EXPECT_NE(words.find(xml_text(word)), std::string::npos) << word;
  return words;
}

TEST(Svg, EveryPictureOfEveryPatternAndSize) {
  struct Shape {
    uint32_t nodes, caches, cpus;
  };
  for (const Shape& s : {Shape{1, 1, 1}, Shape{1, 1, 2}, Shape{2, 2, 2}, Shape{4, 2, 8}, Shape{8, 4, 8}}) {
    const Picture costs = costs_picture(s.nodes, s.caches, s.cpus, 0.3);
    SCOPED_TRACE(costs.cpu.size());
    expect_page(matrix_svg(costs, kBoth), costs);
    expect_page(matrix_svg(costs, {CostKind::kHop}), costs);
    for (const PatternInfo& row : pattern_registry()) {
      if (std::string(row.name) == "pair" && costs.cpu.size() != 2) continue;
      if (costs.cpu.size() == 256 && std::string(row.name) != "hybrid" && std::string(row.name) != "adaptive") continue;
      SCOPED_TRACE(row.name);
      const Picture p = planned(costs, row.name, Operation::kBarrier);
      expect_page(schedule_svg(p), p);
      expect_page(timeline_svg(p), p);
      if (p.is_tree) expect_page(tree_svg(p), p);
    }
  }
}

// A barrier whose trees differ shows both, everybody in each; one that has but one tree shows that.
TEST(Trees, OfABarrierAreTwoWhereTheyDiffer) {
  for (const auto& [costs, abreast] :
       {std::pair{costs_picture(2, 1, 4, 0.5), true}, std::pair{costs_picture(4, 4, 4, 0.5), false}}) {
    Picture p = planned(costs, "adaptive", Operation::kBarrier);
    ASSERT_EQ(tree_sides(p).size(), 1u);
    EXPECT_EQ(tree_svg(p).find("gather"), std::string::npos);
    EXPECT_EQ(text_picture(p, true).find("gather"), std::string::npos);
    ASSERT_EQ(sequential_tree(p.costs, 0, p.tree.root, *p.storage, &p.gather), 0);
    const std::vector<TreeSide> sides = tree_sides(p);
    ASSERT_EQ(sides.size(), 2u);
    for (const uint16_t child : children(p.gather, p.gather.root)) {
      EXPECT_GT(sides[0].times[child], 0) << "it has sent";
      EXPECT_GE(sides[0].times[p.gather.root], sides[0].hop(p.costs, p.gather.root, child))
          << "and the root has heard of it";
    }
    const std::string svg = tree_svg(p), text = text_picture(p, true), dot = dot_picture(p);
    std::string words;
    ASSERT_EQ(xml_flaw(svg, &words), "");
    EXPECT_NE(words.find("gather, up the tree"), std::string::npos);
    EXPECT_NE(words.find("release, down the tree"), std::string::npos);
    EXPECT_LT(text.find("gather, up the tree"), text.find("release, down the tree"));
    EXPECT_EQ(svg.find("translate(0 0)", svg.find("translate(0 0)") + 1), std::string::npos) << "the trees stand apart";
    for (const uint32_t cpu : p.cpu) {
      const std::string here = "CPU " + std::to_string(cpu);
      EXPECT_NE(words.find(here + ", node " + std::to_string(p.costs.node[cpu]) + ": has sent at"), std::string::npos);
      EXPECT_NE(words.find(here + ", node " + std::to_string(p.costs.node[cpu]) + ": leaves at"), std::string::npos);
      for (const char* tree : {"gather", "release"})
        EXPECT_NE(dot.find(tree + std::to_string(cpu) + " [label=" + std::to_string(cpu) + "]"), std::string::npos);
    }
    const auto json = nlohmann::json::parse(picture_document(p).dump());
    EXPECT_EQ(json["gather"][std::to_string(p.cpu[p.gather.root])].size(), p.cpu.size() - 1);
    EXPECT_NE(json["children"], json["gather"]);
    double width = 0;
    sscanf(svg.c_str() + svg.find("width=\"") + 7, "%lf", &width);
    EXPECT_EQ(width < 1600, abreast) << "side by side while there is room, else as wide as the wider one";
  }
}

TEST(Svg, TooManyArrowsAreToldInsteadOfDrawn) {
  const Picture p = planned(costs_picture(8, 4, 8), "all-to-all", Operation::kBarrier);
  for (const std::string& svg : {schedule_svg(p), timeline_svg(p)}) {
    EXPECT_LT(svg.size(), 2u << 20);
    EXPECT_NE(expect_page(svg, p).find("65280 messages: too many for arrows"), std::string::npos);
  }
}

// Folded, pictures of many CPUs name their groups, stay small, and leave nothing out for being too much.
TEST(Svg, OfManyIsFolded) {
  Picture p = planned(costs_picture(8, 4, 8), "all-to-all", Operation::kBarrier);
  p.most_rows = 128;
  for (const std::string& svg : {schedule_svg(p), timeline_svg(p), matrix_svg(p, kBoth)}) {
    EXPECT_LT(svg.size(), 256u << 10);
    std::string words;
    ASSERT_EQ(xml_flaw(svg, &words), "");
    for (uint32_t cache = 0; cache < 32; ++cache)
      EXPECT_NE(words.find("cache " + std::to_string(cache)), std::string::npos) << cache;
    EXPECT_EQ(words.find("CPU 255"), std::string::npos);
    EXPECT_EQ(words.find("too many"), std::string::npos);
    EXPECT_NE(words.find("last-level cache"), std::string::npos);
  }
}

TEST(Svg, NamesAreEscapedWhateverTheyHold) {
  Picture p = costs_picture(2, 1, 2);
  p.machine = "<b onload=\"x\"> & 'y' \x01\x7f\xff\xc3\x28 \xed\xa0\x80 é";
  p.origin = "]]> -->";
  p = planned(p, "binary", Operation::kBroadcast);
  for (const std::string& svg : {matrix_svg(p, kBoth), tree_svg(p), schedule_svg(p), timeline_svg(p)}) {
    std::string words;
    EXPECT_EQ(xml_flaw(svg, &words), "");
    EXPECT_NE(words.find("&lt;b onload=&quot;x&quot;&gt; &amp; &apos;y&apos;"), std::string::npos) << words;
    EXPECT_NE(words.find("é"), std::string::npos);
    EXPECT_EQ(svg.find('\xff'), std::string::npos);
  }
  EXPECT_EQ(xml_text("a\xff"
                     "b\xc3"),
            "a?b?");
}

TEST(Svg, NumbersAreShortAndAlwaysNumbers) {
  EXPECT_EQ(px(1.5), "1.5");
  EXPECT_EQ(px(2), "2");
  EXPECT_EQ(px(-0.001), "0");
  EXPECT_EQ(px(std::numeric_limits<double>::quiet_NaN()), "0");
  EXPECT_EQ(px(std::numeric_limits<double>::infinity()), "0");
}

TEST(Svg, ZeroCostsAreDrawnToo) {
  Picture p = costs_picture(2, 1, 3);
  const size_t cells = p.cpu.size() * p.cpu.size();
  for (const float* matrix : {p.costs.hop, p.costs.send_busy, p.costs.recv_busy, p.costs.ready_read})
    std::fill_n(const_cast<float*>(matrix), cells, 0.0f);
  p = planned(p, "binary", Operation::kBarrier);
  for (const std::string& svg : {matrix_svg(p, kBoth), tree_svg(p), schedule_svg(p), timeline_svg(p)})
    expect_page(svg, p);
  EXPECT_FALSE(timeline_text(p, {}).empty());
}

TEST(Text, NumbersForSmallMachines) {
  EXPECT_EQ(matrix_text(costs_picture(2, 1, 2), {CostKind::kSend}, {}),
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

TEST(Text, ScheduleRoundByRound) {
  const std::string text =
      schedule_text(planned(costs_picture(1, 1, 4), "dissemination", Operation::kBarrier), {.utf8 = false});
  EXPECT_EQ(text.substr(text.find("     CPU")),
            "     CPU  round 1  round 2\n"
            "       0  >1 <3    >2 <2\n"
            "       1  >2 <0    >3 <3\n"
            "       2  >3 <1    >0 <0\n"
            "       3  >0 <2    >1 <1\n");
}

TEST(Text, TimelineOfAStar) {
  // A store keeps the root 10; its message is seen 30 later, of which reading is 20.
  const std::string text =
      timeline_text(planned(costs_picture(1, 1, 3), "sequential", Operation::kBroadcast), {.utf8 = false});
  const auto lane = [](size_t waits, size_t reads) { return std::string(waits, '.') + std::string(reads, 'r') + "\n"; };
  EXPECT_EQ(text.substr(text.find("     CPU")),
            "     CPU\n"
            "       0  " +
                std::string(40, 'S') +
                "\n"
                "       1  " +
                lane(20, 40) + "       2  " + lane(40, 40) +
                "          0         5         10        15        20        25        30        35        40 ns\n");
}

// Every CPU stands in its row, lines stay narrow, and nothing but ASCII comes when ASCII is asked for.
TEST(Text, LargeMachines) {
  const Picture costs = costs_picture(8, 4, 8, 0.3);
  const std::vector<std::function<std::string(const TextStyle&)>> pictures = {
      [&](const TextStyle& style) { return matrix_text(costs, kBoth, style); },
      [&](const TextStyle& style) { return schedule_text(planned(costs, "hybrid", Operation::kBarrier), style); },
      [&](const TextStyle& style) { return schedule_text(planned(costs, "knomial:1", Operation::kReduce), style); },
      [&](const TextStyle& style) { return timeline_text(planned(costs, "adaptive", Operation::kBarrier), style); }};
  for (const auto& picture : pictures) {
    const std::string ascii = picture({.utf8 = false});
    EXPECT_TRUE(std::all_of(ascii.begin(), ascii.end(), [](char c) { return c > 0; }));
    EXPECT_EQ(ascii.find("nan"), std::string::npos);
    std::istringstream lines(ascii);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
    EXPECT_EQ(picture({}).find('\x1b'), std::string::npos);
    EXPECT_NE(picture({.colour = true}).size(), 0u);
  }
  const std::string timeline = pictures[3]({.utf8 = false});
  for (const uint32_t cpu : costs.cpu)
    EXPECT_NE(timeline.find("\n" + std::string(8 - std::to_string(cpu).size(), ' ') + std::to_string(cpu) + "  "),
              std::string::npos)
        << cpu;
}

TEST(Dot, ScheduleHasEveryoneInEveryRound) {
  const Picture p = planned(costs_picture(2, 1, 4), "dissemination", Operation::kBarrier);
  const std::string dot = schedule_dot(p);
  for (const uint32_t cpu : p.cpu)
    for (int round = 0; round <= 3; ++round)
      EXPECT_NE(dot.find("\"" + std::to_string(cpu) + "@" + std::to_string(round) + "\" [label"), std::string::npos);
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), 1);
  EXPECT_NE(dot.find("color=\"#d55e00\""), std::string::npos);  // between nodes
}

}  // namespace
