// What tests of user-level threads begin with.
#pragma once

#include <smelt/thread.h>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "library/thread/switch.h"
#include "sanitized.h"

namespace smelt::test {

struct FreeScheduler {
  void operator()(smelt_scheduler* scheduler) const { smelt_scheduler_free(scheduler); }
};
using Scheduler = std::unique_ptr<smelt_scheduler, FreeScheduler>;

inline Scheduler scheduler_of(unsigned workers, unsigned flags = 0, size_t stack_bytes = 0) {
  smelt_scheduler* scheduler = nullptr;
  EXPECT_EQ(smelt_scheduler_create(workers, nullptr, stack_bytes, flags, &scheduler), 0);
  return Scheduler(scheduler);
}

using Body = std::function<void()>;

inline void* call(void* body) {
  (*static_cast<Body*>(body))();
  return nullptr;
}

// All of them as threads, from outside, and joined.
inline void run_all(const Scheduler& scheduler, std::vector<Body>& bodies, int worker = SMELT_ANY_WORKER) {
  std::vector<smelt_thread*> threads(bodies.size());
  for (size_t i = 0; i < bodies.size(); ++i)
    ASSERT_EQ(smelt_thread_spawn(scheduler.get(), call, &bodies[i], worker, &threads[i]), 0);
  for (smelt_thread* thread : threads) ASSERT_EQ(smelt_thread_join(thread, nullptr), 0);
}

inline void run_one(const Scheduler& scheduler, Body body) {
  std::vector<Body> bodies{std::move(body)};
  run_all(scheduler, bodies);
}

class Threads : public testing::Test {
 protected:
  void SetUp() override {
    if (!thread::kCanSwitch) GTEST_SKIP() << "no Boost.Context";
  }
};

}  // namespace smelt::test
