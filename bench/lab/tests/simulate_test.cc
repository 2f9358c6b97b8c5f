// smelt calibrate --simulate: what it finds on machines that are not there, what it writes, what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "program.h"

namespace smelt::test {
namespace {

using nlohmann::json;

TEST(CalibrateSimulate, FindsTheTruthAndWritesNothing) {
  const auto here = cache("simulate");
  const std::vector<std::string> simulated = {"calibrate", "--simulate", "zoo:amd-epyc-7742-2x64x2", "--json"};
  const Outcome outcome = run({simulated, here});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json report = outcome.json();
  EXPECT_EQ(report["cpus"], 256);
  EXPECT_EQ(report["seed"], 1);
  EXPECT_EQ(report["profile"], nullptr);
  ASSERT_EQ(report["classes"].size(), 5u);
  for (const json& row : report["classes"]) {
    EXPECT_GT(row["truth"], 0);
    EXPECT_LT(std::abs(row["error"].get<double>()), 0.05) << row;
    EXPECT_LT(row["worst_error"].get<double>(), 0.3) << row;
  }
  EXPECT_EQ(run({simulated, here}).out, outcome.out) << "the same seed";
  EXPECT_FALSE(std::filesystem::exists(here.at("XDG_CACHE_HOME") + "/smelt"));
  const Outcome text = run(
      {{"calibrate", "--simulate", "synthetic:pack:2 core:4 pu:1", "--seed", "7", "--noise", "0", "--outliers", "0"},
       here});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("noise 0 %, outliers 0 %, drift 0 %/s, seed 7"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("truth"), std::string::npos) << text.out;
}

TEST(CalibrateSimulate, WritesWhereItIsTold) {
  const std::string file = scratch() + "/simulated.profile";
  const std::vector<std::string> machine = {"calibrate", "--simulate", "synthetic:pack:2 core:4 pu:2"};
  std::vector<std::string> arguments = machine;
  arguments.insert(arguments.end(), {"-o", file, "--all-pairs", "--quiet"});
  const Outcome outcome = smelt(arguments);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const json shown = smelt({"info", "--json", "--machine", file}).json();
  EXPECT_EQ(shown["pus"], 16);
  EXPECT_EQ(shown["classes"].size(), 3u);
  EXPECT_NE(shown["origin"].get<std::string>().find("simulated, seed 1"), std::string::npos) << shown["origin"];
  expect_refused(smelt({"profile", "import", file}), "of machine 0000000000000000");
}

TEST(CalibrateSimulate, FollowsAMachineThatChanges) {
  // From the beginning on everything takes twice as long: that is then what is measured.
  const json report =
      smelt({"calibrate", "--simulate", "synthetic:pack:2 core:4 pu:1", "--flip", "0:2", "--json"}).json();
  for (const json& row : report["classes"]) EXPECT_NEAR(row["error"], 1, 0.1) << row;
  const json cpus =
      smelt({"calibrate", "--simulate", "synthetic:pack:2 core:4 pu:1", "--flip", "0:3:0-3", "--json"}).json();
  EXPECT_EQ(cpus["flip"], "0:3:0-3");
  double worst = 0;
  for (const json& row : cpus["classes"]) worst = std::max(worst, row["worst_error"].get<double>());
  EXPECT_NEAR(worst, 2, 0.4);
}

TEST(CalibrateSimulate, RefusesWhatMakesNoSense) {
  const auto with = [](std::vector<std::string> more) {
    std::vector<std::string> all = {"calibrate", "--simulate", "synthetic:core:4 pu:1"};
    all.insert(all.end(), more.begin(), more.end());
    return smelt(all);
  };
  for (const char* flip : {"1", "1:", ":2", "x:2", "1:0", "1:-2", "-1:2", "1:2:", "1:2:x", "1:2x", "0:inf"})
    expect_refused(with({"--flip", flip}), "--flip");
  expect_refused(with({"--flip", "1:2:9"}), "has no CPU 9");
  expect_refused(with({"--noise", "-5"}), "noise");
  expect_refused(with({"--noise", "nan"}), "noise");
  expect_refused(with({"--outliers", "500"}), "outliers");
  expect_refused(with({"--drift", "-1"}), "drift");
  for (const char* seed : {"x", "123456789012345678901234567890"}) expect_refused(with({"--seed", seed}), "--seed");
  expect_refused(with({"--check"}), "see 'smelt calibrate --help'");
  expect_refused(with({"--system"}), "see 'smelt calibrate --help'");
  expect_refused(with({"--output", "x.json"}), ".profile");
  expect_refused(smelt({"calibrate", "--seed", "3"}), "see 'smelt calibrate --help'");
  expect_refused(smelt({"calibrate", "--simulate", "zoo:nothing"}), "zoo:nothing");
}

}  // namespace
}  // namespace smelt::test
