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
      const Way way = next(usual, sender, bytes);
      single += way == Way::kSingleCopy;
      note(way, way == Way::kSingleCopy ? costs.single : costs.pieces, sender, bytes);
      now += way == Way::kSingleCopy ? costs.after_single : costs.after_pieces;
    }
    return single;
  }
  void note(Way way, uint64_t time, uint16_t sender = 1, uint64_t bytes = 65536) {
    trials.note({sender, both_ways, bytes}, way, now += time, time, alike);
  }
  Way next(Way usual, uint16_t sender = 1, uint64_t bytes = 65536) {
    return trials.next({sender, both_ways, bytes}, usual);
  }
  bool both_ways = false, alike = true;
  std::vector<char> memory;
  Arena arena;
  WayTrials trials;
  uint64_t now = 1'000'000'000;
};

// Messages go both ways at once.
struct BothWays : Trials {
  BothWays() { both_ways = true; }
  // Pieces are known, and from now on the other side's messages go the other way.
  void part(Costs costs) {
    EXPECT_EQ(run(WayTrials::kTrial, costs), 0);
    alike = false;
  }
};

constexpr int kTrial = WayTrials::kTrial, kPeriod = WayTrials::kPeriod;
constexpr int kTried = 3 * kTrial;  // messages of the first kPeriod that go the way not chosen

TEST(WayTrials, TheFirstMessagesGoEitherWay) {
  for (Way usual : {Way::kPieces, Way::kSingleCopy}) {
    Trials trials;
    for (int i = 0; i < 2 * kTrial; ++i) EXPECT_EQ(trials.next(usual) == usual, i < kTrial) << i;
  }
}

TEST(WayTrials, TheFasterWayIsTaken) {
  for (Way usual : {Way::kPieces, Way::kSingleCopy}) {
    EXPECT_EQ(Trials().run(kPeriod, {9600, 3800}, usual), kPeriod - kTried);
    EXPECT_EQ(Trials().run(kPeriod, {1600, 5200}, usual), kTried);
  }
}

// What reading costs the sender is not seen.
TEST(WayTrials, ALittleFasterIsNotEnoughForSingleCopy) { EXPECT_EQ(Trials().run(kPeriod, {100, 75}), kTried); }

// ... but from the period, where there is little else in it.
TEST(WayTrials, WhereMessagesFollowOneAnotherTheShorterPeriodDecides) {
  EXPECT_EQ(Trials().run(kPeriod, {100, 75, 100, 100}), kPeriod - kTried) << "20 of 200 less";
  EXPECT_EQ(Trials().run(kPeriod, {100, 75, 100, 150}), kTried) << "the sender pays for what we have read";
  EXPECT_EQ(Trials().run(kPeriod, {100, 60, 100, 200}), kPeriod - kTried) << "... unless it is far less by itself";
  EXPECT_EQ(Trials().run(kPeriod, {100, 75, 100, 125}), kPeriod - kTried) << "alike: its time decides";
  EXPECT_EQ(Trials().run(kPeriod, {100, 90, 100, 110}), kTried) << "... if it is less";
  EXPECT_EQ(Trials().run(kPeriod, {100, 75, 2000, 2000}), kTried) << "the period is full of other things";
}

// The first of several in a row meet what the other way has left.
TEST(WayTrials, AWayMayTakeSomeMessagesToWarmUp) {
  Trials trials;
  int single = 0;
  for (int i = 0, in_a_row = 0; i < kPeriod; ++i) {
    const Way way = trials.next(Way::kPieces);
    in_a_row = way == Way::kSingleCopy ? in_a_row + 1 : 0;
    single += in_a_row > 0;
    trials.note(way, way == Way::kPieces ? 9600 : in_a_row <= kTrial / 2 ? 12000 : 3800);
  }
  EXPECT_EQ(single, kPeriod - kTried);
}

TEST(WayTrials, AChangeIsNoticed) {
  Trials trials;
  EXPECT_EQ(trials.run(kPeriod, {9600, 3800}), kPeriod - kTried);
  EXPECT_LT(trials.run(kPeriod, {9600, 14600}), kPeriod / 8) << "after some messages that took longer";
  int periods = 0;
  while (periods < 40 && trials.run(kPeriod, {9600, 3800}) < kPeriod - kTrial) ++periods;
  EXPECT_LT(periods, 40) << "some of each period go the other way";
}

TEST(WayTrials, ADisturbedMessageDecidesNothing) {
  Trials trials;
  trials.run(4 * kTrial, {9600, 3800});
  trials.note(Way::kSingleCopy, 4'000'000);
  EXPECT_EQ(trials.next(Way::kPieces), Way::kSingleCopy);
  for (int i = 0; i < 1000; ++i) {
    trials.note(Way::kSingleCopy, UINT64_MAX);
    trials.note(Way::kSingleCopy, UINT64_MAX);
  }
  EXPECT_EQ(trials.next(Way::kPieces), Way::kPieces);
  for (int i = 0; i < 1000; ++i) trials.note(Way::kPieces, 0);
  trials.next(Way::kPieces);
}

