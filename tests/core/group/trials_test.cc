// Both methods tried for the long calls of two: what is chosen by which times, and that the two participants take the
// same method in the same call, whatever is outstanding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "base/fingerprint.h"
#include "group/single_copy.h"
#include "in_group.h"

namespace smelt::test {
namespace {

using Method = MethodTrials::Method;
constexpr int kCalls = MethodTrials::kCalls;
constexpr auto kWhich = SMELT_COLLECTIVE_REDUCE;

// --- the choice ---

class Trials : public testing::Test {
 protected:
  Trials() { trials.open(rows.data()); }

  // All tried calls of a size, each of which takes so long by its method: ns(method, how many of it there were before).
  template <typename Time>
  Method tried(int size, Time ns, smelt_collective which = kWhich) {
    MethodTrials::Row& row = trials.row(which, size);
    int before[MethodTrials::kMethods] = {};
    for (int i = 0; i < kCalls; ++i) {
      EXPECT_FALSE(row.over) << i;
      const Method method = MethodTrials::next(row);
      EXPECT_EQ(trials.note(trials.number_of(which, size), method, ns(method, before[static_cast<int>(method)]++)),
                i + 1 == kCalls);
    }
    EXPECT_EQ(before[0], kCalls / 2);
    EXPECT_EQ(before[1], kCalls / 2);
    EXPECT_TRUE(row.over);
    return MethodTrials::next(row);
  }
  Method tried(int size, int64_t shelf, int64_t single, smelt_collective which = kWhich) {
    return tried(
        size, [&](Method method, int) { return method == Method::kShelf ? shelf : single; }, which);
  }

