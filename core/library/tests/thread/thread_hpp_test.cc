// smelt/thread.hpp: any callable, what is made frees itself.
#include <smelt/thread.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace smelt::test {
namespace {

class ThreadsInCpp : public testing::Test {
 protected:
  void SetUp() override {
    if (Scheduler::create(scheduler_, 2) == -ENOTSUP) GTEST_SKIP() << "no Boost.Context";
    ASSERT_TRUE(scheduler_);
  }
  Scheduler scheduler_;
};

TEST_F(ThreadsInCpp, RunAnythingThatCanBeCalled) {
  auto only = std::make_unique<int>(7);  // cannot be copied
  int got = 0;
  Thread thread;
  ASSERT_EQ(scheduler_.spawn([&got, only = std::move(only)] { got = *only; }, thread), 0);
  ASSERT_EQ(thread.join(), 0);
  EXPECT_FALSE(thread);
  EXPECT_EQ(thread.join(), 0);
  EXPECT_EQ(got, 7);
}

TEST_F(ThreadsInCpp, AreJoinedByWhoeverDestroysThem) {
  int count = 0;  // plain: the joins order it
  {
    Thread root;
    ASSERT_EQ(scheduler_.spawn(
                  [&count] {
                    std::vector<Thread> children(10);
                    std::vector<int> done(10, 0);
                    for (size_t i = 0; i < children.size(); ++i)
                      ASSERT_EQ(spawn([&done, i] { smelt_thread_yield(), done[i] = 1; }, children[i]), 0);
                    children.clear();
                    for (const int each : done) count += each;
                  },
                  root),
              0);
  }
  EXPECT_EQ(count, 10);
}

TEST_F(ThreadsInCpp, FreeWhatTheyKeepAlsoWhenNobodyJoinsThem) {
  auto shared = std::make_shared<std::string>("kept");
  std::weak_ptr<std::string> watched = shared;
  ASSERT_EQ(scheduler_.spawn_detached([shared = std::move(shared)] { smelt_thread_yield(); }), 0);
  scheduler_ = Scheduler();
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(scheduler_.spawn_detached([] {}), -EINVAL);
}

TEST_F(ThreadsInCpp, SayWhatTheirSchedulerHasDone) {
  EXPECT_EQ(scheduler_.workers(), 2u);
  Thread waiter;
  ASSERT_EQ(scheduler_.spawn([] { smelt_thread_wait(); }, waiter, 1), 0);
  EXPECT_EQ(waiter.signal(), 0);
  ASSERT_EQ(waiter.join(), 0);
  EXPECT_EQ(scheduler_.counts().ended, 1u);
  Scheduler none;
  EXPECT_EQ(Scheduler::create(none, std::vector<unsigned>{}), -EINVAL);
}

}  // namespace
}  // namespace smelt::test
