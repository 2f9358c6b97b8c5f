// What mpi_sweep prints, and the sizes that users type. The numbers are made up.
#include "bench/mpi/sweep_output.h"

#include <gtest/gtest.h>

#include "epcc/program.h"

using namespace smelt::bench;
using smelt::epcc::BadInput;

namespace {

TEST(SweepOutput, ReadsLibraryAndFigures) {
  const SweepOutput output = parse_sweep(
      R"({"library": "Open MPI v4.1.4, package: Debian OpenMPI", "ranks": 2, "one_machine": true}
{"kernel": "bcast", "size": 8, "median_us": 0.5, "min_us": 0.4, "max_us": 0.7,)"
      R"( "calls": 1000, "hop_ns": [50, 51.5], "verified": true}
{"kernel": "barrier", "size": 0, "median_us": 0.25, "min_us": 0.2, "max_us": 0.3,)"
      R"( "calls": 10, "hop_ns": [], "verified": false}
)");
  EXPECT_EQ(output.library, "Open MPI v4.1.4");
  EXPECT_EQ(output.ranks, 2);
  ASSERT_EQ(output.lines.size(), 2u);
  EXPECT_EQ(output.lines[0].kernel, "bcast");
  EXPECT_EQ(output.lines[0].size, 8);
  EXPECT_EQ(output.lines[0].reading.us, 0.5);
  EXPECT_EQ(output.lines[0].reading.min_us, 0.4);
  EXPECT_EQ(output.lines[0].reading.max_us, 0.7);
  EXPECT_EQ(output.lines[0].reading.calls, 1000);
  EXPECT_EQ(output.lines[0].reading.hop_ns, (std::vector<double>{50, 51.5}));
  EXPECT_TRUE(output.lines[0].reading.verified);
  EXPECT_TRUE(output.lines[1].reading.hop_ns.empty());
  EXPECT_FALSE(output.lines[1].reading.verified);
}

TEST(SweepOutput, NamesMpich) {
  EXPECT_EQ(parse_sweep(R"({"library": "MPICH Version:  4.0.2", "ranks": 4})").library, "MPICH 4.0.2");
}

// mpirun warns on the same stream; a killed run ends in the middle of a line; a time of 0 would make an infinite ratio.
TEST(SweepOutput, SkipsWhatIsNotOurs) {
  const SweepOutput output = parse_sweep(
      "WARNING: no network\n17\n[1, 2]\n{\"kernel\": 3}\n{\"other\": true}\n\n"
      "{\"kernel\": \"dup\", \"size\": 0, \"median_us\": 0, \"min_us\": 0, \"max_us\": 0, \"calls\": 1, \"hop_ns\": "
      "[], "
      "\"verified\": true}\n"
      "{\"kernel\": \"dup\", \"size\": 0, \"median_us\": 2, \"min_us\": 2, \"max_us\": 2, \"calls\": 1, \"hop_ns\": "
      "[], "
      "\"verified\": true}\n"
      "{\"kernel\": \"bcast\", \"si");
  ASSERT_EQ(output.lines.size(), 1u);
  EXPECT_EQ(output.lines[0].reading.us, 2);
  EXPECT_EQ(output.library, "");
}

TEST(Sizes, RangeIsPowersOfTwo) {
  EXPECT_EQ(parse_sizes("1:16"), (std::vector<long>{1, 2, 4, 8, 16}));
  EXPECT_EQ(parse_sizes("512:1K"), (std::vector<long>{512, 1024}));
  EXPECT_EQ(parse_sizes("1:16M").size(), 25u);
  EXPECT_EQ(parse_sizes("8:8"), (std::vector<long>{8}));
}

TEST(Sizes, ListIsSortedAndWithoutDoubles) {
  EXPECT_EQ(parse_sizes("1K,8,1024,3"), (std::vector<long>{3, 8, 1024}));
  EXPECT_EQ(parse_sizes("1M"), (std::vector<long>{1 << 20}));
}

TEST(Sizes, RefusesNonsense) {
  for (const char* text : {"", "0", "-8", "8:", ":8", "16:8", "x", "8Q", "8KB", "1.5K", "12", "8,,16", "2048M",
                           "99999999999999999999", "1:2:4"})
    EXPECT_THROW(parse_sizes(text), BadInput) << text;
}

TEST(Sizes, AreWrittenAsPeopleDo) {
  EXPECT_EQ(size_name(1), "1");
  EXPECT_EQ(size_name(1000), "1000");
  EXPECT_EQ(size_name(1024), "1K");
  EXPECT_EQ(size_name(1536), "1536");
  EXPECT_EQ(size_name(16 << 20), "16M");
}

}  // namespace