  std::vector<MethodTrials::Row> rows =
      std::vector<MethodTrials::Row>(MethodTrials::kBytes / sizeof(MethodTrials::Row));
  MethodTrials trials;
};

constexpr int kShort = 1, kLong = 7;  // up to 8 KiB, which the ring of pieces has room for; up to 512 KiB

TEST_F(Trials, ChooseTheFasterOne) {
  EXPECT_EQ(tried(kLong, 1000, 500), Method::kSingleCopy);
  EXPECT_EQ(tried(kLong + 1, 500, 1000), Method::kShelf);
  EXPECT_EQ(trials.tried(), 2u * kCalls);
}

TEST_F(Trials, AskForMoreWhereASenderCanRunAhead) {
  EXPECT_EQ(tried(kShort, 1000, 900), Method::kShelf);
  EXPECT_EQ(tried(kShort + 1, 1000, 590), Method::kSingleCopy);
  EXPECT_EQ(tried(kShort, 1000, 650, SMELT_COLLECTIVE_SCATTER), Method::kShelf) << "a piece: half, or a little more";
  EXPECT_EQ(tried(kShort + 2, 1000, 650), Method::kSingleCopy) << "two pieces: two thirds";
  EXPECT_EQ(tried(kShort + 3, 1000, 790), Method::kSingleCopy) << "four: 0.8";
  EXPECT_EQ(tried(kLong, 1000, 900), Method::kSingleCopy);
  EXPECT_EQ(tried(kLong + 1, 1000, 990), Method::kShelf) << "as fast";
  EXPECT_EQ(tried(kShort, 1000, 900, SMELT_COLLECTIVE_BROADCAST), Method::kShelf);
  EXPECT_EQ(tried(kShort, 1000, 900, SMELT_COLLECTIVE_ALLREDUCE), Method::kSingleCopy) << "all wait for all";
}

TEST_F(Trials, DoNotCountTheFirstCallOfEither) {
  EXPECT_EQ(tried(kLong,
                  [](Method method, int before) -> int64_t {
                    if (before % MethodTrials::kEach == 0) return method == Method::kShelf ? 1 : 1'000'000;
                    return method == Method::kShelf ? 1000 : 500;
                  }),
            Method::kSingleCopy);
}

TEST_F(Trials, BearCallsThatWereDisturbedOneAfterTheOther) {
  EXPECT_EQ(tried(kLong,
                  [](Method method, int before) -> int64_t {
                    return method == Method::kShelf ? 1000 : before < MethodTrials::kEach ? 5000 : 500;
                  }),
            Method::kSingleCopy);
}

TEST_F(Trials, BearOneCallThatWasDisturbedAndOneThatWasLucky) {
  for (const int which : {1, 2, 3, 6})
    for (const int64_t odd : {int64_t{1}, int64_t{1} << 40}) {
      std::fill(rows.begin(), rows.end(), MethodTrials::Row{});
      EXPECT_EQ(tried(kLong,
                      [&](Method method, int before) -> int64_t {
                        return method == Method::kShelf ? 1000 : before == which ? odd : 500;
                      }),
                Method::kSingleCopy)
          << which << ": " << odd;
      EXPECT_EQ(tried(kLong + 1,
                      [&](Method method, int before) -> int64_t {
                        return method == Method::kSingleCopy ? 1000 : before == which ? odd : 500;
                      }),
                Method::kShelf)
          << which << ": " << odd;
    }
}

TEST_F(Trials, WithoutTimesOfBothStayWithTheShelf) {
  EXPECT_EQ(tried(kLong, 0, 0), Method::kShelf);
  EXPECT_EQ(tried(kLong + 1, 0, 500), Method::kShelf);
  EXPECT_EQ(tried(kLong + 2, 500, -7), Method::kShelf);
}

// Data that are not in one piece cannot be read straight from there.
TEST_F(Trials, OfASingleCopyThatDidNotServeStayWithTheShelf) {
  for (int i = 0; i < kCalls; ++i)
    trials.note(trials.number_of(kWhich, kLong), Method::kShelf, i / MethodTrials::kEach % 2 == 0 ? 10 : 1000);
  EXPECT_TRUE(trials.is_shelf(kWhich, MethodTrials::longest(kLong)));
}

TEST_F(Trials, AreOfEachCollectiveAndSizeByItself) {
  tried(kLong, 1000, 500);
  EXPECT_EQ(trials.next(kWhich, MethodTrials::longest(kLong)), Method::kSingleCopy);
  EXPECT_TRUE(trials.row(kWhich, kLong).over);
  EXPECT_FALSE(trials.row(kWhich, kLong - 1).over);
  EXPECT_FALSE(trials.row(kWhich, kLong + 1).over);
  EXPECT_FALSE(trials.row(SMELT_COLLECTIVE_ALLREDUCE, kLong).over);
  EXPECT_FALSE(trials.is_shelf(kWhich, MethodTrials::longest(kLong + 1))) << "not known yet";
  trials.close();
  EXPECT_TRUE(trials.is_shelf(kWhich, MethodTrials::longest(kLong)));
  EXPECT_EQ(trials.next(kWhich, MethodTrials::longest(kLong)), Method::kShelf);
}

// A barrier follows, so nobody can run ahead.
TEST_F(Trials, OfStrictCallsAreTheirOwn) {
  EXPECT_EQ(tried(kShort, 1000, 900), Method::kShelf);
  trials.set_strict(true);
  EXPECT_EQ(tried(kShort, 1000, 900), Method::kSingleCopy);
  EXPECT_EQ(tried(kLong, 1000, 990), Method::kShelf);
  trials.set_strict(false);
  EXPECT_EQ(MethodTrials::next(trials.row(kWhich, kShort)), Method::kShelf);
  EXPECT_FALSE(trials.row(kWhich, kLong).over);
}

TEST_F(Trials, BeginAnewAfterManyCalls) {
  MethodTrials::Row& row = trials.row(kWhich, kLong);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(tried(kLong, round % 2 ? 500 : 1000, 700), round % 2 ? Method::kShelf : Method::kSingleCopy);
    for (int i = 1; i < MethodTrials::kPeriod; ++i) MethodTrials::count_as_chosen(row);
    EXPECT_TRUE(row.over);
    MethodTrials::count_as_chosen(row);
    EXPECT_FALSE(row.over);
  }
}

TEST(TrialSizes, ArePowersOfTwo) {
  EXPECT_EQ(MethodTrials::size_of(4096), 0);
  EXPECT_EQ(MethodTrials::size_of(4097), 1);
  for (int size = 0; size + 1 < MethodTrials::kSizes; ++size) {
    EXPECT_EQ(MethodTrials::size_of(MethodTrials::longest(size)), size);
    EXPECT_EQ(MethodTrials::size_of(MethodTrials::longest(size) + 1), size + 1);
  }
  EXPECT_EQ(MethodTrials::size_of(UINT64_MAX), MethodTrials::kSizes - 1);
  EXPECT_EQ(MethodTrials::size_of(1), 0);
}

TEST(TrialTimes, AreFromTheLastToBeginToTheLastToBeDone) {
  EXPECT_EQ(time_together({100, 400, 0}, {250, 300, 0}), 150);
  EXPECT_EQ(time_together({250, 300, 0}, {100, 400, 0}), 150);
  EXPECT_LT(time_together({500, 600, 0}, {100, 200, 0}), 101) << "one was gone before the other came";
}

// --- two processes ---

constexpr size_t kSizes[] = {4096, 5000, 18000, 20000, 70000, 300000};  // two are of the same power of two
constexpr size_t kMost = 300000;

void add(void*, const void* left, void* right, size_t elements) {
  for (size_t i = 0; i < elements; ++i) static_cast<uint32_t*>(right)[i] += static_cast<const uint32_t*>(left)[i];
}
constexpr smelt_fold kSum{sizeof(uint32_t), add, nullptr, nullptr, SMELT_FOLD_ANY_ORDER};

// One participant, whose every call looks at what it gets and at the way that the call took.
class Pair {
 public:
  Pair(smelt_group* group, Seat& seat) : group_(group), seat_(seat), in_(2 * kMost / 4), out_(2 * kMost / 4) {}

