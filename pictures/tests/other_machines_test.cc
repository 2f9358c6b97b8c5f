// What is asked of machines that are not this one, from outside: the zoo, files, descriptions, hwloc's environment; and
// bad input of every kind: exit 2, nothing on stdout, one line on stderr that says what to do.
#include <gtest/gtest.h>

#include <algorithm>

#include <sys/resource.h>

#include "program.h"

namespace smelt::test {
namespace {

using nlohmann::json;

constexpr const char* kMachine = "synthetic:pack:2 core:4 pu:1";

TEST(OtherMachines, HaveTheirInfo) {
  const json out = smelt({"info", "--json", "--machine", "synthetic:pack:2 numa:1 l3:2 core:4 pu:2"}).json();
  EXPECT_EQ(out["pus"], 32);
  EXPECT_EQ(out["cores"], 16);
  EXPECT_EQ(out["llcs"], 4);
  EXPECT_EQ(out["numa_nodes"], 2);
  EXPECT_EQ(out["packages"], 2);
  EXPECT_EQ(out["kind"], "guessed");
  double before = 0;
  size_t pairs = 0;
  for (const json& row : out["hops"]) {  // further is dearer
    EXPECT_GT(row["median"].get<double>(), before);
    EXPECT_LE(row["min"], row["median"]);
    EXPECT_LE(row["median"], row["max"]);
    before = row["median"];
    pairs += row["pairs"].get<size_t>();
  }
  EXPECT_EQ(pairs, 32u * 31u);
}

// Wherever a machine is accepted, one of the zoo is; nothing but the program is needed.
TEST(Zoo, IsListedAndServesEveryVerb) {
  const Outcome listed = smelt({"info", "--machine", "zoo:list", "--json"});
  ASSERT_EQ(listed.code, 0) << listed.err;
  const json list = listed.json();
  EXPECT_GE(list.size(), 15u);
  const Outcome text = smelt({"tree", "--machine", "zoo:list"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(std::count(text.out.begin(), text.out.end(), '\n'), static_cast<long>(list.size() + 1));
  for (const json& row : list) {
    const std::string name = row["name"];
    SCOPED_TRACE(name);
    EXPECT_NE(text.out.find("\n  " + name + " "), std::string::npos);
    for (const json& cost : row["costs"]) EXPECT_NE(cost["source"], "");
    if (row["cpus"] > 128) continue;  // the larger ones read the same; planning them takes its time
    const Outcome shown = smelt({"info", "--json", "--machine", "zoo:" + name});
    ASSERT_EQ(shown.code, 0) << shown.err;
    const json out = shown.json();
    EXPECT_EQ(out["machine"], row["title"]);
    EXPECT_EQ(out["pus"], row["cpus"]);
    EXPECT_EQ(out["hops"].size(), row["costs"].size());
    EXPECT_EQ(out["kind"], "classes");
    EXPECT_GE(out["sources"].size(), row["costs"].size());
  }
  const Outcome info = smelt({"info", "--machine", "zoo:aws-graviton3-1x64"});
  EXPECT_NE(info.out.find("\nabout "), std::string::npos) << info.out;
  const Outcome tree = smelt({"tree", "--json", "--machine", "zoo:aws-graviton3-1x64", "--op", "broadcast"});
  ASSERT_EQ(tree.code, 0) << tree.err;
  EXPECT_EQ(tree.json()["children"].size(), 64u);
}

// hwloc's own environment puts another machine in the place of this one: that machine is shown, as one that has a name
// and costs by its shape, and nothing of ours is mixed in, neither the profile nor the CPUs that we may use.
TEST(OtherMachines, HwlocsEnvironmentIsOne) {
  auto there = cache("pretended");
  ASSERT_EQ(run({{"calibrate", "--no-methods", "--race", "0", "--quiet"}, there}).code, 0);
  const json here = run({{"info", "--json"}, there}).json();
  ASSERT_EQ(here["profile"]["measured"], true);
  there["HWLOC_SYNTHETIC"] = "pack:2 numa:1 l3:2 core:5 pu:1";
  const Outcome outcome = run({{"info", "--json"}, there});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("HWLOC_SYNTHETIC is set"), std::string::npos) << outcome.err;
  const json out = outcome.json(),
             named = smelt({"info", "--json", "--machine", "synthetic:pack:2 numa:1 l3:2 core:5 pu:1"}).json();
  EXPECT_EQ(out["pus"], 20);
  EXPECT_EQ(out["cpus"].size(), 20u);
  EXPECT_EQ(out["kind"], "guessed");
  for (const char* ours : {"profile", "allowed_cpus", "cpu_model", "virtualised"})
    EXPECT_FALSE(out.contains(ours)) << ours;
  for (const char* its : {"machine", "hops", "barrier", "classes", "raced", "methods", "cores", "llcs"})
    EXPECT_EQ(out[its], named[its]) << its;
  EXPECT_EQ(run({{"info"}, there}).out.find(here["profile"]["path"].get<std::string>()), std::string::npos);
  EXPECT_EQ(run({{"tree", "--json"}, there}).json()["programs"].size(), 20u);
  EXPECT_EQ(run({{"calibrate"}, there}).code, 2);
}

void expect_refused(const std::vector<std::string>& arguments, const std::string& says) {
  SCOPED_TRACE(testing::PrintToString(arguments));
  test::expect_refused(smelt(arguments), says);
}

std::vector<std::string> tree(std::vector<std::string> more) {
  std::vector<std::string> all = {"tree", "--machine", kMachine};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(BadTree, Arguments) {
  expect_refused({"tree", "--nonsense"}, "see 'smelt tree --help'");
  expect_refused({"tree", "--machine"}, "see 'smelt tree --help'");
  expect_refused(tree({"--op", "scatter"}), "broadcast");
  expect_refused(tree({"--cost-model", "loggp"}), "paper");
  expect_refused(tree({"--format", "svg"}), "dot");
  expect_refused(tree({"--format", "dot", "--json"}), "see 'smelt tree --help'");
  expect_refused(tree({"--root", "zero"}), "--root");
  expect_refused(tree({"--root", "-1"}), "--root");
  expect_refused(tree({"--root", "99999999999999999999"}), "--root");
  expect_refused(tree({"left over"}), "left over");
}

TEST(BadTree, Patterns) {
  expect_refused(tree({"--pattern", "fibonaci"}), "did you mean 'fibonacci'?");
  expect_refused(tree({"--pattern", "bset"}), "did you mean 'best'?");
  expect_refused(tree({"--pattern", "qqqqqqqqqqqq"}), "'smelt tree --list' lists them");
  expect_refused(tree({"--pattern", ""}), "'smelt tree --list' lists them");
  for (const char* argument : {"0", "99999999999", "x", "", "-2", "2x", "1:2"})
    expect_refused(tree({"--pattern", std::string("knomial:") + argument}), "K is a whole number from 1 to 1023");
  expect_refused(tree({"--pattern", "mst:2"}), "takes no argument");
  expect_refused(tree({"--op", "broadcast", "--pattern", "dissemination"}), "barriers only");
  expect_refused(tree({"--op", "reduce", "--pattern", "all-to-all"}), "barriers only");
  expect_refused(tree({"--pattern", "pair"}), "cannot serve 8 CPUs");
  expect_refused(tree({"--pattern", "dissemination", "--root", "0"}), "has no root");
}

TEST(BadTree, CpuLists) {
  for (const char* list : {"", ",", "a", "0,", ",0", "0-", "-3", "0--3", "0 1", "0,,1", "1.5", "0x1", "99999999999"})
    expect_refused(tree({std::string("--cpus=") + list}), "--cpus");
  expect_refused(tree({"--cpus", ""}), "names no CPU");
  expect_refused(tree({"--cpus", "0,1,0"}), "names CPU 0 twice");
  expect_refused(tree({"--cpus", "0-3,2"}), "names CPU 2 twice");
  expect_refused(tree({"--cpus", "3-0"}), "runs backwards");
  expect_refused(tree({"--cpus", "0-4294967295"}), "more than 1024");
  expect_refused(tree({"--cpus", "0-8"}), "has no CPU 8; its CPUs are 0-7");
  expect_refused(tree({"--cpus", "0-3", "--root", "5"}), "CPU 5 does not take part");
}

TEST(BadTree, Machines) {
  const auto machine = [](const std::string& what) { return std::vector<std::string>{"tree", "--machine", what}; };
  const auto matrix = [](const std::string& send) {
    return write_file("bad.json",
                      R"({"name":"m","unit":"ns","numa_node":[0,0],"t_receive":[[0,1],[1,0]],"t_send":)" + send + "}");
  };
  expect_refused(machine("/nowhere/at/all.json"), "/nowhere/at/all.json");
  expect_refused(machine(""), "smelt: ");
  expect_refused(machine(scratch()), scratch());
  expect_refused(machine(write_file("empty.json", "")), "empty.json");
  expect_refused(machine(write_file("noise.json", "\x01\x02\xff\xfe nothing")), "noise.json");
  expect_refused(machine(write_file("cut.json", "{\"t_send\": [[0,")), "cut.json");
  expect_refused(machine(write_file("list.json", "[1,2,3]")), "list.json");
  expect_refused(machine(write_file("other.json", "{\"hello\": 1}")), "other.json");
  expect_refused(machine(write_file("bad.xml", "<topology><object")), "bad.xml");
  expect_refused(machine(write_file("short.profile", "SMELTPRF")), "short.profile");
  expect_refused(machine(matrix("[[0,1]]")), "bad.json");
  expect_refused(machine(matrix("[[0,1],[1]]")), "bad.json");
  expect_refused(machine(matrix("[[0,-1],[1,0]]")), "bad.json");
  expect_refused(machine(matrix("[[0,\"x\"],[1,0]]")), "bad.json");
  expect_refused(machine(matrix("[[0,null],[1,0]]")), "bad.json");
  expect_refused(machine(matrix("[[0,1e999],[1,0]]")), "bad.json");
  expect_refused(machine("synthetic:"), "synthetic");
  expect_refused(machine("synthetic:pack:x"), "synthetic");
  expect_refused(machine("synthetic:pack:2 core:600 pu:1"), "1024");
  expect_refused({"info", "--machine", "/nowhere"}, "/nowhere");
  expect_refused(machine("zoo:epyc-7742"), "did you mean 'zoo:amd-epyc-7742-2x64x2'?");
  expect_refused(machine("zoo:"), "'smelt info --machine zoo:list' lists them");
  expect_refused({"info", "--machine", "zoo:lst"}, "zoo:lst: the zoo has no machine of this name");
}

// The limit of 1,024 CPUs is looked at before anything grows: each of these took minutes, or gigabytes, or both. The
// limits here are far above what the refusals need, so that a loaded machine meets them too.
TEST(BadTree, SizesAreCheckedBeforeAnythingGrows) {
  const auto bounded = [](std::vector<std::string> arguments, const std::string& says,
                          std::map<std::string, std::string> environment = {}) {
    Call call{std::move(arguments), std::move(environment)};
    call.prepare = [] {
      const rlimit memory{1u << 30, 1u << 30}, time{20, 20};
      return ::setrlimit(RLIMIT_CPU, &time) == 0 && ::setrlimit(RLIMIT_AS, &memory) == 0;
    };
    const Outcome outcome = run(call);
    EXPECT_EQ(outcome.code, 2) << says << ": " << outcome.err;
    EXPECT_NE(outcome.err.find(says), std::string::npos) << "should say: " << says << "\n" << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  };
  for (const char* description :
       {"core:20000 pu:1", "pack:1 numa:1 l3:40 core:2 pu:1025", "core:1025 pu:1", "pack:0x21 pu:040", "4 5 600",
        "pack:2(memory=1GB) [numa(memory=2GB)] core:600 pu:1", "group:4294967295 group:4294967295 pu:2"}) {
    bounded({"tree", "--machine", std::string("synthetic:") + description}, "1024");
    const std::string shape =
        write_file("huge.json", R"({"title":"t","shape":")" + std::string(description) + R"(","costs":{}})");
    bounded({"info", "--machine", shape}, "1024");
    bounded({"info"}, "1024", {{"HWLOC_SYNTHETIC", description}});
  }
  bounded({"tree", "--machine", "synthetic:pack:1 core:2 pu:1(indexes=0,4000000000)"}, "indexes");
  std::string rows = "[0";
  for (int i = 0; i < 25'000'000; ++i) rows += ",1";
  bounded(
      {"tree", "--machine", write_file("wide.json", R"({"unit":"ns","t_send":[)" + rows + "]],\"t_receive\":[[0]]}")},
      "too large");
  std::string pus = "<?xml version=\"1.0\"?><topology version=\"2.0\">";
  for (int i = 0; i < 1025; ++i) pus += "<object type=\"PU\"/>";
  bounded({"tree", "--machine", write_file("huge.xml", pus)}, "1025 processing units");
}

TEST(BadTree, ACpuThatIsThereTwice) {
  const std::string path =
      write_file("twice.json", R"({"unit":"ns","cpus":[0,1,1,3],"t_send":[[0,1,1,1],[1,0,1,1],[1,1,0,1],[1,1,1,0]],)"
                               R"("t_receive":[[0,1,1,1],[1,0,1,1],[1,1,0,1],[1,1,1,0]]})");
  expect_refused({"tree", "--machine", path}, "\"cpus\"[2] is CPU 1 again");
  expect_refused({"info", "--machine", path}, "\"cpus\"[2] is CPU 1 again");
}

TEST(BadTree, NumbersThatAreNone) {
  for (const char* budget : {"nan", "-nan", "NAN", "inf", "-1", "1e10", "1x", ""})
    expect_refused(tree({std::string("--budget=") + budget}), "--budget");
  for (const char* seed : {"123456789012345678901234567890", "18446744073709551616", "-1", "1.5", "0x10", ""})
    expect_refused(tree({std::string("--seed=") + seed}), "--seed");
  EXPECT_EQ(smelt(tree({"--seed=18446744073709551615", "--budget=1e3"})).code, 0);
}

// A machine's name is data, and no way to send a terminal escape sequences or a second line.
TEST(BadTree, NamesStayOnOneLine) {
  const std::string path = write_file("name.json", R"({"name":"two\nlines\u001b[31m","unit":"ns","numa_node":[0,0],)"
                                                   R"("t_send":[[0,1],[1,0]],"t_receive":[[0,1],[1,0]]})");
  const Outcome text = smelt({"tree", "--machine", path});
  EXPECT_EQ(text.out.find("\x1b"), std::string::npos) << text.out << text.err;
  EXPECT_EQ(text.err.find("\x1b"), std::string::npos);
  expect_refused({"tree", "--machine", path, "--cpus", "7"}, "has no CPU 7");
}

}  // namespace
}  // namespace smelt::test
