// Where profiles are looked for, and the guess when there is none.
#include "profile/profile.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <cerrno>
#include <cstdlib>

#include "base/fingerprint.h"
#include "folder.h"
#include "model/distance.h"
#include "packed.h"
#include "smelt_config.h"

using namespace smelt;
using namespace smelt::test;

namespace {

std::string user_path(const char* cache, const char* home) {
  cache ? ::setenv("XDG_CACHE_HOME", cache, 1) : ::unsetenv("XDG_CACHE_HOME");
  home ? ::setenv("HOME", home, 1) : ::unsetenv("HOME");
  char path[200];
  const int error = user_profile_path(path, sizeof path);
  return error ? std::to_string(error) : path;
}

TEST(ProfilePath, FollowsTheXdgSpecification) {
  char name[64];
  std::snprintf(name, sizeof name, "/smelt/%016llx.profile", static_cast<unsigned long long>(machine_fingerprint()));
  EXPECT_EQ(user_path("/cache", "/home/me"), std::string("/cache") + name);
  EXPECT_EQ(user_path(nullptr, "/home/me"), std::string("/home/me/.cache") + name);
  EXPECT_EQ(user_path("", "/home/me"), std::string("/home/me/.cache") + name);
  EXPECT_EQ(user_path("relative", "/home/me"), std::string("/home/me/.cache") + name);
  EXPECT_EQ(user_path(nullptr, nullptr), std::to_string(-ENOENT));
  EXPECT_EQ(user_path(nullptr, ""), std::to_string(-ENOENT));
  EXPECT_EQ(user_path(std::string("/" + std::string(300, 'x')).c_str(), nullptr), std::to_string(-ENAMETOOLONG));
}

// Settings are read once per process, so each search runs in a child; its exit code is the number of the failed check.
class ProfileSearch : public testing::Test {
 protected:
  Folder folder;
  Profile profile;
  Refusal why;
  int error = 0;

  ProfileSearch() {
    ::setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
    ::unsetenv("SMELT_PROFILE");
  }
  static std::string good() {
    Packed packed(2);
    packed.header().fingerprint = machine_fingerprint();
    packed.seal();
    return packed.bytes;
  }
  static std::string user_file() {
    char path[sizeof Profile::path];
    return user_profile_path(path, sizeof path) == 0 ? std::string(path) : "";
  }
  std::string write_user_file(std::string_view bytes) {
    return folder.write(user_file().substr(folder.path().size() + 1), bytes);
  }
  [[noreturn]] void report(ProfileSource source, const char* text) {
    error = load_profile(&profile, &why);
    const bool says = *text ? std::strstr(why.text, text) != nullptr : why.text[0] == '\0';
    ::_exit(error ? 1 : profile.source != source ? 2 : !says ? 3 : !costs_are_sane(profile.costs) ? 4 : 0);
  }
};

TEST_F(ProfileSearch, TakesTheUsersFile) {
  write_user_file(good());
  EXPECT_EXIT(report(ProfileSource::kUser, ""), testing::ExitedWithCode(0), "");
}

TEST_F(ProfileSearch, PrefersTheFileThatTheSettingNames) {
  write_user_file(good());
  ::setenv("SMELT_PROFILE", folder.write("other.profile", good()).c_str(), 1);
  EXPECT_EXIT(report(ProfileSource::kSetting, ""), testing::ExitedWithCode(0), "");
}

TEST_F(ProfileSearch, GuessesAndSaysSoWhenTheNamedFileIsMissing) {
  write_user_file(good());
  ::setenv("SMELT_PROFILE", folder.path("none.profile").c_str(), 1);
  EXPECT_EXIT(report(ProfileSource::kGuess, "no such file"), testing::ExitedWithCode(0), "");
}

TEST_F(ProfileSearch, GuessesAndSaysSoWhenTheFileIsRefused) {
  write_user_file(good().substr(0, 300));
  EXPECT_EXIT(report(ProfileSource::kGuess, "truncated"), testing::ExitedWithCode(0), "");
  write_user_file(Packed(2).bytes);
  EXPECT_EXIT(report(ProfileSource::kGuess, "another machine"), testing::ExitedWithCode(0), "");
}

TEST_F(ProfileSearch, GuessesSilentlyWhenThereIsNothing) {
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  char path[sizeof Profile::path];
  ASSERT_EQ(system_profile_path(path, sizeof path), 0);
  if (::access(path, F_OK) == 0) GTEST_SKIP() << "this machine has a system profile: " << path;
  EXPECT_EXIT(report(ProfileSource::kGuess, ""), testing::ExitedWithCode(0), "");
}

// Nothing is spent on naming the file of this machine where there is none.
TEST_F(ProfileSearch, MayOnlyFindWhereADirectoryOrASettingIs) {
  const auto may = [] { ::_exit(profile_may_exist() ? 1 : 0); };
  ::setenv("XDG_CACHE_HOME", folder.path("none").c_str(), 1);
  if (::access(SMELT_SYSTEM_PROFILE_DIR, F_OK) == 0) GTEST_SKIP() << "this machine has system profiles";
  EXPECT_EXIT(may(), testing::ExitedWithCode(0), "");
  ::setenv("SMELT_PROFILE", folder.path("none.profile").c_str(), 1);
  EXPECT_EXIT(may(), testing::ExitedWithCode(1), "");
  ::unsetenv("SMELT_PROFILE");
  folder.write("none/smelt/another.profile", "");
  EXPECT_EXIT(may(), testing::ExitedWithCode(1), "");
}

// --- the guess, on made-up machines -------------------------------------------------------------------------------

class Guess : public testing::Test {
 protected:
  Folder sys;
  Profile profile;
  ~Guess() override { unload_profile(&profile); }

