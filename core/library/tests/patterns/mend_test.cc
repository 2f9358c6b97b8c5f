#include "library/patterns/mend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <vector>

#include "generate/exact.h"
#include "generate/optimise.h"
#include "machines.h"
#include "schedule/predict.h"

using namespace smelt;
using namespace smelt::test;

namespace {

constexpr Direction kDirections[] = {Direction::kBroadcast, Direction::kReduce};

// The problem among some.
struct Subset {
  std::vector<float> edge, busy;
  std::vector<uint16_t> node, llc;
  TreeProblem problem;

  Subset(const TreeProblem& all, const std::vector<uint16_t>& members) {
    const auto n = static_cast<uint32_t>(members.size());
    for (const uint16_t v : members) {
      for (const uint16_t c : members) {
        edge.push_back(all.edge_of(v, c));
        busy.push_back(all.busy_of(v, c));
      }
      node.push_back(all.node[v]);
      llc.push_back(all.llc[v]);
    }
    problem = {n, all.direction, edge.data(), busy.data(), node.data(), llc.data()};
  }
};

struct Random {
  std::vector<float> edge, busy;
  std::vector<uint16_t> group;
  TreeProblem problem;

  // `kind` 0: anything goes; 1: much is free; 2: all alike; 3: groups.
  Random(uint32_t n, uint32_t kind, uint32_t seed) : edge(n * n), busy(n * n), group(n) {
    std::mt19937 random(seed);
    for (uint32_t v = 0; v < n; ++v) group[v] = static_cast<uint16_t>(random() % (1 + n / 3));
    for (uint32_t v = 0; v < n; ++v) {
      for (uint32_t c = 0; c < n; ++c) {
        if (v == c) continue;
        const size_t at = v * n + c;
        const float draw = static_cast<float>(random() % 1000 + 1);
        switch (kind % 4) {
          case 0: busy[at] = draw, edge[at] = draw + static_cast<float>(random() % 1000); break;
          case 1: busy[at] = random() % 2 ? 0 : draw, edge[at] = random() % 2 ? busy[at] : busy[at] + draw; break;
          case 2: busy[at] = 30, edge[at] = 100; break;
          case 3: busy[at] = 30, edge[at] = group[v] == group[c] ? 100 : 300 + draw / 10; break;
        }
      }
    }
    problem = {n, Direction::kBroadcast, edge.data(), busy.data(), group.data(), group.data()};
  }
};

// A mender, what it is told, and what it says.
struct Mended {
  const TreeProblem& problem;
  MappedArena arena{size_t{64} << 20};
  Mender mender;
  std::vector<bool> in;

  Mended(const TreeProblem& all, bool free_root, const std::vector<uint16_t>& begin, uint16_t root = 0)
      : problem(all), in(all.n) {
    EXPECT_EQ(mender.make(all, free_root, arena), 0);
    Tree star;
    EXPECT_EQ(make_tree(static_cast<uint32_t>(begin.size()), root, arena, &star), 0);
    for (uint16_t i = 0; i < begin.size(); ++i) {
      if (i != root) append_child(star, root, i);
      in[begin[i]] = true;
    }
    mender.load(star, begin.data());
  }

  std::vector<uint16_t> members() const {
    std::vector<uint16_t> list;
    for (uint16_t v = 0; v < in.size(); ++v) {
      if (in[v]) list.push_back(v);
    }
    return list;
  }

  double change(uint16_t v) {
    in[v] = !in[v];
    return in[v] ? mender.join(v) : mender.leave(v);
  }

