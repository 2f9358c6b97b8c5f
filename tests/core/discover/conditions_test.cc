// The system's own words, as a directory of files that each test writes: every subject found well and found bad. Last,
// the machine that the test runs on.
#include "discover/conditions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/fingerprint.h"
#include "discover/system_files.h"
#include "folder.h"
#include "profile/text/image.h"

namespace smelt {
namespace {

using test::Folder;

// A quiet machine of so many CPUs with all that makes figures right.
struct FakeSystem {
  explicit FakeSystem(uint32_t cpus = 4) {
    system.root = folder.path();
    for (uint32_t cpu = 0; cpu < cpus; ++cpu) {
      system.allowed.push_back(cpu);
      cpu_file(cpu, "cpufreq/scaling_governor", "performance\n");
      cpu_file(cpu, "cpufreq/cpuinfo_max_freq", "3000000\n");
      cpu_file(cpu, "topology/thread_siblings_list", std::to_string(cpu) + "\n");
    }
    file("sys/devices/system/cpu/online", fmt::format("0-{}\n", cpus - 1));
    file("sys/devices/system/cpu/offline", "\n");
    file("sys/devices/system/node/online", "0\n");
    file("proc/self/cgroup", "0::/job\n");
    file("proc/loadavg", "0.20 0.18 0.12 1/80 11206\n");
    stat(std::vector<Ticks>(cpus));
    system.environment = [](const char*) -> const char* { return nullptr; };
  }
  struct Ticks {
    int busy = 0, idle = 100, stolen = 0, waiting = 0;
  };
  void file(const std::string& name, const std::string& content) { folder.write(name, content); }
  void cpu_file(uint32_t cpu, const char* name, const std::string& content) {
    file(fmt::format("sys/devices/system/cpu/cpu{}/{}", cpu, name), content);
  }
  void stat(const std::vector<Ticks>& cpus) {
    std::string text = "cpu  9 9 9 9 9 9 9 9 0 0\n";
    for (size_t i = 0; i < cpus.size(); ++i)
      text += fmt::format("cpu{} {} 0 0 {} {} 0 0 {} 0 0\n", i, cpus[i].busy, cpus[i].idle, cpus[i].waiting,
                          cpus[i].stolen);
    file("proc/stat", text + "intr 65925155 0 0\n");
  }
  Finding find(const std::string& what, bool program = false) {
    for (const Finding& f : program ? program_conditions(system) : measurement_conditions(system)) {
      EXPECT_EQ(f.why.empty(), f.severity == Severity::kOk) << f.what;
      EXPECT_EQ(f.advice.empty(), f.severity == Severity::kOk) << f.what;
      if (f.what == what) return f;
    }
    return {Severity::kOk, "", "no such finding", "", ""};
  }

