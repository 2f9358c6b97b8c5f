// smelt profile: export, import, diff.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "program.h"

namespace smelt::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;
using Environment = std::map<std::string, std::string>;

// This machine's profile, measured once, exported as JSON.
const std::string& measured() {
  static const std::string file = [] {
    const Environment here = cache("profile-measured");
    const Outcome outcome = run({{"calibrate", "--no-methods", "--quiet"}, here});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const Outcome exported = run({{"profile", "export"}, here});
    EXPECT_EQ(exported.code, 0) << exported.err;
    return write_file("measured.json", exported.out);
  }();
  return file;
}

// The same with everything that a calibration may find out, and some of it changed.
json enriched() {
  json profile = json::parse(read_file(measured()));
  const size_t cpus = profile["cpus"].size();
  profile["wait"] = {{"poll", 12.5}, {"yield", 340}, {"futex_wake", 1900}, {"futex_return", 5100}};
  if (cpus < 2) return profile;
  const auto os = [&](size_t i) { return profile["cpus"][i]["os"]; };
  profile["winners"] = {{{"operation", "barrier"},
                         {"pattern", "knomial:2"},
                         {"predicted", 100},
                         {"measured", 110},
                         {"spread", 0.1},
                         {"skewed", 120},
                         {"hop", 57},
                         {"cpus", {os(1), os(0)}},
                         {"program", {1, 2, 3}}}};
  return profile;
}

TEST(Profile, WhatIsExportedIsImportedElsewhere) {
  const Environment there = cache("profile-import");
  const std::string file = write_file("enriched.json", enriched().dump());
  const Outcome first = run({{"profile", "import", file, "--json"}, there});
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.json()["imported"], true);
  const std::string path = first.json()["profile"];
  EXPECT_TRUE(path.starts_with(there.at("XDG_CACHE_HOME") + "/smelt/")) << path;
  const Outcome again = run({{"profile", "export"}, there});
  EXPECT_EQ(json::parse(again.out), enriched()) << "through the packed form and back";
  EXPECT_EQ(run({{"info", "--json"}, there}).json()["profile"]["source"], "user");

  // Both forms of the file are as good.
  const std::string packed = scratch() + "/exported.profile";
  EXPECT_EQ(run({{"profile", "export", "-o", packed}, there}).code, 0);
  EXPECT_EQ(read_file(packed), read_file(path)) << "to the bit";
  const Environment third = cache("profile-import-packed");
  const Outcome imported = run({{"profile", "import", packed}, third});
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(run({{"profile", "export"}, third}).out, again.out);
  const std::string text = scratch() + "/exported.json";
  EXPECT_EQ(run({{"profile", "export", "--output", text}, third}).code, 0);
  EXPECT_EQ(read_file(text), again.out);
}

TEST(Profile, NothingIsReplacedUnasked) {
  const Environment here = cache("profile-replace");
  ASSERT_EQ(run({{"profile", "import", measured()}, here}).code, 0);
  const std::string before = run({{"profile", "export"}, here}).out;
  // The same again is no replacement.
  const Outcome same = run({{"profile", "import", measured(), "--json"}, here});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.json()["imported"], false);

  const std::string other = write_file("enriched.json", enriched().dump());
  expect_refused(run({{"profile", "import", other}, here}), "is there already; --replace");
  EXPECT_EQ(run({{"profile", "export"}, here}).out, before);
  EXPECT_EQ(run({{"profile", "import", other, "--replace"}, here}).code, 0);
  EXPECT_EQ(json::parse(run({{"profile", "export"}, here}).out), enriched());

  // Not even what no Smelt can read, nor a link.
  const std::string path = same.json()["profile"];
  for (const std::string& file : {path, path.substr(0, path.size() - 8) + ".json"}) {
    fs::remove_all(fs::path(path).parent_path());
    fs::create_directories(fs::path(path).parent_path());
    fs::create_symlink("/nowhere/at/all", file);
    expect_refused(run({{"profile", "import", other}, here}), "something else is there already");
    EXPECT_TRUE(fs::is_symlink(fs::symlink_status(file)));
    EXPECT_EQ(run({{"profile", "import", other, "--replace"}, here}).code, 0);
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file)));
  }
}

