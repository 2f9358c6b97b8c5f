// Bad input of every kind: exit 2, nothing on stdout, one line on stderr that says what to do.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "program.h"

namespace smelt::test {
namespace {

void expect_refused(const std::vector<std::string>& arguments, const std::string& says) {
  SCOPED_TRACE(testing::PrintToString(arguments));
  test::expect_refused(smelt(arguments), says);
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
  for (const char* verb : {"calibrate", "info", "run", "config"})
    expect_refused({verb, "--nonsense"}, std::string("see 'smelt ") + verb + " --help'");
  expect_refused({"calibrate", "--output", "model.json"}, ".profile");
  expect_refused({"calibrate", "--output", "a.profile", "--system"}, "see 'smelt calibrate --help'");
  expect_refused({"run"}, "smelt run -- ./app");
  expect_refused({"run", "--library", "/nowhere/libsmelt_gomp.so", "--", "true"}, "/nowhere/libsmelt_gomp.so");
}

TEST(BadInput, NumbersThatAreNone) { expect_refused({"calibrate", "--race", "nan"}, "--race"); }

TEST(BadInput, OutputThatCannotBeWritten) {
  Call full{{"config"}, {}};
  full.stdout_to = "/dev/full";
  const Outcome outcome = run(full);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "smelt: cannot write the output: No space left on device\n");

  Call closed{{"config", "--json"}, {}};
  closed.closed_stdout = true;
  EXPECT_EQ(run(closed).code, 128 + SIGPIPE);  // like every other program of a pipeline
}

TEST(Help, EveryVerbExplainsItselfWithAnExample) {
  const Outcome all = smelt({"--help"});
  EXPECT_EQ(all.code, 0);
  for (const char* verb : {"calibrate", "info", "run", "config"}) {
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
