// Loose and strict: what a group is told, what it sees, which limits it takes then, and that all participants change
// them in the same call, whatever is outstanding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../folder.h"
#include "../profile/packed.h"
#include "base/fingerprint.h"
#include "group/engine.h"
#include "in_group.h"

namespace smelt::test {
namespace {

constexpr uint32_t kCalls = Watch::kCalls;

// --- what follows calls ---

struct Watched : Watch {
  Watched() { begin(false); }
  void call() { count_call(*this, false); }
  void barrier() { count_call(*this, true); }
  // So many calls, each followed by a barrier or by nothing.
  void calls(uint32_t count, bool followed) {
    for (uint32_t i = 0; i < count; ++i) {
      call();
      if (followed) barrier();
    }
  }
};

TEST(Watch, TurnsAfterAsManyBarriersAsItKeeps) {
  Watched watch;
  watch.calls(kCalls - 1, true);
  EXPECT_FALSE(watch.has_turned());
  watch.call();
  EXPECT_FALSE(watch.has_turned()) << "nothing has followed this one yet";
  watch.barrier();
  EXPECT_TRUE(watch.has_turned());
}

TEST(Watch, BeginsAnewWithACallThatNoBarrierFollows) {
  Watched watch;
  watch.calls(kCalls - 1, true);
  watch.calls(1, false);
  watch.calls(kCalls, true);
  EXPECT_TRUE(watch.has_turned());
  Watched shorter;
  shorter.calls(kCalls - 1, true);
  shorter.calls(1, false);
  shorter.calls(kCalls - 1, true);
  EXPECT_FALSE(shorter.has_turned());
}

TEST(Watch, FurtherBarriersFollowNothing) {
  Watched watch;
  for (uint32_t i = 0; i < 10 * kCalls; ++i) watch.barrier();
  EXPECT_FALSE(watch.has_turned());
}

TEST(Watch, TurnsBackAfterAsManyCallsWithout) {
  Watched watch;
  watch.calls(kCalls, true);
  ASSERT_TRUE(watch.has_turned());
  watch.begin(true);
  EXPECT_FALSE(watch.has_turned());
  watch.calls(kCalls, false);
  EXPECT_FALSE(watch.has_turned()) << "of the last one it is not known";
  watch.calls(1, false);
  EXPECT_TRUE(watch.has_turned());
  Watched mixed;
  mixed.calls(kCalls, true);
  mixed.begin(true);
  for (int i = 0; i < 100; ++i) mixed.calls(kCalls - 1, false), mixed.calls(1, true);
  EXPECT_FALSE(mixed.has_turned());
}

TEST(Watch, NeverTurnsWhereNobodyAsked) {
  Watch watch;
  for (uint32_t i = 0; i < 2 * kCalls; ++i) {
    count_call(watch, false), count_call(watch, true);
    EXPECT_FALSE(watch.has_turned());
  }
}

// --- what a group is told ---

struct Told {
  smelt_sync first = SMELT_SYNC_AUTO, others = SMELT_SYNC_AUTO;  // participant 0's host says, and the others'
  const char* setting = nullptr;                                 // SMELT_TUNE=sync
  const char* last = nullptr;                                    // the last participant's
};

// How many of three participants find another regime, or another reason, than expected.
int wrong(const Told& told, smelt_sync expected, const char* reason) {
  return run_processes(3, [&](Seat& seat) {
    const char* const setting = seat.me == 2 && told.last ? told.last : told.setting;
    if (setting) set_setting("SMELT_TUNE=sync", setting);
    smelt_host host = host_of(&seat);
    host.sync = seat.me == 0 ? told.first : told.others;
    smelt_group* group = nullptr;
    EXPECT_HERE(smelt_group_create(&host, 3, seat.me, &group) == 0, "create");
    const char* why = nullptr;
    const smelt_sync sync = smelt_group_sync(group, &why);
    EXPECT_HERE(sync == expected, "sync %d", sync);
    EXPECT_HERE(*reason ? std::strstr(why, reason) != nullptr : !*why, "why: %s", why);
    smelt_group_free(group);
    smelt_groups_end();
    return 0;
  });
}

TEST(Sync, IsWhatTheHostSaysElseTheSetting) {
  EXPECT_EQ(wrong({}, SMELT_SYNC_LOOSE, ""), 0);
  EXPECT_EQ(wrong({.setting = "auto"}, SMELT_SYNC_LOOSE, ""), 0);
  EXPECT_EQ(wrong({.setting = "nonsense"}, SMELT_SYNC_LOOSE, ""), 0) << "said once, and the default holds";
  EXPECT_EQ(wrong({.setting = "loose"}, SMELT_SYNC_LOOSE, "SMELT_TUNE=sync says so"), 0);
  EXPECT_EQ(wrong({.setting = "strict"}, SMELT_SYNC_STRICT, "SMELT_TUNE=sync says so"), 0);
  EXPECT_EQ(wrong({SMELT_SYNC_STRICT, SMELT_SYNC_STRICT}, SMELT_SYNC_STRICT, "smelt_sync says so"), 0);
  EXPECT_EQ(wrong({SMELT_SYNC_LOOSE, SMELT_SYNC_LOOSE, "strict"}, SMELT_SYNC_LOOSE, "smelt_sync says so"), 0);
}

TEST(Sync, ThatDiffersIsLooseOnAll) {
  EXPECT_EQ(wrong({SMELT_SYNC_STRICT, SMELT_SYNC_LOOSE}, SMELT_SYNC_LOOSE, "differs"), 0);
  EXPECT_EQ(wrong({SMELT_SYNC_STRICT, SMELT_SYNC_AUTO}, SMELT_SYNC_LOOSE, "differs"), 0);
  EXPECT_EQ(wrong({SMELT_SYNC_AUTO, SMELT_SYNC_STRICT}, SMELT_SYNC_LOOSE, "differs"), 0);
  EXPECT_EQ(wrong({.setting = "strict", .last = "loose"}, SMELT_SYNC_LOOSE, "differs"), 0);
  EXPECT_EQ(wrong({.setting = "strict", .last = "auto"}, SMELT_SYNC_LOOSE, "differs"), 0);
  EXPECT_EQ(wrong({SMELT_SYNC_STRICT, SMELT_SYNC_AUTO, "strict"}, SMELT_SYNC_STRICT, " says so"), 0)
      << "told in different ways, but the same";
}

// --- which limits it takes ---

// A profile of this machine, which has two CPUs then. A reduction is sliced from 1024 bytes on, of calls that a barrier
// follows from 64 on.
std::string profile_with_both(const Folder& folder) {
  Packed packed(2, 2);
  packed.header().fingerprint = machine_fingerprint();
  for (uint32_t i = 0; i < 2; ++i) {
    CurveSet& set = packed.curves()[i];
    set.participants = 2;
    set.sync = i;
    packed.os_cpu()[i] = i;
    for (auto& method : set.ns) std::fill_n(method, kCurveSizes, 1000.0f);
    for (uint32_t s = 0; s < kCurveSizes; ++s)
      if (i == 1 || kSampledBytes[s] > 1024) set.ns[kReduceSliced][s] = 500;
  }
  packed.seal();
  return folder.write("both.profile", packed.bytes);
}

TEST(Sync, HasLimitsOfItsOwn) {
  const Folder folder;
  const std::string path = profile_with_both(folder);
  const auto flat_limit = [](const smelt_group* group) { return group->plan.limits.of[SMELT_COLLECTIVE_REDUCE].flat; };
  for (const char* const sync : {"loose", "strict"})
    EXPECT_EQ(in_group(2, {{"SMELT_PROFILE", path.c_str()}, {"SMELT_TUNE=canary", "0"}, {"SMELT_TUNE=sync", sync}},
                       [&](smelt_group* group, Seat&) {
                         EXPECT_HERE(group->plan.profile, "there is no profile");
                         EXPECT_HERE(smelt_group_sync_matters(group) == 1, "they differ");
                         const uint64_t flat = flat_limit(group);
                         const bool strict = std::strcmp(sync, "strict") == 0;
                         EXPECT_HERE(strict ? flat == 0 : flat >= 1024 && flat < 4096, "flat %zu", size_t{flat});
                         return 0;
                       }),
              0)
        << sync;
}

TEST(Sync, DoesNotMatterWhereNobodyMeasured) {
  EXPECT_EQ(in_group(2, {{"SMELT_PROFILE", "/dev/null"}, {"SMELT_TUNE=sync", "strict"}},
                     [](smelt_group* group, Seat&) {
                       EXPECT_HERE(smelt_group_sync_matters(group) == 0, "the same");
                       return 0;
                     }),
            0);
}

// --- what a group sees ---

constexpr size_t kWords = 2000;  // beyond what rides inline

void add(void*, const void* left, void* right, size_t elements) {
  for (size_t i = 0; i < elements; ++i) static_cast<uint64_t*>(right)[i] += static_cast<const uint64_t*>(left)[i];
}

// One participant, whose group has the other methods for everything once it is strict.
class Sequence {
 public:
  Sequence(smelt_group* group, Seat& seat) : group_(group), seat_(seat), state_(seat.me * 77 + 5) {
    for (const bool strict : {false, true})
      for (Limits::Of& limits : group->plan.limits_of[strict].of) limits.flat = limits.copy = strict ? 0 : UINT64_MAX;
    group->choose_sync(group->sync);
    group->host.context = this;
    group->host.progress = nullptr;
    group->host.sync_seen = [](void* context, smelt_sync sync) {
      auto& self = *static_cast<Sequence*>(context);
      ++self.changes;
      self.seen = sync;
    };
  }