TEST(Profile, OfAnotherMachineIsRefused) {
  const Environment here = cache("profile-foreign");
  json foreign = enriched();
  const std::string own = foreign["fingerprint"];
  foreign["fingerprint"] = "0123456789abcdef";
  const std::string file = write_file("foreign.json", foreign.dump());
  const Outcome outcome = run({{"profile", "import", file}, here});
  expect_refused(outcome, "0123456789abcdef");
  EXPECT_NE(outcome.err.find(own), std::string::npos) << outcome.err;
  json old = enriched();
  old["version"] = 2;
  expect_refused(run({{"profile", "import", write_file("old.json", old.dump())}, here}), "this Smelt reads");
  json guess = enriched();
  guess["pairs_measured"] = 0;
  if (guess["cpus"].size() > 1)
    expect_refused(run({{"profile", "import", write_file("guess.json", guess.dump())}, here}), "nothing was measured");
  expect_refused(run({{"profile", "import", "/nowhere.json"}, here}), "/nowhere.json: No such file");
  expect_refused(run({{"profile", "import", scratch()}, here}), "not a regular file");
  expect_refused(run({{"profile", "import", write_file("empty.json", "")}, here}), "empty.json is not a Smelt profile");
  expect_refused(run({{"profile", "import", write_file("cut.json", read_file(measured()).substr(0, 400))}, here}),
                 "not valid JSON");
  EXPECT_FALSE(fs::exists(here.at("XDG_CACHE_HOME") + "/smelt"));
}

TEST(Profile, ANamedFileThatIsNoneIsNoReasonToCalibrate) {
  const Environment here = cache("profile-named");
  const std::string other = write_file("passwd", "root:x:0:0:root:/root:/bin/sh\n");
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"profile", "diff", other},
                                                                     {"profile", "import", other},
                                                                     {"profile", "verify", other},
                                                                     {"tree", "--machine", other}}) {
    const Outcome outcome = run({arguments, here});
    EXPECT_NE(outcome.code, 0) << arguments[1];
    EXPECT_EQ((outcome.err + outcome.out).find("calibrate"), std::string::npos) << outcome.err << outcome.out;
  }
  Environment named = here;
  for (const std::string& file : {other, other + "-that-is-not-there"}) {
    named["SMELT_PROFILE"] = file;
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"info"}, {"profile", "export"}, {"profile", "verify"}}) {
      const Outcome outcome = run({arguments, named});
      const std::string all = outcome.err + outcome.out;
      EXPECT_NE(all.find(file), std::string::npos) << arguments[0] << all;
      EXPECT_TRUE(all.find("unset") != all.npos || arguments[0] == "info") << arguments[0] << all;
      EXPECT_EQ(all.find("run 'smelt calibrate'"), std::string::npos) << arguments[0] << all;
    }
    EXPECT_NE(run({{"doctor"}, named}).out.find("do:  unset SMELT_PROFILE"), std::string::npos);
  }
}

TEST(Profile, WithoutOneThereIsNothingToExport) {
  const Environment here = cache("profile-none");
  if (run({{"info", "--json"}, here}).json()["profile"]["source"] == "system")
    GTEST_SKIP() << "this machine has a system profile";
  expect_refused(run({{"profile", "export"}, here}), "this machine has no profile; run 'smelt calibrate'");
  expect_refused(run({{"profile", "diff", measured()}, here}), "this machine has no profile");
  expect_refused(run({{"profile"}, here}), "export, import, verify or diff?");
  expect_refused(run({{"profile", "inport"}, here}), "see 'smelt profile --help'");
  expect_refused(run({{"profile", "import"}, here}), "see 'smelt profile import --help'");
}

