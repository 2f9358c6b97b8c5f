// mpi_sweep and mpi_compare from outside: what they print and how they end. Behaviour only: no time is judged.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "epcc/child.h"
#include "epcc/program.h"
#include "smelt_config.h"

using namespace smelt::epcc;

namespace {

using Json = nlohmann::json;

std::string program(const char* variable) {
  const char* path = std::getenv(variable);
  return path ? path : "";
}

Finished run(const char* variable, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), program(variable));
  return run_child(arguments, Environment::of_this_process(), 240);
}

bool has_mpirun() { return !find_program({"mpirun.openmpi", "mpirun"}).empty(); }

// Removed with the test.
struct File {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("mpi_compare_test." + std::to_string(getpid()));
  ~File() { std::filesystem::remove(path); }
  Json json() const { return Json::parse(std::ifstream(path)); }
};

struct Directory {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("mpi_compare_test.d." + std::to_string(getpid()));
  Directory() { std::filesystem::create_directory(path); }
  ~Directory() { std::filesystem::remove_all(path); }
};

TEST(MpiSweep, TalksWithoutMpirun) {
  const Finished listed = run("MPI_SWEEP", {"--list"});
  ASSERT_TRUE(listed.ok) << listed.failure;
  EXPECT_EQ(
      listed.out,
      "barrier\nbcast\nbcast-rotating\nreduce\nreduce-rotating\nallreduce\nallgather\ngather\nscatter\nallgatherv\n"
      "gatherv\nscatterv\nalltoall\nalltoallv\nreduce-scatter-block\nreduce-scatter\nscan\nexscan\ndup\n");
  EXPECT_NE(run("MPI_SWEEP", {"--help"}).out.find("--kernels"), std::string::npos);
}

// Open MPI's mpirun and two ranks of mpi_sweep, with one collective broken.
Finished sweep_with_broken(const std::string& collective, const std::string& kernel) {
  Environment environment = Environment::of_this_process();
  environment.set("OMPI_ALLOW_RUN_AS_ROOT", "1");
  environment.set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  environment.set("WRONG", collective);
  return run_child({find_program({"mpirun.openmpi", "mpirun"}), "-n", "2", "--oversubscribe", "-x",
                    "LD_PRELOAD=" + program("MPI_WRONG"), "-x", "WRONG", program("MPI_SWEEP"), "--kernels", kernel,
                    "--sizes", "64", "--batch-ms", "0.2", "--batches", "1", "--timeout", "60"},
                   environment, 90);
}

TEST(MpiSweep, NoticesWrongResults) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const Finished sound = sweep_with_broken(
      "none",
      "bcast,reduce,allreduce,allgather,gather,scatter,allgatherv,gatherv,scatterv,alltoall,alltoallv,"
      "reduce-scatter-block,reduce-scatter,scan,exscan,barrier");
  ASSERT_TRUE(sound.ok) << sound.failure << sound.err;
  for (const auto& [collective, kernel] : {std::pair{"bcast", "bcast"},
                                           {"bcast", "bcast-rotating"},
                                           {"reduce", "reduce"},
                                           {"allreduce", "allreduce"},
                                           {"allgather", "allgather"},
                                           {"gather", "gather"},
                                           {"scatter", "scatter"},
                                           {"allgatherv", "allgatherv"},
                                           {"gatherv", "gatherv"},
                                           {"scatterv", "scatterv"},
                                           {"alltoall", "alltoall"},
                                           {"alltoallv", "alltoallv"},
                                           {"reduce-scatter-block", "reduce-scatter-block"},
                                           {"reduce-scatter", "reduce-scatter"},
                                           {"scan", "scan"},
                                           {"exscan", "exscan"},
                                           {"overrun", "allreduce"},
                                           {"barrier", "barrier"}}) {
    const Finished broken = sweep_with_broken(collective, kernel);
    EXPECT_FALSE(broken.ok) << collective;
    EXPECT_NE(broken.err.find(std::string("WRONG RESULT: ") + kernel), std::string::npos) << collective << broken.err;
    EXPECT_EQ(broken.out.find("\"kernel\""), std::string::npos) << collective << broken.out;
  }
}

// Open MPI's component for a node, which this series has.
const std::string kNode = SMELT_OPEN_MPI_MAJOR >= 6 ? "xhc" : "sm";

void expect_table(const std::string& out) {
  for (const std::string& word :
       {std::string("2 ranks"), std::string("tuned    Open MPI"), "coll_" + kNode + "_priority 95",
        std::string("barrier, µs"), std::string("allreduce, µs"), std::string("geometric mean"), std::string("spread"),
        std::string("results verified")})
    EXPECT_NE(out.find(word), std::string::npos) << word << "\n" << out;
  EXPECT_EQ(out.find("failed"), std::string::npos) << out;
}

