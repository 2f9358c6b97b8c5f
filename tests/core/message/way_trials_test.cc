// Pieces or single copy by trial: both are tried, the faster one is taken, and a change is noticed.
#include "message/way_trials.h"

#include <gtest/gtest.h>

#include <vector>

namespace smelt::test {
namespace {

using message::WayTrials;
using Way = WayTrials::Way;

// What each way takes now, and what else there is between two messages.
struct Costs {
  uint64_t pieces, single, after_pieces = 1'000'000, after_single = 1'000'000;
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
      note(way, way == Way::kSingleCopy ? costs.single : costs.pieces, sender, bytes);
      now += way == Way::kSingleCopy ? costs.after_single : costs.after_pieces;
    }
    return single;
  }
  void note(Way way, uint64_t time, uint16_t sender = 1, uint64_t bytes = 65536) {
    trials.note(sender, bytes, way, now += time, time);
  }
  std::vector<char> memory;
  Arena arena;
  WayTrials trials;
  uint64_t now = 1'000'000'000;
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

// ... but from the period, where there is little else in it.
TEST(WayTrials, WhereMessagesFollowOneAnotherTheShorterPeriodDecides) {
  EXPECT_EQ(Trials().run(kPeriod, {100, 75, 100, 100}), kPeriod - kTrial) << "20 of 200 less";
  EXPECT_EQ(Trials().run(kPeriod, {100, 75, 100, 150}), kTrial) << "the sender pays for what we have read";
  EXPECT_EQ(Trials().run(kPeriod, {100, 60, 100, 200}), kPeriod - kTrial) << "... unless it is far less by itself";
  EXPECT_EQ(Trials().run(kPeriod, {100, 75, 100, 125}), kPeriod - kTrial) << "alike: its time decides";
  EXPECT_EQ(Trials().run(kPeriod, {100, 90, 100, 110}), kTrial) << "... if it is less";
  EXPECT_EQ(Trials().run(kPeriod, {100, 75, 2000, 2000}), kTrial) << "the period is full of other things";
}

// The first of several in a row meet what the other way has left.
TEST(WayTrials, AWayMayTakeSomeMessagesToWarmUp) {
  Trials trials;
  int single = 0;
  for (int i = 0, in_a_row = 0; i < kPeriod; ++i) {
    const Way way = trials.trials.next(1, 65536, Way::kPieces);
    in_a_row = way == Way::kSingleCopy ? in_a_row + 1 : 0;
    single += in_a_row > 0;
    trials.note(way, way == Way::kPieces ? 9600 : in_a_row <= kTrial / 2 ? 12000 : 3800);
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
  trials.note(Way::kSingleCopy, 4'000'000);
  EXPECT_EQ(trials.trials.next(1, 65536, Way::kPieces), Way::kSingleCopy);
  for (int i = 0; i < 1000; ++i) {
    trials.note(Way::kSingleCopy, UINT64_MAX);
    trials.note(Way::kSingleCopy, UINT64_MAX);
  }
  EXPECT_EQ(trials.trials.next(1, 65536, Way::kPieces), Way::kPieces);
  for (int i = 0; i < 1000; ++i) trials.note(Way::kPieces, 0);
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
