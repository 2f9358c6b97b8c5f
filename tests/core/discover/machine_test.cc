#include "discover/machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sched.h>
#include <unistd.h>
#include <cstdlib>
#include <set>
#include <thread>

#include "discover/synthetic.h"
#include "folder.h"
#include "model/distance.h"
#include "profile/profile.h"
#include "profile/text/error.h"

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

// Where no two cores share a cache in the description, the package stands in; and a shared one stays what it is.
TEST(Synthetic, PrivateCachesAloneAreNoLastLevel) {
  const auto llc_of_last = [](const char* description) { return machine_from_synthetic(description).pus.back().llc; };
  EXPECT_EQ(llc_of_last("pack:2 numa:1 core:4 l2:1 l1:1 pu:1"), 1);
  EXPECT_EQ(machine_from_synthetic("pack:2 numa:1 core:4 l2:1 pu:2").shape,
            "2 packages, 2 NUMA nodes, 2 last-level caches, 8 cores, 16 PUs");
  EXPECT_EQ(llc_of_last("pack:2 numa:1 l2:4 core:2 pu:1"), 7);
  EXPECT_EQ(llc_of_last("pack:2 numa:1 core:1 l2:1 pu:2"), 1);
  EXPECT_EQ(llc_of_last("pack:2 die:2 numa:1 core:4 l2:1 pu:1"), 3) << "a die before the package";
}

// The kernel's files of such a machine, read by hwloc and by the runtime: one rule.
TEST(Synthetic, HwlocAndTheRuntimeAgreeOnTheLastLevel) {
  for (const bool clusters : {true, false}) {
    const Folder root;
    const auto cpu_file = [&root](uint32_t cpu, const std::string& file, const std::string& content) {
      root.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/" + file, content + "\n");
    };
    const auto mask = [](uint32_t cpu, uint32_t count) {
      return fmt::format("{:08x}", ((1u << count) - 1) << (cpu / count * count));
    };
    const auto list = [](uint32_t cpu, uint32_t count) {
      const uint32_t first = cpu / count * count;
      return count == 1 ? std::to_string(cpu) : fmt::format("{}-{}", first, first + count - 1);
    };
    for (const char* file : {"online", "possible", "present"})
      root.write(std::string("sys/devices/system/cpu/") + file, "0-15\n");
    for (uint32_t cpu = 0; cpu < 16; ++cpu) {
      cpu_file(cpu, "topology/physical_package_id", std::to_string(cpu / 8));
      cpu_file(cpu, "topology/core_id", std::to_string(cpu % 8));
      for (const char* name : {"core_siblings", "package_cpus"}) {
        cpu_file(cpu, std::string("topology/") + name, mask(cpu, 8));
        cpu_file(cpu, std::string("topology/") + name + "_list", list(cpu, 8));
      }
      for (const char* name : {"thread_siblings", "core_cpus"}) {
        cpu_file(cpu, std::string("topology/") + name, mask(cpu, 1));
        cpu_file(cpu, std::string("topology/") + name + "_list", list(cpu, 1));
      }
      cpu_file(cpu, "topology/cluster_cpus", mask(cpu, clusters ? 4 : 1));
      cpu_file(cpu, "topology/cluster_cpus_list", list(cpu, clusters ? 4 : 1));
      for (const uint32_t index : {0u, 1u}) {
        const std::string cache = "cache/index" + std::to_string(index) + "/";
        cpu_file(cpu, cache + "level", std::to_string(index + 1));
        cpu_file(cpu, cache + "type", "Unified");
        cpu_file(cpu, cache + "size", "512K");
        cpu_file(cpu, cache + "coherency_line_size", "64");
        cpu_file(cpu, cache + "shared_cpu_map", mask(cpu, 1));
        cpu_file(cpu, cache + "shared_cpu_list", list(cpu, 1));
      }
    }
    root.write("proc/cpuinfo", "");
    root.write("proc/mounts", "");
    ::setenv("HWLOC_FSROOT", root.path("").c_str(), 1);
    ::setenv("HWLOC_COMPONENTS", "linux,stop", 1);  // not the CPUID of the machine that we run on
    const Machine machine = discover_machine();
    ::unsetenv("HWLOC_FSROOT");
    ::unsetenv("HWLOC_COMPONENTS");
    Profile runtime;
    ASSERT_EQ(guess_profile(root.path("sys").c_str(), &runtime), 0);
    ASSERT_EQ(machine.pus.size(), 16u) << machine.shape;
    ASSERT_EQ(runtime.costs.n, 16u);
    const ProfileImage offline = guess_image(machine);
    for (uint32_t i = 0; i < 16; ++i)
      for (uint32_t j = 0; j < 16; ++j) {
        ASSERT_EQ(offline.hop[i * 16 + j], runtime.costs.hop[i * 16 + j]) << clusters << ": " << i << ", " << j;
        ASSERT_EQ(machine.pus[i].llc == machine.pus[j].llc, i / (clusters ? 4 : 8) == j / (clusters ? 4 : 8))
            << i << ", " << j;
      }
    unload_profile(&runtime);
  }
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

// What hwloc reads as a number, the check before it reads as the same: what it lets through has at most 1,024 PUs, what
// it refuses more.
TEST(Synthetic, SizeIsKnownBeforehand) {
  for (const char* description :
       {"pack:2 numa:1 l3:4 core:8 pu:2", "pu:1024", "1024", "2 2 2 2", "0x10 0x10 04",
        "pack:2(memory=99999GB) core:0x200 pu:1", "(memory=1TB) pack:4 [numa(memory=1GB)] core:256 pu:1",
        "pack:2 [numa] [numa] core:2 pu:2(indexes=2*4:1*2)", "\npack:2\n pu:2", "Package:2 L2Cache:2 Core:2 PU:2",
        "group0:2 pack:2 pu:2", "pack:2 core:2 1(indexes=3,2,1,0)"}) {
    EXPECT_NO_THROW(check_synthetic_size(description)) << description;
    EXPECT_NO_THROW(machine_from_synthetic(description)) << description;
  }
  for (const char* description :
       {"pu:1025", "1025", "2 2 2 129", "0x20 041", "pack:33 core:32 pu:1", "pack:1025 pu:0",
        "core:18446744073709551616 pu:1", "pack:-1 pu:1", "pack:65536 core:65536 l2:65536 l1:65536 pu:2",
        "pack:2 [numa(memory=1)] core:513 pu:1", "pack:2(memory=7) core:513(size=1) pu:1", "pu:2(indexes=0,70000)",
        "pack:2 [numa(indexes=0,99999999)] pu:1"})
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

TEST(ThisMachine, GivesWayToHwlocsEnvironment) {
  ::setenv("HWLOC_SYNTHETIC", "pack:1 core:3 pu:1", 1);
  const Machine machine = discover_machine();
  ::unsetenv("HWLOC_SYNTHETIC");
  EXPECT_EQ(machine.pus.size(), 3u);
  EXPECT_FALSE(machine.this_machine);
}

}  // namespace
