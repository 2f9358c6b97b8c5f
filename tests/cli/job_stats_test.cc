// What the processes of a job told, as one line that is true.
#include "cli/job_stats.h"

#include "cli/launch_environment.h"

#include <gtest/gtest.h>

#include "smelt_config.h"

namespace smelt::test {
namespace {

std::string libgomp(int process, const char* more) {
  return "{\"part\":\"libgomp\",\"pid\":" + std::to_string(process) + "," + more + "}\n";
}
constexpr const char* kBegin = "\"begin\":true";
constexpr const char* kServed =
    "\"end\":true,\"refused\":\"\",\"not_hot\":\"\",\"guessed\":false,\"cpus\":2,\"asked\":\"\",\"threads\":2,"
    "\"regions\":10,\"hot\":9,\"barriers\":30,\"barriers_left\":0,\"loops\":0,\"tasks\":0,"
    "\"elsewhere\":0";

std::string line_of(const std::string& content, const JobKind& kind = {}) {
  return served_line(parse_job_stats(content), kind);
}

JobKind kind_of(const char* launcher, bool component, const char* obstacle = "") {
  JobKind kind;
  kind.launcher = launcher;
  kind.obstacle = obstacle;
  kind.component = component;
  return kind;
}

TEST(JobStats, OneProcess) {
  const std::string content = libgomp(7, kBegin) + libgomp(7, kServed);
  EXPECT_EQ(line_of(content),
            "OpenMP (libgomp, 2 threads): 9 of 10 parallel regions and 30 barriers served; 1 region left to libgomp: "
            "the first of a size, or nested");
  const JobStats stats = parse_job_stats(content);
  EXPECT_TRUE(stats.told());
  EXPECT_TRUE(stats.served());
  EXPECT_EQ(stats.threads(), 2u);
}

TEST(JobStats, AllThatWasServedIsOneList) {
  const auto libomp = [](const char* counts) {
    return std::string("{\"part\":\"libomp\",\"pid\":7,\"end\":true,\"threads\":2,") + counts + "}\n";
  };
  EXPECT_EQ(line_of(libomp("\"barriers\":10000")), "OpenMP (libomp, 2 threads): 10000 barriers or reductions served");
  EXPECT_EQ(
      line_of(libomp("\"regions\":20,\"hot\":19,\"barriers\":9")),
      "OpenMP (libomp, 2 threads): 19 of 20 parallel regions and 9 barriers or reductions served; 1 region left to "
      "libomp: the first of a size, nested, in a crowd, or by -hot");
  EXPECT_EQ(line_of(libomp("\"barriers\":1,\"loops\":5,\"tasks\":3")),
            "OpenMP (libomp, 2 threads): 1 barrier or reduction, 5 dynamic loops and 3 tasks served");
}

TEST(JobStats, SeveralProcessesAreOneLine) {
  const std::string line = line_of(libgomp(7, kBegin) + libgomp(8, kBegin) + libgomp(8, kServed) + libgomp(7, kServed) +
                                   libgomp(9, "\"unused\":true"));
  EXPECT_NE(line.find("18 of 20 parallel regions and 60 barriers served"), std::string::npos) << line;
  EXPECT_NE(line.find("; in 2 processes"), std::string::npos) << line;
  EXPECT_EQ(line.find("did not tell"), std::string::npos) << line;
}

// A process that was killed, left by _exit or became another program: nothing is claimed of it.
TEST(JobStats, WhoDidNotTellIsCounted) {
  std::string line = line_of(libgomp(7, kBegin) + libgomp(8, kBegin) + libgomp(8, kServed));
  EXPECT_NE(line.find("9 of 10 parallel regions"), std::string::npos) << line;
  EXPECT_NE(line.find("; 1 process left by a signal, _exit or exec and did not tell"), std::string::npos) << line;
  line = line_of(libgomp(7, kBegin));
  EXPECT_EQ(line, "OpenMP (libgomp): loaded; 1 process left by a signal, _exit or exec and did not tell");
  EXPECT_FALSE(parse_job_stats(libgomp(7, kBegin)).served());
  // It became a program without OpenMP.
  line = line_of(libgomp(7, kBegin) + libgomp(7, "\"unused\":true"));
  EXPECT_NE(line.find("1 process left"), std::string::npos) << line;
}

TEST(JobStats, WhyNothingWasServed) {
  EXPECT_EQ(line_of(""), "nothing was told: not loaded, or every process left by a signal, _exit or exec");
  EXPECT_EQ(line_of("", kind_of("", false, "it is statically linked")), "not loaded: it is statically linked");
  EXPECT_EQ(line_of(libgomp(7, "\"unused\":true")), "loaded; no process called libgomp or libomp");
  EXPECT_EQ(line_of(libgomp(7, "\"end\":true,\"threads\":1,\"regions\":5,\"asked\":\"1\"")),
            "OpenMP (libgomp): loaded; no region of two or more threads: OMP_NUM_THREADS=1");
  // Regions of one thread gain nothing.
  EXPECT_EQ(line_of(libgomp(7, "\"end\":true,\"threads\":1,\"regions\":5,\"hot\":5,\"asked\":\"1\"")),
            "OpenMP (libgomp): loaded; no region of two or more threads: OMP_NUM_THREADS=1");
  // A long region with many barriers.
  EXPECT_EQ(
      line_of(libgomp(7, "\"end\":true,\"threads\":2,\"regions\":1,\"hot\":0,\"barriers\":10000")),
      "OpenMP (libgomp, 2 threads): 10000 barriers served; 1 region left to libgomp: the first of a size, or nested");
  EXPECT_EQ(line_of(libgomp(7, "\"end\":true,\"refused\":\"OMP_CANCELLATION is on\"")),
            "OpenMP (libgomp): loaded, takes nothing: OMP_CANCELLATION is on");
  const std::string cold =
      line_of(libgomp(7, "\"end\":true,\"threads\":2,\"regions\":5,\"hot\":0,\"not_hot\":\"SMELT_OPENMP=-hot\""));
  EXPECT_NE(cold.find("0 of 5 parallel regions and 0 barriers served; 5 regions left to libgomp: SMELT_OPENMP=-hot"),
            std::string::npos)
      << cold;
}

std::string rank(int process, int number, int served, int left) {
  return "{\"part\":\"coll\",\"pid\":" + std::to_string(process) +
         ",\"begin\":true}\n{\"part\":\"coll\",\"pid\":" + std::to_string(process) +
         ",\"end\":true,\"rank\":" + std::to_string(number) + ",\"ranks\":2,\"served\":" + std::to_string(served) +
         ",\"passed_on\":" + std::to_string(left) +
         ",\"patience\":8,\"communicators\":1,\"why\":\"\",\"each\":{\"barrier\":" + std::to_string(served) + "}}\n";
}

TEST(JobStats, RanksAreOneLine) {
  const JobKind kind = kind_of("mpirun", true);
  EXPECT_EQ(line_of(rank(7, 0, 92, 8) + rank(8, 1, 92, 8) + libgomp(9, "\"unused\":true"), kind),
            "MPI (2 ranks): 184 of 200 collective calls of all ranks served: barrier 184; 16 left to Open MPI: a "
            "communicator's first 8, or of a kind that Smelt does not serve. messages are Open MPI's own (--messages)");
  const std::string here = line_of(rank(7, 0, 92, 8), kind);
  EXPECT_NE(here.find("told by 1 of the ranks, the rest elsewhere"), std::string::npos) << here;
  const std::string both = line_of(rank(7, 0, 9, 1) + libgomp(7, kBegin) + libgomp(7, kServed) +
                                       "{\"part\":\"pml\",\"pid\":7,\"begin\":true}\n"
                                       "{\"part\":\"pml\",\"pid\":7,\"end\":true,\"sends\":5,\"receives\":1,"
                                       "\"communicators\":2,\"communicators_left\":0}\n",
                                   kind);
  EXPECT_NE(both.find("messages: 5 sends and 1 receive served. OpenMP (libgomp, 2 threads): "), std::string::npos)
      << both;
}

TEST(JobStats, WhyNoRankWasServed) {
  const std::string component =
      *SMELT_OPEN_MPI_MISSING ? SMELT_OPEN_MPI_MISSING : "it is not where smelt is; install it";
  EXPECT_EQ(line_of(libgomp(9, "\"unused\":true"), kind_of("mpirun", false)),
            "mpirun: the Open MPI component was not built: " + component +
                (component.find("install ") != std::string::npos ? "; then run ./quickstart again" : ""));
  EXPECT_NE(line_of("", kind_of("mpirun", true)).find("MPI: no rank told of Smelt: "), std::string::npos);
  EXPECT_EQ(line_of("{\"part\":\"coll\",\"pid\":7,\"refused\":\"its priority is 0\"}\n", kind_of("mpirun", true)),
            "MPI: collectives not served: its priority is 0");
  const std::string killed = line_of("{\"part\":\"coll\",\"pid\":7,\"begin\":true}\n", kind_of("mpirun", false));
  EXPECT_NE(killed.find("1 rank left by a signal"), std::string::npos) << killed;
}

// Half a line of a process that was killed while it wrote, and what others may write there.
TEST(JobStats, WhatIsNoLineIsPassedOver) {
  const std::string line = line_of("nonsense\n[1]\n{\"part\":3}\n{\"part\":\"coll\",\"pid\":\"x\"}\n\n" +
                                   libgomp(7, kServed) + "{\"part\":\"libgomp\",\"pi");
  EXPECT_NE(line.find("9 of 10 parallel regions"), std::string::npos) << line;
}

TEST(JobStats, KnowsALauncher) {
  EXPECT_EQ(mpi_launcher("/usr/bin/mpirun"), "mpirun");
  EXPECT_EQ(mpi_launcher("mpiexec"), "mpiexec");
  EXPECT_EQ(mpi_launcher("./mpirun_of_mine"), "");
}

TEST(JobStats, TheFileGoesWithItsObject) {
  std::string path;
  {
    const StatsFile file;
    path = file.path();
    ASSERT_FALSE(path.empty());
    EXPECT_EQ(file.content(), "");
    EXPECT_EQ(::access(path.c_str(), F_OK), 0);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace smelt::test
