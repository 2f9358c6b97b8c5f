// syncbench, arraybench, taskbench, schedbench and compare from outside: what they print, how they end. Behaviour only:
// no time is judged.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "epcc/child.h"
#include "epcc/epcc_output.h"

using namespace smelt::epcc;

namespace {

std::string program(const char* variable) {
  const char* path = std::getenv(variable);
  return path ? path : "";
}

Finished run(const char* variable, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program(variable));
  return run_child(arguments, Environment::of_this_process(), 240);
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  for (size_t start = 0, end; (end = text.find('\n', start)) != std::string::npos; start = end + 1)
    result.push_back(text.substr(start, end - start));
  return result;
}

const std::vector<std::string> kQuick{"--outer-repetitions", "3", "--test-time", "50"};

std::vector<std::string> quick(std::vector<std::string> more) {
  more.insert(more.end(), kQuick.begin(), kQuick.end());
  return more;
}

void expect_refused(const char* variable, const std::vector<std::string>& arguments) {
  const Finished refused = run(variable, arguments);
  std::string joined;
  for (const auto& word : arguments) joined += word + " ";
  EXPECT_TRUE(refused.failure.starts_with("exit status 2:")) << joined << refused.failure;
  EXPECT_EQ(lines(refused.err).size(), 1u) << joined << refused.err;
  EXPECT_EQ(refused.out, "") << joined;
}

class Suites : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Suites, testing::Values("SYNCBENCH", "ARRAYBENCH", "TASKBENCH", "SCHEDBENCH"));

TEST_P(Suites, EveryKernelPrintsItsFigures) {
  const Finished listed = run(GetParam(), {"--list"});
  ASSERT_TRUE(listed.ok) << listed.failure;
  const auto kernels = lines(listed.out);
  const Finished measured = run(GetParam(), kQuick);
  ASSERT_TRUE(measured.ok) << measured.failure;
  const Output output = parse_output(measured.out);
  ASSERT_EQ(output.kernels.size(), kernels.size());
  for (size_t i = 0; i < kernels.size(); i++) {
    EXPECT_EQ(output.kernels[i].kernel, kernels[i]);
    EXPECT_GT(output.kernels[i].time, 0) << kernels[i];
    EXPECT_LT(output.kernels[i].overhead, output.kernels[i].time) << kernels[i];
    EXPECT_GE(output.kernels[i].noise, 0) << kernels[i];
  }
  EXPECT_NE(measured.out.find("\t2 thread(s)\n"), std::string::npos);
  for (const double hop : output.hop_ns) EXPECT_GT(hop, 1);
  if (measured.out.find("may use one CPU") == std::string::npos) {
    EXPECT_EQ(output.hop_ns.size(), 2u) << "one at the start, one at the end";
  }
}

TEST_P(Suites, BadOptionsAreRefusedInOneLine) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--nonsense"},
                                                    {"--test-time", "0"},
                                                    {"--test-time", "1x"},
                                                    {"--outer-repetitions", "1"},
                                                    {"--outer-repetitions", "2.5"},
                                                    {"--delay-time", "-1"},
                                                    {"--delay-time", "nan"},
                                                    {"--kernels", "NONSENSE"},
                                                    {"--kernels", ""},
                                                    {"--kernels", "PARALLEL,,"},
                                                    {"stray"},
                                                    {"--test-time"}})
    expect_refused(GetParam(), arguments);
}

TEST(Syncbench, ChoosesKernelsByLooseNames) {
  const Finished chosen = run("SYNCBENCH", quick({"--kernels", "barrier, parallel_for"}));
  ASSERT_TRUE(chosen.ok) << chosen.failure;
  const Output output = parse_output(chosen.out);
  ASSERT_EQ(output.kernels.size(), 2u);
  EXPECT_EQ(output.kernels[0].kernel, "PARALLEL FOR");
  EXPECT_EQ(output.kernels[1].kernel, "BARRIER");
  expect_refused("SYNCBENCH", {"--array-size", "3"});  // an option of arraybench
}

// The least sample of what is measured under this name: "... Min ..." and the figures stand below its "Computing ...".
double least_of(const std::string& out, const std::string& name) {
  const auto printed = lines(out);
  for (size_t i = 0; i + 3 < printed.size(); i++)
    if (printed[i].starts_with("Computing " + name + " time ")) {
      double size, mean, least;
      return std::sscanf(printed[i + 3].c_str(), "%lf %lf %lf", &size, &mean, &least) == 3 ? least : 0;
    }
  return 0;
}

