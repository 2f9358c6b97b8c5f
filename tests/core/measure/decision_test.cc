#include "measure/decision.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/os/os.h"

using namespace smelt;

namespace {

Racer figures(double ratio, double spread, uint32_t laps = 8, uint32_t rounds = 1) {
  Racer out;
  out.ratio = ratio, out.spread = spread, out.laps = laps, out.rounds = rounds;
  return out;
}

Finalist finalist(bool tree, const Racer& tight, const Racer& skewed = {}) {
  Finalist out;
  out.is_tree = tree, out.timed = tight, out.skewed = skewed;
  return out;
}

using Places = std::vector<uint32_t>;

TEST(Contenders, AreTheFastestWhenSkewedAndWhoIsNotSlowerByMoreThanTheSpread) {
  const auto of = [](const std::vector<Racer>& skewed) {
    std::vector<Finalist> all;
    for (const Racer& racer : skewed) all.push_back(finalist(false, {}, racer));
    return contenders(all);
  };
  EXPECT_EQ(of({figures(3.2, 0.1), figures(4, 0.1), figures(3.0, 0.1)}), (Places{2, 0}));
  EXPECT_EQ(of({figures(3.0, 0.1), figures(3.6, 0.1), figures(3.6, 0.4)}), (Places{0, 2})) << "by its own spread";
  EXPECT_EQ(of({figures(3.0, 0.1), figures(0, 0, 0)}), (Places{0})) << "who ran no lap has no time";
  EXPECT_EQ(of({figures(0, 0, 0)}), Places{});
}

TEST(Contenders, AreInTheRacesOrder) {
  // Dropped after the first round, whatever its few laps have as their median.
  const Finalist dropped = finalist(false, {}, figures(1.9, 0.1, 8, 1)),
                 last = finalist(true, {}, figures(2.0, 0.1, 56, 3));
  EXPECT_EQ(contenders({dropped, last}), (Places{1, 0}));
}

TEST(ChooseWinner, IsTheFastestWhenSkewed) {
  const Finalist tree = finalist(true, figures(3, 0.1), figures(4, 0.1));
  const auto other = [](double skewed, double tight) {
    return finalist(false, figures(tight, 0.1), figures(skewed, 0.1));
  };
  EXPECT_EQ(choose_winner({other(3.0, 9.0), tree}), 0u) << "whatever it takes in the tight loop";
  EXPECT_EQ(choose_winner({other(4.5, 1.0), tree}), 1u) << "whatever it gains in the tight loop";
}

TEST(ChooseWinner, OfThoseThatAreEvenIsTheFastestInTheTightLoop) {
  const auto one = [](bool tree, double tight) { return finalist(tree, figures(tight, 0.1), figures(4, 0.1)); };
  EXPECT_EQ(choose_winner({one(false, 2.5), one(false, 2.0), one(true, 3)}), 1u);
  EXPECT_EQ(choose_winner({one(false, 2.9), one(true, 3.2), one(true, 3)}), 2u) << "a tree, within the spread";
  EXPECT_EQ(choose_winner({one(false, 3), one(false, 2.9)}), 1u) << "no tree";
}

TEST(ChooseWinner, WhoRanNoTightLapDoesNotWinAgainstWhoDid) {
  const Finalist unproved = finalist(false, {}, figures(3.9, 0.1)),
                 tree = finalist(true, figures(3, 0.1), figures(4, 0.1));
  EXPECT_EQ(choose_winner({unproved, tree}), 1u);
  EXPECT_EQ(choose_winner({unproved}), 0u) << "alone";
  EXPECT_EQ(choose_winner({finalist(false, {}, figures(4, 0.1)), unproved}), 1u) << "nobody did";
  EXPECT_EQ(choose_winner({finalist(false, figures(3, 0.1)), finalist(false, figures(2, 0.1))}), 1u)
      << "no skewed race";
  EXPECT_EQ(choose_winner({finalist(false, {})}), 0u);
  EXPECT_EQ(choose_winner({}), 0u);
}

// Finalists whose figures are known, on a machine with noise and interrupts: race_finalists must find out.
struct Course {
  std::vector<double> tight, skewed;
  std::vector<Finalist> finalists;
  std::mt19937 random{1};
  double most_ns = 0;
  std::vector<std::vector<uint32_t>> sequences;

