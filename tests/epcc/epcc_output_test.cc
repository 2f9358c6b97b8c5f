// The parser on output in the formats of the original suite's 3.1 and 4.0 and of ours. The numbers are made up.
#include "epcc/epcc_output.h"

#include <gtest/gtest.h>

using namespace smelt::epcc;

namespace {

constexpr const char* kVersion31 = R"(Running OpenMP benchmark version 3.0
	2 thread(s)
	20 outer repetitions
	1000.00 test time (microseconds)
	139 delay length (iterations) 
	0.100000 delay time (microseconds)

--------------------------------------------------------
Computing reference time 1 time using 20480 reps

Sample_size       Average     Min         Max          S.D.          Outliers
 20                0.108000   0.102000   0.116000    0.005000      0

reference time 1 time     = 0.108000 microseconds +/- 0.009800

--------------------------------------------------------
Computing PARALLEL FOR time using 2560 reps

Sample_size       Average     Min         Max          S.D.          Outliers
 20                0.902000   0.878000   0.938000    0.014000      1

PARALLEL FOR time     = 0.902000 microseconds +/- 0.028000
PARALLEL FOR overhead = 0.794000 microseconds +/- 0.038000

--------------------------------------------------------
Computing LOCK/UNLOCK time using 20480 reps

Sample_size       Average     Min         Max          S.D.          Outliers
 20                0.105000   0.104000   0.107000    0.001000      0

LOCK/UNLOCK time     = 0.105000 microseconds +/- 0.002000
LOCK/UNLOCK overhead = -0.003000 microseconds +/- 0.011000
)";

constexpr const char* kVersion40 = R"(Running OpenMP benchmark version 4.0
	2 thread(s)

--------------------------------------------------------
Computing reference time 1 time using 10240 reps

Sample_size       Mean       Median     Min        Max        StdDev     Outliers
 20               0.103000   0.102000   0.100000   0.114000   0.004000   0
reference time 1 mean time    = 0.103000 microseconds +/- 0.008000
reference time 1 median time  = 0.102000 microseconds

--------------------------------------------------------
Computing COPYPRIVATE 9 time using 2560 reps

Sample_size       Mean       Median     Min        Max        StdDev     Outliers
 20               1.170000   1.150000   1.050000   1.371000   0.100000   0
COPYPRIVATE 9 time         = 1.170000 microseconds +/- 0.196000
COPYPRIVATE 9 overhead     = 1.067000 microseconds +/- 0.204000
COPYPRIVATE 9 median_ovrhd = 1.048000 microseconds 
)";

constexpr const char* kOurs = R"(Ping-pong one-way hop = 56.8 ns
Running OpenMP microbenchmark syncbench of Smelt, after EPCC's method
	2 thread(s)

--------------------------------------------------------
Computing BARRIER time using 5120 reps

Sample_size       Average     Min         Max          S.D.          Outliers    Median
 20                0.391000   0.334000   9.421000    1.025000      1           0.350000

BARRIER time     = 0.391000 microseconds +/- 2.009000
BARRIER overhead = 0.282000 microseconds +/- 2.019000
BARRIER median_ovrhd = 0.250000 microseconds +/- 0.012000

Ping-pong one-way hop = 254.1 ns
)";

TEST(EpccOutput, ReadsVersion31) {
  const Output output = parse_output(kVersion31);
  ASSERT_EQ(output.kernels.size(), 2u) << "the reference is not a construct";
  EXPECT_EQ(output.kernels[0].kernel, "PARALLEL FOR");
  EXPECT_DOUBLE_EQ(output.kernels[0].time, 0.902);
  EXPECT_DOUBLE_EQ(output.kernels[0].overhead, 0.794);
  EXPECT_DOUBLE_EQ(output.kernels[0].noise, 0.038);
  EXPECT_EQ(output.kernels[1].kernel, "LOCK/UNLOCK");
  EXPECT_DOUBLE_EQ(output.kernels[1].overhead, -0.003);
  EXPECT_TRUE(output.hop_ns.empty());
}

TEST(EpccOutput, Version40GivesMedians) {
  const Output output = parse_output(kVersion40);
  ASSERT_EQ(output.kernels.size(), 1u);
  EXPECT_EQ(output.kernels[0].kernel, "COPYPRIVATE 9");
  EXPECT_DOUBLE_EQ(output.kernels[0].time, 1.15);
  EXPECT_DOUBLE_EQ(output.kernels[0].overhead, 1.048);
  EXPECT_DOUBLE_EQ(output.kernels[0].noise, 0.204);
}

TEST(EpccOutput, OursGivesMediansAndHops) {
  const Output output = parse_output(kOurs);
  ASSERT_EQ(output.kernels.size(), 1u);
  EXPECT_DOUBLE_EQ(output.kernels[0].time, 0.35) << "the median column stands last in our format";
  EXPECT_DOUBLE_EQ(output.kernels[0].overhead, 0.25);
  EXPECT_DOUBLE_EQ(output.kernels[0].noise, 0.012);
  EXPECT_EQ(output.hop_ns, (std::vector<double>{56.8, 254.1}));
}

TEST(EpccOutput, MeansOnRequest) {
  const Output output = parse_output(kOurs, Statistic::kMean);
  ASSERT_EQ(output.kernels.size(), 1u);
  EXPECT_DOUBLE_EQ(output.kernels[0].time, 0.391);
  EXPECT_DOUBLE_EQ(output.kernels[0].overhead, 0.282);
  EXPECT_DOUBLE_EQ(output.kernels[0].noise, 2.019);
}

TEST(EpccOutput, HalfAReportGivesNoFigure) {
  const std::string text = kVersion31;
  EXPECT_EQ(parse_output(text.substr(0, text.find("LOCK/UNLOCK overhead"))).kernels.size(), 1u);
  EXPECT_TRUE(parse_output(text.substr(0, text.find("PARALLEL FOR overhead"))).kernels.empty());
  EXPECT_TRUE(parse_output("").kernels.empty());
}

TEST(EpccOutput, GarbageGivesNoFigure) {
  for (const char* text :
       {"BARRIER time = nan microseconds +/- 0.1\nBARRIER overhead = 0.1 microseconds +/- 0.1\n",
        "BARRIER time = 0.1 microseconds +/- 0.1\nBARRIER overhead = inf microseconds +/- 0.1\n",
        "BARRIER time = 0.1 microseconds +/- 0.1\nBARRIER overhead = 0.1 microseconds\n",
        "BARRIER time = 0.1 microseconds +/- 0.1\nSINGLE overhead = 0.1 microseconds +/- 0.1\n",
        "time = 1 microseconds\n = \n=\n Sample_size\n\n +/- \n", "BARRIER overhead = 0.1 seconds +/- 0.1\n"})
    EXPECT_TRUE(parse_output(text).kernels.empty()) << text;
  EXPECT_TRUE(parse_output("Ping-pong one-way hop = unknown, the process may use one CPU only\n").hop_ns.empty());
}

TEST(EpccOutput, ReadsWindowsLineEnds) {
  const Output output =
      parse_output("BARRIER time = 0.3 microseconds +/- 0.1\r\nBARRIER overhead = 0.2 microseconds +/- 0.1\r\n");
  ASSERT_EQ(output.kernels.size(), 1u);
  EXPECT_DOUBLE_EQ(output.kernels[0].noise, 0.1);
}

}  // namespace