// The delay is really there: a hundred times the delay makes the reference at least ten times as long. Neighbours on
// the CPUs make a sample longer, never shorter, so that of nine the least is not theirs, as a mean would be.
TEST(Syncbench, DelayIsNotOptimisedAway) {
  const auto time_of = [](const char* delay) {
    const Finished measured = run(
        "SYNCBENCH", {"--kernels", "critical", "--delay-time", delay, "--test-time", "50", "--outer-repetitions", "9"});
    EXPECT_TRUE(measured.ok) << measured.failure;
    return least_of(measured.out, "reference time 1");
  };
  const double brief = time_of("0.1"), extended = time_of("10");
  EXPECT_GT(brief, 0.02);
  EXPECT_GT(extended, 10 * brief);
}

TEST(Arraybench, SizeIsLimited) {
  const Finished listed = run("ARRAYBENCH", {"--array-size", "10", "--kernels", "copyprivate", "--list"});
  EXPECT_EQ(lines(listed.out), (std::vector<std::string>{"COPYPRIVATE 1", "COPYPRIVATE 3", "COPYPRIVATE 9"}));
  expect_refused("ARRAYBENCH", {"--array-size", "0"});
  expect_refused("ARRAYBENCH", {"--array-size", "59050"});
}

// "DYNAMIC" names all its chunks; "STATIC" is a kernel itself, and names that one alone.
TEST(Schedbench, WordsNameKernelsOfEveryChunk) {
  const auto named = [](const char* word) { return lines(run("SCHEDBENCH", {"--kernels", word, "--list"}).out); };
  EXPECT_EQ(named("dynamic"), (std::vector<std::string>{"DYNAMIC 1", "DYNAMIC 2", "DYNAMIC 4", "DYNAMIC 8",
                                                        "DYNAMIC 16", "DYNAMIC 32", "DYNAMIC 64", "DYNAMIC 128"}));
  EXPECT_EQ(named("static"), std::vector<std::string>{"STATIC"});
  EXPECT_EQ(named("static_8"), std::vector<std::string>{"STATIC 8"});
  EXPECT_EQ(named("guided").size(), 8u);
  EXPECT_EQ(named("triangle_static"), std::vector<std::string>{"TRIANGLE STATIC"});
}

// A repetition is a loop of 128 delays for every thread: a delay of 1 us makes it last 128 us at the least, and half of
// the work would last 64. (Between the two, since the CPU may be faster now than when the delay was calibrated.) Under
// --over static the reference is another loop, which ends with a barrier.
TEST(Schedbench, EveryThreadHasItsShareOfDelays) {
  const auto run_over = [](const char* over) {
    const Finished measured =
        run("SCHEDBENCH", quick({"--kernels", "static,triangle_dynamic_1", "--over", over, "--delay-time", "1"}));
    EXPECT_TRUE(measured.ok) << measured.failure;
    return measured.out;
  };
  const std::string alone = run_over("reference"), loop = run_over("static");
  for (const auto& out : {alone, loop}) {
    const Output output = parse_output(out);
    ASSERT_EQ(output.kernels.size(), 2u);
    for (const Figures& figures : output.kernels) EXPECT_GT(figures.time, 90) << figures.kernel << '\n' << out;
  }
  EXPECT_NE(alone.find("reference time 1 time"), std::string::npos);
  EXPECT_EQ(alone.find("reference time 3 time"), std::string::npos);
  EXPECT_EQ(loop.find("reference time 1 time"), std::string::npos);
  EXPECT_NE(loop.find("reference time 3 time"), std::string::npos);
  EXPECT_NE(loop.find("reference time 2 time"), std::string::npos) << "the triangle keeps its own";
  expect_refused("SCHEDBENCH", {"--over", "dynamic"});
  expect_refused("SYNCBENCH", {"--over", "static"});
}

