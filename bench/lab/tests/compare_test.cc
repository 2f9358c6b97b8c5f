// smelt compare: one machine, a folder of them, what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "program.h"

// Documents have seven digits.
#define EXPECT_TOLD(told, exact) EXPECT_NEAR(told, exact, 2e-6 * std::max(1.0, std::abs(double{exact})))

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
      EXPECT_TOLD(row["ratio"], here / best);
      EXPECT_TOLD(row["gap"], here / bound - 1);
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
    EXPECT_TOLD(row["mean_ratio"], std::exp(logarithms)) << row;
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

// tests/data/measured.json is made up so that the paper's model gives figures that can be had in the head: a send takes
// 40, a receive 60.
TEST(Measured, OrderErrorAndChoiceAreThoseOfTheFile) {
  const Outcome outcome = smelt({"compare", "--measured", from_environment("SMELT_TEST_MEASURED"), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json out = outcome.json();
  EXPECT_EQ(out["sets"].size(), 6u) << "three operations, two models";
  struct Expected {
    const char* operation;
    std::map<std::string, double> predicted;
    double spearman, chosen_over_best;
    const char* chosen;
  };
  const Expected all[] = {
      // Ranks of pair, star, binomial, chain: 1 2 3 4 by the model, 4 3 1 2 measured.
      {"broadcast", {{"pair", 100}, {"star", 180}, {"binomial", 200}, {"chain", 300}}, -0.8, 800.0 / 200, "pair"},
      {"reduce", {{"star", 220}, {"chain", 300}}, 1, 1, "star"},
      {"agreement", {{"star", 500}, {"chain", 900}}, -1, 500.0 / 450, "star"}};
  double logarithms = 0;
  for (const Expected& expected : all) {
    const auto is_it = [&](const json& set) {
      return set["operation"] == expected.operation && set["model"] == "paper";
    };
    const auto found = std::find_if(out["sets"].begin(), out["sets"].end(), is_it);
    ASSERT_NE(found, out["sets"].end()) << expected.operation;
    const json& set = *found;
    EXPECT_EQ(set["name"], "made up");
    EXPECT_TOLD(set["spearman"], expected.spearman);
    EXPECT_TOLD(set["chosen_over_best"], expected.chosen_over_best);
    EXPECT_EQ(set["chosen"], expected.chosen);
    double scale = 1, error = 0;
    for (const json& row : set["patterns"]) {
      EXPECT_TOLD(row["predicted"], expected.predicted.at(row["tree"])) << row;
      scale *= std::pow(row["measured"].get<double>() / row["predicted"].get<double>(), 1.0 / set["patterns"].size());
    }
    for (const json& row : set["patterns"]) {
      const double measured = row["measured"], scaled = scale * row["predicted"].get<double>();
      error += std::abs(scaled - measured) / measured / static_cast<double>(set["patterns"].size());
    }
    EXPECT_EQ(set["patterns"].size(), expected.predicted.size());
    EXPECT_TOLD(set["scale"], scale);
    EXPECT_TOLD(set["error"], error);
    logarithms += std::log(expected.chosen_over_best) / std::size(all);
  }
  const json& paper = out["models"][1];
  EXPECT_EQ(paper["model"], "paper");
  EXPECT_TOLD(paper["spearman"], (-0.8 + 1 - 1) / 3);
  EXPECT_TOLD(paper["chosen_over_best"], std::exp(logarithms));
  EXPECT_TOLD(paper["worst_chosen_over_best"], 4);
}

TEST(Measured, SeveralFilesAndATable) {
  const std::string path = from_environment("SMELT_TEST_MEASURED");
  EXPECT_EQ(smelt({"compare", "--json", "--measured", path, path}).json()["sets"].size(), 12u);
  const std::string text = smelt({"compare", "--measured", path}).out;
  for (const char* word : {"made up", "agreement", "overlap", "paper", "-0.80", "all 3 sets", "worst 4.00"})
    EXPECT_NE(text.find(word), std::string::npos) << word << '\n' << text;
}

TEST(Measured, RefusesWhatIsNoMeasurement) {
  const json good = json::parse(read_file(from_environment("SMELT_TEST_MEASURED")));
  const auto changed = [&](const std::function<void(json&)>& change) {
    json bad = good;
    change(bad);
    return smelt({"compare", "--measured", write_file("bad_measured.json", bad.dump())});
  };
  const std::function<void(json&)> changes[] = {
      [](json& file) { file.erase("measured"); },
      [](json& file) { file.erase("t_send"); },
      [](json& file) { file["measured"] = json::array(); },
      [](json& file) { file["measured"].erase(4); },  // one reduction is left: no order
      [](json& file) { file["measured"][0]["operation"] = "gossip"; },
      [](json& file) { file["measured"][0]["root"] = 4; },
      [](json& file) { file["measured"][0]["time"] = 0; },
      [](json& file) {
        file["measured"][0]["children"] = {{1}, {2}, {3}};
      },
      [](json& file) { file["measured"][0]["children"][1] = {3}; },  // has a parent already
      [](json& file) { file["measured"][0]["children"][3] = {0}; },  // a ring
      [](json& file) { file["measured"][0]["children"][1] = {4}; }};
  for (size_t k = 0; k < std::size(changes); ++k) {
    const Outcome outcome = changed(changes[k]);
    EXPECT_EQ(outcome.code, 2) << "change " << k;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << k << outcome.err;
    EXPECT_EQ(outcome.out, "") << k;
  }
  EXPECT_EQ(changed([](json&) {}).code, 0) << "the file as it is";
}

// The published tables name patterns, not trees: priced on a machine of the zoo, or of somebody's file.
TEST(Measured, OfAPaperAreNamedPatternsOnAnyMachine) {
  const std::string table = R"({"name": "a table", "source": "made up", "machine": "zoo:intel-xeon-e5-2690-2x8x2",)";
  const std::string rows = R"("measured": [
    {"operation": "barrier", "cpus": "0,2,16,18", "pattern": "dissemination:1", "name": "butterfly", "time": 10},
    {"operation": "barrier", "cpus": "0,2,16,18", "pattern": "knomial:1", "time": 30},
    {"operation": "barrier", "loop": true, "cpus": "0,2,16,18", "pattern": "dissemination:1", "name": "butterfly",
     "time": 10},
    {"operation": "barrier", "loop": true, "cpus": "0,2,16,18", "pattern": "knomial:1", "time": 20},
    {"operation": "reduce", "pattern": "binomial", "time": 9},
    {"operation": "reduce", "pattern": "sequential", "time": 4}]})";
  const std::string own = write_file("own.json", table + rows);
  const std::string other = write_file("other.json", table + R"("stand_in": "costs of another",)" + rows);
  const json out = smelt({"compare", "--json", "--measured", own}).json();
  ASSERT_EQ(out["sets"].size(), 6u) << "barriers alone and in a loop, reductions; two models";
  const auto price = [](const char* op, const char* pattern, const char* cpus, const char* model) {
    return smelt({"tree", "--json", "--machine", "zoo:intel-xeon-e5-2690-2x8x2", "--op", op, "--pattern", pattern,
                  "--cpus", cpus, "--cost-model", model, "--moves", "0"})
        .json();
  };
  for (const json& set : out["sets"]) {
    const bool loop = set["loop"], reduce = set["operation"] == "reduce";
    const std::string model = set["model"];
    EXPECT_EQ(set["patterns"].size(), 2u);
    EXPECT_EQ(set["cpus"], reduce ? "" : "0,2,16,18");
    EXPECT_EQ(set["patterns"][0]["tree"], reduce ? "binomial" : "butterfly");
    if (!reduce) {
      EXPECT_EQ(set["spearman"], 1) << set;
    }
    const json one = reduce ? price("reduce", "binomial", "0-31", model.c_str())
                            : price("barrier", "dissemination:1", "0,2,16,18", model.c_str());
    EXPECT_EQ(set["patterns"][0]["predicted"], one[loop ? "predicted_in_a_loop" : "predicted"]) << set;
  }
  EXPECT_EQ(out["models"][0]["sets"], 3);
  // What has another machine's costs is shown and does not count.
  const json both = smelt({"compare", "--json", "--measured", own, other}).json();
  EXPECT_EQ(both["sets"].size(), 12u);
  EXPECT_EQ(both["models"], out["models"]);
  EXPECT_TRUE(smelt({"compare", "--json", "--measured", other}).json()["models"].empty());
  const std::string text = smelt({"compare", "--measured", other}).out;
  for (const char* word : {"a table /4 *", "a table *", "* a table: costs of another; not in the mean."})
    EXPECT_NE(text.find(word), std::string::npos) << word << '\n' << text;
  EXPECT_EQ(text.find("all "), std::string::npos) << text;
}

