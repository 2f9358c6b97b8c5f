// smelt info --rails and smelt tune: word for word on a network profile made by hand, and their errors.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "program.h"

namespace smelt::test {
namespace {

std::string two_rails() { return from_environment("SMELT_TEST_NETWORK"); }

void expect_golden(const std::string& name, const std::string& now) {
  const std::string path = from_environment("SMELT_TEST_GOLDEN") + "/" + name;
  if (!from_environment("SMELT_RENEW_GOLDEN").empty()) {
    std::ofstream(path, std::ios::binary) << now;
    GTEST_SKIP() << path << " written anew";
  }
  EXPECT_EQ(now, read_file(path)) << path;
}

TEST(Rails, InfoIsAsItWas) {
  const Outcome outcome = smelt({"info", "--rails", "--network", two_rails()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_golden("rails-info.txt", outcome.out);
}

TEST(Rails, TuneIsAsItWas) {
  const Outcome outcome = smelt({"tune", "openmpi", "--dry-run", "--network", two_rails()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_golden("rails-tune.txt", outcome.out);
}

TEST(Rails, PlotsAreAsTheyWere) {
  const Outcome outcome = smelt({"info", "--rails", "--plot", "-", "--network", two_rails()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_golden("rails-plot.txt", outcome.out.substr(outcome.out.find("All rails:")));
  if (std::system("/usr/bin/python3 -c 'import matplotlib' 2>/dev/null") != 0)
    GTEST_SKIP() << "no python3-matplotlib here";
  const std::string path = scratch() + "/rails.svg";
  EXPECT_EQ(smelt({"info", "--rails", "--plot", path, "--network", two_rails()}).code, 0);
  const std::string svg = read_file(path);
  EXPECT_TRUE(svg.find("<svg") != svg.npos && svg.ends_with("</svg>\n"));
  size_t curves = 0;
  for (size_t at = 0; (at = svg.find("-curve-", at)) != svg.npos; ++at) ++curves;
  EXPECT_EQ(curves, 2 + 2 * 4u);
  EXPECT_EQ(svg.find("nan"), svg.npos);
}

TEST(Rails, JsonSaysTheSame) {
  const auto info = smelt({"info", "--rails", "--json", "--network", two_rails()}).json();
  ASSERT_EQ(info["rails"].size(), 2u);
  EXPECT_NEAR(info["rails"][0]["latency_us"].get<double>(), 60, 1);
  EXPECT_NEAR(info["rails"][1]["mbit_per_s"].get<double>(), 80, 1);
  for (const auto& split : info["splits"]) {
    uint64_t sum = 0;
    for (const auto& share : split["shares"]) sum += share.get<uint64_t>();
    EXPECT_EQ(sum, split["bytes"].get<uint64_t>());
    for (const auto& alone : split["alone_us"]) EXPECT_LE(split["split_us"].get<double>(), alone.get<double>() + 1e-6);
  }
}

TEST(Rails, TuneWritesAFile) {
  const std::string path = scratch() + "/net.conf";
  const Outcome outcome = smelt({"tune", "openmpi", "-o", path, "--network", two_rails()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(read_file(path), smelt({"tune", "openmpi", "--dry-run", "--network", two_rails()}).out);
}

TEST(Rails, TuneLeavesOutWhatCarriesNothing) {
  auto network = nlohmann::json::parse(read_file(two_rails()));
  for (const char* method : {"eager", "rendezvous", "gathered", "pair"})
    for (auto& us : network["rails"][1][method]["us"]) us = us.get<double>() * 40;
  const auto rows = smelt({"tune", "openmpi", "--json", "--network", write_file("one.json", network.dump())}).json();
  EXPECT_EQ(rows[0]["value"], "fast0");
  for (const auto& row : rows) EXPECT_EQ(row["parameter"].get<std::string>().find("slow0"), std::string::npos);
}

// Short messages are dealt in turn: one in two would take the long way.
TEST(Rails, TuneLeavesOutWhatIsFarUnlessItIsWide) {
  for (const bool wide : {false, true}) {
    auto network = nlohmann::json::parse(read_file(two_rails()));
    for (const char* method : {"eager", "rendezvous", "gathered", "pair"})
      for (auto& us : network["rails"][1][method]["us"]) us = 5000 + us.get<double>() / (wide ? 10 : 1);
    const auto rows = smelt({"tune", "openmpi", "--json", "--network", write_file("far.json", network.dump())}).json();
    EXPECT_EQ(rows[0]["value"], wide ? "fast0,slow0" : "fast0") << rows;
  }
}

// Where asking first takes longer than any message of a size could, and nowhere else; never below Open MPI's own.
TEST(Rails, TuneRaisesTheEagerLimitOnlyWhereThatIsCertain) {
  const auto limit_with = [](double first_us, double second_us) {
    auto network = nlohmann::json::parse(read_file(two_rails()));
    const double more[] = {first_us, second_us};
    for (size_t r = 0; r < 2; ++r)
      for (const char* method : {"eager", "rendezvous", "gathered", "pair"})
        for (auto& us : network["rails"][r][method]["us"])
          us = us.get<double>() + (std::string(method) == "rendezvous" ? 3 : 1) * more[r];
    const auto rows = smelt({"tune", "openmpi", "--json", "--network", write_file("ask.json", network.dump())}).json();
    return std::stoull(rows[3]["value"].get<std::string>());
  };
  EXPECT_EQ(limit_with(0, 0), 64u << 10);
  // Three ways of 20060 us; an eager byte on the slower rail takes 0.102 us, from 20400 on.
  EXPECT_NEAR(static_cast<double>(limit_with(20'000, 20'000)), (0.97 * 3 * 20'060 - 20'400) / 0.102, 3000);
  EXPECT_EQ(limit_with(20'000, 4'000), 64u << 10) << "asked by the nearer one";
  EXPECT_EQ(limit_with(500'000, 500'000), 1u << 20) << "as much as may wait in the receiver's memory";
}

// smelt run hands them over where it is asked to and the interfaces are still here: the loopback one always is.
TEST(Rails, RunHandsThemOver) {
  const auto environment = cache("rails-run");
  const auto run_with = [&](std::vector<std::string> options, std::map<std::string, std::string> more = {}) {
    more.insert(environment.begin(), environment.end());
    options.insert(options.begin(), "run");
    for (const char* word : {"--dry-run", "--", "/bin/true"}) options.emplace_back(word);
    return run({std::move(options), more});
  };
  const std::string none = run_with({}).out;
  EXPECT_EQ(none.find("btl_tcp"), none.npos) << none;

  const std::string missing = run({{"info", "--rails"}, environment}).err;  // names the usual place
  const size_t slash = missing.find('/'), ending = missing.find(".network.json");
  ASSERT_NE(ending, missing.npos) << missing;
  const std::string path = missing.substr(slash, ending - slash) + ".network.json";
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  auto network = nlohmann::json::parse(read_file(two_rails()));
  network["rails"].erase(1);
  network["rails"][0]["interface"] = "lo", network["rails"][0]["driver"] = "";
  std::ofstream(path) << network.dump();

  EXPECT_EQ(run_with({}).out, none) << "nobody asked";
  const std::string with = run_with({"--networks"}).out;
  for (const char* part :
       {"OMPI_MCA_btl_tcp_if_include=lo ", "OMPI_MCA_btl_tcp_bandwidth_lo=200 ", "OMPI_MCA_btl_tcp_eager_limit=65536 "})
    EXPECT_NE(with.find(part), with.npos) << part << with;
  EXPECT_EQ(run_with({"--networks"}).err, "");
  const std::string said = run_with({"--networks", "--verbose"}).err;
  EXPECT_NE(said.find(" btl_tcp_if_include=lo btl_tcp_bandwidth_lo=200 "), said.npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_EQ(run_with({"--verbose"}).err, "");
  const auto expect_none = [&](const std::string& why, std::map<std::string, std::string> more = {}) {
    const Outcome outcome = run_with({"--networks"}, std::move(more));
    EXPECT_EQ(outcome.out, none);
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("keeps its own"), std::string::npos) << outcome.err;
  };
  // What the user has said stays, and nothing is put beside it.
  for (const char* name : {"OMPI_MCA_btl_tcp_if_exclude", "OMPI_MCA_btl_tcp_if_include"})
    expect_none(std::string(name) + " is set", {{name, "eth7"}});
  // An interface that has gone, a profile that is none: the program runs without, and is told why.
  network["rails"][0]["interface"] = "gone0";
  std::ofstream(path) << network.dump();
  expect_none("no gone0");
  EXPECT_EQ(run_with({}).err, "");
  std::ofstream(path) << "{";
  expect_none(path);
  std::filesystem::remove(path);
  expect_none("no network was sampled");
}

// ssh, or what a cluster has instead: here a shell.
TEST(Rails, TheOtherNodeIsStarted) {
  const auto environment = cache("rails-start");
  const std::string agent =
      write_file("agent.sh", "#!/bin/sh\n[ \"$1 $2\" = '-q 127.0.0.1' ] || exit 3\nshift 2\nexec sh -c \"$*\"\n");
  std::filesystem::permissions(agent, std::filesystem::perms::owner_all);
  const std::string path = scratch() + "/started.network.json";
  const auto network = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "network");
    words.emplace_back("127.0.0.1");
    return run({std::move(words), environment});
  };
  const Outcome sampled = network({"sample", "--start", agent + " -q", "--seconds", "0.3", "-o", path});
  if (sampled.err.find("libfabric") != std::string::npos) GTEST_SKIP() << sampled.err;
  EXPECT_EQ(sampled.code, 0) << sampled.err;
  EXPECT_NE(sampled.out.find("written     " + path), std::string::npos) << sampled.out;
  const Outcome checked = network({"check", "--start", agent + " -q", "--network", path});
  EXPECT_TRUE(checked.code == 0 || checked.code == 1) << checked.err;
  EXPECT_NE(checked.out.find("sampled, "), std::string::npos) << checked.out;
  const auto expect_none = [&](const std::string& start, const std::string& says) {
    const Outcome outcome = network({"sample", "--start", start, "-o", path});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  };
  expect_none("/no/such/agent", "is not there");
  expect_none(agent, "did not start smelt");  // it ends with 3
  expect_none("true", "did not start smelt");

  // smelt calibrate --network goes the same way.
  const std::string asked = scratch() + "/asked";
  const std::string asker = write_file("asker.sh", "#!/bin/sh\necho \"$*\" >'" + asked + "'\nexit 4\n");
  std::filesystem::permissions(asker, std::filesystem::perms::owner_all);
  const Outcome calibrated =
      run({{"calibrate", "--network", "--peer", "elsewhere", "--agent", asker, "-o", path}, environment});
  EXPECT_EQ(calibrated.code, 2);
  EXPECT_NE(calibrated.err.find("did not start smelt"), std::string::npos) << calibrated.err;
  EXPECT_EQ(read_file(asked).rfind("elsewhere ", 0), 0u) << read_file(asked);
  EXPECT_NE(read_file(asked).find("network listen"), std::string::npos) << read_file(asked);
  const Outcome again =  // of what the one that was started has kept
      run({{"calibrate", "--network", "--check", "--peer", "127.0.0.1", "--agent", agent + " -q"}, environment});
  EXPECT_TRUE(again.code == 0 || again.code == 1) << again.err;
  EXPECT_NE(again.out.find("sampled, "), std::string::npos) << again.out;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"calibrate", "--network"}, {"calibrate", "--peer", "elsewhere"}})
    EXPECT_EQ(run({words, environment}).code, 2);
}

// Open MPI takes an unknown parameter without a word.
TEST(Rails, OpenMpiKnowsTheParameters) {
  FILE* info =
      popen("ompi_info --version 2>/dev/null && ompi_info --param btl tcp --level 9 --parsable 2>/dev/null", "r");
  ASSERT_NE(info, nullptr);
  std::string known;
  for (char line[4096]; fgets(line, sizeof line, info);) known += line;
  pclose(info);
  if (known.find("btl_tcp") == std::string::npos) GTEST_SKIP() << "no Open MPI with a TCP component here";
  const auto rows = smelt({"tune", "openmpi", "--json", "--network", two_rails()}).json();
  ASSERT_EQ(rows.size(), 4u);
  for (const auto& row : rows) {
    std::string name = row["parameter"];
    // Those of an interface are registered when it is opened, after the one for all.
    for (const char* ending : {"_fast0", "_slow0"})
      if (name.ends_with(ending)) name.resize(name.size() - std::string(ending).size());
    EXPECT_NE(known.find(":param:" + name + ":value:"), std::string::npos) << name;
  }
}

// Two interfaces as the profile has them, in a network of the program's own. False: it may not have one.
bool two_interfaces() {
  return ::unshare(CLONE_NEWNET) == 0 &&
         std::system(
             "{ ip link set lo up && ip link add fast0 type veth peer name f1 &&"
             " ip link add slow0 type veth peer name s1 &&"
             " ip addr add 10.77.1.1/24 dev fast0 && ip addr add 10.77.2.1/24 dev slow0 &&"
             " for i in fast0 f1 slow0 s1; do ip link set $i up || exit 1; done; } >/dev/null 2>&1") == 0;
}

// From one node to others that are like it, and what differs there.
TEST(Rails, AProfileTravels) {
  const auto environment = cache("travels");
  // Not to a machine with other interfaces.
  const Outcome refused = run({{"network", "import", two_rails()}, environment});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("fast0 (veth, 10000 Mbit/s) is no interface of this machine"), std::string::npos)
      << refused.err;
  EXPECT_EQ(run({{"network", "export"}, environment}).code, 2) << "nothing was imported, but there is something";

  Call import{{"network", "import", two_rails()}, environment};
  import.prepare = two_interfaces;
  const Outcome imported = run(import);
  if (imported.code == 125) GTEST_SKIP() << "no network of one's own here";
  ASSERT_EQ(imported.code, 0) << imported.err;
  const Outcome exported = run({{"network", "export"}, environment});
  EXPECT_EQ(exported.code, 0) << exported.err;
  EXPECT_EQ(nlohmann::json::parse(exported.out), nlohmann::json::parse(read_file(two_rails())));
  const std::string file = scratch() + "/exported.json";
  EXPECT_EQ(run({{"network", "export", "-o", file}, environment}).code, 0);
  EXPECT_EQ(read_file(file), exported.out);
  // What was imported is what is used.
  EXPECT_EQ(run({{"info", "--rails"}, environment}).out, smelt({"info", "--rails", "--network", two_rails()}).out);

  // Another speed on one rail, and one rail less.
  auto other = nlohmann::ordered_json::parse(exported.out);
  for (auto& [name, curve] : other["rails"][0].items())
    if (curve.is_object() && curve.contains("us"))
      for (auto& us : curve["us"]) us = 2 * us.get<double>();
  other["library"] = "libfabric 2.0";
  const std::string slower = write_file("slower.json", other.dump());
  const std::string differs = run({{"network", "diff", file, slower}, environment}).out;
  EXPECT_NE(differs.find("library     libfabric 1.17 and libfabric 2.0\n"), std::string::npos) << differs;
  EXPECT_NE(differs.find("(+100 %); bandwidth in"), std::string::npos) << differs;
  EXPECT_NE(differs.find("(-50 %)"), std::string::npos) << differs;
  EXPECT_EQ(std::count(differs.begin(), differs.end(), '\n'), 3) << differs;
  const auto told = run({{"network", "diff", file, slower, "--json"}, environment}).json();
  EXPECT_EQ(told["b"]["library"], "libfabric 2.0");
  EXPECT_NEAR(told["rails"][0]["b"]["latency_us"].get<double>() / told["rails"][0]["a"]["latency_us"].get<double>(), 2,
              1e-5);
  // The second is this machine's where none is named.
  const std::string same = run({{"network", "diff", file}, environment}).out;
  EXPECT_EQ(same, run({{"network", "diff", file, file}, environment}).out);
  EXPECT_NE(same.find("(+0 %)"), std::string::npos) << same;
  other["rails"].erase(1);
  const std::string fewer = write_file("fewer.json", other.dump());
  EXPECT_NE(run({{"network", "diff", file, fewer}, environment}).out.find("slow0       only in the first\n"),
            std::string::npos);
  EXPECT_NE(run({{"network", "diff", fewer, file}, environment}).out.find("slow0       only in the second\n"),
            std::string::npos);
  const Outcome missing = run({{"network", "diff", file, "/no/such/file"}, environment});
  EXPECT_EQ(missing.code, 2);
  EXPECT_EQ(std::count(missing.err.begin(), missing.err.end(), '\n'), 1) << missing.err;
}

TEST(Rails, BadInputIsOneLine) {
  const auto expect = [](std::vector<std::string> words, const std::string& says) {
    const Outcome outcome = smelt(std::move(words));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  };
  expect({"info", "--rails"}, "no network was sampled yet");
  expect({"info", "--network", two_rails()}, "--network");
  expect({"tune", "mpich", "--dry-run"}, "openmpi");
  expect({"tune", "openmpi"}, "--dry-run to see them");
  expect({"tune", "openmpi", "--dry-run", "--network", write_file("bad.json", "{}")}, "\"format\" is missing");
  expect({"tune", "openmpi", "--network", two_rails(), "-o", "/no/such/folder/x"}, "cannot be written");
}

TEST(Rails, TheManualKnowsEveryOption) {
  expect_manual(from_environment("SMELT_TEST_RAILS_MANUAL"), {{"network", "listen"},
                                                              {"network", "sample"},
                                                              {"network", "check"},
                                                              {"network", "diff"},
                                                              {"tune"},
                                                              {"info", "--rails"},
                                                              {"calibrate", "--network"}});
}

TEST(Rails, WhereTheyWereLeftOutOneLineSaysSo) {
  const std::string says = "build Smelt with -Drails=enabled";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"network", "listen"}, {"tune", "openmpi"}, {"info", "--rails"}, {"calibrate", "--network", "--peer", "x"}})
    expect_refused(alone(words), says);
  EXPECT_EQ(alone({"--help"}).out.find("network"), std::string::npos);
  EXPECT_NE(smelt({"--help"}).out.find("network"), std::string::npos);
  // The report asks for them, too.
  const std::filesystem::path pictures = scratch() + "/alone/pictures";
  std::filesystem::create_directories(pictures);
  std::filesystem::copy_file(
      std::filesystem::path(from_environment("SMELT")).parent_path() / "../pictures/smelt-pictures",
      pictures / "smelt-pictures");
  expect_refused(alone({"report", "--machine", "zoo:apple-m1-pro-1x6", "--json", "--network", two_rails()}), says);
}

}  // namespace
}  // namespace smelt::test