TEST(Compare, BadInputIsRefusedInOneLine) {
  const std::string quiet = program("QUIET");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--pairs", "0"},
        {"--threads", "none"},
        {"--nonsense"},
        {"stray"},
        {"--suite", "nosuchbench"},
        {"--over", "dynamic"},
        {"--smelt-env", "OMP_NUM_THREADS=7", "--smelt-library", quiet},
        {"--smelt-env", "SMELT_OPENMP", "--smelt-library", quiet},
        {"--plain", "--smelt-library", quiet},
        {"--plain", "--smelt-env", "SMELT_OPENMP=on", "--libomp", "none", "--smelt-library", quiet},
        {"--wait-policy", "eager"},
        {"--bind", "--no-bind"},
        {"--smelt-library", "/nonexistent.so"},
        {"--smelt-library", quiet, "--kernels", "NONSENSE"},
        {"--smelt-library", quiet, "--epcc-dir", "/nonexistent"},
        {"--smelt-library", quiet, "--libomp", "/nonexistent.so"},
        {"--smelt-library", quiet, "--libgomp", "/nonexistent.so"},
        {"--smelt-library", quiet, "--libgomp", quiet, "--libomp", "none"},
        {"--smelt-library", quiet, "--array-sizes", "2", "--suite", "arraybench"}})
    expect_refused("COMPARE", arguments);
}

TEST(Compare, JsonHoldsRowsAndRuns) {
  const Finished compared = run("COMPARE", {"--quick", "--pairs", "1", "--kernels", "barrier", "--libomp", "none",
                                            "--json", "--smelt-library", program("QUIET")});
  ASSERT_TRUE(compared.ok) << compared.failure;
  const auto json = nlohmann::json::parse(compared.out);
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["smelt_active"], false);
  EXPECT_EQ(json["libomp"], "");
  ASSERT_GE(json["rows"].size(), 1u);
  for (const auto& row : json["rows"]) {
    EXPECT_EQ(row["kernel"], "BARRIER");
    EXPECT_EQ(row["suite"], "syncbench");
    EXPECT_GT(row["smelt"]["time_us"], 0);
    EXPECT_GT(row["stock"]["ratio"]["median"], 0);
    EXPECT_LE(row["stock"]["ratio"]["min"], row["stock"]["ratio"]["median"]);
    EXPECT_GE(row["stock"]["ratio"]["max"], row["stock"]["ratio"]["median"]);
    EXPECT_FALSE(row.contains("libomp"));
  }
  ASSERT_GE(json["runs"].size(), 1u);
  const auto& hops = json["runs"][0]["hop_ns"];
  EXPECT_TRUE(hops.empty() || hops.size() == 4u) << "start and end of two runs";
}

TEST(Compare, WarnsWhenTheLibraryTakesNothing) {
  const Finished compared = run("COMPARE", {"--quick", "--pairs", "1", "--kernels", "single", "--libomp", "none",
                                            "--smelt-library", program("QUIET")});
  ASSERT_TRUE(compared.ok) << compared.failure;
  EXPECT_NE(compared.out.find("WARNING: " + program("QUIET") + " took nothing over"), std::string::npos)
      << compared.out;
  EXPECT_EQ(compared.err, "") << "no progress on a pipe";
}

// A third side that the loader does not take for libgomp.so.1 would make the table compare stock with stock.
TEST(Compare, AnotherLibgompIsOneOrIsLeftOut) {
  const auto with = [](const std::string& libgomp) {
    const Finished compared = run("COMPARE", {"--quick", "--pairs", "1", "--kernels", "single", "--libgomp", libgomp,
                                              "--json", "--smelt-library", program("QUIET")});
    EXPECT_TRUE(compared.ok) << compared.failure;
    return nlohmann::json::parse(compared.out);
  };
  const auto quiet = with(program("QUIET"));
  EXPECT_EQ(quiet["libgomp"], "");
  EXPECT_NE(quiet["warnings"].dump().find("libgomp is left out: " + program("QUIET") + ": it did not take over"),
            std::string::npos)
      << quiet["warnings"];
  EXPECT_FALSE(quiet["rows"][0].contains("libgomp"));

  // The system's own is always one: where it lies, the loader says.
  Environment listing = Environment::of_this_process();
  listing.set("LD_TRACE_LOADED_OBJECTS", "1");
  const std::string loaded = run_child({program("SYNCBENCH")}, listing, 10).out;
  const size_t at = loaded.find("libgomp.so.1 => ");
  if (at == std::string::npos) GTEST_SKIP() << "syncbench does not load a libgomp.so.1";
  const std::string path = loaded.substr(at + 16, loaded.find(' ', at + 16) - at - 16);
  const auto own = with(path);
  EXPECT_EQ(own["libgomp"], path);
  EXPECT_GT(own["rows"][0]["libgomp"]["ratio"]["median"], 0);
  EXPECT_FALSE(own["rows"][0].contains("libomp"));
}

