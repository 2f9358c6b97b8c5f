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

constexpr int kBegin = WayTrials::kBegin, kPeriod = WayTrials::kPeriod;

TEST(WayTrials, TheFirstMessagesGoBothWaysInTurns) {
  for (Way usual : {Way::kPieces, Way::kSingleCopy}) {
    Trials trials;
    EXPECT_EQ(trials.trials.next(1, 65536, usual), usual);
    EXPECT_NE(trials.trials.next(1, 65536, usual), usual);
    EXPECT_EQ(trials.trials.next(1, 65536, usual), usual);
  }
  EXPECT_EQ(Trials().run(kBegin, {100, 100}), kBegin / 2);
}

TEST(WayTrials, TheFasterWayIsTaken) {
  for (Way usual : {Way::kPieces, Way::kSingleCopy}) {
    EXPECT_EQ(Trials().run(kPeriod, {9600, 3800}, usual), kPeriod - kBegin / 2);
    EXPECT_EQ(Trials().run(kPeriod, {1600, 5200}, usual), kBegin / 2);
  }
}

// What reading costs the sender is not seen.
TEST(WayTrials, ALittleFasterIsNotEnoughForSingleCopy) { EXPECT_EQ(Trials().run(kPeriod, {100, 70}), kBegin / 2); }

TEST(WayTrials, AChangeIsNoticed) {
  Trials trials;
  EXPECT_EQ(trials.run(kPeriod, {9600, 3800}), kPeriod - kBegin / 2);
  EXPECT_LT(trials.run(kPeriod, {9600, 14600}), kPeriod / 8) << "after some messages that took longer";
  trials.run(kPeriod, {9600, 3800});
  EXPECT_GT(trials.run(kPeriod, {9600, 3800}), kPeriod - 4) << "two of a period go the other way";
}

TEST(WayTrials, ADisturbedMessageDecidesNothing) {
  Trials trials;
  trials.run(kBegin, {9600, 3800});
  trials.trials.note(1, 65536, Way::kSingleCopy, 4'000'000);
  EXPECT_EQ(trials.trials.next(1, 65536, Way::kPieces), Way::kSingleCopy);
  trials.trials.note(1, 65536, Way::kSingleCopy, UINT64_MAX);
  trials.trials.note(1, 65536, Way::kPieces, 0);
  trials.trials.next(1, 65536, Way::kPieces);
}

TEST(WayTrials, SendersAndSizesAreApart) {
  Trials trials(3);
  trials.run(kPeriod, {9600, 3800}, Way::kPieces, 1);
  EXPECT_EQ(trials.run(kPeriod, {1600, 5200}, Way::kPieces, 2), kBegin / 2);
  EXPECT_EQ(trials.run(kPeriod, {1600, 5200}, Way::kPieces, 1, 1 << 20), kBegin / 2);
  EXPECT_EQ(trials.trials.next(1, 65536, Way::kPieces), Way::kSingleCopy);
  for (uint64_t bytes : {uint64_t{1}, uint64_t{1} << 40})  // the ends
    EXPECT_EQ(trials.trials.next(0, bytes, Way::kPieces), Way::kPieces);
}

}  // namespace
}  // namespace smelt::test
