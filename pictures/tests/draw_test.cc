// smelt draw from outside: files by their names, the terminal's version, refusals; where smelt finds the house.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "program.h"

namespace smelt::test {
namespace {

constexpr const char* kMachine = "synthetic:pack:2 numa:1 l3:2 core:3 pu:1";  // 12 CPUs

std::string drawn(const std::string& what, const std::string& name, std::vector<std::string> more = {}) {
  const std::string path = scratch() + "/" + name;
  std::vector<std::string> all = {"draw", what, "--machine", kMachine, "-o", path};
  all.insert(all.end(), more.begin(), more.end());
  const Outcome outcome = smelt(all);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out + outcome.err, "");
  return read_file(path);
}

// Pictures need Python with its libraries, and Graphviz.
bool draws() {
  return std::system("/usr/bin/python3 -c 'import matplotlib' 2>/dev/null && command -v dot >/dev/null") == 0;
}

bool has_command(const char* name) {
  return std::system(("command -v " + std::string(name) + " >/dev/null 2>&1").c_str()) == 0;
}

TEST(Draw, SvgThatOthersRead) {
  if (!draws()) GTEST_SKIP() << "no python3-matplotlib or graphviz here";
  for (const std::string what : {"matrix", "tree", "schedule", "timeline"}) {
    SCOPED_TRACE(what);
    const std::string svg = drawn(what, what + ".svg");
    EXPECT_NE(svg.find("<svg xmlns="), std::string::npos);
    const std::string before = what == "tree" ? ">" : ">CPU ";
    for (int cpu = 0; cpu < 12; ++cpu)
      EXPECT_NE(svg.find(before + std::to_string(cpu) + "</text>"), std::string::npos) << cpu;
    if (has_command("python3")) {
      const std::string parse = "python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' " +
                                scratch() + "/" + what + ".svg";
      EXPECT_EQ(std::system(parse.c_str()), 0);
    }
  }
}

// The best barrier by trees gathers along another tree than it releases along, here as on most machines.
TEST(Draw, BothTreesOfABarrier) {
  const std::vector<std::string> best = {"--op", "barrier", "--pattern", "optimised", "--cost-model", "paper"};
  const std::string text = drawn("tree", "both.txt", best);
  const size_t gather = text.find("gather, up the tree"), release = text.find("release, down the tree");
  ASSERT_NE(release, std::string::npos) << text;
  EXPECT_LT(gather, release);
  const std::string svg = draws() ? drawn("tree", "both.svg", best) : "";
  for (int cpu = 0; cpu < 12; ++cpu) {
    const std::string here = "CPU " + std::to_string(cpu), circle = ">" + std::to_string(cpu) + "</text>";
    EXPECT_LT(text.find(here, gather), release);
    EXPECT_NE(text.find(here, release), std::string::npos);
    if (svg.empty()) continue;
    const size_t one = svg.find(circle);
    EXPECT_NE(one, std::string::npos) << cpu;
    EXPECT_NE(svg.find(circle, one + 1), std::string::npos) << cpu;
  }
  EXPECT_NE(drawn("tree", "both.dot", best).find("subgraph cluster_gather {"), std::string::npos);
  if (has_command("dot")) {
    EXPECT_EQ(std::system(("dot -Tsvg " + scratch() + "/both.dot >/dev/null").c_str()), 0);
  }
  std::vector<std::string> tree = {"tree", "--machine", kMachine, "--json"};
  tree.insert(tree.end(), best.begin(), best.end());
  const auto json = smelt(tree).json();
  EXPECT_NE(json["gather"], json["children"]);
  EXPECT_EQ(json["gather"].size(), 12u);
}

TEST(Draw, DotThatGraphvizReads) {
  for (const std::string what : {"tree", "schedule"}) {
    EXPECT_NE(drawn(what, what + ".dot").find("digraph"), std::string::npos);
    if (!has_command("dot")) continue;
    EXPECT_EQ(std::system(("dot -Tsvg " + scratch() + "/" + what + ".dot >/dev/null").c_str()), 0);
  }
}

TEST(Draw, TextIsTheDefault) {
  for (const std::string what : {"matrix", "tree", "schedule", "timeline"}) {
    SCOPED_TRACE(what);
    const std::string file = drawn(what, what + ".txt");
    const Outcome outcome = smelt({"draw", what, "--machine", kMachine});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, file);  // not a terminal: no colours
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
    EXPECT_NE(outcome.out.find("\ndrawn       20"), std::string::npos);
    const Outcome ascii = run({{"draw", what, "--machine", kMachine}, {{"LC_ALL", "C"}}});
    EXPECT_TRUE(std::all_of(ascii.out.begin(), ascii.out.end(), [](char c) { return c > 0; }));
  }
}