// A part of ours that is off by default, on and off: the settings reach the Smelt side alone.
TEST(Compare, SettingOfTheSmeltSideAlone) {
  if (program("SHIM").empty()) GTEST_SKIP() << "the shim is not built for this architecture";
  const std::filesystem::path original = std::filesystem::temp_directory_path() / fmt::format("smelt_env_{}", getpid());
  std::filesystem::create_directories(original);
  const std::filesystem::path script = original / "schedbench", told = original / "told";
  std::ofstream(script) << "#!/bin/sh\necho \"$SMELT_OPENMP,${SMELT_TUNE-none}\" >> " << told << "\n"
                        << "echo 'DYNAMIC 1 time     = 0.300000 microseconds +/- 0.010000'\n"
                        << "echo 'DYNAMIC 1 overhead = 0.200000 microseconds +/- 0.020000'\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Finished compared = run(
      "COMPARE", {"--pairs", "1", "--epcc-dir", original, "--suite", "schedbench", "--smelt-env", "SMELT_OPENMP=-loops",
                  "--smelt-env", "SMELT_TUNE=spin_us=20", "--plain", "--smelt-library", program("SHIM")});
  ASSERT_TRUE(compared.ok) << compared.failure;
  std::ifstream file(told);
  std::vector<std::string> sides;
  for (std::string side; std::getline(file, side);) sides.push_back(side);
  ASSERT_GE(sides.size(), 3u);
  EXPECT_EQ(sides[0], ",none");
  EXPECT_EQ(sides[1], "-loops,spin_us=20");
  EXPECT_EQ(sides[2], ",none");
  EXPECT_NE(compared.out.find("\nplain    Smelt without SMELT_OPENMP=-loops SMELT_TUNE=spin_us=20"), std::string::npos);
  EXPECT_NE(compared.out.find("plain µs"), std::string::npos) << compared.out;
  std::filesystem::remove_all(original);
}

TEST(Compare, ChunksAreNoArraySizes) {
  const Finished compared = run(
      "COMPARE", {"--outer-repetitions", "3", "--test-time", "50", "--pairs", "1", "--suite", "schedbench", "--kernels",
                  "dynamic_2", "--over", "static", "--libomp", "none", "--json", "--smelt-library", program("QUIET")});
  ASSERT_TRUE(compared.ok) << compared.failure;
  const auto json = nlohmann::json::parse(compared.out);
  ASSERT_GE(json["rows"].size(), 1u);
  EXPECT_EQ(json["rows"][0]["kernel"], "DYNAMIC 2");
  EXPECT_EQ(json["rows"][0]["suite"], "schedbench");
}

TEST(Compare, SeesThatSmeltIsActive) {
  if (program("SHIM").empty()) GTEST_SKIP() << "the shim is not built for this architecture";
  const Finished compared = run("COMPARE", {"--quick", "--pairs", "1", "--kernels", "single", "--libomp", "none",
                                            "--json", "--smelt-library", program("SHIM")});
  ASSERT_TRUE(compared.ok) << compared.failure;
  const auto json = nlohmann::json::parse(compared.out);
  EXPECT_EQ(json["smelt_active"], true);
  EXPECT_TRUE(json["warnings"].empty()) << json["warnings"];
  // Switched off by the user's environment: the table is then worthless, and must say so.
  setenv("SMELT_OPENMP", "off", 1);
  const Finished off = run("COMPARE", {"--quick", "--pairs", "1", "--kernels", "single", "--libomp", "none",
                                       "--smelt-library", program("SHIM")});
  unsetenv("SMELT_OPENMP");
  EXPECT_NE(off.out.find("took nothing over"), std::string::npos) << off.out;
}

TEST(Compare, LibompIsTheOtherShims) {
  if (*std::getenv("KMP_SHIM") == '\0') GTEST_SKIP() << "no clang with OpenMP, or no shim for libomp";
  const Finished compared =
      run("COMPARE", {"--runtime", "libomp", "--quick", "--pairs", "1", "--kernels", "single", "--json"});
  ASSERT_TRUE(compared.ok) << compared.failure;
  const auto json = nlohmann::json::parse(compared.out);
  EXPECT_EQ(json["runtime"], "libomp");
  EXPECT_EQ(json["smelt_library"], program("KMP_SHIM"));
  EXPECT_EQ(json["smelt_active"], true) << json["smelt_says"];
  EXPECT_NE(std::string(json["smelt_says"]).find("libomp"), std::string::npos) << json["smelt_says"];
}

