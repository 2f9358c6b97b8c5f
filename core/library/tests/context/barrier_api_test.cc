// The barrier as programmers have it (smelt/barrier.h): it counts, up to the greatest number of participants, and may
// be freed while others leave.
#include <gtest/gtest.h>
#include <smelt/barrier.h>

#include <atomic>
#include <cerrno>
#include <vector>

#include "counting.h"

namespace smelt::test {
namespace {

TEST(Api, ContextAndBarrierCount) {
  for (unsigned n : {1u, 2u, 3u, 8u, 64u}) {
    smelt_context* context = nullptr;
    ASSERT_EQ(smelt_context_create(nullptr, n, nullptr, nullptr, &context), 0);
    EXPECT_EQ(smelt_context_size(context), n);
    EXPECT_STRNE(smelt_context_pattern(context), "");
    smelt_barrier* barrier = nullptr;
    ASSERT_EQ(smelt_barrier_create(context, &barrier), 0);
    smelt_context_free(context);
    count_and_cross(n, rounds_for(n) / 4, [&](unsigned me) { EXPECT_EQ(smelt_barrier_wait(barrier, me), 0); });
    EXPECT_EQ(smelt_barrier_wait(barrier, n), -EINVAL);
    smelt_barrier_free(barrier);
  }
}

TEST(Api, A1024ParticipantBarrier) {
  constexpr unsigned kMany = SMELT_MAX_PARTICIPANTS;
  smelt_context* context = nullptr;
  ASSERT_EQ(smelt_context_create(nullptr, kMany, nullptr, nullptr, &context), 0);
  smelt_barrier* barrier = nullptr;
  ASSERT_EQ(smelt_barrier_create(context, &barrier), 0);
  std::atomic<unsigned> arrived{0}, early{0};
  run_threads(kMany, [&](unsigned me) {
    for (unsigned r = 1; r <= 3; ++r) {
      ++arrived;
      smelt_barrier_wait(barrier, me);
      early += arrived < kMany * r;
    }
  });
  EXPECT_EQ(early, 0u);
  smelt_barrier_free(barrier);
  smelt_context_free(context);
}

TEST(Api, FreedWhileOthersStillLeave) {
  for (unsigned n : {2u, 4u}) {
    smelt_context* context = nullptr;
    ASSERT_EQ(smelt_context_create(nullptr, n, nullptr, nullptr, &context), 0);
    constexpr unsigned kLives = 300;
    std::vector<smelt_barrier*> barriers(kLives);
    for (auto& barrier : barriers) ASSERT_EQ(smelt_barrier_create(context, &barrier), 0);
    run_threads(n, [&](unsigned me) {
      for (unsigned life = 0; life < kLives; ++life) {
        smelt_barrier_wait(barriers[life], me);
        // A use after the memory is gone would fault: it was a mapping of its own.
        if (me == life % n) smelt_barrier_free(barriers[life]);
      }
    });
    smelt_context_free(context);
  }
}

TEST(Api, BadArguments) {
  smelt_context* context = nullptr;
  EXPECT_EQ(smelt_context_create(nullptr, 0, nullptr, nullptr, &context), -EINVAL);
  EXPECT_EQ(smelt_context_create(nullptr, SMELT_MAX_PARTICIPANTS + 1, nullptr, nullptr, &context), -EINVAL);
  EXPECT_EQ(smelt_context_create(nullptr, 2, nullptr, "nonsense", &context), -ENOENT);
  EXPECT_EQ(smelt_context_create(nullptr, 2, nullptr, "knomial:0", &context), -ERANGE);
  EXPECT_EQ(smelt_context_create(nullptr, 2, nullptr, nullptr, nullptr), -EINVAL);
  EXPECT_EQ(context, nullptr);
  const unsigned same[] = {0, 0};
  ASSERT_EQ(smelt_context_create(nullptr, 2, same, nullptr, &context), 0);
  EXPECT_STREQ(smelt_context_pattern(context), "crowd");
  smelt_context_free(context);
  smelt_context_free(nullptr);
  smelt_barrier_free(nullptr);
}

}  // namespace
}  // namespace smelt::test