  void cpu_file(uint32_t cpu, const std::string& file, const std::string& content) {
    sys.write("devices/system/cpu/cpu" + std::to_string(cpu) + "/" + file, content + "\n");
  }
  int guess() { return guess_profile(sys.path().c_str(), &profile); }
  float hop(uint16_t a, uint16_t b) const { return profile.costs.hop[profile.costs.at(a, b)]; }
};

float typical_hop(Distance distance) { return typical_cost(distance).hop; }

// Two packages; each two nodes; each two L3s of two cores with two threads; siblings are numbered i and i + 16.
TEST_F(Guess, KnowsEveryClassOfDistance) {
  sys.write("devices/system/cpu/online", "0-31\n");
  sys.write("devices/system/node/online", "0-3\n");
  for (uint32_t node = 0; node < 4; ++node) {
    const uint32_t first = 4 * node;
    sys.write("devices/system/node/node" + std::to_string(node) + "/cpulist",
              std::to_string(first) + "-" + std::to_string(first + 3) + "," + std::to_string(first + 16) + "-" +
                  std::to_string(first + 19) + "\n");
  }
  for (uint32_t cpu = 0; cpu < 32; ++cpu) {
    const uint32_t core = cpu % 16, l3 = core & ~1u, package = core & ~7u;
    const auto list = [](uint32_t first, uint32_t count) {
      const auto range = [count](uint32_t from) {
        return std::to_string(from) + "-" + std::to_string(from + count - 1);
      };
      return range(first) + "," + range(first + 16);
    };
    cpu_file(cpu, "topology/core_siblings_list", list(package, 8));
    cpu_file(cpu, "topology/thread_siblings_list", std::to_string(core) + "," + std::to_string(core + 16));
    cpu_file(cpu, "cache/index0/level", "1");
    cpu_file(cpu, "cache/index0/type", "Data");
    cpu_file(cpu, "cache/index0/shared_cpu_list", std::to_string(core) + "," + std::to_string(core + 16));
    cpu_file(cpu, "cache/index1/level", "3");
    cpu_file(cpu, "cache/index1/type", "Unified");
    cpu_file(cpu, "cache/index1/shared_cpu_list", list(l3, 2));
    cpu_file(cpu, "cache/index2/level", "4");  // no such thing exists, but it must not count
    cpu_file(cpu, "cache/index2/type", "Instruction");
    cpu_file(cpu, "cache/index2/shared_cpu_list", "0-31");
  }
  ASSERT_EQ(guess(), 0);
  EXPECT_EQ(profile.source, ProfileSource::kGuess);
  EXPECT_EQ(profile.header.pairs_measured, 0u);
  EXPECT_EQ(profile.costs.n, 32u);
  EXPECT_TRUE(costs_are_sane(profile.costs));
  EXPECT_EQ(hop(0, 16), typical_hop(Distance::kSameCore));
  EXPECT_EQ(hop(0, 1), typical_hop(Distance::kSameLlc));
  EXPECT_EQ(hop(0, 17), typical_hop(Distance::kSameLlc));
  EXPECT_EQ(hop(1, 2), typical_hop(Distance::kSameNode));
  EXPECT_EQ(hop(3, 4), typical_hop(Distance::kSamePackage));
  EXPECT_EQ(hop(7, 8), typical_hop(Distance::kOther));
  EXPECT_EQ(hop(31, 0), typical_hop(Distance::kOther));
  for (Distance nearer : {Distance::kSameCore, Distance::kSameLlc, Distance::kSameNode, Distance::kSamePackage})
    EXPECT_LT(typical_hop(nearer), typical_hop(static_cast<Distance>(static_cast<int>(nearer) + 1)));
}

TEST_F(Guess, LeavesOutWhatIsOffline) {
  sys.write("devices/system/cpu/online", "0,2-3,7\n");
  for (uint32_t cpu : {0u, 2u, 3u, 7u}) cpu_file(cpu, "topology/core_siblings_list", "0-7");
  ASSERT_EQ(guess(), 0);
  ASSERT_EQ(profile.costs.n, 4u);
  EXPECT_EQ(profile.os_cpu[1], 2u);
  EXPECT_EQ(profile.os_cpu[3], 7u);
  // No cache is described, as in many virtual machines: the package stands in for it.
  EXPECT_EQ(hop(0, 3), typical_hop(Distance::kSameLlc));
}

// Many Arm machines: the firmware describes each core's caches and not the one that all share. Two packages of eight
// cores, clusters of four where the kernel knows of them.
TEST_F(Guess, PrivateCachesAloneAreNoLastLevel) {
  const auto machine = [this](bool clusters) {
    sys.write("devices/system/cpu/online", "0-15\n");
    for (uint32_t cpu = 0; cpu < 16; ++cpu) {
      const auto own = std::to_string(cpu);
      const auto from = [cpu](uint32_t count) {
        const uint32_t first = cpu / count * count;
        return std::to_string(first) + "-" + std::to_string(first + count - 1);
      };
      cpu_file(cpu, "topology/core_siblings_list", from(8));
      cpu_file(cpu, "topology/thread_siblings_list", own);
      cpu_file(cpu, "topology/cluster_cpus_list", clusters ? from(4) : own);
      for (const uint32_t index : {0u, 1u}) {
        const std::string cache = "cache/index" + std::to_string(index) + "/";
        cpu_file(cpu, cache + "level", std::to_string(index + 1));
        cpu_file(cpu, cache + "type", "Unified");
        cpu_file(cpu, cache + "shared_cpu_list", own);
      }
    }
    unload_profile(&profile);
    return guess();
  };
  ASSERT_EQ(machine(true), 0);
  EXPECT_EQ(hop(0, 3), typical_hop(Distance::kSameLlc));
  EXPECT_EQ(hop(3, 4), typical_hop(Distance::kSameNode));
  EXPECT_EQ(hop(7, 8), typical_hop(Distance::kOther));
  ASSERT_EQ(machine(false), 0);
  EXPECT_EQ(hop(0, 7), typical_hop(Distance::kSameLlc));
  EXPECT_EQ(hop(7, 8), typical_hop(Distance::kOther));
}

TEST_F(Guess, HandlesOneCpuAndMoreThanItCanHold) {
  sys.write("devices/system/cpu/online", "0\n");
  ASSERT_EQ(guess(), 0);
  EXPECT_EQ(profile.costs.n, 1u);
  unload_profile(&profile);
  sys.write("devices/system/cpu/online", "0-2047\n");
  ASSERT_EQ(guess(), 0);
  EXPECT_EQ(profile.costs.n, kMaxProfileCpus);
  EXPECT_TRUE(costs_are_sane(profile.costs));
}

TEST_F(Guess, RefusesNonsense) {
  EXPECT_EQ(guess(), -ENODEV);
  for (const char* nonsense : {"", "\n", "zero\n", "3-1\n", "0-99999999999\n", "0,0\n", "4,2\n", "0;1\n"}) {
    sys.write("devices/system/cpu/online", nonsense);
    EXPECT_EQ(guess(), -ENODEV) << nonsense;
    EXPECT_EQ(profile.mapping, nullptr);
  }
}

TEST_F(Guess, WithoutALookIsFlat) {
  ASSERT_EQ(assume_profile(3, &profile), 0);
  EXPECT_EQ(profile.header.cpus, 3u);
  EXPECT_EQ(profile.source, ProfileSource::kGuess);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(profile.os_cpu[i], i);
    EXPECT_EQ(profile_index(profile, i), i);
    for (uint32_t j = 0; j < 3; ++j)
      EXPECT_EQ(profile.costs.hop[i * 3 + j],
                static_cast<float>(typical_cost(i == j ? Distance::kSelf : Distance::kSameLlc).hop));
  }
  EXPECT_TRUE(costs_are_sane(profile.costs));
}

TEST_F(Guess, OfThisMachineHoldsAllItsCpus) {
  ASSERT_EQ(guess_profile(nullptr, &profile), 0);
  EXPECT_EQ(profile.costs.n, static_cast<uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  EXPECT_EQ(profile.header.fingerprint, 0u) << "a guess is of any machine: nothing is spent on knowing which";
  EXPECT_TRUE(costs_are_sane(profile.costs));
}

}  // namespace