// Broadcasts by shared lines, on two sockets of 24: figures of the study that core/cli/broadcast_table.cc names.
constexpr const char* kBroadcasts = R"({"name": "csx48", "cpu": "Cascade Lake", "sockets": 2, "cores_per_socket": 24,
  "unit": "us", "rows": [
    {"configuration": "flat", "ranks": 2, "bytes": 8, "avg_us": 0.26},
    {"configuration": "flat", "ranks": 24, "bytes": 8, "avg_us": 0.21},
    {"configuration": "flat", "ranks": 25, "bytes": 8, "avg_us": 0.81},
    {"configuration": "flat", "ranks": 48, "bytes": 8, "avg_us": 0.72},
    {"configuration": "dual", "ranks": 48, "bytes": 8, "avg_us": 0.48},
    {"configuration": "wait,16K,relaxed", "ranks": 48, "bytes": 8, "avg_us": 0.87},
    {"configuration": "of another kind", "ranks": 48, "bytes": 8, "avg_us": 1},
    {"configuration": "flat", "ranks": 48, "bytes": 1048576, "avg_us": 207},
    {"configuration": "clwb", "ranks": 48, "bytes": 1048576, "avg_us": 347},
    {"configuration": "opt4,8K,wait", "ranks": 48, "bytes": 1048576, "avg_us": 168}]})";

