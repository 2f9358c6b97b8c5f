// From planted times to a verdict in words: the half of smelt try that runs nothing.
#include "cli/trial.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smelt::test {
namespace {

using Pairs = std::vector<PairOfRuns>;

// Runs of 1 s under Smelt, and of `ratio` times as long without, each with a deviation that repeats: -2, 0, 1, -1, 2.
Pairs pairs_of(double ratio, size_t count, double deviation) {
  constexpr double kTurns[] = {-2, 0, 1, -1, 2};
  Pairs pairs;
  for (size_t i = 0; i < count; ++i)
    pairs.push_back({{ratio + deviation * kTurns[i % 5], 1.5, 0.1}, {1, 1.2, 0.1}, i % 2 == 0});
  return pairs;
}

Circumstances served() {
  Circumstances seen;
  seen.cpus = 2;
  seen.threads = 2;
  seen.told = seen.served = true;
  return seen;
}

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(MedianInterval, LiesBetweenOrderStatistics) {
  struct Row {
    size_t n, k;
    double confidence;
  };
  // The k-th smallest to the k-th largest, by tables of the binomial distribution.
  for (const Row& row : {Row{1, 1, 0}, Row{2, 1, 0.5}, Row{3, 1, 0.75}, Row{5, 1, 0.9375}, Row{6, 1, 0.96875},
                         Row{8, 1, 0.9921875}, Row{9, 2, 0.9609375}, Row{20, 6, 0.9586105}, Row{100, 40, 0.9647998}}) {
    std::vector<double> values;
    for (size_t i = row.n; i > 0; --i) values.push_back(static_cast<double>(i));  // in any order
    const MedianInterval found = median_interval(values);
    EXPECT_EQ(found.low, static_cast<double>(row.k)) << row.n;
    EXPECT_EQ(found.high, static_cast<double>(row.n + 1 - row.k)) << row.n;
    EXPECT_NEAR(found.confidence, row.confidence, 1e-6) << row.n;
  }
  EXPECT_EQ(median_interval({}).confidence, 0);
  // The most pairs that can be asked for: about 1.96 standard deviations of the binomial distribution from the middle.
  std::vector<double> many;
  for (int i = 1; i <= 1000; ++i) many.push_back(i);
  EXPECT_EQ(median_interval(many).low, 469);
  EXPECT_GE(median_interval(many).confidence, 0.95);
}

TEST(Verdict, Faster) {
  const Verdict verdict = verdict_of(pairs_of(1.21, 15, 0.02), served());
  EXPECT_EQ(verdict.kind, VerdictKind::kFaster);
  EXPECT_EQ(verdict.text, "keep it: 1.21 times as fast (1.19-1.23)");
  EXPECT_TRUE(verdict.reasons.empty());
}

TEST(Verdict, Same) {
  const Verdict verdict = verdict_of(pairs_of(1.0, 15, 0.01), served());
  EXPECT_EQ(verdict.kind, VerdictKind::kSame);
  EXPECT_EQ(verdict.text, "no difference (0.99-1.01)");
  // Known to be faster, and not worth a word.
  EXPECT_EQ(verdict_of(pairs_of(1.02, 15, 0.001), served()).kind, VerdictKind::kSame);
  EXPECT_EQ(verdict_of(pairs_of(0.98, 15, 0.001), served()).kind, VerdictKind::kSame);
}

TEST(Verdict, SlowerSaysWhyAndWhatToTry) {
  const Pairs pairs = pairs_of(0.8, 15, 0.01);
  Circumstances seen = served();
  Verdict verdict = verdict_of(pairs, seen);
  EXPECT_EQ(verdict.kind, VerdictKind::kSlower);
  EXPECT_TRUE(verdict.text.starts_with("slower here: 0.80 (0.79-0.81); nothing that was measured says why: try "))
      << verdict.text;

  seen.threads = 8;
  seen.others_cpus = 0.9;
  verdict = verdict_of(pairs, seen);
  EXPECT_TRUE(holds(verdict.text, "; most likely 8 threads on 2 CPUs: try OMP_NUM_THREADS=2")) << verdict.text;
  ASSERT_EQ(verdict.reasons.size(), 2u);
  EXPECT_TRUE(holds(verdict.reasons[1], "0.9 of 2 CPUs busy")) << verdict.reasons[1];
  seen = served();
  seen.guessed = true;
  EXPECT_TRUE(holds(verdict_of(pairs, seen).text, "says why: try 'smelt calibrate'"));

  seen = served();
  seen.ranks = 4;
  seen.threads = 1;
  EXPECT_TRUE(holds(verdict_of(pairs, seen).text, "4 ranks on 2 CPUs"));
  seen.ranks = 2;
  seen.threads = 2;
  EXPECT_TRUE(holds(verdict_of(pairs, seen).text, "2 ranks of 2 threads on 2 CPUs"));
  seen.threads = 1;
  seen.messages = true;
  EXPECT_TRUE(holds(verdict_of(pairs, seen).text, "try without --messages"));
  seen = served();
  Pairs brief = pairs;
  for (PairOfRuns& pair : brief) pair.stock.wall_s /= 200, pair.smelt.wall_s /= 200;
  EXPECT_TRUE(holds(verdict_of(brief, seen).text, "most likely it runs for 4.0 ms, and Smelt's start takes"));
  seen.throttled = 7;
  EXPECT_TRUE(holds(verdict_of(pairs, seen).text, "a CPU quota stopped the program 7 times"));
  seen = served();
  seen.stolen = 0.1;
  EXPECT_TRUE(holds(verdict_of(pairs, seen).text, "the hypervisor took 10 %"));
  seen = served();
  seen.told = seen.served = false;
  EXPECT_TRUE(holds(verdict_of(pairs, seen).text, "no process of it has told"));
}

TEST(Verdict, RunsThatScatterSettleNothing) {
  Circumstances seen = served();
  Verdict verdict = verdict_of(pairs_of(1.1, 15, 0.25), seen);
  EXPECT_EQ(verdict.kind, VerdictKind::kUnsettled);
  EXPECT_TRUE(holds(verdict.text, "not settled: 1.10 (0.85-1.35), ")) << verdict.text;
  EXPECT_TRUE(holds(verdict.text, "try --pairs 60")) << verdict.text;
  seen.others_cpus = 1.2;
  verdict = verdict_of(pairs_of(1.1, 15, 0.25), seen);
  EXPECT_TRUE(holds(verdict.text, "other processes kept 1.2 of 2 CPUs busy")) << verdict.text;
  // Of one pair or two nothing is said, however far apart, and of three they must agree.
  seen.others_cpus = 0;
  for (const int few : {1, 2}) {
    verdict = verdict_of(pairs_of(2.0, few, 0), seen);
    EXPECT_EQ(verdict.kind, VerdictKind::kUnsettled);
    EXPECT_TRUE(holds(verdict.text,
                      few == 1 ? "not settled: 2.00, of one pair; try --pairs 20" : ", of two pairs; try --pairs 20"))
        << verdict.text;
  }
  EXPECT_EQ(verdict_of(pairs_of(1.0, 3, 0.1), seen).kind, VerdictKind::kUnsettled);
}

// However far apart: what may be chance is no advice.
TEST(Verdict, FewPairsAreNotCertain) {
  for (const double ratio : {2.0, 0.5})
    for (const size_t few : {3, 5}) {
      const Verdict verdict = verdict_of(pairs_of(ratio, few, 0.01), served());
      EXPECT_EQ(verdict.kind, VerdictKind::kUnsettled);
      EXPECT_TRUE(verdict.text.starts_with("not certain: ")) << verdict.text;
      EXPECT_TRUE(holds(verdict.text, few == 3 ? "only 75 % certain of 3 pairs" : "only 93 % certain of 5 pairs"))
          << verdict.text;
    }
  EXPECT_EQ(verdict_of(pairs_of(2.0, 6, 0.01), served()).kind, VerdictKind::kFaster);
  EXPECT_EQ(verdict_of(pairs_of(0.5, 6, 0.01), served()).kind, VerdictKind::kSlower);
}

TEST(Verdict, OfStoppedRunsIsABound) {
  Pairs pairs = pairs_of(20, 6, 0.1);
  for (PairOfRuns& pair : pairs) pair.stopped = true;
  Verdict verdict = verdict_of(pairs, served());
  EXPECT_EQ(verdict.kind, VerdictKind::kFaster);
  EXPECT_EQ(verdict.text, "keep it: more than 19 times as fast; without Smelt it was stopped after 19.8 s");
  pairs.resize(3);
  verdict = verdict_of(pairs, served());
  EXPECT_EQ(verdict.kind, VerdictKind::kUnsettled);
  EXPECT_TRUE(holds(verdict.text, "not certain: more than 19 times as fast, but")) << verdict.text;
}

TEST(Verdict, NamesTheOptionThatGained) {
  Circumstances seen = served();
  seen.served = false;
  seen.set_by = {"--fit"};
  seen.throttled = 3;
  Verdict verdict = verdict_of(pairs_of(1.12, 15, 0.01), seen);
  EXPECT_EQ(verdict.kind, VerdictKind::kFaster);
  EXPECT_EQ(verdict.text, "keep it: 1.12 times as fast (1.11-1.13), by --fit alone: nothing was served");
  ASSERT_EQ(verdict.reasons.size(), 1u);
  EXPECT_FALSE(holds(verdict.reasons[0], "--fit")) << verdict.reasons[0];  // which was given
  EXPECT_EQ(verdict_of(pairs_of(1.0, 15, 0.01), seen).kind, VerdictKind::kSame);
  seen.served = true;
  verdict = verdict_of(pairs_of(1.12, 15, 0.01), seen);
  EXPECT_FALSE(holds(verdict.text, "alone")) << verdict.text;
  // Of one thread, because the quota pays for no more: nothing can be served, and that is the gain.
  seen.served = false;
  seen.set_by = {"the quota", "--bind"};
  verdict = verdict_of(pairs_of(6.2, 15, 0.01), seen);
  EXPECT_TRUE(verdict.text.ends_with(", by the quota and --bind alone: nothing was served")) << verdict.text;
  EXPECT_FALSE(holds(verdict.reasons[0], "--fit")) << verdict.reasons[0];
  seen.set_by = {"--bind"};
  EXPECT_TRUE(holds(verdict_of(pairs_of(1.2, 15, 0.01), seen).reasons[0], "(--fit)"));
}

TEST(Verdict, SaysThatOthersWorked) {
  Circumstances seen = served();
  seen.others_cpus = 0.9;
  EXPECT_EQ(verdict_of(pairs_of(1.21, 15, 0.02), seen).text,
            "keep it: 1.21 times as fast (1.19-1.23), beside other work");
}

// Whatever the clock says: what was not served cannot have been made faster.
TEST(Verdict, NothingServedIsNoGain) {
  Circumstances seen = served();
  seen.served = false;
  seen.not_served = "OpenMP (libgomp): loaded; no region of two or more threads: OMP_NUM_THREADS=1";
  const Verdict verdict = verdict_of(pairs_of(1.1, 15, 0.01), seen);
  EXPECT_EQ(verdict.kind, VerdictKind::kNothingServed);
  EXPECT_EQ(verdict.text, "nothing to gain, nothing was served: " + seen.not_served + "; measured 1.10 (1.09-1.11)");
  EXPECT_EQ(verdict_of({}, seen).text, "nothing to gain, nothing was served: " + seen.not_served);
}

TEST(Verdict, AStartThatCountsIsToldOf) {
  Circumstances seen = served();
  seen.start_s = 0.01;
  EXPECT_TRUE(verdict_of(pairs_of(1.2, 15, 0.01), seen).reasons.empty());  // of programs of a second
  Pairs pairs = pairs_of(1.2, 15, 0.01);
  for (PairOfRuns& pair : pairs) pair.stock.wall_s /= 50, pair.smelt.wall_s /= 50;
  const Verdict verdict = verdict_of(pairs, seen);
  ASSERT_EQ(verdict.reasons.size(), 1u);
  EXPECT_TRUE(holds(verdict.reasons[0], "takes 10 ms, which are counted")) << verdict.reasons[0];
}

TEST(Verdict, IsSettledWhereMorePairsWouldNotTell) {
  EXPECT_FALSE(is_settled(pairs_of(1.2, 9, 0.001)));  // too few to be believed
  EXPECT_TRUE(is_settled(pairs_of(1.2, 10, 0.001)));
  EXPECT_FALSE(is_settled(pairs_of(1.2, 10, 0.05)));
}

TEST(Ratio, OfPairsNotOfSums) {
  // Both runs of a pair slow down together: a neighbour came.
  Pairs pairs;
  for (const double scale : {1.0, 1.0, 5.0, 5.0, 1.0}) pairs.push_back({{1.2 * scale, 0, 0}, {scale, 0, 0}, true});
  const RatioFound found = ratio_of(pairs);
  EXPECT_NEAR(found.median, 1.2, 1e-9);
  EXPECT_NEAR(found.interval.high - found.interval.low, 0, 1e-9);
  EXPECT_EQ(ratio_of({{{1, 0, 0}, {0, 0, 0}, true}}).median, 0);  // no division by nothing
}

}  // namespace
}  // namespace smelt::test