TEST(Profile, VerifiedInMilliseconds) {
  const Environment here = cache("profile-verify");
  const Outcome none = run({{"profile", "verify", "--json"}, here});
  if (none.code == 0) GTEST_SKIP() << "this machine has a system profile";
  EXPECT_EQ(none.code, 1) << none.err;
  EXPECT_EQ(none.json()["holds"], false);
  EXPECT_EQ(none.json()["profile"], nullptr);
  ASSERT_EQ(none.json()["reasons"].size(), 1u);
  EXPECT_NE(none.out.find("smelt calibrate"), std::string::npos) << none.out;
  const Outcome quiet = run({{"profile", "verify", "--quiet"}, here});
  EXPECT_EQ(quiet.code, 1);
  EXPECT_EQ(quiet.out + quiet.err, "");

  // That a profile is of this machine can be said without a profile of its own.
  const Outcome of_here = run({{"profile", "verify", measured(), "--json"}, here});
  EXPECT_EQ(of_here.code, 0) << of_here.out;
  EXPECT_EQ(of_here.json()["compared"], false);

  ASSERT_EQ(run({{"profile", "import", measured()}, here}).code, 0);
  const Outcome own = run({{"profile", "verify"}, here});
  EXPECT_EQ(own.code, 0) << own.out;
  EXPECT_NE(own.out.find("holds "), std::string::npos) << own.out;
  const Outcome same = run({{"profile", "verify", measured(), "--json"}, here});
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_EQ(same.json()["compared"], true);
  EXPECT_EQ(run({{"profile", "verify", "--system", "--quiet"}, here}).code, 1) << "the user's is not the system's";

  // What it was measured beside is said, and counts where that was asked for.
  json beside = json::parse(read_file(measured()));
  beside["conditions"] = {"beside other work", "unsteady"};
  beside["others"] = 1.25;
  ASSERT_EQ(run({{"profile", "import", "--replace", write_file("beside.json", beside.dump())}, here}).code, 0);
  const Outcome loose = run({{"profile", "verify"}, here}), strict = run({{"profile", "verify", "--steady"}, here});
  EXPECT_EQ(loose.code, 0) << loose.out;
  EXPECT_NE(loose.out.find("beware      it was measured beside other work (1.2 CPUs), unsteady"), std::string::npos)
      << loose.out;
  EXPECT_EQ(strict.code, 1) << strict.out;
  EXPECT_NE(strict.out.find("differs     it was measured beside other work"), std::string::npos) << strict.out;
  EXPECT_NE(run({{"info"}, here}).out.find("beware      it was measured beside other work, unsteady"),
            std::string::npos);
  EXPECT_NE(run({{"doctor"}, here}).out.find("ago, beside other work, unsteady"), std::string::npos);
  beside["conditions"] = json::array();
  ASSERT_EQ(run({{"profile", "import", "--replace", write_file("alone.json", beside.dump())}, here}).code, 0);
  EXPECT_EQ(run({{"profile", "verify", "--steady"}, here}).code, 0);
  ASSERT_EQ(run({{"profile", "import", "--replace", measured()}, here}).code, 0);

  // A damaged one is no profile.
  const std::string path = run({{"profile", "import", measured(), "--json"}, here}).json()["profile"];
  const std::string whole = read_file(path);
  fs::resize_file(path, whole.size() - 8);
  const Outcome cut = run({{"profile", "verify"}, here});
  EXPECT_EQ(cut.code, 1);
  EXPECT_NE(cut.out.find("truncated"), std::string::npos) << cut.out;
  expect_refused(run({{"profile", "verify", "/nowhere.json"}, here}), "/nowhere.json: No such file");
}