  // A spanning tree of the members alone, worth what it is said to be.
  void check() {
    const std::vector<uint16_t> wanted = members();
    ASSERT_EQ(mender.count(), wanted.size());
    char* const start = arena.mark();
    Tree tree;
    ASSERT_EQ(make_tree(mender.count(), 0, arena, &tree), 0);
    std::vector<uint16_t> stored(mender.count());
    mender.store(tree, stored.data());
    ASSERT_EQ(stored, wanted);
    ASSERT_TRUE(is_spanning(tree));
    EXPECT_EQ(stored[tree.root], mender.root());
    Subset subset(problem, wanted);
    std::vector<double> scratch(2 * wanted.size());
    std::vector<uint16_t> order(2 * wanted.size());
    ASSERT_EQ(sort_and_value(subset.problem, tree, scratch.data(), order.data()), mender.value());
    EXPECT_GE(mender.gap(), 0);
    EXPECT_LE(mender.bound(), mender.value() * (1 + 1e-6));
    arena.rewind(start);
  }
};

TEST(Mend, AnySequenceOfChangesLeavesATreeOfTheMembers) {
  for (uint32_t kind = 0; kind < 8; ++kind) {
    const uint32_t n = 19;
    Random made(n, kind, kind);
    Mended mended(made.problem, kind < 4, {4, 0, 17, 9, 11}, 2);
    mended.check();
    std::mt19937 random(kind);
    for (int round = 0; round < 500; ++round) {
      // The root now and then, which random picks seldom meet.
      const uint16_t v = round % 11 == 0 ? mended.mender.root() : static_cast<uint16_t>(random() % n);
      const uint16_t root = mended.mender.root();
      if (mended.in[v] && mended.mender.count() == 1) continue;
      const double value = mended.change(v);
      ASSERT_EQ(value, mended.mender.value());
      ASSERT_NO_FATAL_FAILURE(mended.check());
      if (kind >= 4 && v != root) {
        ASSERT_EQ(mended.mender.root(), root) << "it stays as long as it takes part";
      }
    }
  }
}

TEST(Mend, DownToOneAndUpAgain) {
  Random made(30, 3, 1);
  Mended mended(made.problem, true, {7});
  for (uint16_t v = 0; v < 30; ++v) {
    if (v != 7) mended.change(v);
    ASSERT_NO_FATAL_FAILURE(mended.check());
  }
  EXPECT_EQ(mended.mender.count(), 30u);
  for (uint16_t k = 0; k < 29; ++k) {
    mended.change(mended.mender.root());
    ASSERT_NO_FATAL_FAILURE(mended.check());
  }
  EXPECT_EQ(mended.mender.count(), 1u);
  EXPECT_EQ(mended.mender.value(), 0);
  EXPECT_EQ(mended.mender.gap(), 0);
  const uint16_t last = mended.mender.root();
  EXPECT_EQ(mended.mender.leave(last), 0) << "somebody has to stay";
  EXPECT_TRUE(mended.mender.is_member(last));
  EXPECT_EQ(mended.mender.join(last), 0) << "in already";
  EXPECT_EQ(mended.mender.count(), 1u);
}

TEST(Mend, TheBoundIsOne) {
  for (uint32_t seed = 0; seed < 160; ++seed) {
    const uint32_t n = 14;
    Random made(n, seed, seed);
    const bool free_root = seed % 8 < 4;
    Mended mended(made.problem, free_root, {3, 1});
    std::mt19937 random(seed);
    for (int round = 0; round < 30; ++round) {
      const auto v = static_cast<uint16_t>(random() % n);
      if (mended.in[v] ? mended.mender.count() == 1 : mended.mender.count() == 8) continue;
      mended.change(v);
      const std::vector<uint16_t> members = mended.members();
      Subset subset(made.problem, members);
      const auto root =
          static_cast<int>(std::find(members.begin(), members.end(), mended.mender.root()) - members.begin());
      char* const start = mended.arena.mark();
      Tree tree;
      double optimum = 0;
      ASSERT_EQ(exact_tree(subset.problem, free_root ? -1 : root, {}, mended.arena, &tree, &optimum), 0);
      mended.arena.rewind(start);
      ASSERT_LE(mended.mender.bound(), optimum) << "seed " << seed << ", " << members.size() << " members";
      ASSERT_GE(mended.mender.value(), optimum * (1 - 1e-6));
    }
  }
}

// Where everybody is alike the postal model is the truth, and the bound the optimum.
TEST(Mend, TheBoundIsTightAmongEquals) {
  Random made(12, 2, 1);
  Mended mended(made.problem, true, {0});
  for (uint16_t v = 1; v < 12; ++v) {
    mended.change(v);
    EXPECT_NEAR(mended.mender.gap(), 0, 1e-5) << v;
  }
}

class MendOnMachine : public testing::TestWithParam<TestMachine> {};
std::string name_of(const testing::TestParamInfo<TestMachine>& info) { return info.param.name; }

// After each change near what a search from the beginning finds: on the machines 2 % above it in the mean, 30 % at
// worst.
TEST_P(MendOnMachine, StaysNearAFreshSearch) {
  for (const bool overlap : {false, true}) {
    for (Direction direction : kDirections) {
      MappedArena arena(kBlockBytes);
      const Costs costs = overlap ? GetParam().overlap(arena) : GetParam().paper(arena);
      TreeProblem problem;
      ASSERT_EQ(make_problem(costs, direction, arena, &problem), 0);
      std::vector<uint16_t> begin = random_subset(problem.n, (problem.n + 1) / 2, 1);
      Subset first(problem, begin);
      OptimiseSettings settings;
      settings.moves = 5000;
      Tree tree;
      double value = 0;
      ASSERT_EQ(optimise_tree(first.problem, -1, settings, arena, &tree, &value), 0);
      Mended mended(problem, true, begin);
      mended.mender.load(tree, begin.data());
      EXPECT_EQ(mended.mender.value(), value);
      std::mt19937 random(1);
      double sum = 0, worst = 0;
      constexpr int kRounds = 40, kLooks = 10;
      for (int round = 0; round < kRounds; ++round) {
        const auto v = static_cast<uint16_t>(random() % problem.n);
        if (mended.in[v] && mended.mender.count() == 1) continue;
        mended.change(v);
        ASSERT_NO_FATAL_FAILURE(mended.check());
        if (round % (kRounds / kLooks) != 0) continue;
        Subset now(problem, mended.members());
        char* const start = arena.mark();
        Tree fresh;
        double best = 0;
        ASSERT_EQ(optimise_tree(now.problem, -1, settings, arena, &fresh, &best), 0);
        arena.rewind(start);
        const double ratio = best > 0 ? mended.mender.value() / best : 1;
        sum += ratio / kLooks;
        worst = std::max(worst, ratio);
      }
      // Costs that know no groups leave hill climbing the most to miss.
      const bool wild = GetParam().name.starts_with("random");
      EXPECT_LE(sum, wild ? 1.8 : 1.35);
      EXPECT_LE(worst, wild ? 3.0 : 1.6);
    }
  }
}
TEST_P(MendOnMachine, TheBoundIsOneAndSaysSomething) {
  for (const bool overlap : {false, true}) {
    for (Direction direction : kDirections) {
      for (uint32_t seed = 1; seed <= 3; ++seed) {
        MappedArena arena(kBlockBytes);
        const Costs costs = overlap ? GetParam().overlap(arena) : GetParam().paper(arena);
        TreeProblem problem;
        ASSERT_EQ(make_problem(costs, direction, arena, &problem), 0);
        // One more than are left, so that the bound has been mended too.
        std::vector<uint16_t> members = random_subset(problem.n, std::min(11u, problem.n), seed);
        Mended mended(problem, seed % 2 == 0, members);
        mended.change(members.front());
        members = mended.members();
        const Subset subset(problem, members);
        const auto root =
            static_cast<int>(std::find(members.begin(), members.end(), mended.mender.root()) - members.begin());
        Tree tree;
        double optimum = 0;
        ASSERT_EQ(exact_tree(subset.problem, seed % 2 == 0 ? -1 : root, {}, arena, &tree, &optimum), 0);
        EXPECT_LE(mended.mender.bound(), optimum);
        EXPECT_GE(mended.mender.bound(), 0.25 * optimum);
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, MendOnMachine, testing::ValuesIn(machines()), name_of);

TEST(Mend, ASmallArenaIsAnErrorAndNothingIsLeft) {
  Random made(40, 0, 1);
  MappedArena whole(1 << 20);
  for (size_t bytes = 0; bytes < size_t{1} << 17; bytes += 250) {
    Arena part(whole.make<char>(0), bytes);
    const size_t left = part.left();
    Mender mender;
    const int error = mender.make(made.problem, true, part);
    if (error == 0) return;
    EXPECT_EQ(error, -ENOMEM);
    EXPECT_EQ(part.left(), left);
  }
  ADD_FAILURE() << "128 KiB are enough for 40";
}

}  // namespace