void expect_row(const Json& row) {
  EXPECT_GE(row.at("rounds"), 1);
  for (const std::string& side : {std::string("tuned"), kNode}) {
    const Json& us = row.at("sides").at(side).at("us");
    EXPECT_GT(us.at("median"), 0);
    EXPECT_LE(us.at("min"), us.at("max"));
  }
  EXPECT_EQ(row.at("fastest_other"), kNode);
  EXPECT_GT(row.at("fastest_other_ratio").at("median"), 0);
}

TEST(MpiCompare, StockSidesGiveTableAndJson) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const File file;
  const Finished compared =
      run("MPI_COMPARE", {"--ranks", "2", "--quick", "--sides", "tuned," + kNode, "--kernels", "barrier,allreduce",
                          "--sizes", "4,8,1K", "--batch-ms", "0.2", "--rounds", "2", "--json", file.path});
  ASSERT_TRUE(compared.ok) << compared.failure;
  expect_table(compared.out);
  const Json json = file.json();
  EXPECT_EQ(json.at("ranks"), 2);
  EXPECT_EQ(json.at("reference"), "tuned");
  EXPECT_EQ(json.at("sides").size(), 2u);
  EXPECT_TRUE(json.at("failures").empty());
  EXPECT_GE(json.at("cells").size(), 8u);  // 2 rounds of 1 + 3 sizes, and what was repeated
  EXPECT_GE(json.at("rows").size(), 4u);
  for (const Json& row : json.at("rows")) expect_row(row);
  for (const Json& cell : json.at("cells"))
    for (const Json& side : cell.at("sides")) EXPECT_TRUE(side.at("verified"));
}

// With --quick all kernels share an mpirun, until one fails.
TEST(MpiCompare, AKernelThatFailsIsNamedAndTheOthersStay) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const File file;
  const Directory directory;
  const std::string mpirun = directory.path / "mpirun";
  std::ofstream(mpirun) << "#!/bin/sh\nWRONG=reduce exec " << find_program({"mpirun.openmpi", "mpirun"})
                        << " -x WRONG -x LD_PRELOAD=" << program("MPI_WRONG") << " \"$@\"\n";
  std::filesystem::permissions(mpirun, std::filesystem::perms::owner_all);
  const Finished compared =
      run("MPI_COMPARE", {"--quick", "--sides", "tuned", "--mpirun", mpirun, "--kernels", "bcast,reduce,barrier",
                          "--sizes", "64", "--batch-ms", "0.2", "--rounds", "2", "--json", file.path});
  ASSERT_TRUE(compared.ok) << compared.failure << compared.err;
  const Json json = file.json();
  ASSERT_EQ(json.at("failures").size(), 1u) << compared.out;
  EXPECT_EQ(json.at("failures").at(0).at("kernel"), "reduce");
  std::vector<std::string> kernels;
  for (const Json& row : json.at("rows")) kernels.push_back(row.at("kernel"));
  EXPECT_EQ(kernels, (std::vector<std::string>{"bcast", "barrier"})) << compared.out;
  for (const Json& row : json.at("rows")) EXPECT_GE(row.at("rounds"), 2) << compared.out;
}

// Of all sides those that are not there, or do not want this machine, are named with the reason.
TEST(MpiCompare, AllSides) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const File file;
  const Finished compared =
      run("MPI_COMPARE", {"--sides", "all", "--smelt-dir", "/nonexistent", "--kernels", "allreduce", "--sizes", "8,16K",
                          "--batch-ms", "0.2", "--batches", "1", "--rounds", "1", "--json", file.path});
  ASSERT_TRUE(compared.ok) << compared.failure;
  const std::string other = SMELT_OPEN_MPI_MAJOR >= 6 ? "sm" : "xhc";
  for (const std::string& line : {other + " is left out: this Open MPI has no coll/" + other,
                                  std::string("han is left out: Open MPI chose tuned for MPI_COMM_WORLD, not han"),
                                  std::string("smelt is left out: no /nonexistent/mca_coll_smelt.so")})
    EXPECT_NE(compared.out.find(line), std::string::npos) << line << "\n" << compared.out;
  const Json json = file.json();
  EXPECT_TRUE(json.at("failures").empty()) << compared.out;
  for (const Json& row : json.at("rows"))
    for (const std::string& side : {std::string("tuned"), kNode})
      EXPECT_TRUE(row.at("sides").contains(side)) << compared.out;
}