TEST(Profile, AnotherMachineIsToldWithItsReasons) {
  const Environment here = cache("profile-verify-other");
  ASSERT_EQ(run({{"profile", "import", measured()}, here}).code, 0);
  json foreign = json::parse(read_file(measured()));
  foreign["fingerprint"] = "0123456789abcdef";
  const Outcome other = run({{"profile", "verify", write_file("foreign.json", foreign.dump())}, here});
  EXPECT_EQ(other.code, 1) << other.err;
  EXPECT_NE(other.out.find("differs "), std::string::npos) << other.out;
  EXPECT_NE(other.out.find("0123456789abcdef"), std::string::npos) << other.out;
  EXPECT_NE(other.out.find("what differs is the hypervisor, which CPUs"), std::string::npos) << other.out;
  foreign["kernel"] = "2.6.32";
  foreign["machine"] = "Another CPU";
  const std::string named = run({{"profile", "verify", write_file("named.json", foreign.dump())}, here}).out;
  EXPECT_NE(named.find("the CPU is Another CPU there, "), std::string::npos) << named;
  EXPECT_NE(named.find("the kernel is 2.6.32 there, "), std::string::npos) << named;

  json slower = json::parse(read_file(measured()));
  if (slower["cpus"].size() < 2) return;
  for (json& row : slower["hop"])
    for (json& cost : row) cost = cost.get<double>() * 2;
  const Outcome costs = run({{"profile", "verify", write_file("slower.json", slower.dump()), "--json"}, here});
  EXPECT_EQ(costs.code, 1) << costs.out;
  ASSERT_GE(costs.json()["reasons"].size(), 1u);
  EXPECT_NE(costs.out.find("a hop takes"), std::string::npos) << costs.out;
}

// A machine of eight CPUs in two packages, made by hand.
json eight() {
  json profile = json::parse(read_file(measured()));
  profile["cpus"] = json::array();
  json matrix = json::array();
  for (int i = 0; i < 8; ++i) {
    profile["cpus"].push_back({{"os", 2 * i}, {"package", i / 4}, {"core", i}, {"llc", i / 4}, {"node", i / 4}});
    json row = json::array();
    for (int j = 0; j < 8; ++j) row.push_back(i == j ? 0 : i / 4 == j / 4 ? 50 : 200);
    matrix.push_back(row);
  }
  for (const char* name : {"hop", "send_busy", "recv_busy", "ready_read"}) profile[name] = matrix;
  for (const char* part : {"methods", "classes", "fans", "distances", "winners"}) profile[part] = json::array();
  profile["pairs_measured"] = 56;
  const auto winner = [](const char* operation, const char* pattern) -> json {
    return {{"operation", operation}, {"pattern", pattern}, {"predicted", 100},  {"measured", 110}, {"spread", 0.1},
            {"skewed", 120},          {"hop", 57},          {"cpus", {0, 2, 4}}, {"program", {1}}};
  };
  profile["winners"] = {winner("barrier", "mst"), winner("broadcast", "fibonacci")};
  return profile;
}

TEST(Profile, WinnersAreATableOf120Columns) {
  json profile = eight();
  profile["winners"][0]["cpus"] = {0, 2, 4, 6, 8, 10, 12, 14};
  profile["winners"][0]["pattern"] = std::string(39, 'x');
  profile["winners"][0]["predicted"] = 123456.7;
  profile["winners"][1]["skewed"] = 0;  // it was not timed so
  const std::string file = write_file("winners.json", profile.dump());
  const Outcome text = smelt({"info", "--machine", file});
  ASSERT_EQ(text.code, 0) << text.err;
  const size_t begin = text.out.find("raced on this machine");
  ASSERT_NE(begin, std::string::npos) << text.out;
  std::istringstream table(text.out.substr(begin));
  std::string head, barrier, broadcast;
  std::getline(table, head) && std::getline(table, barrier) && std::getline(table, broadcast);
  for (const std::string& line : {head, barrier, broadcast}) EXPECT_LE(line.size(), 120u) << line;
  EXPECT_NE(head.find(" skewed "), std::string::npos) << head;
  EXPECT_NE(barrier.find("barrier on 8 CPUs: xxx"), std::string::npos) << barrier;
  EXPECT_NE(barrier.find(" 120.0 "), std::string::npos) << barrier;
  EXPECT_NE(broadcast.find("broadcast on 0,2,4: fibonacci"), std::string::npos) << broadcast;
  EXPECT_NE(broadcast.find(" - "), std::string::npos) << broadcast;
  const json raced = smelt({"info", "--machine", file, "--json"}).json()["raced"];
  EXPECT_EQ(raced[0]["skewed"], 120);
  EXPECT_EQ(raced[0]["cpus"].size(), 8u);
}

