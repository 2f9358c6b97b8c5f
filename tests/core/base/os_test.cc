#include "base/os/os.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <thread>

#include "base/arch/cpu.h"
#include "folder.h"
#include "standing_clock.h"

using namespace smelt;
using smelt::test::Folder;

namespace {

TEST(Pages, AreZeroedAndRefusalIsNull) {
  auto* pages = static_cast<char*>(os::map_pages(100'000));
  ASSERT_NE(pages, nullptr);
  for (int i = 0; i < 100'000; ++i) ASSERT_EQ(pages[i], 0);
  pages[99'999] = 1;
  os::unmap_pages(pages, 100'000);
  errno = EDOM;
  EXPECT_EQ(os::map_pages(size_t{1} << 62), nullptr);
  EXPECT_EQ(os::map_pages(0), nullptr);
  EXPECT_EQ(errno, EDOM) << "errno belongs to the host program";
}

TEST(Futex, ReturnsAtOnceWhenTheWordDiffers) {
  std::atomic<uint32_t> word{1};
  errno = EDOM;
  os::futex_wait(&word, 0);  // would hang
  EXPECT_EQ(errno, EDOM);
}

TEST(Futex, GivesUpAfterItsTimeout) {
  std::atomic<uint32_t> word{0};
  const int64_t start = os::now_ns();
  os::futex_wait(&word, 0, 3'000'000);
  const int64_t waited = os::now_ns() - start;
  EXPECT_GE(waited, 3'000'000);
  EXPECT_LT(waited, 3'000'000'000);
}

TEST(Futex, WakesASleeper) {
  std::atomic<uint32_t> word{0};
  std::thread sleeper([&] {
    while (word.load() == 0) os::futex_wait(&word, 0);
  });
  ::usleep(5000);
  word.store(1);
  os::futex_wake_all(&word);
  sleeper.join();  // hangs when the wake-up is lost
}

TEST(Clock, CountsLooksAndSleepsWhereItStands) {
  {
    const test::StandingClock stands;
    const int64_t start = os::now_ns();
    int looks = 0;
    while (os::now_ns() - start < 1'000'000 && looks < 1'000'000) ++looks;
    EXPECT_LT(looks, 1'000'000) << "a wait with a time limit would never end";
    EXPECT_GT(looks, 64) << "a clock that ticks gives equal readings, too";
    const int64_t before = os::now_ns();
    std::atomic<uint32_t> word{0};
    os::futex_wait(&word, 0, 3'000'000);
    EXPECT_GE(os::now_ns() - before, 3'000'000);
  }
  const int64_t before = test::true_ns(), now = os::now_ns();
  EXPECT_GE(now, before) << "it is the clock's word again";
  EXPECT_LE(now, test::true_ns());
}

TEST(Clock, IsTheKernelsWhereItGoes) {
  for (int i = 0; i < 1000; ++i) {
    if (i % 100 == 0) {
      std::atomic<uint32_t> word{0};
      os::futex_wait(&word, 0, 20'000);
    }
    const int64_t before = test::true_ns(), now = os::now_ns(), after = test::true_ns();
    ASSERT_GE(now, before);
    ASSERT_LE(now, after);
  }
}

// Dekker without a fence on the fast side: never may both sides miss the other's store.
TEST(ProcessBarrier, OrdersTheSideThatHasNoFence) {
  if (!os::process_barrier()) GTEST_SKIP() << "this kernel has no membarrier";
  constexpr int kRounds = 3'000;
  std::atomic<int> fast{0}, slow{0}, fast_saw{0}, round{0}, done{0};
  std::thread light([&] {
    for (int i = 1; i <= kRounds; ++i) {
      while (round.load(std::memory_order_acquire) < i) cpu_pause();
      fast.store(i, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      fast_saw.store(slow.load(std::memory_order_relaxed), std::memory_order_relaxed);
      done.store(i, std::memory_order_release);
    }
  });
  int missed = 0;
  for (int i = 1; i <= kRounds; ++i) {
    round.store(i, std::memory_order_release);
    slow.store(i, std::memory_order_relaxed);
    EXPECT_TRUE(os::process_barrier());
    const int slow_saw = fast.load(std::memory_order_relaxed);
    while (done.load(std::memory_order_acquire) < i) cpu_pause();
    missed += slow_saw < i && fast_saw.load(std::memory_order_relaxed) < i;
  }
  light.join();
  EXPECT_EQ(missed, 0);
}

TEST(Cpus, FollowTheAffinityOfTheThread) {
  std::thread([] {
    const uint32_t before = os::allowed_cpus();
    EXPECT_GE(before, 1u);
    cpu_set_t set;
    ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(before, static_cast<uint32_t>(CPU_COUNT(&set)));
    int last = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) last = cpu;
    CPU_ZERO(&set);
    CPU_SET(last, &set);
    ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(os::allowed_cpus(), 1u);
    EXPECT_EQ(os::current_cpu(), static_cast<uint32_t>(last));
  }).join();
}

TEST(SmallFile, IsReadCutAndTerminated) {
  const Folder folder;
  const std::string path = folder.write("file", "0-3\n");
  char buffer[16];
  EXPECT_EQ(os::read_small_file(path.c_str(), buffer, sizeof buffer), 4);
  EXPECT_STREQ(buffer, "0-3\n");
  EXPECT_EQ(os::read_small_file(path.c_str(), buffer, 3), 2);
  EXPECT_STREQ(buffer, "0-");
  errno = EDOM;
  EXPECT_EQ(os::read_small_file(folder.path("none").c_str(), buffer, sizeof buffer), -ENOENT);
  EXPECT_STREQ(buffer, "");
  EXPECT_EQ(os::read_small_file(folder.path().c_str(), buffer, sizeof buffer), -EISDIR);
  EXPECT_EQ(errno, EDOM);
}

class Quota : public testing::Test {
 protected:
  Folder folder;
  uint32_t quota(const char* membership) {
    const std::string file = folder.write("membership", membership);
    return os::cgroup_cpu_quota(folder.path("cgroup").c_str(), file.c_str());
  }
};

TEST_F(Quota, OfVersion2IsTheTightestOnTheWayUp) {
  folder.write("cgroup/cpu.max", "max 100000\n");
  folder.write("cgroup/a/cpu.max", "150000 100000\n");
  folder.write("cgroup/a/b/cpu.max", "max 100000\n");
  folder.write("cgroup/a/b/c/cpu.max", "800000 100000\n");
  EXPECT_EQ(quota("0::/a/b/c\n"), 2u) << "1.5 CPUs, rounded up";
  EXPECT_EQ(quota("0::/a/b\n"), 2u);
  EXPECT_EQ(quota("0::/\n"), 0u);
}

TEST_F(Quota, OfAContainerIsAtTheMountWhenThePathIsTheHosts) {
  folder.write("cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota("0::/docker/0123456789abcdef\n"), 1u);
}

TEST_F(Quota, OfVersion1AndOfTheHybridLayout) {
  folder.write("cgroup/cpu/job/cpu.cfs_quota_us", "400000\n");
  folder.write("cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  folder.write("cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  folder.write("cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("9:memory:/job\n4:cpu,cpuacct:/job\n0::/job\n"), 4u);
  EXPECT_EQ(quota("4:cpuset:/job\n"), 0u) << "cpuset is not cpu";
  folder.write("cgroup/unified/job/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota("4:cpu,cpuacct:/job\n0::/job\n"), 3u);
}

TEST_F(Quota, OfTasksIsTheTightestOnTheWayUp) {
  const auto tasks = [this](const char* membership) {
    const std::string file = folder.write("membership", membership);
    return os::cgroup_task_limit(folder.path("cgroup").c_str(), file.c_str());
  };
  folder.write("cgroup/a/pids.max", "2048\n");
  folder.write("cgroup/a/b/pids.max", "max\n");
  folder.write("cgroup/a/b/c/pids.max", "9000\n");
  EXPECT_EQ(tasks("0::/a/b/c\n"), 2048u);
  EXPECT_EQ(tasks("0::/\n"), 0u);
  folder.write("cgroup/pids/job/pids.max", "20\n");
  EXPECT_EQ(tasks("9:memory:/job\n4:pids:/job\n0::/a\n"), 20u);
  EXPECT_EQ(tasks("4:cpu,cpuacct:/job\n"), 0u) << "of version 1 the controller's own alone";
}

TEST(Limits, OfTheProcess) {
  // In a child, for a limit that has been lowered stays so.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    rlimit limit{};
    bool right = ::getrlimit(RLIMIT_NPROC, &limit) == 0;
    limit.rlim_cur = 7;
    right = right && ::setrlimit(RLIMIT_NPROC, &limit) == 0 && os::process_task_limit() == 7;
    right = right && ::getrlimit(RLIMIT_DATA, &limit) == 0;
    limit.rlim_cur = uint64_t{1} << 40;
    right = right && ::setrlimit(RLIMIT_DATA, &limit) == 0 && os::address_space_is_limited();
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Quota, OfNonsenseIsNone) {
  folder.write("cgroup/a/cpu.max", "lots\n");
  EXPECT_EQ(quota("0::/a\n"), 0u);
  folder.write("cgroup/a/cpu.max", "100000 0\n");
  EXPECT_EQ(quota("0::/a\n"), 0u);
  EXPECT_EQ(quota("no colon\n0:\n::\n"), 0u);
  EXPECT_EQ(os::cgroup_cpu_quota("/sys/fs/cgroup", folder.path("none").c_str()), 0u);
}

}  // namespace
