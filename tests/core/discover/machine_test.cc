#include "discover/machine.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sched.h>
#include <set>
#include <thread>
#include <unistd.h>

#include "discover/error.h"
#include "discover/synthetic.h"
#include "folder.h"
#include "model/distance.h"

using namespace smelt;
using smelt::test::Folder;

namespace {

TEST(Synthetic, DescribesEveryLevel) {
  const Machine machine = machine_from_synthetic("pack:2 numa:1 l3:2 core:4 pu:2");
  ASSERT_EQ(machine.pus.size(), 32u);
  EXPECT_FALSE(machine.this_machine);
  EXPECT_EQ(machine.shape, "2 packages, 2 NUMA nodes, 4 last-level caches, 16 cores, 32 PUs");
  std::set<uint16_t> cores, llcs, nodes, packages;
  for (uint32_t i = 0; i < 32; ++i) {
    const Pu& pu = machine.pus[i];
    EXPECT_EQ(pu.os_index, i);
    EXPECT_TRUE(pu.allowed);
    EXPECT_EQ(pu.core, i / 2);
    EXPECT_EQ(pu.llc, i / 8);
    EXPECT_EQ(pu.node, i / 16);
    EXPECT_EQ(pu.package, i / 16);
  }
}

TEST(Synthetic, GuessIsMadeOfTypicalCosts) {
  const ProfileImage image = guess_image(machine_from_synthetic("pack:2 numa:1 l3:2 core:4 pu:2"));
  ASSERT_TRUE(costs_are_sane(image.costs()));
  EXPECT_FALSE(image.measured());
  const auto hop = [&](uint32_t a, uint32_t b) { return image.hop[a * 32 + b]; };
  EXPECT_EQ(hop(0, 1), typical_cost(Distance::kSameCore).hop);
  EXPECT_EQ(hop(0, 2), typical_cost(Distance::kSameLlc).hop);
  EXPECT_EQ(hop(0, 8), typical_cost(Distance::kSameNode).hop);
  EXPECT_EQ(hop(0, 16), typical_cost(Distance::kOther).hop);
}

TEST(Synthetic, SubNumaNodesAreNearerThanOtherPackages) {
  const ProfileImage image = guess_image(machine_from_synthetic("pack:2 numa:2 l3:1 core:2 pu:1"));
  EXPECT_EQ(image.hop[0 * 8 + 2], typical_cost(Distance::kSamePackage).hop);
  EXPECT_EQ(image.hop[0 * 8 + 4], typical_cost(Distance::kOther).hop);
}

TEST(Synthetic, NonsenseAndGiantsAreRefusedInOneLine) {
  for (const char* description : {"", "cheese:4", "pack:2 pack", "pack:0 pu:1", "numa:2 core:1024 pu:1"}) {
    try {
      machine_from_synthetic(description);
      ADD_FAILURE() << "accepted: " << description;
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

// What hwloc reads as a number, the check before it reads as the same: what it lets through has at most 1,024 PUs, what it refuses more.
TEST(Synthetic, SizeIsKnownBeforehand) {
  for (const char* description :
       {"pack:2 numa:1 l3:4 core:8 pu:2", "pu:1024", "1024", "2 2 2 2", "0x10 0x10 04", "pack:2(memory=99999GB) core:0x200 pu:1",
        "(memory=1TB) pack:4 [numa(memory=1GB)] core:256 pu:1", "pack:2 [numa] [numa] core:2 pu:2(indexes=2*4:1*2)",
        "\npack:2\n pu:2", "Package:2 L2Cache:2 Core:2 PU:2", "group0:2 pack:2 pu:2", "pack:2 core:2 1(indexes=3,2,1,0)"}) {
    EXPECT_NO_THROW(check_synthetic_size(description)) << description;
    EXPECT_NO_THROW(machine_from_synthetic(description)) << description;
  }
  for (const char* description :
       {"pu:1025", "1025", "2 2 2 129", "0x20 041", "pack:33 core:32 pu:1", "pack:1025 pu:0", "core:18446744073709551616 pu:1",
        "pack:-1 pu:1", "pack:65536 core:65536 l2:65536 l1:65536 pu:2", "pack:2 [numa(memory=1)] core:513 pu:1",
        "pack:2(memory=7) core:513(size=1) pu:1", "pu:2(indexes=0,70000)", "pack:2 [numa(indexes=0,99999999)] pu:1"})
    EXPECT_THROW(check_synthetic_size(description), UserError) << description;
  // What hwloc refuses anyway is not this check's to name.
  for (const char* description : {"", "cheese", "pack:", "pack:x", "pack:2(", "pack:2 [numa", ":", "(", "["})
    EXPECT_NO_THROW(check_synthetic_size(description)) << description;
}

TEST(ThisMachine, IsSeen) {
  const Machine machine = discover_machine();
  EXPECT_TRUE(machine.this_machine);
  EXPECT_EQ(machine.pus.size(), static_cast<size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  EXPECT_FALSE(machine.allowed_cpus().empty());
  EXPECT_FALSE(machine.name().empty());
}

TEST(ThisMachine, MarksWhatTheAffinityForbids) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  const int cpu = ::sched_getcpu();
  CPU_SET(cpu, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const Machine machine = discover_machine();
  ::sched_setaffinity(0, sizeof before, &before);
  EXPECT_EQ(machine.allowed_cpus(), std::vector<uint32_t>{static_cast<uint32_t>(cpu)});
  EXPECT_EQ(machine.pus.size(), static_cast<size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

TEST(ThisMachine, SurvivesItsOwnXml) {
  const Folder folder;
  export_machine_xml(folder.path("this.xml"));
  const Machine here = discover_machine(), there = machine_from_xml(folder.path("this.xml"));
  EXPECT_FALSE(there.this_machine);
  EXPECT_EQ(there.shape, here.shape);
  ASSERT_EQ(there.pus.size(), here.pus.size());
  for (size_t i = 0; i < here.pus.size(); ++i) {
    EXPECT_EQ(there.pus[i].os_index, here.pus[i].os_index);
    EXPECT_EQ(there.pus[i].core, here.pus[i].core);
    EXPECT_EQ(there.pus[i].llc, here.pus[i].llc);
    EXPECT_EQ(there.pus[i].node, here.pus[i].node);
  }
}

TEST(ThisMachine, GivesWayToHwlocsEnvironment) {
  ::setenv("HWLOC_SYNTHETIC", "pack:1 core:3 pu:1", 1);
  const Machine machine = discover_machine();
  ::unsetenv("HWLOC_SYNTHETIC");
  EXPECT_EQ(machine.pus.size(), 3u);
  EXPECT_FALSE(machine.this_machine);
}

TEST(Xml, BadFilesAreRefused) {
  const Folder folder;
  EXPECT_THROW(machine_from_xml(folder.path("none.xml")), UserError);
  EXPECT_THROW(machine_from_xml(folder.write("empty.xml", "")), UserError);
  EXPECT_THROW(machine_from_xml(folder.write("other.xml", "<html><body/></html>")), UserError);
}

}  // namespace