// At first soon again, for the first one may have been disturbed.
TEST(WayTrials, TrialsBecomeRare) {
  Trials trials;
  std::vector<int> begun;
  for (int i = 0; i < 4 * kPeriod; ++i)
    if (trials.run(1, {1600, 5200}) == 1 && (begun.empty() || i >= begun.back() + kTrial)) begun.push_back(i);
  EXPECT_EQ(begun, (std::vector<int>{kTrial, 64, 512, 512 + kPeriod, 512 + 2 * kPeriod, 512 + 3 * kPeriod}));
}

// Single copy would have to share the memory with the pieces asked for before.
TEST(WayTrials, ATrialWaitsUntilNoPiecesAreOnTheirWay) {
  for (bool both_ways : {false, true}) {
    Trials trials;
    int other = 0, number = 0;
    for (; number < kPeriod && other == 0; ++number)
      other += trials.trials.next({1, both_ways, 65536}, Way::kPieces, number == 100) == Way::kSingleCopy;
    EXPECT_EQ(number - 1, both_ways ? kTrial : 100);
  }
  Trials trials;  // not for ever
  int other = 0;
  for (int i = 0; i < kPeriod; ++i) other += trials.trials.next({1, false, 65536}, Way::kPieces, false) != Way::kPieces;
  EXPECT_GE(other, kTrial);
}

// A period of one side's single copy and the other side's pieces says nothing of what both would have by single copy.
TEST(WayTrials, BothWaysPeriodsCountWhereBothSidesGoTheSameWay) {
  BothWays trials;
  const Costs costs{600, 420, 0, 0};
  trials.part(costs);
  EXPECT_EQ(trials.run(kTrial, {600, 420, 0, 600}), kTrial) << "they take longer than pieces do";
  EXPECT_EQ(trials.run(kTrial, costs), kTrial) << "promising all the same";
  trials.alike = true;
  EXPECT_EQ(trials.run(4 * kTrial, costs), 4 * kTrial) << "and better";
}
TEST(WayTrials, BothWaysSingleCopyThatOnlySeemsBetterIsNotKept) {
  BothWays trials;
  EXPECT_LT(trials.run(kPeriod, {270, 220, 110, 290}), 2 * kTried + kTrial);
}
TEST(WayTrials, BothWaysItIsGivenUpWhereTheOtherSideStaysWithPieces) {
  BothWays trials;
  trials.part({600, 420, 0, 0});
  EXPECT_GT(trials.run(kPeriod, {600, 420, 0, 600}), kTrial);
  EXPECT_LE(trials.run(kPeriod, {600, 420, 0, 600}), int{WayTrials::kUnlike} + kTrial);
}
TEST(WayTrials, BothWaysThereIsMoreToPiecesThanTheirCopies) {
  BothWays trials;
  EXPECT_GT(trials.run(kPeriod, {260, 290, 390, 40}), kPeriod - 2 * kTried) << "the period is the longer one";
}
TEST(WayTrials, BothWaysPiecesCostNoLessThanTheirWork) {
  BothWays trials;
  trials.trials.next({1, true, 65536}, Way::kPieces);
  int single = 0;
  for (int i = 0; i < kPeriod; ++i) {
    const Way way = trials.next(Way::kPieces);
    single += way == Way::kSingleCopy;
    // The other side's come later, in a row.
    trials.now += way == Way::kPieces ? 390 : 420;
    trials.trials.note({1, true, 65536}, way, trials.now, way == Way::kPieces ? 600 : 420);
  }
  EXPECT_GT(single, kPeriod - 2 * kTried);
}
TEST(WayTrials, BothWaysWhatCameBeforeTheFirstOnesDoesNotCount) {
  BothWays trials;
  trials.part({600, 420, 0, 0});
  EXPECT_EQ(trials.run(kTrial, {600, 420, 0, 0}), kTrial);
  trials.alike = true;
  trials.now += 100'000;
  EXPECT_EQ(trials.run(6 * kTrial - 1, {600, 420, 0, 0}), 6 * kTrial - 1);
}
TEST(WayTrials, OneWayAndBothWaysAreApart) {
  Trials trials;
  trials.run(kPeriod, {9600, 3800});
  trials.both_ways = true;
  EXPECT_EQ(trials.next(Way::kPieces), Way::kPieces);
  EXPECT_EQ(trials.run(kPeriod, {9600, 3800, 0, 0}), kPeriod - kTried + 1);
}

TEST(WayTrials, SendersAndSizesAreApart) {
  Trials trials(3);
  trials.run(kPeriod, {9600, 3800}, Way::kPieces, 1);
  EXPECT_EQ(trials.run(kPeriod, {1600, 5200}, Way::kPieces, 2), kTried);
  EXPECT_EQ(trials.run(kPeriod, {1600, 5200}, Way::kPieces, 1, 1 << 20), kTried);
  EXPECT_EQ(trials.next(Way::kPieces), Way::kSingleCopy);
  for (uint64_t bytes : {uint64_t{1}, uint64_t{1} << 40})  // the ends
    EXPECT_EQ(trials.next(Way::kPieces, 0, bytes), Way::kPieces);
}

}  // namespace
}  // namespace smelt::test