// The peers of an installation that is named: here the one that mpirun is from.
TEST(MpiCompare, AnInstallationIsNamed) {
  const std::string mpirun = find_program({"mpirun.openmpi", "mpirun"});
  if (mpirun.empty()) GTEST_SKIP() << "no mpirun";
  const std::filesystem::path prefix = std::filesystem::path(mpirun).parent_path().parent_path();
  const Finished compared = run("MPI_COMPARE", {"--sides", "tuned", "--open-mpi", prefix, "--kernels", "barrier",
                                                "--batch-ms", "0.2", "--batches", "1", "--rounds", "1"});
  ASSERT_TRUE(compared.ok) << compared.failure;
  const size_t begin = compared.out.find("/mpi_compare."), end = compared.out.find("/mpi_sweep", begin);
  ASSERT_NE(end, std::string::npos) << compared.out;
  const std::string folder = compared.out.substr(begin, end - begin);
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::temp_directory_path().string() + folder));
}

TEST(MpiCompare, EveryKernelRunsOversubscribed) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const File file;
  const int ranks = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) + 1;
  if (ranks > 16) GTEST_SKIP() << "that many ranks would take long";
  const Finished compared =
      run("MPI_COMPARE", {"--ranks", std::to_string(ranks), "--quick", "--sides", "tuned", "--sizes", "8", "--batch-ms",
                          "0.2", "--rounds", "1", "--json", file.path});
  ASSERT_TRUE(compared.ok) << compared.failure;
  EXPECT_NE(compared.out.find("not bound, yielding"), std::string::npos) << compared.out;
  const Json json = file.json();
  EXPECT_TRUE(json.at("oversubscribed"));
  EXPECT_TRUE(json.at("hop_ns").is_null());
  EXPECT_EQ(json.at("rows").size(), 6u);
}

TEST(MpiCompare, SkewIsMeasuredFromTheLastArrival) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const Finished compared = run("MPI_COMPARE", {"--quick", "--sides", "tuned", "--kernels", "bcast", "--sizes", "8",
                                                "--skew", "500", "--batch-ms", "0.2", "--rounds", "1"});
  ASSERT_TRUE(compared.ok) << compared.failure;
  EXPECT_NE(compared.out.find("from the last rank's arrival"), std::string::npos) << compared.out;
}

TEST(MpiCompare, StrictIsSaid) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const File file;
  for (const bool strict : {true, false}) {
    std::vector<std::string> arguments = {"--quick", "--sides",  "tuned", "--kernels", "bcast",  "--sizes",
                                          "8",       "--rounds", "1",     "--json",    file.path};
    if (strict) arguments.push_back("--strict");
    const Finished compared = run("MPI_COMPARE", arguments);
    ASSERT_TRUE(compared.ok) << compared.failure;
    EXPECT_EQ(compared.out.find("with a barrier after each") != std::string::npos, strict) << compared.out;
    EXPECT_EQ(file.json().at("strict"), strict);
  }
}

TEST(MpiCompare, RefusesInOneLine) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--sizes", "x"},
                                                    {"--kernels", "nonsense"},
                                                    {"--sides", "nonsense"},
                                                    {"--ranks", "0"},
                                                    {"--sides", "smelt", "--smelt-dir", "/nonexistent"},
                                                    {"--mpirun", "/nonexistent"},
                                                    {"--open-mpi", "/nonexistent"},
                                                    {"--mpich", "/nonexistent"},
                                                    {"--peers", "nonsense"},
                                                    {"--peers", "all", "--sides", "all"},
                                                    {"--strict", "--skew", "5"},
                                                    {"--json", "/nonexistent/file"}}) {
    const Finished refused = run("MPI_COMPARE", arguments);
    EXPECT_TRUE(refused.failure.starts_with("exit status 2: mpi_compare: ")) << arguments[0] << ": " << refused.failure;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    EXPECT_EQ(refused.out, "");
  }
}

// A component that is there, but is none.
TEST(MpiCompare, DoesNotTakeStockForSmelt) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const Directory directory;
  std::ofstream(directory.path / "mca_coll_smelt.so") << "not a library";
  const Finished failed =
      run("MPI_COMPARE", {"--sides", "tuned,smelt", "--smelt-dir", directory.path, "--rounds", "1"});
  EXPECT_TRUE(failed.failure.starts_with("exit status 1: mpi_compare: Smelt's side: Open MPI chose tuned"))
      << failed.failure;
}

// Where not a single run succeeds there is no table.
TEST(MpiCompare, AFailureSaysWhy) {
  const Finished failed =
      run("MPI_COMPARE", {"--sides", "tuned", "--kernels", "barrier", "--rounds", "1", "--mpirun", "/bin/false"});
  EXPECT_TRUE(failed.failure.starts_with("exit status 1: mpi_compare: no run succeeded")) << failed.failure;
}

}  // namespace