  enum Kind {
    kBroadcast,
    kReduce,
    kAllreduce,
    kAllgather,
    kAlltoall,
    kGather,
    kScatter,
    kReduceScatter,
    kScan,
    kExscan,
    kExchange,
    kScatterv,
    kKinds
  };

  int call(Kind kind, size_t bytes) {
    EXPECT_HERE(begin(kind, bytes) == 0, "begin");
    const smelt_collective which = collective(kind);
    const Method expected = group_->trials.next(which, bytes);
    const uint64_t tried = group_->trials.tried(), pieces = group_->pieces;
    const bool over = group_->trials.row(which, MethodTrials::size_of(bytes)).over;
    EXPECT_HERE(run(kind, bytes) == 0, "kind %d of %zu", kind, bytes);
    // Only what goes through the shelf counts pieces.
    const bool by_shelf = group_->pieces != pieces;
    if (group_->single_copy())
      EXPECT_HERE(by_shelf == (expected == Method::kShelf), "kind %d of %zu: not as expected", kind, bytes);
    else
      EXPECT_HERE(by_shelf, "kind %d of %zu: nobody may read", kind, bytes);
    EXPECT_HERE(group_->trials.tried() == tried + (over || !group_->single_copy() ? 0 : 1), "tried");
    ++(over ? after : during)[by_shelf];
    return check(kind, bytes);
  }
  // Started, and completed by a later call; the next one to be started waits for it.
  int start(Kind kind, size_t bytes) {
    EXPECT_HERE(begin(kind, bytes) == 0, "begin");
    const smelt_data in = data(in_), out = data(out_);
    const int error = kind == kBroadcast ? smelt_group_start_broadcast(group_, &out_data_, bytes, root_, &request_)
                      : kind == kReduce
                          ? smelt_group_start_reduce(group_, &in, &out, bytes / 4, &kSum, root_, &request_)
                          : smelt_group_start_allreduce(group_, &in, &out, bytes / 4, &kSum, &request_);
    EXPECT_HERE(error == 0, "start");
    return 0;
  }
  int complete(Kind kind, size_t bytes) {
    EXPECT_HERE(smelt_group_wait(&request_) == 0, "wait");
    return check(kind, bytes);
  }