TEST(Measured, BroadcastsByLinesAreOrderedAndCrossTheSocket) {
  const std::string path = write_file("broadcasts.json", kBroadcasts);
  const json out = smelt({"compare", "--json", "--measured", path}).json();
  ASSERT_EQ(out["broadcasts"].size(), 1u);
  const json& table = out["broadcasts"][0];
  EXPECT_NE(table["machine"].get<std::string>().find("Cascade Lake"), std::string::npos) << table["machine"];
  EXPECT_EQ(table["not_priced"], json({"of another kind"}));
  ASSERT_EQ(table["sizes"].size(), 2u);
  const json& short_one = table["sizes"][0];
  // What the model is for: flat inside a socket, and a step of nearly four with the first reader on the other one.
  for (const char* name : {"growth", "step", "beyond"}) EXPECT_EQ(short_one[name]["within"], true) << short_one[name];
  EXPECT_TOLD(short_one["step"]["measured"], 0.81 / 0.21);
  EXPECT_GT(short_one["step"]["predicted"], 3);
  EXPECT_EQ(short_one["spearman"], 1) << short_one;
  EXPECT_EQ(table["sizes"][1]["spearman"], 1) << table["sizes"][1];
  EXPECT_FALSE(table["sizes"][1].contains("step"));
  // Two ranks are what the cost of a call is taken from.
  EXPECT_GT(table["call"], 0);
  const std::string text = smelt({"compare", "--measured", path}).out;
  for (const char* word : {"csx48", "Cascade Lake", "step: within 25 % at 1 of 1 sizes", "not priced: of another kind"})
    EXPECT_NE(text.find(word), std::string::npos) << word << '\n' << text;
  // The costs of another machine.
  const json other =
      smelt({"compare", "--json", "--machine", "zoo:intel-xeon-8375c-2x32x2", "--measured", path}).json();
  EXPECT_NE(other["broadcasts"][0]["machine"].get<std::string>().find("8375C"), std::string::npos);
}