  void add(bool tree, double tight_ns, double skewed_ns) {
    finalists.push_back(finalist(tree, {}));
    tight.push_back(tight_ns);
    skewed.push_back(skewed_ns);
  }
  double noisy(double ns) {
    std::uniform_real_distribution<double> share(0, 1);
    const double outlier = share(random) < 0.03 ? 50 : 1;
    return ns * outlier * (1 + 0.1 * (share(random) - 0.5));
  }
  uint32_t run(double skew, const RaceSettings& settings = {8, 60, true}) {
    sequences.assign(finalists.size(), {});
    const Laps laps{[this](uint32_t k) { return noisy(tight[k]); },
                    [this](uint32_t k, double most, uint32_t sequence) {
                      most_ns = most;
                      sequences[k].push_back(sequence);
                      return noisy(skewed[k]);
                    },
                    [this] { return noisy(50); }};
    return race_finalists(laps, settings, skew, &finalists);
  }
};

TEST(RaceFinalists, TheSkewedRaceDecides) {
  for (const double when_skewed : {100.0, 400.0}) {
    Course course;
    course.add(true, 130, 180);
    course.add(true, 100, 150);
    for (int k = 0; k < 5; ++k) course.add(false, 150 + 10 * k, 300 + 10 * k);
    course.add(false, 60, when_skewed);
    const uint32_t winner = course.run(4);
    EXPECT_EQ(winner, when_skewed < 150 ? 7u : 1u);
    EXPECT_EQ(course.run(0), 7u) << "by the tight loop alone";
  }
}

TEST(RaceFinalists, WhoIsEvenRunsInTheTightLoopToo) {
  Course course;
  course.add(false, 60, 100);
  course.add(true, 100, 100);
  course.add(false, 50, 300);
  course.add(false, 70, 100);
  EXPECT_EQ(course.run(4), 0u);
  EXPECT_NEAR(course.most_ns, 4 * 50, 20) << "four of the fastest";
  std::vector<uint32_t> counted(course.sequences[0].size());
  for (uint32_t k = 0; k < counted.size(); ++k) counted[k] = k + 1;
  EXPECT_EQ(course.sequences[0], counted);
  EXPECT_EQ(course.finalists[2].timed.laps, 0u) << "slower when skewed";
  EXPECT_NEAR(course.finalists[0].skewed.ns, course.skewed[0], 0.1 * course.skewed[0]);
  EXPECT_NEAR(course.finalists[0].timed.ns, course.tight[0], 0.1 * course.tight[0]);
}

TEST(RaceFinalists, DelaysHaveALimit) {
  Course course;
  course.add(true, 5e6, 5e6);  // an episode of 5 ms: threads that are not let run
  course.run(4);
  EXPECT_LE(course.most_ns, 1e5);
  EXPECT_GT(course.most_ns, 0);
}

TEST(RaceFinalists, WithoutTimeEverybodyRunsASkewedLapAndTheFastestATightOne) {
  Course course;
  course.add(false, 60, 100);
  course.add(true, 100, 150);
  const uint32_t winner = course.run(4, {8, 0, true});
  for (const Finalist& each : course.finalists) EXPECT_EQ(each.skewed.laps, 1u);
  EXPECT_EQ(course.finalists[winner].timed.laps, 1u);
}

TEST(RaceFinalists, WhenTheTimeIsOverBeforeTheTightRaceTheFastestWhenSkewedWins) {
  Course course;
  course.add(true, 60, 150);
  course.add(false, 100, 100);
  RaceSettings settings{1, 60, false};
  settings.until_ns = os::now_ns() + 20'000'000;
  uint32_t laps = 0;
  const Laps slow{[&](uint32_t k) { return course.tight[k]; },
                  [&](uint32_t k, double, uint32_t) {
                    // The last skewed lap ends too late.
                    while (laps == 1 && os::now_ns() < settings.until_ns) std::this_thread::yield();
                    ++laps;
                    return course.skewed[k];
                  },
                  [] { return 50.0; }};
  const uint32_t winner = race_finalists(slow, settings, 4, &course.finalists);
  EXPECT_EQ(winner, 1u);
  EXPECT_EQ(course.finalists[1].timed.laps, 0u);

  settings.until_ns = os::now_ns();
  const uint32_t nobody = race_finalists(slow, settings, 4, &course.finalists);
  EXPECT_EQ(nobody, 0u) << "nobody has run";
}

}  // namespace
