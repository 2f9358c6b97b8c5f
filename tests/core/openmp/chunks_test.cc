// Dynamic loops without any OpenMP runtime: the arithmetic up to the types' limits, the order, and batches.
#include "openmp/chunks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <climits>
#include <memory>
#include <random>
#include <vector>

#include "plans.h"
#include "sanitized.h"

namespace smelt::openmp {
namespace {

const char here = 0, elsewhere = 0;  // sites

struct Team {
  explicit Team(uint32_t threads)
      : counters(std::make_unique<LoopCounter[]>(kLoops)),
        threads(std::make_unique<LoopThread[]>(threads)),
        n(threads) {}

  bool open(uint32_t me, const DynamicLoop& loop, uint64_t episode = 1, const void* site = &here) {
    const bool opened = open_loop(counters.get(), threads[me], n, episode, loop, site);
    if (!looks) threads[me].until = ~0u;
    return opened;
  }
  void open_all(const DynamicLoop& loop, uint64_t episode = 1) {
    for (uint32_t me = 0; me < n; me++) ASSERT_TRUE(open(me, loop, episode));
  }
  bool take(uint32_t me, Chunk* chunk) { return take_chunk(threads.get(), me, chunk); }
  // Loops at `here` have short bodies for thread `me`, by a look that is always right.
  void in_batches(uint32_t me) {
    LoopThread& own = threads[me];
    own.site = &here;
    own.in_batches = true;
    own.ticks = ~uint64_t{0} / 1024;
    own.handed = 0;
  }
  // Thread `me` is given the chunks of one iteration `first`, `first` + 1, ...
  void expect(uint32_t me, uint64_t first, uint64_t count) {
    Chunk chunk;
    for (uint64_t i = 0; i < count; i++) {
      ASSERT_TRUE(take(me, &chunk)) << first + i;
      EXPECT_EQ(chunk.begin, first + i);
    }
  }
  void expect_end(uint32_t me) {
    Chunk chunk;
    EXPECT_FALSE(take(me, &chunk)) << chunk.begin;
  }

