// The CPUs of the threads in teams: the union of their masks, asked again where waits are long and not too often.
#include "openmp/headcount.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <thread>
#include <vector>

#include "base/options.h"
#include "base/os/os.h"

namespace smelt::openmp {
namespace {

std::vector<uint32_t> allowed() {
  std::vector<uint32_t> cpus(os::allowed_cpus());
  cpus.resize(os::allowed_cpu_list(cpus.data(), static_cast<uint32_t>(cpus.size())));
  return cpus;
}

void bind_to(uint32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
}

// A thread in a team, bound to a CPU; it lives until the end of its scope.
class Bound {
 public:
  explicit Bound(uint32_t cpu)
      : thread_([this, cpu] {
          bind_to(cpu);
          note_thread();
          ready_.store(1);
          os::futex_wake_all(&ready_);
          while (ends_.load() == 0) os::futex_wait(&ends_, 0);
        }) {
    while (ready_.load() == 0) os::futex_wait(&ready_, 0);
  }
  ~Bound() {
    ends_.store(1);
    os::futex_wake_all(&ends_);
    thread_.join();
  }

 private:
  std::atomic<uint32_t> ready_{0}, ends_{0};
  std::thread thread_;
};

class CpusOfThreads : public testing::Test {
 protected:
  void SetUp() override {
    forget_threads();
    cpus_ = allowed();
    if (cpus_.size() < 2) GTEST_SKIP() << "needs two CPUs";
  }
  void TearDown() override {
    headcount.cpus.store(~0u);
    headcount.threads.store(0);
    headcount.stale.store(false);
    headcount.fresh_until.store(INT64_MAX);
    forget_threads();
  }

  // What the count is after a long wait; the runtime has said `begin`.
  static uint32_t counted(uint32_t threads, uint32_t begin) {
    begin_headcount(begin);
    headcount.threads.store(threads);
    headcount.note_long_wait(os::now_ns());
    renew_headcount();
    return headcount.cpus.load();
  }

  std::vector<uint32_t> cpus_;
};

TEST_F(CpusOfThreads, HaveTheCpusOfAllOfTheirMasks) {
  const Bound one(cpus_[0]), other(cpus_[1]);
  EXPECT_EQ(counted(2, 1), 2u);
}

TEST_F(CpusOfThreads, HaveFewerIfAllOfThemShareOne) {
  const Bound one(cpus_[0]), other(cpus_[0]);
  EXPECT_EQ(counted(2, 8), 1u);
  EXPECT_EQ(counted(3, 8), 8u) << "one was not asked";
  EXPECT_EQ(counted(1, 8), 8u) << "there is one for each, and others may come";
}

TEST_F(CpusOfThreads, AreForgottenWhenTheyHaveEnded) {
  const Bound one(cpus_[0]);
  { const Bound other(cpus_[1]); }
  EXPECT_EQ(counted(1, 1), 1u);
  EXPECT_EQ(counted(2, 1), 1u);
}

TEST_F(CpusOfThreads, AreAskedAfterLongWaitsAndSeldom) {
  const Bound one(cpus_[0]), other(cpus_[1]);
  begin_headcount(1);
  headcount.threads.store(2);
  renew_headcount();
  EXPECT_EQ(headcount.cpus.load(), 1u) << "nobody has waited";
  int64_t pause = 0;
  for (int i = 0; i < 12; ++i) {
    headcount.note_long_wait(headcount.fresh_until.load());
    EXPECT_TRUE(headcount.stale.load());
    const int64_t before = os::now_ns();
    renew_headcount();
    EXPECT_FALSE(headcount.stale.load());
    headcount.note_long_wait(before);
    EXPECT_FALSE(headcount.stale.load()) << "it has just been asked";
    pause = headcount.fresh_until.load() - before;
  }
  EXPECT_GE(pause, 100'000'000);
  EXPECT_EQ(headcount.cpus.load(), 2u);
}

TEST_F(CpusOfThreads, AreNotAskedWhereTheUserSaysHowMany) {
  const Bound one(cpus_[0]), other(cpus_[1]);
  ASSERT_EQ(set_option("SMELT_CPUS", "5"), 0);
  EXPECT_EQ(counted(9, 1), 5u);
  ASSERT_EQ(set_option("SMELT_CPUS", "0"), 0);
}

TEST_F(CpusOfThreads, TellMastersThatTheCountHasChanged) {
  auto* const region = static_cast<RegionRecord*>(os::map_pages(sizeof(RegionRecord)));
  ASSERT_NE(region, nullptr);
  begin_headcount(2);
  headcount.threads.store(2);
  take_headcount(*region);
  const uint32_t generation = region->generation;
  EXPECT_TRUE(knows_headcount(*region));
  take_headcount(*region);
  EXPECT_EQ(region->generation, generation);
  headcount.cpus.store(1);
  EXPECT_FALSE(knows_headcount(*region));
  take_headcount(*region);
  EXPECT_NE(region->generation, generation);
  os::unmap_pages(region, sizeof(RegionRecord));
}

}  // namespace
}  // namespace smelt::openmp
