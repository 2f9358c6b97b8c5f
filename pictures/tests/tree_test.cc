// smelt tree: figures, shapes, pictures. The JSON is checked by an interpreter of its own, not by the code that made
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "program.h"

namespace smelt::test {
namespace {

using nlohmann::json;

constexpr const char* kMachine = "synthetic:pack:2 numa:1 l3:2 core:3 pu:1";  // 12 CPUs

json tree_json(std::vector<std::string> more) {
  std::vector<std::string> all = {"tree", "--json"};
  all.insert(all.end(), more.begin(), more.end());
  const Outcome outcome = smelt(all);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return outcome.code == 0 ? outcome.json() : json();
}

std::set<int> keys(const json& object) {
  std::set<int> out;
  for (const auto& [key, value] : object.items()) out.insert(std::stoi(key));
  return out;
}

void expect_spanning(const json& tree, const std::set<int>& cpus) {
  EXPECT_EQ(keys(tree["children"]), cpus);
  std::set<int> reached;
  std::deque<int> queue = {tree["root"].get<int>()};
  while (!queue.empty()) {
    const int cpu = queue.front();
    queue.pop_front();
    ASSERT_TRUE(reached.insert(cpu).second) << "CPU " << cpu << " is reached twice";
    for (const json& child : tree["children"][std::to_string(cpu)]) queue.push_back(child);
  }
  EXPECT_EQ(reached, cpus);
}

// Runs the programs: the k-th signal of p to q is what the k-th wait of q for p waits for. At the end nothing may be
// left, and everybody must have heard of everybody, counting only what the sender knew when it sent.
void expect_barrier(const json& programs, const std::set<int>& cpus) {
  ASSERT_EQ(keys(programs), cpus);
  std::map<std::pair<int, int>, std::deque<std::set<int>>> in_flight;
  std::map<int, std::set<int>> heard;
  std::map<int, size_t> at, within;
  for (const int cpu : cpus) heard[cpu] = {cpu};
  for (bool moved = true; moved;) {
    moved = false;
    for (const int cpu : cpus) {
      const json& program = programs[std::to_string(cpu)];
      while (at[cpu] < program.size()) {
        const json& step = program[at[cpu]];
        const bool signals = step.contains("signal"), shared = step.contains("shared_line");
        ASSERT_EQ(step.size(), shared ? 2u : 1u);
        ASSERT_TRUE(!shared || (signals && step["shared_line"] == true && step["signal"].size() >= 2)) << step;
        const json& peers = signals ? step["signal"] : step["wait"];
        ASSERT_TRUE(peers.is_array() && !peers.empty());
        if (within[cpu] == peers.size()) {
          ++at[cpu];
          within[cpu] = 0;
          continue;
        }
        const int peer = peers[within[cpu]];
        if (signals) {
          in_flight[{cpu, peer}].push_back(heard[cpu]);
        } else {
          auto& line = in_flight[{peer, cpu}];
          if (line.empty()) break;
          heard[cpu].insert(line.front().begin(), line.front().end());
          line.pop_front();
        }
        ++within[cpu];
        moved = true;
      }
    }
  }
  for (const int cpu : cpus) {
    EXPECT_EQ(at[cpu], programs[std::to_string(cpu)].size()) << "CPU " << cpu << " waits for ever";
    EXPECT_EQ(heard[cpu], cpus) << "CPU " << cpu;
  }
  for (const auto& [pair, line] : in_flight) EXPECT_TRUE(line.empty()) << pair.first << " to " << pair.second;
}

std::set<int> numbers(int n) {
  std::set<int> out;
  for (int i = 0; i < n; ++i) out.insert(i);
  return out;
}

TEST(Tree, EveryPatternTimesOperationHasItsShape) {
  const json patterns = smelt({"tree", "--list", "--json"}).json();
  ASSERT_GE(patterns.size(), 10u);
  for (const json& row : patterns)
    for (const std::string op : {"broadcast", "reduce", "barrier"})
      for (const std::string model : {"overlap", "paper"}) {
        const std::string name = row["name"];
        const bool is_tree = row["kind"] == "tree";
        if (!is_tree && op != "barrier") continue;
        SCOPED_TRACE(name + " " + op + " " + model);
        const int n = name == "pair" ? 2 : 12;
        const json out = tree_json({"--machine", kMachine, "--op", op, "--pattern", name, "--cost-model", model,
                                    "--cpus", "0-" + std::to_string(n - 1)});
        EXPECT_EQ(out["op"], op);
        EXPECT_EQ(out["cost_model"], model);
        EXPECT_EQ(out["unit"], "ns");
        EXPECT_EQ(out["requested"], name);
        EXPECT_TRUE(out["pattern"].get<std::string>().starts_with(name));
        EXPECT_TRUE(out["machine"].is_string());
        EXPECT_GT(out["predicted"].get<double>(), 0);
        EXPECT_EQ(out.contains("root"), is_tree);
        EXPECT_EQ(out.contains("children"), is_tree);
        const bool lines = name == "line" || name == "relay";
        EXPECT_EQ(out.contains("programs"), op == "barrier" || (lines && op == "broadcast"));
        if (is_tree) expect_spanning(out, numbers(n));
        if (op == "barrier") expect_barrier(out["programs"], numbers(n));
      }
}

TEST(Tree, BestIsNoDearerThanAnyPattern) {
  for (const std::string op : {"broadcast", "reduce", "barrier"}) {
    const json best = tree_json({"--machine", kMachine, "--op", op});
    EXPECT_EQ(best["requested"], "best");
    EXPECT_NE(best["pattern"], "best");
    for (const json& row : smelt({"tree", "--list", "--json"}).json()) {
      if (row["name"] == "pair" || (row["kind"] != "tree" && op != "barrier")) continue;
      const json one = tree_json({"--machine", kMachine, "--op", op, "--pattern", row["name"]});
      EXPECT_LE(best["predicted"].get<double>(), one["predicted"].get<double>() * (1 + 1e-9)) << row["name"];
    }
  }
}

TEST(Tree, SubsetsRootsAndSmallGroups) {
  const json subset =
      tree_json({"--machine", kMachine, "--op", "broadcast", "--pattern", "binary", "--cpus", "8,2-4,11"});
  expect_spanning(subset, {2, 3, 4, 8, 11});
  EXPECT_EQ(subset["root"], 8);  // participant 0 is the first one named
  const json rooted = tree_json({"--machine", kMachine, "--op", "reduce", "--pattern", "adaptive", "--root", "7"});
  EXPECT_EQ(rooted["root"], 7);
  expect_spanning(rooted, numbers(12));
  const json one = tree_json({"--machine", kMachine, "--cpus", "5"});
  expect_barrier(one["programs"], {5});
  EXPECT_EQ(one["predicted"], 0.0);
  const json two = tree_json({"--machine", kMachine, "--cpus", "5,9"});
  expect_barrier(two["programs"], {5, 9});
}

TEST(Tree, LargestMachine) {
  for (const char* pattern : {"adaptive-sorted", "dissemination:3", "hybrid"}) {
    const json out = tree_json({"--machine", "synthetic:pack:4 l3:4 core:16 pu:4", "--pattern", pattern});
    EXPECT_EQ(out["programs"].size(), 1024u) << pattern;
  }
}

TEST(Tree, ThisMachineUsesTheAllowedCpus) {
  const Outcome outcome = smelt({"tree", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json info = smelt({"info", "--json"}).json();
  std::set<int> allowed;
  for (const json& cpu : info["allowed_cpus"]) allowed.insert(cpu.get<int>());
  expect_barrier(outcome.json()["programs"], allowed);
}

// The text picture names every CPU once, below its parent, and stays narrow however deep the tree is.
TEST(Tree, TextPicture) {
  for (const std::string pattern :
       {"binary", "knomial:1", "bad", "sequential", "adaptive", "all-to-all", "dissemination", "hybrid"}) {
    const Outcome outcome = smelt({"tree", "--machine", "synthetic:pack:4 l3:4 core:16 pu:1", "--pattern", pattern});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    size_t longest = 0, lines = 0;
    std::istringstream text(outcome.out);
    std::map<std::string, std::string> header;
    for (std::string line; std::getline(text, line); ++lines) {
      longest = std::max<size_t>(longest, static_cast<size_t>(std::count_if(
                                              line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; })));
      if (lines < 7 && line.size() > 12) header[line.substr(0, line.find(' '))] = line.substr(12);
    }
    EXPECT_LE(longest, 130u) << pattern;
    EXPECT_LE(lines, 700u) << pattern;
    EXPECT_EQ(header["operation"].substr(0, 7), "barrier");
    EXPECT_EQ(header["pattern"].substr(0, pattern.size()), pattern);
    EXPECT_NE(header["predicted"].find(" ns"), std::string::npos);
  }
  const Outcome drawn =
      smelt({"tree", "--machine", "synthetic:pack:1 core:4 pu:1", "--op", "broadcast", "--pattern", "binary"});
  EXPECT_NE(drawn.out.find("├─ CPU 1"), std::string::npos) << drawn.out;
  EXPECT_NE(drawn.out.find("│  ╰> CPU 3"), std::string::npos) << drawn.out;
  EXPECT_NE(drawn.out.find("└─ CPU 2"), std::string::npos) << drawn.out;
  EXPECT_EQ(drawn.out.find("\x1b"), std::string::npos);
  // A terminal without UTF-8 gets ASCII.
  const Outcome ascii = run({{"tree", "--machine", kMachine}, {{"LC_ALL", "C"}}});
  EXPECT_TRUE(std::all_of(ascii.out.begin(), ascii.out.end(), [](char c) { return c > 0; })) << ascii.out;
}

TEST(Tree, DotIsAcceptedByGraphviz) {
  for (const std::string pattern : {"cluster", "dissemination:2", "hybrid"}) {
    const Outcome outcome = smelt({"tree", "--machine", kMachine, "--pattern", pattern, "--format", "dot"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(outcome.out.starts_with("digraph"));
    EXPECT_NE(outcome.out.find("subgraph cluster_"), std::string::npos);
    if (std::system("command -v dot >/dev/null 2>&1") != 0) continue;
    const std::string file = write_file("tree.dot", outcome.out);
    EXPECT_EQ(std::system(("dot -Tsvg " + file + " -o " + scratch() + "/tree.svg").c_str()), 0) << outcome.out;
  }
  // A name with quotes must not end the label.
  const std::string quoted =
      write_file("quoted.json",
                 R"({"name":"a\"b\\","unit":"ns","numa_node":[0,0],"t_send":[[0,1],[1,0]],"t_receive":[[0,1],[1,0]]})");
  const Outcome outcome = smelt({"tree", "--machine", quoted, "--format", "dot"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  if (std::system("command -v dot >/dev/null 2>&1") == 0) {
    EXPECT_EQ(std::system(("dot -Tsvg " + write_file("quoted.dot", outcome.out) + " -o /dev/null").c_str()), 0)
        << outcome.out;
  }
}

// What a matrix file measured is t_send and t_receive; the overlapping costs are shares of them, and nobody measured
// those.
TEST(Tree, DerivedCostsDoNotSayMeasured) {
  const std::string file =
      write_file("measured.json", R"({"name":"m","kind":"measured","source":"a bench","unit":"ns",)"
                                  R"("t_send":[[0,1],[1,0]],"t_receive":[[0,9],[9,0]]})");
  for (const char* verb : {"tree", "timeline", "matrix"}) {
    std::vector<std::string> words = {"draw", verb, "--machine", file};
    if (std::string(verb) == "tree") words = {"tree", "--machine", file};
    const std::string overlap = smelt(words).out;
    EXPECT_NE(overlap.find("costs       derived from t_send and t_receive (measured: a bench)"), std::string::npos)
        << overlap;
    words.insert(words.end(), {"--cost-model", "paper"});
    const std::string paper = smelt(words).out;
    EXPECT_NE(paper.find("costs       measured: a bench"), std::string::npos) << paper;
  }
  EXPECT_EQ(smelt({"info", "--json", "--machine", file}).json()["origin"],
            "derived from t_send and t_receive (measured: a bench)");
}

// The paper's own machine. The figures come from an independent implementation of its cost model (additive; a parent
// serves arrived messages one at a time); their fractions are cut off.
class PaperMachine : public ::testing::Test {
 protected:
  void SetUp() override {
    if (from_environment("SMELT_TEST_MACHINES").empty()) GTEST_SKIP() << "no machine matrices here";
    file_ = from_environment("SMELT_TEST_MACHINES") + "/smelt_ivybridge_2x10.json";
  }
  json plan(const std::string& op, const std::string& pattern) {
    return tree_json({"--machine", file_, "--op", op, "--pattern", pattern, "--cost-model", "paper"});
  }
  std::string file_;
};

TEST_F(PaperMachine, Figures) {
  const struct {
    const char* pattern;
    double broadcast, reduce;
  } expected[] = {{"binary", 2071, 2474},     {"cluster", 1757, 2937}, {"bad", 7311, 6073},
                  {"sequential", 3397, 8655}, {"mst", 2377, 2396},     {"fibonacci", 2121, 2298},
                  {"adaptive", 1426, 2385}};
  for (const auto& row : expected) {
    const json broadcast = plan("broadcast", row.pattern), reduce = plan("reduce", row.pattern);
    EXPECT_EQ(broadcast["unit"], "cycles");
    EXPECT_EQ(std::floor(broadcast["predicted"].get<double>()), row.broadcast) << row.pattern;
    EXPECT_EQ(std::floor(reduce["predicted"].get<double>()), row.reduce) << row.pattern;
  }
  EXPECT_LE(plan("broadcast", "adaptive-sorted")["predicted"].get<double>(), 1387);
}

// avail(v_k) = avail(p) + sum of t_send(p, v_i), i <= k, + t_receive(p, v_k), over the printed tree.
TEST_F(PaperMachine, PrintedTreeHasThePrintedPrice) {
  const json machine = json::parse(read_file(file_));
  for (const json& row : smelt({"tree", "--list", "--json"}).json()) {
    // The paper has no line that several poll.
    if (row["kind"] != "tree" || row["name"] == "line" || row["name"] == "relay") continue;
    const json out = plan("broadcast", row["name"]);
    double makespan = 0;
    std::deque<std::pair<size_t, double>> queue = {{out["root"].get<size_t>(), 0.0}};
    while (!queue.empty()) {
      auto [parent, now] = queue.front();
      queue.pop_front();
      for (const json& child : out["children"][std::to_string(parent)]) {
        const auto c = child.get<size_t>();
        now += machine["t_send"][parent][c].get<double>();
        const double arrival = now + machine["t_receive"][parent][c].get<double>();
        makespan = std::max(makespan, arrival);
        queue.emplace_back(c, arrival);
      }
    }
    EXPECT_NEAR(out["predicted"].get<double>(), makespan, makespan * 1e-5) << row["name"];
  }
}

TEST_F(PaperMachine, BestBarrierBeatsThePapersTree) {
  EXPECT_LT(plan("barrier", "best")["predicted"].get<double>(),
            plan("barrier", "adaptive-sorted")["predicted"].get<double>());
}

}  // namespace
}  // namespace smelt::test