  std::unique_ptr<LoopCounter[]> counters;
  std::unique_ptr<LoopThread[]> threads;
  uint32_t n;
  bool looks = false;  // at the clock
};

DynamicLoop loop_of(uint64_t n) { return {0, n, 1, n, 1}; }

TEST(Iterations, OfSignedLoops) {
  EXPECT_EQ(iterations_of(true, 0L, 10L, 3L), 4u);
  EXPECT_EQ(iterations_of(true, 0L, 9L, 3L), 3u);
  EXPECT_EQ(iterations_of(true, 10L, 10L, 1L), 0u);
  EXPECT_EQ(iterations_of(true, 11L, 10L, 1L), 0u);
  EXPECT_EQ(iterations_of(false, 10L, 0L, -3L), 4u);
  EXPECT_EQ(iterations_of(false, 0L, 10L, -3L), 0u);
  EXPECT_EQ(iterations_of(true, LONG_MIN, LONG_MAX, 1L), ~uint64_t{0});
  EXPECT_EQ(iterations_of(false, LONG_MAX, LONG_MIN, -1L), ~uint64_t{0});
  EXPECT_EQ(iterations_of(false, LONG_MAX, LONG_MIN, LONG_MIN), 2u);
}

TEST(Iterations, OfUnsignedLoops) {
  const uint64_t most = ~uint64_t{0};
  EXPECT_EQ(iterations_of(true, uint64_t{0}, most, uint64_t{1}), most);
  EXPECT_EQ(iterations_of(true, most, uint64_t{0}, uint64_t{1}), 0u);
  EXPECT_EQ(iterations_of(false, most, uint64_t{0}, most), most) << "step -1";
  EXPECT_EQ(iterations_of(false, most, most - 7, most - 2), 3u) << "step -3";
}

struct Case {
  DynamicLoop loop;
  const char* what;
};

// Threads take by turns, and what they are given covers the loop: in order, if in single chunks.
void cover(const Case& c, uint32_t threads, bool batches) {
  SCOPED_TRACE(c.what);
  Team team(threads);
  if (batches)
    for (uint32_t me = 0; me < threads; me++) team.in_batches(me);
  team.open_all(c.loop);
  uint64_t covered = 0, next = c.loop.start;
  uint32_t ended = 0;
  for (uint32_t me = 0; ended < threads; me = (me + 1) % threads) {
    Chunk chunk;
    if (!team.take(me, &chunk)) {
      ++ended;
      continue;
    }
    ended = 0;
    EXPECT_TRUE(batches || chunk.begin == next) << chunk.begin;
    next = chunk.end;
    const uint64_t length = (chunk.end - chunk.begin) / c.loop.step + ((chunk.end - chunk.begin) % c.loop.step != 0);
    covered += length;
    EXPECT_TRUE(chunk.end == c.loop.end || length % c.loop.chunk == 0) << "whole chunks";
  }
  EXPECT_EQ(covered, c.loop.iterations);
}

TEST(Chunks, CoverTheLoop) {
  const uint64_t most = ~uint64_t{0};
  for (const uint32_t threads : {2u, 3u, 7u})
    for (const bool batches : {false, true})
      for (const Case& c : {
               Case{{0, 100, 1, 100, 1}, "small"},
               Case{{0, 1000, 1, 1000, 1}, "more"},
               Case{{0, 100, 1, 100, 9}, "chunks that do not fit"},
               Case{{0, 100, 1, 100, most}, "one chunk"},
               Case{{5, 5, 1, 0, 1}, "none"},
               Case{{most - 9, most, 1, 9, 2}, "at the end of the numbers"},
               Case{{0, most, 1, most, uint64_t{1} << 44}, "2^64 - 1 iterations"},
               Case{{0, most, 1, most, uint64_t{1} << 62}, "of these, large chunks"},
               Case{{0, most, most / 2, 3, 1}, "large steps"},
           })
        cover(c, threads, batches);
}

// One thread takes them all here, so a sanitizer, which needs half a minute, would see nothing.
TEST(Chunks, CoverALoopOfMoreChunksThanAreCounted) {
  if (test::kSanitized) GTEST_SKIP() << "some hundred million steps";
  for (const uint32_t threads : {2u, 3u, 7u})
    for (const bool batches : {false, true})
      cover({{0, 2 * kMostUnits + 5, 1, 2 * kMostUnits + 5, 1}, "more chunks than are counted"}, threads, batches);
}

TEST(Chunks, RunDown) {
  Team team(2);
  team.open_all({10, 0, ~uint64_t{2}, 4, 1});  // 10, 7, 4, 1
  Chunk chunk;
  for (const uint64_t begin : {10u, 7u, 4u, 1u}) {
    ASSERT_TRUE(team.take(begin % 2, &chunk));
    EXPECT_EQ(chunk.begin, begin);
    EXPECT_EQ(chunk.end, begin == 1 ? 0 : begin - 3) << "the last: the loop's own end";
  }
  for (const uint32_t me : {0u, 1u}) team.expect_end(me);
}

TEST(Chunks, LeaveInOrderWhoeverAsks) {
  Team team(3);
  team.open_all(loop_of(1000));
  std::mt19937 random(1);
  for (uint64_t i = 0; i < 1000; i++) team.expect(random() % 3, i, 1);
  for (const uint32_t me : {0u, 1u, 2u}) team.expect_end(me);
}

TEST(Chunks, LoopsOfAnEpisodeHaveTheirOwn) {
  Team team(2);
  for (uint32_t i = 0; i < kLoops; i++) {
    ASSERT_TRUE(team.open(0, loop_of(4), 7));
    team.expect(0, 0, 2);
  }
  EXPECT_FALSE(team.open(0, loop_of(4), 7)) << "no counter is left";
  EXPECT_FALSE(team.open(0, loop_of(4), 7));
  for (uint32_t i = 0; i < kLoops; i++) {
    ASSERT_TRUE(team.open(1, loop_of(4), 7));
    team.expect(1, 2, 2);
    team.expect_end(1);
  }
  EXPECT_FALSE(team.open(1, loop_of(4), 7));
  team.open_all(loop_of(4), 8);
  team.expect(0, 0, 2);
  team.expect(1, 2, 2);
}

// Threads add to a counter of the episode before until one of them has replaced it.
TEST(Chunks, BeginAnewWithEveryEpisode) {
  for (const uint64_t later : {uint64_t{1}, uint64_t{2}, kEpisodeMask, kEpisodeMask + 2}) {
    SCOPED_TRACE(later);
    Team team(3);
    for (const uint64_t episode : {uint64_t{9}, 9 + later}) {
      team.open_all(loop_of(20), episode);
      for (uint64_t i = 0; i < 20; i++) team.expect(i % 3, i, 1);
      for (const uint32_t me : {2u, 0u, 1u}) team.expect_end(me);
    }
  }
}

TEST(Batches, BeginWithOneAndShrinkAtTheEnd) {
  Team team(2);
  team.in_batches(0);
  team.open_all(loop_of(64));
  uint64_t at = 0;
  // What the other is given says where the counter is. Batches double; of what is left, a thread takes a quarter at
  // most.
  for (const uint64_t size : {1u, 2u, 4u, 8u, 11u, 8u, 6u, 4u, 3u, 2u, 1u, 1u}) {
    team.expect(0, at, 1);
    team.expect(1, at + size, 1);
    team.expect(0, at + 1, size - 1);
    at += size + 1;
  }
  EXPECT_EQ(at, 63u);
}

TEST(Batches, OthersRunWhatIsHeld) {
  Team team(2);
  for (const uint32_t me : {0u, 1u}) team.in_batches(me);
  team.open_all(loop_of(64));
  team.expect(0, 0, 8);    // 7 of 7 .. 14
  team.expect(1, 15, 48);  // 62 of .. 63
  team.expect(1, 8, 3);    // the last one is left for the end
  team.expect(0, 11, 2);
  team.expect(1, 13, 2);
  team.expect(1, 63, 1);
  for (const uint32_t me : {0u, 1u}) team.expect_end(me);
}

TEST(Batches, TheLastUnitMayBeTakenByOthersToo) {
  Team team(2);
  for (const uint32_t me : {0u, 1u}) team.in_batches(me);
  team.open_all(loop_of(64));
  team.expect(0, 0, 8);
  team.expect(1, 15, 48);
  team.expect(1, 8, 1);  // holds the last one now
  team.expect(0, 9, 6);
  team.expect(0, 63, 1);  // of the other's
  for (const uint32_t me : {0u, 1u}) team.expect_end(me);
}

// A thread that is ahead in the next loop holds units of that one.
TEST(Batches, AreOfOneLoop) {
  Team team(2);
  for (const uint32_t me : {0u, 1u}) team.in_batches(me);
  team.open_all(loop_of(40));
  team.expect(0, 0, 38);
  team.expect(0, 38, 2);
  ASSERT_TRUE(team.open(0, loop_of(40)));
  team.expect(0, 0, 2);
  team.expect_end(1);
  ASSERT_TRUE(team.open(1, loop_of(40)));
  team.expect(1, 3, 1);
}

TEST(Batches, EndWhereTheyTakeLong) {
  Team team(2);
  team.in_batches(0);
  team.threads[0].ticks = 1;
  team.open_all(loop_of(1000));
  team.expect(0, 0, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  team.expect(0, 1, 1);
  EXPECT_FALSE(team.threads[0].in_batches);
  team.expect(1, 2, 1);
  team.expect(0, 3, 1);
}

TEST(Batches, EndWhereAllTogetherAreNoQuicker) {
  Team team(2);
  team.in_batches(0);
  team.threads[0].handed = ~uint64_t{0} / 1024 / 1024;  // as many in one look
  team.threads[0].ticks = uint64_t{1} << 40;
  team.open_all(loop_of(1000));
  constexpr uint64_t kJudged = kBatch - 1 + kTrial * kBatch;  // 1 + 2 + .. + kBatch / 2, and whole ones
  team.expect(0, 0, kJudged);
  EXPECT_TRUE(team.threads[0].in_batches);
  team.expect(0, kJudged, 1);
  EXPECT_FALSE(team.threads[0].in_batches);
  team.expect(1, kJudged + 1, 1);
  team.expect(0, kJudged + 2, 1);  // nothing was held
  team.expect(1, kJudged + 3, 1);
}

TEST(Batches, AreForgottenAtAnotherSite) {
  Team team(2);
  team.in_batches(0);
  ASSERT_TRUE(team.open(0, loop_of(1000), 1, &elsewhere));
  ASSERT_TRUE(team.open(1, loop_of(1000), 1, &elsewhere));
  team.expect(0, 0, 2);
  team.expect(1, 2, 1);
}

void spin(std::chrono::nanoseconds time) {
  for (const auto start = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() - start < time;) {
  }
}

// The body that is looked at is short, and the way from one to the next is long otherwise; or it is as long as any. The
// counter is near, unless we say otherwise.
bool ends_in_batches(bool is_short, bool is_far) {
  Team team(2);
  LoopThread& own = team.threads[0];
  team.looks = true;
  team.open_all(loop_of(100000));
  // There are few looks where nothing is to be seen; and of long bodies one look decides nothing.
  for (uint64_t i = 0; i < (is_short && is_far ? 2000 : 120) && !own.in_batches; i++) {
    team.expect(0, i, 1);
    if (own.stage == Stage::kBody) {
      if (is_far) own.was_short |= is_short;
      own.trip = is_far ? ~uint64_t{0} / 1024 : 0;
    }
    if (!(is_short && own.stage == Stage::kBody)) spin(std::chrono::microseconds(10));
  }
  return own.in_batches;
}

TEST(Looks, TellShortBodiesFromLongOnes) {
  for (const bool is_short : {true, false})
    for (const bool is_far : {true, false}) {
      // If the thread loses its CPU on the way to the second body, the first looks short; if on a trip, the counter
      // looks far: not every time.
      const bool right = is_short && is_far;
      bool found = !right;
      for (int tries = 0; tries < 50 && found != right; tries++) found = ends_in_batches(is_short, is_far);
      EXPECT_EQ(found, right);
    }
}

TEST(Looks, AreCutOffByTheLoopsEnd) {
  Team team(2);
  team.looks = true;
  for (uint64_t episode = 1; episode < 1000; episode++) {
    team.open_all(loop_of(kFirstLook + 3), episode);
    team.expect(0, 0, kFirstLook + 3);
    EXPECT_TRUE(episode > 1 || team.threads[0].stage == Stage::kWay);
    spin(std::chrono::microseconds(2));  // counts for no loop
  }
  EXPECT_FALSE(team.threads[0].in_batches);
}

TEST(Fork, ForgetsWhatOthersHeld) {
  Team team(2);
  for (const uint32_t me : {0u, 1u}) team.in_batches(me);
  team.open_all(loop_of(100));
  team.expect(1, 0, 3);
  team.open(0, loop_of(100));
  forget_loops(team.counters.get(), team.threads.get(), 2);
  team.open_all(loop_of(5));
  team.expect(0, 0, 5);
  team.expect_end(1);
}

DynamicLoop guided(uint64_t n, uint64_t chunk, uint32_t times = 1) { return {0, n, 1, n, chunk, times}; }

// The chunks of a guided loop in their order, whoever takes them.
std::vector<uint64_t> lengths_of(Team& team, const DynamicLoop& loop, uint64_t episode, std::minstd_rand& random) {
  team.open_all(loop, episode);
  std::vector<uint64_t> lengths;
  std::vector<bool> is_out(team.n);
  uint64_t next = loop.start;
  for (uint32_t out = 0; out < team.n;) {
    const uint32_t me = static_cast<uint32_t>(random() % team.n);
    if (is_out[me]) continue;
    Chunk chunk;
    if (!team.take(me, &chunk)) {
      is_out[me] = true;
      ++out;
      continue;
    }
    EXPECT_EQ(chunk.begin, next);
    next = chunk.end;
    lengths.push_back((chunk.end - chunk.begin) / loop.step);
  }
  return lengths;
}

TEST(Guided, ChunksBecomeShorterDownToTheLeast) {
  std::minstd_rand random(1);
  Team two(2), three(3);
  using Lengths = std::vector<uint64_t>;
  EXPECT_EQ(lengths_of(two, guided(64, 1), 1, random), (Lengths{32, 16, 8, 4, 2, 1, 1}));
  EXPECT_EQ(lengths_of(two, guided(64, 5), 2, random), (Lengths{32, 16, 8, 5, 3}));
  EXPECT_EQ(lengths_of(two, guided(7, 100), 3, random), (Lengths{7}));
  EXPECT_EQ(lengths_of(two, guided(64, 1, 2), 4, random), (Lengths{16, 12, 9, 7, 5, 4, 3, 2, 2, 1, 1, 1, 1}));
  EXPECT_EQ(lengths_of(two, guided(0, 1), 5, random), Lengths{});
  EXPECT_EQ(lengths_of(three, guided(20, 2), 1, random), (Lengths{7, 5, 3, 2, 2, 1}));
  const DynamicLoop by_seven{5, 5 + 10 * 7, 7, 10, 1, true};
  EXPECT_EQ(lengths_of(three, by_seven, 2, random), (Lengths{4, 2, 2, 1, 1}));
  EXPECT_EQ(lengths_of(three, guided(40, 3, 2), 3, random), (Lengths{7, 6, 5, 4, 3, 3, 3, 3, 3, 3}));
}

TEST(Guided, LongLoopsOfManyThreads) {
  std::minstd_rand random(2);
  for (const uint32_t threads : {2u, 5u, 64u, 1000u}) {
    Team team(threads);
    const uint64_t n = ~uint64_t{0} - 3;
    const std::vector<uint64_t> lengths = lengths_of(team, guided(n, 1), 1, random);
    uint64_t left = n;
    for (const uint64_t length : lengths) {
      ASSERT_EQ(length, left / threads + (left % threads != 0));
      left -= length;
    }
    EXPECT_EQ(left, 0u);
    EXPECT_LT(lengths.size() + threads, kMostUnits / 64);
  }
}

TEST(Sections, OneAfterTheOther) {
  Team team(2);
  const auto open = [&](uint32_t me, uint64_t episode, uint64_t count) {
    ASSERT_TRUE(open_units(team.counters.get(), team.threads[me], 2, episode, {1, 0, 1, count, 1}));
  };
  for (uint64_t episode = 1; episode < 20; episode++) {
    open(0, episode, 3);
    EXPECT_EQ(take_section(team.threads[0]), 1u);
    open(1, episode, 3);
    EXPECT_EQ(take_section(team.threads[1]), 2u);
    EXPECT_EQ(take_section(team.threads[1]), 3u);
    EXPECT_EQ(take_section(team.threads[1]), 0u);
    if (episode % 3 == 0) {  // others of the same episode: nobody waits
      open(1, episode, 0);
      EXPECT_EQ(take_section(team.threads[1]), 0u);
      open(1, episode, 1);
      EXPECT_EQ(take_section(team.threads[1]), 1u);
    }
    EXPECT_EQ(take_section(team.threads[0]), 0u);
    EXPECT_EQ(take_section(team.threads[0]), 0u);
  }
}

TEST(Threads, RunEveryIterationOnce) {
  run_plans<Team>({.count = 300, .most = 400, .various = true, .last_is_last = false},
                  [](Team& team, uint32_t me, const DynamicLoop& loop, uint64_t episode, std::minstd_rand& own) {
                    if (own() % 4 != 0) team.in_batches(me);
                    return team.open(me, loop, episode);
                  });
}

}  // namespace
}  // namespace smelt::openmp