  // Both have the same rows: their sum is told by an allreduce that rides inline.
  int compare() {
    EXPECT_HERE(smelt_group_barrier(group_) == 0, "barrier");  // completes what was started
    uint64_t rows = 14695981039346656037u;
    for (int which = 0; which < SMELT_COLLECTIVES; ++which)
      for (int size = 0; size < MethodTrials::kSizes; ++size) {
        const MethodTrials::Row& row = group_->trials.row(static_cast<smelt_collective>(which), size);
        rows = fnv1a(&row, sizeof row, rows);
      }
    rows = fnv1a(&group_->pieces, sizeof group_->pieces, rows);
    uint64_t mine[2] = {seat_.me == 0 ? rows : 0, seat_.me == 1 ? rows : 0}, all[2] = {};
    const smelt_data in{mine, nullptr, nullptr, nullptr}, out{all, nullptr, nullptr, nullptr};
    const smelt_fold sum{sizeof(uint64_t),
                         [](void*, const void* left, void* right, size_t elements) {
                           for (size_t i = 0; i < elements; ++i)
                             static_cast<uint64_t*>(right)[i] += static_cast<const uint64_t*>(left)[i];
                         },
                         nullptr, nullptr, 0};
    EXPECT_HERE(smelt_group_allreduce(group_, &in, &out, 2, &sum) == 0, "allreduce");
    EXPECT_HERE(all[0] == all[1], "the participants do not agree");
    return 0;
  }
  // Of the collectives and sizes that were called, is every trial over?
  bool is_over(Kind kind, size_t bytes) const {
    return group_->trials.row(collective(kind), MethodTrials::size_of(bytes)).over;
  }

  int during[2] = {}, after[2] = {};  // calls, by single copy and by the shelf

 private:
  static smelt_data data(std::vector<uint32_t>& words) { return {words.data(), nullptr, nullptr, nullptr}; }
  static smelt_collective collective(Kind kind) {
    constexpr smelt_collective kOf[] = {
        SMELT_COLLECTIVE_BROADCAST, SMELT_COLLECTIVE_REDUCE,         SMELT_COLLECTIVE_ALLREDUCE,
        SMELT_COLLECTIVE_ALLGATHER, SMELT_COLLECTIVE_ALLTOALL,       SMELT_COLLECTIVE_GATHER,
        SMELT_COLLECTIVE_SCATTER,   SMELT_COLLECTIVE_REDUCE_SCATTER, SMELT_COLLECTIVE_SCAN,
        SMELT_COLLECTIVE_EXSCAN,    SMELT_COLLECTIVE_ALLTOALLV,      SMELT_COLLECTIVE_SCATTERV};
    return kOf[kind];
  }
  // Word i of what participant `from` sends to `to`.
  uint32_t word(uint32_t from, uint32_t to, size_t i) const {
    return number_ * 1000003u + from * 77777u + to * 333u + static_cast<uint32_t>(i);
  }
  int begin(Kind kind, size_t bytes) {
    ++number_;
    root_ = number_ / 3 % 2;
    if (number_ * 2654435761u >> 28 == 0) usleep((number_ + seat_.me * 5) % 11 * 30);
    const size_t words = bytes / 4;
    for (uint32_t to = 0; to < 2; ++to)
      for (size_t i = 0; i < words; ++i) in_[to * words + i] = word(seat_.me, to, i);
    std::fill(out_.begin(), out_.begin() + static_cast<ptrdiff_t>(2 * words), 0u);
    if (kind == kBroadcast && seat_.me == root_)
      for (size_t i = 0; i < words; ++i) out_[i] = word(root_, 0, i);
    return 0;
  }
  int run(Kind kind, size_t bytes) {
    const smelt_data in = data(in_), out = data(out_);
    const size_t halves[] = {bytes / 8, bytes / 4 - bytes / 8};
    const smelt_place places[] = {{0, bytes}, {static_cast<ptrdiff_t>(bytes), bytes}};
    const smelt_block sent[] = {{0, in_.data(), bytes}, {1, in_.data() + bytes / 4, bytes}};
    const smelt_block taken[] = {{0, out_.data(), bytes}, {1, out_.data() + bytes / 4, bytes}};
    switch (kind) {
      case kBroadcast: return smelt_group_broadcast(group_, &out, bytes, root_);
      case kReduce: return smelt_group_reduce(group_, &in, &out, bytes / 4, &kSum, root_);
      case kAllreduce: return smelt_group_allreduce(group_, &in, &out, bytes / 4, &kSum);
      case kAllgather: return smelt_group_allgather(group_, &in, out_.data(), bytes);
      case kAlltoall: return smelt_group_alltoall(group_, in_.data(), out_.data(), bytes);
      case kGather: return smelt_group_gather(group_, &in, out_.data(), bytes, root_);
      case kScatter: return smelt_group_scatter(group_, in_.data(), &out, bytes, root_);
      case kReduceScatter: return smelt_group_reduce_scatter(group_, in_.data(), out_.data(), halves, &kSum);
      case kScan: return smelt_group_scan(group_, &in, &out, bytes / 4, &kSum);
      case kExscan: return smelt_group_exscan(group_, &in, &out, bytes / 4, &kSum);
      case kExchange: return smelt_group_exchange(group_, sent, 2, taken, 2);
      default: return smelt_group_scatterv(group_, in_.data(), places, &out, bytes, root_);
    }
  }
  int check(Kind kind, size_t bytes) const {
    const size_t words = bytes / 4;
    const bool is_root = seat_.me == root_;
    if (!is_root && (kind == kReduce || kind == kGather)) return 0;
    const size_t count = kind == kReduceScatter ? (seat_.me == 0 ? bytes / 8 : words - bytes / 8) : words;
    const size_t first = kind == kReduceScatter && seat_.me == 1 ? bytes / 8 : 0;
    const bool two = kind == kAllgather || kind == kAlltoall || kind == kGather || kind == kExchange;
    if (kind == kExscan && seat_.me == 0) return 0;
    for (uint32_t block = 0; block < (two ? 2u : 1u); ++block)
      for (size_t i = 0; i < count; ++i) {
        uint32_t wanted = 0;
        if (kind == kBroadcast) wanted = word(root_, 0, i);
        if (kind == kReduce || kind == kAllreduce || kind == kReduceScatter)
          wanted = word(0, 0, first + i) + word(1, 0, first + i);
        if (kind == kAllgather || kind == kGather) wanted = word(block, 0, i);
        if (kind == kScan) wanted = word(0, 0, i) + (seat_.me == 1 ? word(1, 0, i) : 0);
        if (kind == kExscan) wanted = word(0, 0, i);
        if (kind == kAlltoall || kind == kExchange) wanted = word(block, seat_.me, i);
        if (kind == kScatter || kind == kScatterv) wanted = word(root_, seat_.me, i);
        const uint32_t got = out_[block * words + i];
        EXPECT_HERE(got == wanted, "kind %d of %zu: word %zu is %u instead of %u", kind, bytes, i, got, wanted);
      }
    return 0;
  }