TEST(Profile, DiffFindsWhatChanged) {
  json changed = eight();
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < 8; ++j)
      if (i / 4 != j / 4) changed["hop"][i][j] = 300;
  changed["hop"][1][6] = 800;
  changed["hop"][0][1] = eight()["hop"][0][1].get<double>() / 1.35;  // more than 30 % the other way
  changed["send_busy"][0][1] = 0;                                    // has no ratio
  changed["winners"][0]["cpus"] = {4, 0, 2};                         // another order is the same set
  changed["winners"][0]["pattern"] = "cluster";
  const std::string a = write_file("a.json", eight().dump()), b = write_file("b.json", changed.dump());
  const Outcome outcome = smelt({"profile", "diff", a, b, "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json out = outcome.json();
  ASSERT_EQ(out["classes"].size(), 2u);
  EXPECT_EQ(out["classes"][0]["distance"], "same last-level cache");
  EXPECT_EQ(out["classes"][0]["pairs"], 24);
  EXPECT_EQ(out["classes"][0]["hop"], 1);
  EXPECT_EQ(out["classes"][1]["distance"], "other package");
  EXPECT_EQ(out["classes"][1]["a"], 200);
  EXPECT_EQ(out["classes"][1]["b"], 300);
  EXPECT_EQ(out["classes"][1]["hop"], 1.5);
  EXPECT_EQ(out["classes"][1]["ready_read"], 1);
  EXPECT_EQ(out["overall"]["pairs"], 56);
  EXPECT_EQ(out["beyond"], 33);
  EXPECT_EQ(out["farthest"]["cpus"], (json{2, 12}));
  EXPECT_EQ(out["farthest"]["hop"], 4);
  ASSERT_EQ(out["winners"].size(), 1u) << out["winners"];
  EXPECT_EQ(out["winners"][0]["a"], "mst");
  EXPECT_EQ(out["winners"][0]["b"], "cluster");
  const Outcome text = smelt({"profile", "diff", a, b});
  EXPECT_NE(text.out.find("CPU 2 to 12: 4.00"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("barrier on CPUs 0,2,4: mst, now cluster"), std::string::npos) << text.out;

  const json same = smelt({"profile", "diff", a, a, "--json"}).json();
  EXPECT_EQ(same["beyond"], 0);
  EXPECT_EQ(same["overall"]["hop"], 1);
  EXPECT_EQ(same["winners"], json::array());
}

TEST(Profile, DiffOfDifferentCpus) {
  json fewer = eight();
  fewer["winners"] = json::array();
  fewer["cpus"].erase(0);
  fewer["cpus"][6]["os"] = 99;
  for (const char* name : {"hop", "send_busy", "recv_busy", "ready_read"}) {
    fewer[name].erase(0);
    for (json& row : fewer[name]) row.erase(0);
  }
  fewer["pairs_measured"] = 42;
  const std::string a = write_file("a.json", eight().dump()), b = write_file("b.json", fewer.dump());
  const json out = smelt({"profile", "diff", a, b, "--json"}).json();
  EXPECT_EQ(out["cpus"], (json{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(out["only_a"], (json{0, 14}));
  EXPECT_EQ(out["only_b"], (json{99}));
  EXPECT_EQ(out["overall"]["pairs"], 30);
  EXPECT_EQ(out["winners"][0]["b"], nullptr);
  for (json& cpu : fewer["cpus"]) cpu["os"] = cpu["os"].get<int>() + 1001;
  expect_refused(smelt({"profile", "diff", a, write_file("b.json", fewer.dump())}), "no CPU in common");
  json cycles = eight();
  cycles["unit"] = "cycles";
  expect_refused(smelt({"profile", "diff", a, write_file("b.json", cycles.dump())}), "cycles");
}

}  // namespace
}  // namespace smelt::test