// A flag and a buffer for each side are worth it where the buffer takes the message, and not where it does not: the
// root writes twice.
TEST(Measured, WritingForEachSideIsNotFree) {
  json file = json::parse(kBroadcasts);
  // Two ranks at 1 KiB tell what it costs to show the root's own memory.
  file["rows"].push_back({{"configuration", "flat"}, {"ranks", 2}, {"bytes", 1024}, {"avg_us", 0.42}});
  for (const auto& [configuration, us] : {std::pair("flat", 0.84), {"dual", 0.715}, {"opt4,8K,wait", 1.0}})
    file["rows"].push_back({{"configuration", configuration}, {"ranks", 48}, {"bytes", 256}, {"avg_us", us}});
  const json out = smelt({"compare", "--json", "--measured", write_file("both_sides.json", file.dump())}).json();
  const json& sizes = out["broadcasts"][0]["sizes"];
  const auto size = std::find_if(sizes.begin(), sizes.end(), [](const json& one) { return one["bytes"] == 256; });
  ASSERT_NE(size, sizes.end());
  EXPECT_EQ((*size)["spearman"], 1) << *size;
}

// Long messages: the order in which the two sides read a line decides.
TEST(Measured, LongBroadcastsAreCheaperWhereTheNearSideReadsFirst) {
  json file = json::parse(kBroadcasts);
  file["rows"] = json::array();
  const auto add = [&](const char* configuration, int ranks, int bytes) {
    file["rows"].push_back({{"configuration", configuration}, {"ranks", ranks}, {"bytes", bytes}, {"avg_us", 1}});
  };
  const std::vector<const char*> at_48 = {
      "flat",           "clwb", "wait,2K,relaxed", "wait,8K,relaxed", "wait,2K,strict",
      "wait,8K,strict", "dual", "opt4,8K,no-wait", "opt4,8K,wait"};
  for (const int bytes : {4096, 262144})
    for (const char* configuration : at_48) add(configuration, 48, bytes);
  for (const int ranks : {24, 25}) add("flat", ranks, 262144);
  const json out = smelt({"compare", "--json", "--measured", write_file("long_broadcasts.json", file.dump())}).json();
  const auto price = [&](size_t size, const std::string& configuration) {
    for (const json& row : out["broadcasts"][0]["sizes"][size]["configurations"])
      if (row["configuration"] == configuration) return row["predicted"].get<double>();
    ADD_FAILURE() << configuration << '\n' << out;
    return 0.0;
  };
  // A lead of two pages keeps the near readers at their pace. A shorter one helps less; telling of each chunk costs.
  EXPECT_LT(price(1, "wait,8K,relaxed"), 0.95 * price(1, "flat"));
  EXPECT_GT(price(1, "wait,2K,relaxed"), price(1, "wait,8K,relaxed"));
  EXPECT_GT(price(1, "wait,8K,strict"), price(1, "wait,8K,relaxed"));
  EXPECT_GT(price(1, "clwb"), price(1, "wait,8K,strict"));
  // With each of the 128 chunks that they wait for, far readers' reads begin anew: a ready read for half of all.
  EXPECT_GT(price(1, "wait,2K,strict") - price(1, "wait,2K,relaxed"), 128 * 160);
  // The far side first: the near ones catch up with it, and stay with it. Not where all read in turn in any case.
  EXPECT_GT(price(1, "dual"), 1.1 * price(1, "opt4,8K,no-wait"));
  EXPECT_EQ(price(0, "dual"), price(0, "opt4,8K,no-wait"));
  // Messages shorter than a chunk do not wait.
  EXPECT_EQ(price(0, "opt4,8K,wait"), price(0, "opt4,8K,no-wait"));
  EXPECT_LT(price(1, "opt4,8K,wait"), price(1, "opt4,8K,no-wait"));
  // One far reader takes each line from the near ones; two and more share it.
  const json& growth = out["broadcasts"][0]["sizes"][1];
  EXPECT_GT(growth["step"]["predicted"], 1.9);
  EXPECT_LT(growth["beyond"]["predicted"], 0.9);
}