TEST(Draw, OptionsAreThoseOfTree) {
  EXPECT_NE(smelt({"draw", "tree", "--machine", kMachine}).out.find("operation   broadcast"), std::string::npos);
  const Outcome reduce = smelt({"draw", "tree", "--machine", kMachine, "--op", "reduce", "--pattern", "binary",
                                "--cpus", "8,2-4,11", "--root", "3", "--cost-model", "paper"});
  EXPECT_NE(reduce.out.find("operation   reduce, root CPU 3"), std::string::npos) << reduce.out;
  EXPECT_NE(reduce.out.find("cost model  paper"), std::string::npos);
  if (!draws()) return;
  const std::string hop = drawn("matrix", "hop.svg", {"--cost", "hop", "--cpus", "0-5"});
  EXPECT_NE(hop.find("from the store until"), std::string::npos);
  EXPECT_EQ(hop.find("CPU 6"), std::string::npos);
}

void expect_refused(std::vector<std::string> arguments, const std::string& says) {
  arguments.insert(arguments.begin(), "draw");
  test::expect_refused(smelt(arguments), says);
}

TEST(Draw, RefusesInOneLine) {
  expect_refused({}, "see 'smelt draw --help'");
  expect_refused({"graph"}, "see 'smelt draw --help'");
  expect_refused({"tree", "-o", "tree.png"}, "must end in .svg, .dot or .txt");
  expect_refused({"matrix", "-o", "m.dot"}, "DOT draws tree and schedule");
  expect_refused({"timeline", "-o", "t.dot"}, "DOT draws tree and schedule");
  expect_refused({"tree", "--machine", kMachine, "--op", "barrier", "--pattern", "dissemination"}, "it is no tree");
  expect_refused({"tree", "--machine", kMachine, "-o", scratch() + "/no/such/folder/x.dot"}, "cannot be written");
  expect_refused({"matrix", "--machine", kMachine, "--cpus", "99"}, "has no CPU 99");
  expect_refused({"matrix", "--cost", "price"}, "see 'smelt draw --help'");
}

TEST(Draw, JsonIsWhatIsDrawn) {
  const auto drawn = [](const char* what) {
    return smelt({"draw", what, "--machine", kMachine, "--op", "barrier", "--pattern", "binary", "--json"}).json();
  };
  const auto matrix = drawn("matrix"), tree = drawn("tree"), schedule = drawn("schedule"), timeline = drawn("timeline");
  const size_t n = matrix["cpus"].size();
  EXPECT_GT(n, 1u);
  for (const char* const kind : {"send", "receive"}) {
    ASSERT_EQ(matrix[kind].size(), n);
    EXPECT_EQ(matrix[kind][0][0], 0);
    EXPECT_GT(matrix[kind][0][1], 0);
  }
  EXPECT_EQ(tree, smelt({"tree", "--machine", kMachine, "--op", "barrier", "--pattern", "binary", "--json"}).json());
  EXPECT_EQ(schedule["predicted"], tree["predicted"]);
  for (const auto& message : schedule["messages"]) EXPECT_LT(message["round"], schedule["rounds"]);
  double end = 0;
  for (const auto& bar : timeline["bars"]) end = std::max(end, bar["end"].get<double>());
  EXPECT_EQ(end, timeline["end"]);
  EXPECT_EQ(timeline["flights"].size(), schedule["messages"].size());
  EXPECT_EQ(smelt({"draw", "tree", "--json", "-o", "x.svg"}).code, 2);
}

// As smelt(1) and every other verb: each option of the help is in the manual page.
TEST(Manual, KnowsEveryOption) {
  const std::string page = expect_manual(from_environment("SMELT_TEST_MANUAL"), {{"tree"}, {"draw"}, {"report"}});
  // A default that is told is the one that is in force.
  const std::string help = smelt({"tree", "--help"}).out, exact = help.substr(help.find("--exact"), 60);
  const std::string limits = exact.substr(exact.find("- ") + 2, exact.find(']') - exact.find("- ") - 2);
  const size_t number = exact.find_first_of("0123456789", exact.find(']'));  // "]=14"; CLI11 2.4 and 2.5: "] [14]"
  const std::string usual = exact.substr(number, exact.find_first_not_of("0123456789", number) - number);
  EXPECT_NE(page.find("up to N participants (" + usual + "; at most " + limits + ")"), std::string::npos) << exact;
}

// smelt finds the program beside itself, and says where it comes from if it does not.
TEST(House, IsFoundBesideSmeltOrTold) {
  EXPECT_NE(smelt({"--help"}).out.find("  draw "), std::string::npos);
  EXPECT_NE(smelt({"help", "report"}).out.find("--measure"), std::string::npos);
  EXPECT_EQ(smelt({"--complete", "draw", "ma"}).out, "matrix\t\n");
  EXPECT_NE(smelt({"repot"}).err.find("did you mean 'report'?"), std::string::npos);

  EXPECT_EQ(alone({"--help"}).out.find("  draw "), std::string::npos);
  for (const auto& words : std::vector<std::vector<std::string>>{{"draw", "matrix"},
                                                                 {"report", "--json"},
                                                                 {"help", "draw"},
                                                                 {"tree", "--list"},
                                                                 {"info", "--machine=zoo:list"},
                                                                 {"info", "--machine", "this"}})
    expect_refused(alone(words), "build Smelt with -Dcli=enabled");
  for (const std::string word : {"--json", "--thresholds"})
    EXPECT_EQ(alone({"info", word}).code, 0) << "this machine is told of by smelt itself";
}

}  // namespace
}  // namespace smelt::test