  // Each checks what it gets; the participants come at different times.
  int allreduce() {
    dawdle();
    fill();
    const smelt_data in = data(in_), out = data(out_);
    EXPECT_HERE(smelt_group_allreduce(group_, &in, &out, kWords, &kSum) == 0, "allreduce");
    return check();
  }
  int broadcast() {
    dawdle();
    const unsigned root = static_cast<unsigned>(number_ % seat_.n);
    fill();
    const uint64_t first = number_ * 1000;
    for (size_t i = 0; i < kWords; ++i) out_[i] = seat_.me == root ? first + i : 0;
    const smelt_data both = data(out_);
    EXPECT_HERE(smelt_group_broadcast(group_, &both, sizeof out_, root) == 0, "broadcast");
    for (size_t i = 0; i < kWords; ++i) EXPECT_HERE(out_[i] == first + i, "broadcast %zu: word %zu", number_, i);
    return 0;
  }
  int barrier() {
    dawdle();
    EXPECT_HERE(smelt_group_barrier(group_) == 0, "barrier");
    return 0;
  }
  // Started, and left alone until the queue is completed by a blocking call; complete() looks at what came of it.
  int start_allreduce() {
    fill();
    EXPECT_HERE(outstanding_ == 0, "one at a time");
    const smelt_data in = data(in_), out = data(out_);
    EXPECT_HERE(smelt_group_start_allreduce(group_, &in, &out, kWords, &kSum, &request_) == 0, "start");
    ++outstanding_;
    return 0;
  }
  int start_barrier() {
    dawdle();
    EXPECT_HERE(smelt_group_start_barrier(group_, &barrier_request_) == 0, "start");
    return 0;
  }
  int complete() {
    outstanding_ = 0;
    EXPECT_HERE(smelt_group_wait(&request_) == 0 && smelt_group_wait(&barrier_request_) == 0, "wait");
    return check();
  }
  bool is_strict() const { return smelt_group_sync(group_, nullptr) == SMELT_SYNC_STRICT; }