TEST(Measured, BroadcastTablesRefuseWhatIsNone) {
  const auto changed = [](auto change, std::vector<std::string> more = {}) {
    json file = json::parse(kBroadcasts);
    change(file);
    std::vector<std::string> words = {"compare"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--measured", write_file("bad_broadcasts.json", file.dump())});
    return smelt(words);
  };
  for (const auto& change : std::vector<void (*)(json&)>{
           [](json& file) { file["unit"] = "ns"; }, [](json& file) { file["sockets"] = 1; },
           [](json& file) { file["sockets"] = 100; }, [](json& file) { file["cores_per_socket"] = 500; },
           [](json& file) { file["rows"] = 1; }, [](json& file) { file["rows"][0]["ranks"] = 49; },
           [](json& file) { file["rows"][0]["bytes"] = 0; }, [](json& file) { file["rows"][0]["avg_us"] = -1; }}) {
    const Outcome outcome = changed(change);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  const auto nothing = [](json&) {};
  EXPECT_EQ(changed(nothing).code, 0);
  EXPECT_EQ(changed(nothing, {"--machine", "zoo:intel-xeon-e5-2690-2x8x2"}).code, 2) << "too few cores";
  EXPECT_EQ(smelt({"compare", "--machine", "zoo:intel-xeon-e5-2690-2x8x2", "--measured",
                   from_environment("SMELT_TEST_MEASURED")})
                .code,
            2)
      << "that file has costs of its own";
}

TEST(Measured, OfAPaperRefusesWhatCannotBePriced) {
  const auto with = [](const std::string& row, const std::string& machine = "zoo:intel-xeon-e5-2690-2x8x2") {
    return smelt(
        {"compare", "--measured",
         write_file("bad_table.json", R"({"name": "t", "machine": ")" + machine + R"(", "measured": [)" + row +
                                          R"(, {"operation": "barrier", "pattern": "binomial", "time": 1}]})")});
  };
  const std::string good = R"({"operation": "barrier", "pattern": "cluster", "time": 2})";
  EXPECT_EQ(with(good).code, 0) << with(good).err;
  for (const Outcome& outcome :
       {with(good, "zoo:none"), with(R"({"operation": "barrier", "pattern": "none", "time": 2})"),
        with(R"({"operation": "agreement", "pattern": "cluster", "time": 2})"),
        with(R"({"operation": "reduce", "pattern": "cluster", "loop": true, "time": 2})"),
        with(R"({"operation": "barrier", "pattern": "cluster", "loop": 1, "time": 2})"),
        with(R"({"operation": "barrier", "pattern": "cluster", "cpus": "0,99", "time": 2})"),
        with(R"({"operation": "barrier", "pattern": "cluster", "cpus": "0-3", "time": 2})"),  // alone on those
        with(R"({"operation": "barrier", "pattern": "cluster", "time": 0})")}) {
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

std::vector<std::string> published_tables() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(from_environment("SMELT_TEST_PUBLISHED")))
    out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Measured, PublishedTablesAreReadAndSaySources) {
  std::vector<std::string> arguments = {"compare", "--json", "--measured"};
  for (const std::string& path : published_tables()) {
    EXPECT_FALSE(json::parse(read_file(path))["source"].get<std::string>().empty()) << path;
    arguments.push_back(path);
  }
  const Outcome outcome = smelt(arguments);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_GE(outcome.json()["sets"].size(), 14u);
}

// Four sockets of eight cores and two threads, cut out of the zoo's four of ten, with the costs of those. The table's
// two such machines agree on the order; its third, of another shape, has another, and trees are not first there.
TEST(Measured, DisseminationAndTreeStandAsOnFourSocketsOfEight) {
  size_t compared = 0;
  for (const std::string& path : published_tables()) {
    const json table = json::parse(read_file(path));
    if (table["name"] != "OSDI'16 SB 4x8x2" && table["name"] != "OSDI'16 NL 4x8x2") continue;
    std::map<std::string, std::map<std::string, double>> measured;  // by CPUs, by pattern
    for (const json& row : table["measured"]) measured[row["cpus"]][row["pattern"]] = row["time"];
    for (const auto& [cpus, times] : measured) {
      const std::vector<std::string> on = {"--machine", table["machine"], "--cpus", cpus,    "--op",
                                           "barrier",   "--moves",        "0",      "--json"};
      std::vector<std::string> arguments = {"compare"};
      arguments.insert(arguments.end(), on.begin(), on.end());
      const Outcome outcome = smelt(arguments);
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      const json out = outcome.json();
      const bool tree_first = times.at("adaptive-sorted") < times.at("dissemination:1");
      EXPECT_EQ(predicted(out, "adaptive-sorted") < predicted(out, "dissemination:1"), tree_first) << path << cpus;
      EXPECT_EQ(predicted(out, "optimised") < predicted(out, "dissemination:1"), tree_first) << path << cpus;
      // Nobody timed all-to-all there; that it wins would take parallelism that nobody has measured.
      arguments[0] = "tree";
      EXPECT_NE(smelt(arguments).json()["pattern"], "all-to-all") << path << cpus;
      EXPECT_GT(predicted(out, "all-to-all"), out["best"]) << path << cpus;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 4u);
}

TEST(Compare, RefusesInOneLine) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"compare", "--folder", "/nonexistent"},
           {"compare", "--folder", scratch() + "/empty"},
           {"compare", "--machine", kMachine, "--root", "99"},
           {"compare", "--exact", "17"},
           {"compare", "--machine", kMachine, "--budget", "nan"},
           {"compare", "--subsets", "0"},
           {"compare", "--subsets", "2", "--sizes", "7-"},
           {"compare", "--subsets", "2", "--sizes", "9-17"},
           {"compare", "--subsets", "2", "--sizes", "1-8"},
           {"compare", "--subsets", "2", "--op", "barrier"},
           {"compare", "--subsets", "2", "--cpus", "0-7"},
           {"compare", "--subsets", "2", "--sizes", "13", "--machine", kMachine},
           {"compare", "--measured", "/nonexistent.json"},
           {"compare", "--measured", from_environment("SMELT_TEST_MEASURED"), "--machine", "this"},
           {"compare", "--machine", "/nonexistent.json"}}) {
    std::filesystem::create_directories(scratch() + "/empty");
    const Outcome outcome = smelt(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments.back();
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

// Nothing is timed without a measured profile of the machine that this is: the refusal names the file, or the way out.
TEST(Live, NeedsAProfileOfThisMachine) {
  EXPECT_EQ(run({{"compare", "--live"}, {{"HWLOC_SYNTHETIC", "pack:1 core:2 pu:1"}}}).code, 2);
  const std::string none = scratch() + "/none.profile";
  const Outcome named = run({{"compare", "--live"}, {{"SMELT_PROFILE", none}}});
  EXPECT_EQ(named.code, 2);
  EXPECT_NE(named.err.find(none), std::string::npos) << named.err;
  EXPECT_NE(named.err.find("unset"), std::string::npos) << named.err;
}

// As smelt(1) and every other verb: each option of the help is in the manual page.
TEST(Manual, KnowsEveryOption) {
  expect_manual(from_environment("SMELT_TEST_MANUAL"), {{"compare"}, {"calibrate", "--simulate=this"}});
}

// smelt finds the laboratory beside itself, and says where it comes from if it does not.
TEST(House, IsFoundBesideSmeltOrTold) {
  const std::string help = smelt({"--help"}).out;
  EXPECT_NE(help.find("  compare "), std::string::npos) << help;
  EXPECT_NE(smelt({"help", "compare"}).out.find("--subsets"), std::string::npos);
  EXPECT_EQ(smelt({"--complete", "compare", "--op", "re"}).out, "reduce\t\n");
  EXPECT_NE(smelt({"--complete", "comp"}).out.find("compare\t"), std::string::npos);
  EXPECT_NE(smelt({"compar"}).err.find("did you mean 'compare'?"), std::string::npos);

  EXPECT_EQ(alone({"--help"}).out.find("  compare "), std::string::npos);
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"compare"}, {"calibrate", "--simulate", kMachine}, {"help", "compare"}})
    expect_refused(alone(words), "build Smelt with -Dlab=true");
  EXPECT_EQ(alone({"info"}).code, 0) << "all else works";
}

}  // namespace
}  // namespace smelt::test