  smelt_group* const group_;
  Seat& seat_;
  uint32_t number_ = 0;
  unsigned root_ = 0;
  std::vector<uint32_t> in_, out_;
  smelt_data out_data_ = data(out_);
  smelt_request request_{};
};

#define DO(...)                \
  do {                         \
    if (__VA_ARGS__) return 1; \
  } while (0)

const std::vector<Setting> kNobodyMeasured = {{"SMELT_PROFILE", "/dev/null"}, {"SMELT_CPUS", "64"}};

// Every collective that is tried, long before and after its trials are over, the kinds and sizes mixed.
int all_kinds(smelt_group* group, Seat& seat) {
  Pair pair(group, seat);
  for (int round = 0; round < kCalls + 5; ++round)
    for (const size_t bytes : kSizes)
      for (int kind = 0; kind < Pair::kKinds; ++kind) {
        DO(pair.call(static_cast<Pair::Kind>(kind), bytes));
        if ((round * 7 + kind) % 5 == 0) DO(pair.compare());
      }
  DO(pair.compare());
  if (!group->single_copy()) return group->trials.tried() != 0;
  for (const size_t bytes : kSizes)
    for (int kind = 0; kind < Pair::kKinds; ++kind)
      EXPECT_HERE(pair.is_over(static_cast<Pair::Kind>(kind), bytes), "kind %d of %zu", kind, bytes);
  const int rows = (std::size(kSizes) - 1) * Pair::kKinds;
  EXPECT_HERE(pair.during[0] == rows * kCalls / 2 && pair.during[1] == rows * kCalls / 2,
              "tried: %d calls by single copy, %d by the shelf", pair.during[0], pair.during[1]);
  if (seat.me == 0)
    std::printf("tried: %d calls by single copy, %d by the shelf; afterwards %d and %d\n", pair.during[0],
                pair.during[1], pair.after[0], pair.after[1]);
  return 0;
}
TEST(TriedByTwo, TheyTakeTheSameMethodInTheSameCall) { EXPECT_EQ(in_group(2, kNobodyMeasured, all_kinds), 0); }

// Whatever the trials say, it is what happens: as if each method had been found to be the faster one.
int as_chosen(smelt_group* group, Seat& seat) {
  Pair pair(group, seat);
  for (int round = 0; round < 40; ++round)
    for (int kind = 0; kind < Pair::kKinds; ++kind) {
      const size_t bytes = kSizes[(round + kind) % std::size(kSizes)];
      for (int which = 0; which < SMELT_COLLECTIVES; ++which)
        for (int size = 0; size < MethodTrials::kSizes; ++size) {
          MethodTrials::Row& row = group->trials.row(static_cast<smelt_collective>(which), size);
          row.over = true;
          row.chosen = (round + which + size) % 3 == 0 ? Method::kShelf : Method::kSingleCopy;
        }
      DO(pair.call(static_cast<Pair::Kind>(kind), bytes));
    }
  if (!group->single_copy()) return 0;
  EXPECT_HERE(pair.after[0] > 50 && pair.after[1] > 50, "%d and %d", pair.after[0], pair.after[1]);
  return 0;
}
TEST(TriedByTwo, TheChoiceHolds) { EXPECT_EQ(in_group(2, kNobodyMeasured, as_chosen), 0); }

// A started call is tried when it begins, which is at another time everywhere.
int beside_started_ones(smelt_group* group, Seat& seat) {
  Pair pair(group, seat), other(group, seat);
  for (int round = 0; round < 3 * kCalls; ++round)
    for (const size_t bytes : kSizes)
      for (const auto kind : {Pair::kBroadcast, Pair::kReduce, Pair::kAllreduce}) {
        DO(pair.start(kind, bytes));
        DO(other.start(kind, bytes));
        if (seat.me == static_cast<uint32_t>(round) % 2) usleep(20);
        if (round % 3 == 0) DO(pair.compare());
        DO(pair.complete(kind, bytes));
        DO(other.complete(kind, bytes));
      }
  DO(pair.compare());
  const uint64_t rows = (std::size(kSizes) - 1) * 3;
  EXPECT_HERE(group->trials.tried() == (group->single_copy() ? rows * kCalls : 0), "%zu tried",
              size_t{group->trials.tried()});
  return 0;
}
TEST(TriedByTwo, StartedOnesToo) { EXPECT_EQ(in_group(2, kNobodyMeasured, beside_started_ones), 0); }

// Every row is over, as if by chance, and begins anew in so many calls.
void soon_anew(smelt_group* group, uint16_t calls) {
  for (int which = 0; which < SMELT_COLLECTIVES; ++which)
    for (int size = 0; size < MethodTrials::kSizes; ++size) {
      MethodTrials::Row& row = group->trials.row(static_cast<smelt_collective>(which), size);
      row = {};
      row.over = true;
      row.chosen = (which + size) % 2 == 0 ? Method::kShelf : Method::kSingleCopy;
      row.served = static_cast<uint16_t>(MethodTrials::kPeriod - calls);
    }
}

int anew(smelt_group* group, Seat& seat) {
  Pair pair(group, seat);
  DO(pair.call(Pair::kAllreduce, 20000));  // the agreement
  soon_anew(group, 3);
  for (int round = 0; round < kCalls + 10; ++round)
    for (const size_t bytes : {size_t{5000}, size_t{20000}, size_t{300000}})
      for (int kind = 0; kind < Pair::kKinds; ++kind) {
        const auto which = static_cast<Pair::Kind>(kind);
        if (group->single_copy())
          EXPECT_HERE(pair.is_over(which, bytes) == (round < 3 || round >= 3 + kCalls), "kind %d of %zu, round %d",
                      kind, bytes, round);
        DO(pair.call(which, bytes));
      }
  return pair.compare();
}
TEST(TriedByTwo, BeginAnew) { EXPECT_EQ(in_group(2, kNobodyMeasured, anew), 0); }

// ... while others are outstanding, and were started when it was still known which method they take.
int anew_beside_started_ones(smelt_group* group, Seat& seat) {
  Pair pair(group, seat), others[] = {{group, seat}, {group, seat}, {group, seat}};
  DO(pair.call(Pair::kAllreduce, 20000));
  for (int round = 0; round < 40; ++round)
    for (const auto kind : {Pair::kBroadcast, Pair::kReduce, Pair::kAllreduce}) {
      DO(pair.compare());
      soon_anew(group, static_cast<uint16_t>(1 + round % 4));
      const size_t bytes = kSizes[round % std::size(kSizes)];
      for (Pair& other : others) DO(other.start(kind, bytes));
      if (seat.me == static_cast<uint32_t>(round) % 2) usleep(50);
      if (round % 3 > 0) DO(pair.start(kind, bytes));
      if (round % 3 > 1) DO(pair.compare());
      for (Pair& other : others) DO(other.complete(kind, bytes));
      if (round % 3 > 0) DO(pair.complete(kind, bytes));
    }
  return pair.compare();
}
TEST(TriedByTwo, BeginAnewBesideStartedOnes) { EXPECT_EQ(in_group(2, kNobodyMeasured, anew_beside_started_ones), 0); }

// Data that are not in one piece go through the shelf, in the calls that single copy should have had, too.
int apart(smelt_group* group, Seat&) {
  std::vector<uint32_t> in(2 * 5000, 1), out(2 * 5000);
  const smelt_data from{nullptr, Apart::pack, Apart::unpack, in.data()},
      to{nullptr, Apart::pack, Apart::unpack, out.data()};
  for (int i = 0; i < kCalls + 3; ++i) {
    const uint64_t pieces = group->pieces;
    EXPECT_HERE(smelt_group_allreduce(group, &from, &to, 5000, &kSum) == 0, "allreduce");
    EXPECT_HERE(group->pieces > pieces, "call %d has not gone through the shelf", i);
    EXPECT_HERE(out[0] == 2 && out[1] == 2 && out[4] == 2, "call %d", i);
  }
  EXPECT_HERE(!group->single_copy() || group->trials.is_shelf(SMELT_COLLECTIVE_ALLREDUCE, 20000), "the choice");
  return 0;
}
TEST(TriedByTwo, WhatIsNotInOnePieceStaysOnTheShelf) { EXPECT_EQ(in_group(2, kNobodyMeasured, apart), 0); }

// They call with different lengths, and are told; then they go on, of one mind.
int lengths_differ(smelt_group* group, Seat& seat) {
  std::vector<uint32_t> in(10000, 1), out(10000);
  const smelt_data from{in.data(), nullptr, nullptr, nullptr}, to{out.data(), nullptr, nullptr, nullptr};
  Pair pair(group, seat);
  DO(pair.call(Pair::kAllreduce, 20000));
  if (!group->single_copy()) return 0;
  const size_t elements = seat.me == 0 ? 5000 : 10000;
  EXPECT_HERE(smelt_group_allreduce(group, &from, &to, elements, &kSum) == -EMSGSIZE, "not told");
  for (int i = 0; i < 2 * kCalls; ++i) DO(pair.call(Pair::kAllreduce, i % 2 ? 20000 : 40000));
  return pair.compare();
}
TEST(TriedByTwo, LengthsThatDifferChangeNothing) { EXPECT_EQ(in_group(2, kNobodyMeasured, lengths_differ), 0); }

// A participant whose next tried call is another one is found out, and both try nothing any more.
int rows_differ(smelt_group* group, Seat& seat) {
  Pair pair(group, seat);
  DO(pair.call(Pair::kAllreduce, 20000));
  if (!group->single_copy()) return 0;
  Trial trial;
  trial.begin(*group, SMELT_COLLECTIVE_ALLREDUCE, seat.me == 0 ? 20000 : 300000);
  EXPECT_HERE(trial.end(Waiting{{*group}}, Method::kShelf), "the end of the trial");
  EXPECT_HERE(!group->trials.are_open(), "still trying");
  return 0;
}
TEST(TriedByTwo, WhoTriesSomethingElseIsFoundOut) { EXPECT_EQ(in_group(2, kNobodyMeasured, rows_differ), 0); }

// --- who tries ---

// How many of two, under these settings, find anything tried after enough calls, or the group otherwise than expected.
int tried_by(unsigned n, std::vector<Setting> settings, bool expected) {
  return in_group(n, settings, [&](smelt_group* group, Seat&) {
    EXPECT_HERE(group->plan.limits.of[SMELT_COLLECTIVE_ALLREDUCE].tried == expected, "tried");
    EXPECT_HERE(!group->plan.limits.of[SMELT_COLLECTIVE_GATHERV].tried, "a gatherv");
    std::vector<uint32_t> in(10000, 1), out(10000);
    const smelt_data from{in.data(), nullptr, nullptr, nullptr}, to{out.data(), nullptr, nullptr, nullptr};
    for (int i = 0; i < kCalls; ++i)
      EXPECT_HERE(smelt_group_allreduce(group, &from, &to, 10000, &kSum) == 0 && out[9999] == group->n, "allreduce");
    EXPECT_HERE(group->trials.tried() == (expected && group->single_copy() ? kCalls : 0), "%zu",
                size_t{group->trials.tried()});
    return 0;
  });
}
TEST(Tried, ByTwoWhereNobodyMeasured) { EXPECT_EQ(tried_by(2, kNobodyMeasured, true), 0); }
TEST(Tried, NotByThree) { EXPECT_EQ(tried_by(3, kNobodyMeasured, false), 0); }
TEST(Tried, NotInACrowd) { EXPECT_EQ(tried_by(2, {{"SMELT_PROFILE", "/dev/null"}, {"SMELT_CPUS", "1"}}, false), 0); }
TEST(Tried, NotWhereALimitIsSet) {
  for (const char* const limit : {"0", "10000", "1000000000"}) {
    std::vector<Setting> settings = kNobodyMeasured;
    settings.push_back({"SMELT_TUNE=copy_limit", limit});
    EXPECT_EQ(tried_by(2, settings, false), 0) << limit;
  }
}

// --- what is said ---

TEST(Tried, IsDescribed) {
  EXPECT_EQ(
      in_group(2, kNobodyMeasured,
               [](smelt_group* group, Seat& seat) {
                 const auto text = [&](smelt_collective which) {
                   std::string all;
                   char line[300];
                   for (unsigned i = 0; smelt_group_describe(group, which, i, line, sizeof line) >= 0; ++i)
                     all += std::string(line) + "\n";
                   return all;
                 };
                 const auto has = [&](smelt_collective which, const char* wanted) {
                   const std::string all = text(which);
                   EXPECT_HERE(all.find(wanted) != std::string::npos, "'%s' is missing in\n%s", wanted, all.c_str());
                   return 0;
                 };
                 DO(has(SMELT_COLLECTIVE_BROADCAST, "<= 2 KiB: through shared memory"));
                 DO(has(SMELT_COLLECTIVE_BROADCAST, "longer: the first calls of each size try"));
                 Pair pair(group, seat);
                 for (int i = 0; i < kCalls; ++i) DO(pair.call(Pair::kReduce, 20000));
                 if (!group->single_copy()) return has(SMELT_COLLECTIVE_REDUCE, "longer: through shared memory");
                 MethodTrials::Row& row = group->trials.row(SMELT_COLLECTIVE_REDUCE, MethodTrials::size_of(20000));
                 DO(has(SMELT_COLLECTIVE_REDUCE, "<= 16 KiB: the first calls of each size try"));
                 row.chosen = Method::kSingleCopy;
                 DO(has(SMELT_COLLECTIVE_REDUCE, "<= 32 KiB: single copy, sliced over all (tried: faster"));
                 row.chosen = Method::kShelf;
                 DO(has(SMELT_COLLECTIVE_REDUCE, "<= 32 KiB: through shared memory in pieces of 16384 B"));
                 DO(has(SMELT_COLLECTIVE_REDUCE, "(tried: single copy is not faster)"));
                 return has(SMELT_COLLECTIVE_REDUCE, "longer: the first calls of each size try");
               }),
      0);
}

}  // namespace
}  // namespace smelt::test
