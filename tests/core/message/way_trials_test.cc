// Pieces or single copy by trial: both are tried, the faster one is taken, and a change is noticed.
#include "message/way_trials.h"

#include <gtest/gtest.h>

#include <vector>

namespace smelt::test {
namespace {

using message::WayTrials;
using Way = WayTrials::Way;

// What each way takes now.
struct Costs {
  uint64_t pieces, single;
};

struct Trials {
  explicit Trials(uint32_t members = 2) : memory(WayTrials::arena_bytes(members)), arena(memory.data(), memory.size()) {
    EXPECT_TRUE(trials.open(&arena, members));
  }
  // So many messages; how many of them came by single copy.
  int run(int messages, Costs costs, Way usual = Way::kPieces, uint16_t sender = 1, uint64_t bytes = 65536) {
    int single = 0;
    for (int i = 0; i < messages; ++i) {
      const Way way = trials.next(sender, bytes, usual);
      single += way == Way::kSingleCopy;
      trials.note(sender, bytes, way, way == Way::kSingleCopy ? costs.single : costs.pieces);
    }
    return single;
  }
  std::vector<char> memory;
  Arena arena;
  WayTrials trials;
};

constexpr int kTrial = WayTrials::kTrial, kPeriod = WayTrials::kPeriod;

TEST(WayTrials, TheFirstMessagesGoEitherWay) {
  for (Way usual : {Way::kPieces, Way::kSingleCopy}) {
    Trials trials;
    for (int i = 0; i < 2 * kTrial; ++i) EXPECT_EQ(trials.trials.next(1, 65536, usual) == usual, i < kTrial) << i;
  }
}

TEST(WayTrials, TheFasterWayIsTaken) {
  for (Way usual : {Way::kPieces, Way::kSingleCopy}) {
    EXPECT_EQ(Trials().run(kPeriod, {9600, 3800}, usual), kPeriod - kTrial);
    EXPECT_EQ(Trials().run(kPeriod, {1600, 5200}, usual), kTrial);
  }
}

// What reading costs the sender is not seen.
TEST(WayTrials, ALittleFasterIsNotEnoughForSingleCopy) { EXPECT_EQ(Trials().run(kPeriod, {100, 75}), kTrial); }

// The first of several in a row meet what the other way has left.
TEST(WayTrials, AWayMayTakeSomeMessagesToWarmUp) {
  Trials trials;
  int single = 0;
  for (int i = 0, in_a_row = 0; i < kPeriod; ++i) {
    const Way way = trials.trials.next(1, 65536, Way::kPieces);
    in_a_row = way == Way::kSingleCopy ? in_a_row + 1 : 0;
    single += in_a_row > 0;
    trials.trials.note(1, 65536, way, way == Way::kPieces ? 9600 : in_a_row <= kTrial / 2 ? 12000 : 3800);
  }
  EXPECT_EQ(single, kPeriod - kTrial);
}

TEST(WayTrials, AChangeIsNoticed) {
  Trials trials;
  EXPECT_EQ(trials.run(kPeriod, {9600, 3800}), kPeriod - kTrial);
  EXPECT_LT(trials.run(kPeriod, {9600, 14600}), kPeriod / 8) << "after some messages that took longer";
  int periods = 0;
  while (periods < 40 && trials.run(kPeriod, {9600, 3800}) < kPeriod - kTrial) ++periods;
  EXPECT_LT(periods, 40) << "some of each period go the other way";
}

TEST(WayTrials, ADisturbedMessageDecidesNothing) {
  Trials trials;
  trials.run(4 * kTrial, {9600, 3800});
  trials.trials.note(1, 65536, Way::kSingleCopy, 4'000'000);
  EXPECT_EQ(trials.trials.next(1, 65536, Way::kPieces), Way::kSingleCopy);
  for (int i = 0; i < 1000; ++i) {
    trials.trials.note(1, 65536, Way::kSingleCopy, UINT64_MAX);
    trials.trials.note(1, 65536, Way::kSingleCopy, UINT64_MAX);
  }
  EXPECT_EQ(trials.trials.next(1, 65536, Way::kPieces), Way::kPieces);
  for (int i = 0; i < 1000; ++i) trials.trials.note(1, 65536, Way::kPieces, 0);
  trials.trials.next(1, 65536, Way::kPieces);
}

TEST(WayTrials, SendersAndSizesAreApart) {
  Trials trials(3);
  trials.run(kPeriod, {9600, 3800}, Way::kPieces, 1);
  EXPECT_EQ(trials.run(kPeriod, {1600, 5200}, Way::kPieces, 2), kTrial);
  EXPECT_EQ(trials.run(kPeriod, {1600, 5200}, Way::kPieces, 1, 1 << 20), kTrial);
  EXPECT_EQ(trials.trials.next(1, 65536, Way::kPieces), Way::kSingleCopy);
  for (uint64_t bytes : {uint64_t{1}, uint64_t{1} << 40})  // the ends
    EXPECT_EQ(trials.trials.next(0, bytes, Way::kPieces), Way::kPieces);
}

}  // namespace
}  // namespace smelt::test
