// Bad input of every kind: exit 2, nothing on stdout, one line on stderr that says what to do.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include <sys/resource.h>

#include "program.h"

namespace smelt::test {
namespace {

constexpr const char* kMachine = "synthetic:pack:2 core:4 pu:1";

void expect_refused(const std::vector<std::string>& arguments, const std::string& says) {
  SCOPED_TRACE(testing::PrintToString(arguments));
  test::expect_refused(smelt(arguments), says);
}

std::vector<std::string> tree(std::vector<std::string> more) {
  std::vector<std::string> all = {"tree", "--machine", kMachine};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(BadInput, Verbs) {
  expect_refused({}, "see 'smelt --help'");
  expect_refused({"tre"}, "did you mean 'tree'?");
  expect_refused({"calibrat"}, "did you mean 'calibrate'?");
  expect_refused({"zzzzzz"}, "is not a command; see 'smelt --help'");
  expect_refused({""}, "is not a command");
  for (const std::string word : {"--nonsense", "-v"})
    expect_refused({word}, word + ": no such option; see 'smelt --help'");
  expect_refused({"info", "tree"}, "see 'smelt info --help'");
}

TEST(BadInput, Arguments) {
  for (const char* verb : {"calibrate", "info", "tree", "run", "config"})
    expect_refused({verb, "--nonsense"}, std::string("see 'smelt ") + verb + " --help'");
  expect_refused({"tree", "--machine"}, "see 'smelt tree --help'");
  expect_refused(tree({"--op", "scatter"}), "broadcast");
  expect_refused(tree({"--cost-model", "loggp"}), "paper");
  expect_refused(tree({"--format", "svg"}), "dot");
  expect_refused(tree({"--format", "dot", "--json"}), "see 'smelt tree --help'");
  expect_refused(tree({"--root", "zero"}), "--root");
  expect_refused(tree({"--root", "-1"}), "--root");
  expect_refused(tree({"--root", "99999999999999999999"}), "--root");
  expect_refused(tree({"left over"}), "left over");
  expect_refused({"calibrate", "--output", "model.json"}, ".profile");
  expect_refused({"calibrate", "--output", "a.profile", "--system"}, "see 'smelt calibrate --help'");
  expect_refused({"run"}, "smelt run -- ./app");
  expect_refused({"run", "--library", "/nowhere/libsmelt_gomp.so", "--", "true"}, "/nowhere/libsmelt_gomp.so");
}

TEST(BadInput, Patterns) {
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

TEST(BadInput, CpuLists) {
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

TEST(BadInput, Machines) {
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
TEST(BadInput, SizesAreCheckedBeforeAnythingGrows) {
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

TEST(BadInput, ACpuThatIsThereTwice) {
  const std::string path =
      write_file("twice.json", R"({"unit":"ns","cpus":[0,1,1,3],"t_send":[[0,1,1,1],[1,0,1,1],[1,1,0,1],[1,1,1,0]],)"
                               R"("t_receive":[[0,1,1,1],[1,0,1,1],[1,1,0,1],[1,1,1,0]]})");
  expect_refused({"tree", "--machine", path}, "\"cpus\"[2] is CPU 1 again");
  expect_refused({"info", "--machine", path}, "\"cpus\"[2] is CPU 1 again");
}

TEST(BadInput, NumbersThatAreNone) {
  for (const char* budget : {"nan", "-nan", "NAN", "inf", "-1", "1e10", "1x", ""})
    expect_refused(tree({std::string("--budget=") + budget}), "--budget");
  for (const char* seed : {"123456789012345678901234567890", "18446744073709551616", "-1", "1.5", "0x10", ""})
    expect_refused(tree({std::string("--seed=") + seed}), "--seed");
  EXPECT_EQ(smelt(tree({"--seed=18446744073709551615", "--budget=1e3"})).code, 0);
  expect_refused({"calibrate", "--race", "nan"}, "--race");
}

// A machine's name is data, and no way to send a terminal escape sequences or a second line.
TEST(BadInput, NamesStayOnOneLine) {
  const std::string path = write_file("name.json", R"({"name":"two\nlines\u001b[31m","unit":"ns","numa_node":[0,0],)"
                                                   R"("t_send":[[0,1],[1,0]],"t_receive":[[0,1],[1,0]]})");
  const Outcome text = smelt({"tree", "--machine", path});
  EXPECT_EQ(text.out.find("\x1b"), std::string::npos) << text.out << text.err;
  EXPECT_EQ(text.err.find("\x1b"), std::string::npos);
  expect_refused({"tree", "--machine", path, "--cpus", "7"}, "has no CPU 7");
}

TEST(BadInput, OutputThatCannotBeWritten) {
  Call full{tree({}), {}};
  full.stdout_to = "/dev/full";
  const Outcome outcome = run(full);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "smelt: cannot write the output: No space left on device\n");

  Call closed{tree({"--pattern", "all-to-all", "--json"}), {}};
  closed.closed_stdout = true;
  EXPECT_EQ(run(closed).code, 128 + SIGPIPE);  // like every other program of a pipeline
}

TEST(Help, EveryVerbExplainsItselfWithAnExample) {
  const Outcome all = smelt({"--help"});
  EXPECT_EQ(all.code, 0);
  for (const char* verb : {"calibrate", "info", "tree", "run", "config"}) {
    EXPECT_NE(all.out.find(verb), std::string::npos);
    const Outcome help = smelt({verb, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("smelt "), std::string::npos) << verb;
    EXPECT_EQ(help.out, smelt({"help", verb}).out);
    EXPECT_EQ(help.out.find("\x1b"), std::string::npos);
  }
  EXPECT_EQ(smelt({"help"}).out, all.out);
  const Outcome version = smelt({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(version.out.starts_with("smelt "));
  EXPECT_NE(version.out.find("hwloc "), std::string::npos) << version.out;
  EXPECT_EQ(smelt({"-V"}).out, version.out);
  // One usage each, of run and try with the program.
  for (const char* verb : {"run", "try"}) {
    const std::string help = smelt({verb, "--help"}).out;
    EXPECT_NE(help.find(std::string("smelt ") + verb + " [OPTIONS] -- PROGRAM [ARGUMENTS...]\n"), std::string::npos)
        << help;
    EXPECT_EQ(help.find(" [OPTIONS]"), help.rfind(" [OPTIONS]")) << help;
  }
}

}  // namespace
}  // namespace smelt::test