  int changes = 0;
  smelt_sync seen = SMELT_SYNC_AUTO;

 private:
  static constexpr smelt_fold kSum{sizeof(uint64_t), add, nullptr, nullptr, SMELT_FOLD_ANY_ORDER};

  static smelt_data data(uint64_t* words) { return {words, nullptr, nullptr, nullptr}; }
  void dawdle() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    if (state_ >> 60 == 0) usleep(static_cast<useconds_t>(state_ >> 40 & 511));
  }
  void fill() {
    ++number_;
    for (size_t i = 0; i < kWords; ++i) in_[i] = number_ * (seat_.me + 1) + i;
  }
  int check() const {
    const uint64_t n = seat_.n;
    for (size_t i = 0; i < kWords; ++i)
      EXPECT_HERE(out_[i] == number_ * (n * (n + 1) / 2) + n * i, "allreduce %zu: word %zu", number_, i);
    return 0;
  }

  smelt_group* const group_;
  Seat& seat_;
  uint64_t state_;
  size_t number_ = 0;
  int outstanding_ = 0;
  uint64_t in_[kWords], out_[kWords];
  smelt_request request_{}, barrier_request_{};
};

#define DO(...)                \
  do {                         \
    if (__VA_ARGS__) return 1; \
  } while (0)

// Every participant expects the change in this very call, so all have it in the same one.
int turn_both_ways(smelt_group* group, Seat& seat) {
  Sequence all(group, seat);
  for (uint32_t i = 0; i < kCalls; ++i) {
    EXPECT_HERE(!all.is_strict(), "strict after %u", i);
    DO(i % 2 ? all.allreduce() : all.broadcast());
    DO(all.barrier());
  }
  EXPECT_HERE(all.is_strict() && all.changes == 1 && all.seen == SMELT_SYNC_STRICT, "not strict");
  for (uint32_t i = 0; i <= kCalls; ++i) {  // what follows the last one is not known before the next
    EXPECT_HERE(all.is_strict(), "loose after %u", i);
    DO(i % 2 ? all.allreduce() : all.broadcast());
  }
  EXPECT_HERE(!all.is_strict() && all.changes == 2 && all.seen == SMELT_SYNC_LOOSE, "still strict");
  for (uint32_t i = 0; i < 3 * kCalls; ++i) {
    DO(all.broadcast());
    if (i % 3) DO(all.barrier());
  }
  EXPECT_HERE(!all.is_strict() && all.changes == 2, "strict by two barriers of three");
  return 0;
}

// Operations that are started count when they begin, which is in their order, but at another time everywhere.
int turn_beside_started_ones(smelt_group* group, Seat& seat) {
  Sequence all(group, seat);
  for (uint32_t i = 0; i < kCalls; ++i) {
    EXPECT_HERE(!all.is_strict(), "strict after %u", i);
    DO(all.start_allreduce());
    DO(all.barrier());
    DO(all.complete());
  }
  EXPECT_HERE(all.is_strict() && all.changes == 1, "not strict");
  for (uint32_t i = 0; i < 2 * kCalls; ++i) {
    DO(all.start_allreduce());
    DO(all.complete());
    EXPECT_HERE(all.is_strict(), "loose in a started one, %u", i);
  }
  DO(all.allreduce());
  EXPECT_HERE(!all.is_strict() && all.changes == 2, "not loose in a blocking one");
  for (uint32_t i = 0; i < 2 * kCalls; ++i) {
    DO(all.start_allreduce());
    DO(all.start_barrier());
    DO(all.complete());
    EXPECT_HERE(!all.is_strict(), "strict in a started one, %u", i);
  }
  DO(all.start_allreduce());
  DO(all.start_barrier());
  DO(all.barrier());
  EXPECT_HERE(all.is_strict() && all.changes == 3, "not strict in a blocking one");
  return all.complete();
}

// What was told holds.
int stay(smelt_group* group, Seat& seat) {
  Sequence all(group, seat);
  const bool strict = all.is_strict();
  for (uint32_t i = 0; i < 2 * kCalls; ++i) {
    DO(all.allreduce());
    if (!strict) DO(all.barrier());
  }
  EXPECT_HERE(all.is_strict() == strict && all.changes == 0, "changed");
  return 0;
}

class Seen : public testing::TestWithParam<unsigned> {};
TEST_P(Seen, ChangesTheMethodsOfAllInTheSameCall) { EXPECT_EQ(in_group(GetParam(), {}, turn_both_ways), 0); }
TEST_P(Seen, BesideStartedOnesToo) { EXPECT_EQ(in_group(GetParam(), {}, turn_beside_started_ones), 0); }
TEST_P(Seen, ChangesNothingThatWasTold) {
  for (const char* const sync : {"loose", "strict"})
    EXPECT_EQ(in_group(GetParam(), {{"SMELT_TUNE=sync", sync}}, stay), 0) << sync;
}
INSTANTIATE_TEST_SUITE_P(Participants, Seen, testing::Values(2u, 3u, 5u));

}  // namespace
}  // namespace smelt::test