  Folder folder;
  System system;
};

#define EXPECT_FINDING(finding, expected_severity, text)             \
  do {                                                               \
    const Finding f_ = (finding);                                    \
    EXPECT_EQ(f_.severity, Severity::expected_severity) << f_.found; \
    EXPECT_NE(f_.found.find(text), std::string::npos) << f_.found;   \
  } while (0)

TEST(CpuLists, AreReadAndWrittenAsTheKernelDoes) {
  EXPECT_EQ(cpus_of_list("0-2,5,8-9"), (std::vector<uint32_t>{0, 1, 2, 5, 8, 9}));
  EXPECT_EQ(cpus_of_list("7"), std::vector<uint32_t>{7});
  for (const char* nothing : {"", "x", "-3", "0-99999999999"}) EXPECT_TRUE(cpus_of_list(nothing).empty()) << nothing;
  for (const char* list : {"0-2,5,8-9", "3", "", "0,2,4"}) EXPECT_EQ(cpu_list_text(cpus_of_list(list)), list);
}

TEST(Conditions, NothingIsWrongWithAQuietMachine) {
  FakeSystem fake;
  for (const Finding& f : measurement_conditions(fake.system))
    EXPECT_EQ(f.severity, Severity::kOk) << f.what << ": " << f.found;
  EXPECT_FALSE(any_warning(program_conditions(fake.system)));
}

TEST(Conditions, AnEmptyRootIsToldWithoutCrashing) {
  const Folder empty;
  FakeSystem fake;
  fake.system.root = empty.path();
  EXPECT_FALSE(any_warning(measurement_conditions(fake.system)));
  EXPECT_FINDING(fake.find("other load"), kNote, "does not tell");
}

TEST(Conditions, Governor) {
  FakeSystem fake;
  EXPECT_FINDING(fake.find("frequency governor"), kOk, "performance on CPUs 0-3");
  fake.cpu_file(2, "cpufreq/scaling_governor", "powersave\n");
  EXPECT_FINDING(fake.find("frequency governor"), kWarning, "powersave on CPU 2");
  fake.system.allowed = {0, 1, 3};  // the slow one is not ours
  EXPECT_EQ(fake.find("frequency governor").severity, Severity::kOk);
}

TEST(Conditions, Turbo) {
  FakeSystem fake;
  fake.file("sys/devices/system/cpu/cpufreq/boost", "1\n");
  EXPECT_FINDING(fake.find("turbo"), kNote, "on");
  fake.file("sys/devices/system/cpu/cpufreq/boost", "0\n");
  EXPECT_FINDING(fake.find("turbo"), kOk, "off");
  fake.file("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  EXPECT_FINDING(fake.find("turbo"), kNote, "on");
  EXPECT_NE(fake.find("turbo").advice.find("echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"),
            std::string::npos);
  fake.file("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  EXPECT_FINDING(fake.find("turbo"), kOk, "off");
}

TEST(Conditions, Quota) {
  FakeSystem fake;
  EXPECT_FINDING(fake.find("CPU quota"), kOk, "none");
  fake.file("sys/fs/cgroup/job/cpu.max", "200000 100000\n");
  EXPECT_FINDING(fake.find("CPU quota"), kWarning, "pays for 2 of the 4 CPUs allowed");
  fake.file("sys/fs/cgroup/job/cpu.max", "50000 100000\n");
  EXPECT_FINDING(fake.find("CPU quota"), kWarning, "pays for 0.5 of the 4 CPUs allowed");
  fake.file("sys/fs/cgroup/job/cpu.max", "400000 100000\n");
  EXPECT_EQ(fake.find("CPU quota").severity, Severity::kOk);
  // Stopped before, and stopped while we look: by the group or by one above it.
  fake.file("sys/fs/cgroup/job/cpu.stat", "usage_usec 5\nnr_periods 90\nnr_throttled 7\nthrottled_usec 3\n");
  EXPECT_FINDING(fake.find("CPU quota"), kNote, "7 times since the group began");
  fake.system.wait = [&] { fake.file("sys/fs/cgroup/cpu.stat", "nr_throttled 9\n"); };
  EXPECT_FINDING(fake.find("CPU quota"), kWarning, "stopped 2 times while watched");
}

TEST(Conditions, QuotaOfTheFirstVersion) {
  FakeSystem fake;
  fake.file("proc/self/cgroup", "4:memory:/m\n2:cpu,cpuacct:/box/job\n");
  fake.file("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "100000\n");
  fake.file("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  fake.system.wait = [&] {
    fake.file("sys/fs/cgroup/cpu/box/cpu.stat", "nr_periods 5\nnr_throttled 3\nthrottled_time 9\n");
  };
  EXPECT_FINDING(fake.find("CPU quota"), kWarning, "pays for 1 of the 4 CPUs allowed; stopped 3 times");
}

TEST(Conditions, OtherLoadNamesTheBusyCpus) {
  FakeSystem fake;
  EXPECT_FINDING(fake.find("other load"), kOk, "no CPU busy");
  // 40 ticks: CPU 1 was busy in 36 of them, CPU 3 in 4. CPU 2 waited for a disk in 36, in which it can serve us.
  fake.system.wait = [&] { fake.stat({{0, 140}, {36, 104}, {0, 104, 0, 36}, {4, 136}}); };
  fake.file("proc/loadavg", "0.20 0.18 0.12 3/80 11206\n");
  const Finding found = fake.find("other load");
  EXPECT_EQ(found.severity, Severity::kWarning);
  EXPECT_EQ(found.found, "CPU 1 90 %; 2 other threads want to run");
  fake.stat(std::vector<FakeSystem::Ticks>(4));
  fake.file("proc/loadavg", "0.20 0.18 0.12 2/80 11206\n");
  EXPECT_EQ(fake.find("other load").found, "CPU 1 90 %; 1 other thread wants to run");
  fake.stat(std::vector<FakeSystem::Ticks>(4));
  fake.system.allowed = {0, 2, 3};
  EXPECT_EQ(fake.find("other load").severity, Severity::kOk);  // not our CPU
}

TEST(Conditions, StolenTimeIsAVirtualMachinesMatter) {
  FakeSystem fake;
  EXPECT_EQ(fake.find("virtual machine").found, "no such finding");
  fake.system.virtualised = true;
  EXPECT_FINDING(fake.find("virtual machine"), kNote, "no CPU time was taken away");
  fake.system.wait = [&] { fake.stat({{0, 90, 50}, {0, 140}, {0, 140}, {0, 140}}); };
  EXPECT_FINDING(fake.find("virtual machine"), kWarning, "31 % of its CPU time");
}

TEST(Conditions, Siblings) {
  FakeSystem fake;
  for (uint32_t cpu = 0; cpu < 4; ++cpu)
    fake.cpu_file(cpu, "topology/thread_siblings_list", fmt::format("{},{}\n", cpu % 2, cpu % 2 + 2));
  EXPECT_FINDING(fake.find("SMT"), kNote, "2 cores with several allowed CPUs, e.g. CPUs 0,2");
  fake.system.allowed = {0, 1};
  EXPECT_FINDING(fake.find("SMT"), kOk, "one allowed CPU per core");
}

TEST(Conditions, TheSetOfCpus) {
  FakeSystem fake;
  EXPECT_FINDING(fake.find("CPUs allowed"), kOk, "all: 0-3");
  EXPECT_FINDING(fake.find("CPUs offline"), kOk, "none");
  fake.system.allowed = {1, 2};
  EXPECT_FINDING(fake.find("CPUs allowed"), kNote, "1-2 of the machine's 0-3");
  fake.file("sys/devices/system/cpu/offline", "4-7\n");
  EXPECT_FINDING(fake.find("CPUs offline"), kNote, "4-7");
}

TEST(Conditions, KindsOfCores) {
  FakeSystem fake;
  EXPECT_FINDING(fake.find("kinds of cores"), kOk, "all alike");
  fake.cpu_file(3, "cpufreq/cpuinfo_max_freq", "2900000\n");  // a less favoured core of the same kind
  EXPECT_FINDING(fake.find("kinds of cores"), kOk, "all alike");
  fake.cpu_file(3, "cpufreq/cpuinfo_max_freq", "2000000\n");
  EXPECT_FINDING(fake.find("kinds of cores"), kNote, "CPUs 0-2 | CPU 3");
  EXPECT_NE(fake.find("kinds of cores").advice.find("taskset -c 0-2"), std::string::npos);
}

TEST(Conditions, KindsOfCoresByTheKernelsOwnWords) {
  FakeSystem arm;
  for (uint32_t cpu : {0, 1}) arm.cpu_file(cpu, "cpu_capacity", "446\n");
  EXPECT_FINDING(arm.find("kinds of cores"), kNote, "CPUs 2-3 | CPUs 0-1");
  FakeSystem hybrid;
  hybrid.file("sys/devices/cpu_core/cpus", "0-1\n");
  hybrid.file("sys/devices/cpu_atom/cpus", "2-3\n");
  EXPECT_FINDING(hybrid.find("kinds of cores"), kNote, "CPUs 0-1 | CPUs 2-3");
}

TEST(Conditions, Pinning) {
  FakeSystem fake;
  EXPECT_FINDING(fake.find("OpenMP pinning", true), kNote, "not set");
  fake.system.environment = [](const char* name) -> const char* {
    return std::string(name) == "OMP_PLACES" ? "cores" : nullptr;
  };
  EXPECT_FINDING(fake.find("OpenMP pinning", true), kOk, "OMP_PLACES=cores");
  fake.system.environment = [](const char* name) -> const char* {
    return std::string(name) == "OMP_PROC_BIND" ? "false" : nullptr;
  };
  EXPECT_FINDING(fake.find("OpenMP pinning", true), kNote, "OMP_PROC_BIND=false");
}

// Beside others a bound thread waits for its CPU: what is good advice alone is bad advice there.
TEST(Conditions, PinningBesideOthers) {
  FakeSystem fake;
  EXPECT_FINDING(program_conditions(fake.system, true).at(0), kOk, "as it should be where others run");
  fake.system.environment = [](const char* name) -> const char* {
    return std::string(name) == "OMP_PROC_BIND" ? "close" : nullptr;
  };
  const std::vector<Finding> bound = program_conditions(fake.system, true);
  EXPECT_FINDING(bound.at(0), kWarning, "OMP_PROC_BIND=close, and others run here");
  EXPECT_TRUE(any_warning_of_programs(bound));  // smelt doctor does not call running fine
}

TEST(Conditions, WarningsOfMeasuringAreNoneOfPrograms) {
  const std::vector<Finding> busy = {{Severity::kWarning, "other load", "CPU 0 100 %", "why", "what"}};
  EXPECT_TRUE(others_run(busy) && any_warning(busy));
  EXPECT_FALSE(any_warning_of_programs(busy));
  const std::vector<Finding> quota = {{Severity::kWarning, "CPU quota", "1 CPU", "why", "what", true}};
  EXPECT_FALSE(others_run(quota));
  EXPECT_TRUE(any_warning_of_programs(quota));
}

TEST(Conditions, WhatProgramsMeet) {
  FakeSystem fake;
  EXPECT_FINDING(fake.find("NUMA balancing", true), kOk, "off");
  fake.file("proc/sys/kernel/numa_balancing", "1\n");
  EXPECT_FINDING(fake.find("NUMA balancing", true), kOk, "one node");
  fake.file("sys/devices/system/node/online", "0-1\n");
  EXPECT_FINDING(fake.find("NUMA balancing", true), kNote, "on");
  EXPECT_FINDING(fake.find("single copy between MPI ranks", true), kOk, "permitted");
  fake.file("proc/sys/kernel/yama/ptrace_scope", "1\n");
  EXPECT_FINDING(fake.find("single copy between MPI ranks", true), kNote, "ptrace_scope=1");
  EXPECT_FINDING(fake.find("shared memory of MPI ranks", true), kOk, "1024 MiB");
  fake.system.file_size_limit = 100 << 20;
  EXPECT_FINDING(fake.find("shared memory of MPI ranks", true), kNote, "100 MiB by ulimit -f");
}

// A packed profile of this machine's fingerprint in a cache of its own.
class Profiles : public testing::Test {
 protected:
  void SetUp() override { ::setenv("XDG_CACHE_HOME", folder.path().c_str(), 1); }
  void write(int64_t created, uint32_t cpus, uint64_t fingerprint, uint32_t conditions = 0) {
    ProfileImage image = make_image(cpus);
    for (uint32_t i = 0; i < cpus; ++i) image.os_cpu[i] = image.core[i] = static_cast<uint16_t>(i);
    image.header.fingerprint = fingerprint;
    image.header.created = created;
    image.header.conditions = conditions;
    const auto bytes = image.pack();
    folder.write(fmt::format("smelt/{:016x}.profile", machine_fingerprint()),
                 {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  Finding found() { return profile_conditions(fake.system).at(0); }

  Folder folder;
  FakeSystem fake;
};

TEST_F(Profiles, MissingOldForeignOrOfFewerCpus) {
  if (found().found.find(".profile") != std::string::npos) GTEST_SKIP() << "this machine has a system profile";
  EXPECT_FINDING(found(), kNote, "none");
  folder.write("smelt/0000000000000001.profile", "x");
  EXPECT_FINDING(found(), kNote, "other fingerprints");
  const int64_t now = std::time(nullptr);
  write(now, 4, machine_fingerprint());
  EXPECT_FINDING(found(), kOk, "measured 0 days ago");
  write(now, 4, machine_fingerprint(), kBesideOthers | kUnsteady);
  EXPECT_FINDING(found(), kNote, "beside other work, unsteady");
  EXPECT_EQ(found().advice, "smelt calibrate: nothing else runs now");
  EXPECT_EQ(profile_conditions(fake.system, true).at(0).advice, "smelt calibrate, when nothing else runs");
  write(now - 100 * 86400, 4, machine_fingerprint());
  EXPECT_FINDING(found(), kNote, "measured 100 days ago");
  write(now - 3600, 4, machine_fingerprint());
  fake.file("proc/uptime", "600.55 1000.00\n");
  EXPECT_FINDING(found(), kOk, "measured 0 days ago");
  fake.system.virtualised = true;
  EXPECT_FINDING(found(), kWarning, "before this virtual machine was last started");
  fake.file("proc/uptime", "7200.55 1000.00\n");
  EXPECT_FINDING(found(), kOk, "measured 0 days ago");
  write(now, 2, machine_fingerprint());
  EXPECT_FINDING(found(), kWarning, "does not know CPUs 2-3");
  write(now, 4, machine_fingerprint() + 1);
  EXPECT_FINDING(found(), kWarning, "is of another machine or kernel");
}

TEST(ThisMachine, IsExaminedWithinItsWindow) {
  const System system = this_system();
  ASSERT_FALSE(system.allowed.empty());
  std::vector<Finding> findings = measurement_conditions(system);
  for (const auto& more : {program_conditions(system), profile_conditions(system)})
    findings.insert(findings.end(), more.begin(), more.end());
  EXPECT_GE(findings.size(), 13u);
  for (const Finding& f : findings) {
    EXPECT_FALSE(f.what.empty() || f.found.empty());
    EXPECT_EQ(f.why.empty(), f.severity == Severity::kOk) << f.what;
    EXPECT_EQ(f.found.find('\n'), std::string::npos) << f.found;
    printf("%s: %s: %s\n", severity_name(f.severity), f.what.c_str(), f.found.c_str());
  }
  for (const Finding& f : calibration_findings()) EXPECT_EQ(f.severity, Severity::kWarning);
}

}  // namespace
}  // namespace smelt
