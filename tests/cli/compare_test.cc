// smelt compare: one machine, a folder of them, what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "program.h"

namespace smelt::test {
namespace {

using nlohmann::json;

constexpr const char* kMachine = "synthetic:pack:2 l3:2 core:3 pu:1";

double predicted(const json& comparison, const std::string& pattern) {
  for (const json& row : comparison["patterns"])
    if (row["pattern"] == pattern) return row["predicted"];
  ADD_FAILURE() << "no row for " << pattern;
  return 0;
}

TEST(Compare, ShowsEveryPatternAgainstTheCheapestAndTheBound) {
  for (const char* op : {"broadcast", "reduce", "barrier"}) {
    const Outcome outcome = smelt({"compare", "--machine", kMachine, "--op", op, "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const json out = outcome.json();
    EXPECT_EQ(out["op"], op);
    EXPECT_EQ(out["participants"], 12);
    const double best = out["best"], bound = out["bound"];
    EXPECT_GT(bound, 0);
    EXPECT_LE(bound, best * (1 + 1e-6));
    for (const json& row : out["patterns"]) {
      const double here = row["predicted"];
      EXPECT_GE(here, best) << row;
      EXPECT_NEAR(row["ratio"], here / best, 1e-9);
      EXPECT_NEAR(row["gap"], here / bound - 1, 1e-9);
    }
    EXPECT_LE(predicted(out, "optimised"), predicted(out, "adaptive-sorted") * (1 + 1e-6));
    EXPECT_LE(predicted(out, "optimised"), predicted(out, "binomial") * (1 + 1e-6));
    EXPECT_EQ(out["exact"], std::string(op) != "barrier");
    // Beside the patterns of a reduction, what keeps the order; a star here, which cannot be quicker than one that need
    // not.
    const auto named = [](const json& row) { return row["pattern"] == "fixed-order"; };
    EXPECT_EQ(std::count_if(out["patterns"].begin(), out["patterns"].end(), named), std::string(op) == "reduce");
    if (std::string(op) == "reduce") {
      EXPECT_GE(predicted(out, "fixed-order"), predicted(out, "optimised") * (1 - 1e-6));
    }
    const Outcome text = smelt({"compare", "--machine", kMachine, "--op", op});
    for (const json& row : out["patterns"])
      EXPECT_NE(text.out.find(row["pattern"].get<std::string>()), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("lower bound"), std::string::npos);
  }
}

TEST(Compare, TheSearchFindsTheOptimumOrComesNear) {
  const auto optimised = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"compare", "--machine", kMachine, "--op", "reduce", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return predicted(smelt(arguments).json(), "optimised");
  };
  const double exact = optimised({"--exact", "12"}), searched = optimised({"--exact", "0"});
  EXPECT_LE(exact, searched * (1 + 1e-6));
  EXPECT_LE(searched, exact * 1.05);
  EXPECT_EQ(searched, optimised({"--exact", "0"})) << "the same seed, another tree";
}

TEST(Compare, SummarisesAFolder) {
  const std::string folder = scratch() + "/machines";
  std::filesystem::create_directories(folder);
  write_file("machines/a.json", R"({"name": "a", "unit": "ns", "t_send": [[0, 5, 9], [5, 0, 9], [9, 9, 0]],
    "t_receive": [[0, 20, 90], [20, 0, 90], [90, 90, 0]], "numa_node": [0, 0, 1]})");
  write_file("machines/b.json", R"({"name": "b", "unit": "ns", "t_send": [[0, 1], [1, 0]],
    "t_receive": [[0, 2], [2, 0]], "numa_node": [0, 0]})");
  const Outcome outcome =
      smelt({"compare", "--folder", folder, "--op", "broadcast", "--cost-model", "paper", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json out = outcome.json();
  EXPECT_EQ(out["machines"], 2);
  EXPECT_EQ(out["each"].size(), 2u);
  for (const json& row : out["patterns"]) {
    double logarithms = 0;
    for (const json& machine : out["each"])
      logarithms += std::log(predicted(machine, row["pattern"]) / machine["best"].get<double>()) / 2;
    EXPECT_NEAR(row["mean_ratio"], std::exp(logarithms), 1e-9) << row;
    EXPECT_EQ(row["beats_optimised"], 0) << row;
  }
  EXPECT_NE(smelt({"compare", "--folder", folder}).out.find("2 machines"), std::string::npos);
}

TEST(Compare, KnowsTheZoo) {
  const json out = smelt({"compare", "--folder", "zoo", "--op", "broadcast", "--moves", "0", "--json"}).json();
  EXPECT_GE(out["machines"], 15);
  EXPECT_GE(out["gap"]["worst"], out["gap"]["mean"]);
}

TEST(Compare, AnnealingAgainstTheOptimumOfSubsets) {
  for (const char* op : {"broadcast", "reduce"}) {
    const std::vector<std::string> arguments = {"compare", "--folder",  "zoo", "--op",    op,    "--cost-model",
                                                "paper",   "--subsets", "2",   "--sizes", "5-9", "--json"};
    const Outcome outcome = smelt(arguments);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const json out = outcome.json();
    const json &annealing = out["annealing"], &adaptive = out["adaptive-sorted"];
    EXPECT_EQ(out["sets"], 2 * out["machines"].get<int>());
    EXPECT_GE(annealing["mean"], 0);
    EXPECT_LE(annealing["mean"], 0.005);
    EXPECT_LE(annealing["worst"], 0.05);
    EXPECT_GE(annealing["optimal"], out["sets"].get<int>() * 9 / 10);
    EXPECT_GT(adaptive["mean"], annealing["mean"]);
    EXPECT_GE(adaptive["worst"], adaptive["mean"]);
    const auto chosen = adaptive["worst_on"]["cpus"].size();
    EXPECT_TRUE(chosen >= 5 && chosen <= 9) << adaptive;
    EXPECT_EQ(smelt(arguments).out, outcome.out) << "the same seed";
    std::vector<std::string> other = arguments;
    other.insert(other.end(), {"--seed", "2"});
    EXPECT_NE(smelt(other).json()["adaptive-sorted"], adaptive) << "other sets";
  }
  const Outcome text = smelt({"compare", "--machine", kMachine, "--subsets", "3", "--sizes", "8"});
  EXPECT_NE(text.out.find("broadcast among 3 sets of 8 to 8 CPUs"), std::string::npos) << text.out << text.err;
}

// A long search, until SIGINT. How long the program takes to begin is not known: later, if it had not.
Outcome interrupted(const std::vector<std::string>& arguments) {
  Call call{arguments, {}};
  Outcome outcome;
  for (const double after : {0.5, 2.0, 10.0}) {
    call.interrupt_after = after;
    outcome = run(call);
    if (outcome.err.find("interrupted: ") != std::string::npos) break;
  }
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  return outcome;
}

TEST(Interrupt, ShowsTheBestFoundSoFar) {
  const std::vector<std::string> search = {"--machine", "zoo:intel-xeon-e5-2690-2x8x2", "--op", "broadcast", "--moves",
                                           "4000000000"};
  const auto with = [&search](std::vector<std::string> first, std::vector<std::string> last) {
    first.insert(first.end(), search.begin(), search.end());
    first.insert(first.end(), last.begin(), last.end());
    return first;
  };
  const json tree = interrupted(with({"tree"}, {"--pattern", "optimised", "--json"})).json();
  EXPECT_EQ(tree["pattern"], "optimised");
  EXPECT_EQ(tree["children"].size(), 32u);
  EXPECT_NE(interrupted(with({"draw", "tree"}, {"--pattern", "optimised"})).out.find("CPU 31"), std::string::npos);
  const json one = interrupted(with({"compare"}, {"--json"})).json();
  EXPECT_LE(predicted(one, "optimised"), predicted(one, "adaptive-sorted") * (1 + 1e-6));
}

TEST(Interrupt, OfAFolderWhatIsComplete) {
  const std::string folder = scratch() + "/interrupted";
  std::filesystem::create_directories(folder);
  write_file("interrupted/a.json", R"({"name": "a", "unit": "ns", "t_send": [[0, 5, 9], [5, 0, 9], [9, 9, 0]],
    "t_receive": [[0, 20, 90], [20, 0, 90], [90, 90, 0]], "numa_node": [0, 0, 1]})");
  std::filesystem::copy_file(from_environment("SMELT_TEST_ZOO") + "/intel-xeon-e5-2690-2x8x2.json", folder + "/b.json",
                             std::filesystem::copy_options::overwrite_existing);
  const Outcome outcome =
      interrupted({"compare", "--folder", folder, "--op", "reduce", "--moves", "4000000000", "--json"});
  const json out = outcome.json();
  EXPECT_EQ(out["machines"], 1);
  EXPECT_EQ(out["each"][0]["machine"], "a");
  EXPECT_NE(outcome.err.find("1 of 2 machines"), std::string::npos) << outcome.err;
}

TEST(Budget, EndsTheSearch) {
  const Outcome outcome = smelt({"tree", "--machine", "zoo:intel-xeon-e5-2690-2x8x2", "--op", "reduce", "--pattern",
                                 "optimised", "--moves", "4000000000", "--budget", "50", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["children"].size(), 32u);
}

TEST(Compare, RefusesInOneLine) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"compare", "--folder", "/nonexistent"},
                                             {"compare", "--folder", scratch() + "/empty"},
                                             {"compare", "--machine", kMachine, "--root", "99"},
                                             {"compare", "--exact", "17"},
                                             {"compare", "--subsets", "0"},
                                             {"compare", "--subsets", "2", "--sizes", "7-"},
                                             {"compare", "--subsets", "2", "--sizes", "9-17"},
                                             {"compare", "--subsets", "2", "--sizes", "1-8"},
                                             {"compare", "--subsets", "2", "--op", "barrier"},
                                             {"compare", "--subsets", "2", "--cpus", "0-7"},
                                             {"compare", "--subsets", "2", "--sizes", "13", "--machine", kMachine},
                                             {"compare", "--machine", "/nonexistent.json"}}) {
    std::filesystem::create_directories(scratch() + "/empty");
    const Outcome outcome = smelt(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments.back();
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

}  // namespace
}  // namespace smelt::test