// Stands in for a build of the original suite.
class OriginalSuite : public testing::Test {
 protected:
  OriginalSuite() {
    char name[] = "/tmp/epcc_test_XXXXXX";
    const char* made = mkdtemp(name);
    if (made) directory_ = made;
  }
  ~OriginalSuite() override {
    std::error_code error;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, error);
  }
  void put(const char* name, const std::string& body) const {
    std::ofstream(directory_ / name) << "#!/bin/sh\n" << body;
    std::filesystem::permissions(directory_ / name, std::filesystem::perms::owner_all);
  }
  Finished compare(std::vector<std::string> more) const {
    more.insert(more.end(), {"--epcc-dir", directory_.string(), "--pairs", "1", "--libomp", "none", "--smelt-library",
                             program("QUIET")});
    return run("COMPARE", more);
  }
  std::filesystem::path directory_;
};

constexpr const char* kFigures =
    "echo 'BARRIER time     = 0.300000 microseconds +/- 0.010000'\n"
    "echo 'BARRIER overhead = 0.200000 microseconds +/- 0.020000'\n";

TEST_F(OriginalSuite, IsFoundAndRead) {
  put("syncbench.x", kFigures);
  put("arraybench_2187", "exit 1\n");  // not among the default sizes
  const Finished compared = compare({"--json"});
  ASSERT_TRUE(compared.ok) << compared.failure;
  const auto json = nlohmann::json::parse(compared.out);
  ASSERT_GE(json["rows"].size(), 1u);
  EXPECT_EQ(json["rows"][0]["kernel"], "BARRIER");
  EXPECT_DOUBLE_EQ(json["rows"][0]["stock"]["ratio"]["median"], 1.0);
  EXPECT_EQ(json["rows"][0]["stock"]["ratio_of"], "overheads");
}

TEST_F(OriginalSuite, TheTableBeginsWithWhatItComesTo) {
  put("syncbench",
      "time=0.32\n[ -z \"$LD_PRELOAD\" ] || time=0.10\n"
      "for kernel in PARALLEL BARRIER; do\n"
      "  echo \"$kernel time     = $time microseconds +/- 0.010000\"\n"
      "  echo \"$kernel overhead = $time microseconds +/- 0.010000\"\n"
      "  time=0.10\ndone\n");
  const Finished compared = compare({});
  ASSERT_TRUE(compared.ok) << compared.failure;
  const std::string line = lines(compared.out)[0];
  EXPECT_TRUE(line.starts_with("here: a region 3.20 times, a barrier 1.00 times as fast as stock")) << compared.out;
  put("syncbench", kFigures);
  EXPECT_TRUE(compare({}).out.starts_with("Machine")) << "without both constructs there is no such line";
}

TEST_F(OriginalSuite, FailedRunEndsWithOneAndItsLastLine) {
  put("syncbench", "echo first >&2; echo out of luck >&2; exit 3\n");
  const Finished failed = compare({});
  EXPECT_TRUE(failed.failure.starts_with("exit status 1:")) << failed.failure;
  EXPECT_NE(failed.err.find("exit status 3: out of luck"), std::string::npos) << failed.err;
  EXPECT_EQ(lines(failed.err).size(), 1u);
}

TEST_F(OriginalSuite, CrashSilenceAndHangAreFailures) {
  put("syncbench", "kill -SEGV $$\n");
  EXPECT_NE(compare({}).err.find("killed by signal 11"), std::string::npos);
  put("syncbench", "exit 0\n");
  EXPECT_NE(compare({}).err.find("printed no figures"), std::string::npos);
  put("syncbench", "exec sleep 60\n");
  EXPECT_NE(compare({"--timeout", "1"}).err.find("still running after 1 s"), std::string::npos);
}

TEST_F(OriginalSuite, KernelThatNobodyHasIsBadInput) {
  put("syncbench", kFigures);
  const Finished refused = compare({"--kernels", "BARRIER,NONSENSE"});
  EXPECT_TRUE(refused.failure.starts_with("exit status 2:")) << refused.failure;
}

}  // namespace
