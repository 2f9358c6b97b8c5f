#include "generate/optimise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <string>
#include <vector>

#include "base/os/os.h"
#include "generate/registry.h"
#include "generate/tree_editor.h"
#include "machines.h"
#include "schedule/predict.h"

using namespace smelt;
using namespace smelt::test;

namespace {

constexpr Direction kDirections[] = {Direction::kBroadcast, Direction::kReduce};

bool same(const Tree& a, const Tree& b) {
  return a.n == b.n && a.root == b.root && std::equal(a.parent, a.parent + a.n, b.parent) &&
         std::equal(a.first, a.first + a.n, b.first) && std::equal(a.next, a.next + a.n, b.next);
}

double revalued(const TreeProblem& problem, Tree& tree) {
  std::vector<double> scratch(2 * problem.n);
  std::vector<uint16_t> order(2 * problem.n);
  return sort_and_value(problem, tree, scratch.data(), order.data());
}

double predicted(const Tree& tree, Direction direction, const Costs& costs, Arena& arena) {
  Schedule schedule;
  Prediction prediction;
  const int error = direction == Direction::kBroadcast ? broadcast_schedule(tree, arena, &schedule)
                                                       : reduce_schedule(tree, arena, &schedule);
  if (error != 0 || predict(schedule, costs, arena, &prediction) != 0) return -1;
  return direction == Direction::kBroadcast ? prediction.makespan : prediction.done[tree.root];
}

// Matrices of any kind: `kind` chooses zeros, huge ratios, asymmetry, all alike.
struct Random {
  std::vector<float> edge, busy;
  std::vector<uint16_t> group;
  TreeProblem problem;

  Random(uint32_t n, uint32_t kind, uint32_t seed) : edge(n * n), busy(n * n), group(n) {
    std::mt19937 random(seed);
    for (uint32_t v = 0; v < n; ++v) group[v] = static_cast<uint16_t>(random() % (1 + n / 4));
    for (uint32_t v = 0; v < n; ++v) {
      for (uint32_t c = 0; c < n; ++c) {
        if (v == c) continue;
        const size_t at = v * n + c;
        const float draw = static_cast<float>(random() % 1000 + 1);
        switch (kind % 5) {
          case 0: busy[at] = draw, edge[at] = draw + static_cast<float>(random() % 1000); break;
          case 1: busy[at] = random() % 2 ? 0 : draw, edge[at] = random() % 2 ? busy[at] : busy[at] + draw; break;
          case 2:
            busy[at] = draw * (random() % 3 ? 1e-6f : 1e6f), edge[at] = busy[at] * (random() % 2 ? 1 : 1000);
            break;
          case 3: busy[at] = 30, edge[at] = 100; break;
          case 4: busy[at] = 30, edge[at] = group[v] == group[c] ? 100 : 100 + draw; break;
        }
      }
    }
    problem = {n, Direction::kBroadcast, edge.data(), busy.data(), group.data(), group.data()};
  }
};

// ---- the editor ---------------------------------------------------------------------------------------------------

// Every edit leaves what a fresh valuation of the stored tree finds, and undo() what was there before.
TEST(TreeEditor, ValuesAndUndoAreExact) {
  for (uint32_t kind = 0; kind < 5; ++kind) {
    const uint32_t n = 17;
    Random made(n, kind, kind + 1);
    MappedArena arena(1 << 20);
    Tree tree, before, after;
    ASSERT_EQ(make_tree(n, 3, arena, &tree), 0);
    ASSERT_EQ(make_tree(n, 3, arena, &before), 0);
    ASSERT_EQ(make_tree(n, 3, arena, &after), 0);
    for (uint16_t v = 0; v < n; ++v) {
      if (v != 3) append_child(tree, v == 0 || v % 5 == 0 ? 3 : (v / 2 == 3 || v < 2 ? 0 : v / 2), v);
    }
    ASSERT_TRUE(is_spanning(tree));
    revalued(made.problem, tree);
    TreeEditor editor;
    ASSERT_EQ(editor.make(made.problem, arena), 0);
    editor.load(tree);
    editor.store(before);
    EXPECT_TRUE(same(tree, before));
    std::mt19937 random(kind);
    for (int round = 0; round < 4000; ++round) {
      const auto a = static_cast<uint16_t>(random() % n), b = static_cast<uint16_t>(random() % n);
      if (a == b) continue;
      editor.store(before);
      const double value = editor.value();
      switch (random() % 4) {
        case 0:
          if (a == editor.root() || editor.below(a, b)) continue;
          editor.relocate(a, b);
          break;
        case 1: editor.swap_labels(a, b); break;
        case 2:
          if (editor.below(a, b) || editor.below(b, a)) continue;
          editor.swap_subtrees(a, b);
          break;
        case 3:
          if (a == editor.root()) continue;
          editor.move_alone(a, b);
          break;
      }
      editor.store(after);
      ASSERT_TRUE(is_spanning(after));
      const double fresh = editor.value();
      Tree sorted = after;
      ASSERT_EQ(revalued(made.problem, sorted), fresh);
      editor.store(after);
      ASSERT_TRUE(same(sorted, after)) << "the lists stand in the best order";
      if (random() % 2) {
        editor.keep();
        continue;
      }
      editor.undo();
      editor.store(after);
      ASSERT_TRUE(same(before, after));
      ASSERT_EQ(editor.value(), value);
    }
  }
}

// ---- the result ---------------------------------------------------------------------------------------------------

// Never above a registered pattern that it was handed, nor far above without; what it says it costs is what it costs.
class OptimiseOnMachine : public testing::TestWithParam<TestMachine> {};
std::string name_of(const testing::TestParamInfo<TestMachine>& info) { return info.param.name; }

TEST_P(OptimiseOnMachine, IsNeverAboveAPatternAndPricedRight) {
  for (bool overlap : {false, true}) {
    for (Direction direction : kDirections) {
      MappedArena arena(kBlockBytes);
      const Costs costs = overlap ? GetParam().overlap(arena) : GetParam().paper(arena);
      TreeProblem problem;
      ASSERT_EQ(make_problem(costs, direction, arena, &problem), 0);
      double least = 0;
      std::vector<Tree> patterns;
      for (const PatternInfo& info : pattern_registry()) {
        if (!info.tree) continue;
        Tree tree;
        ASSERT_EQ(info.tree(costs, info.default_argument, -1, arena, &tree), 0);
        const double value = revalued(problem, tree);
        if (patterns.empty() || value < least) least = value;
        patterns.push_back(tree);
      }
      std::vector<const Tree*> starts;
      for (const Tree& tree : patterns) starts.push_back(&tree);
      OptimiseSettings settings;
      settings.moves = 20000;
      Tree tree;
      double value = -1;
      ASSERT_EQ(optimise_tree(problem, -1, settings, arena, &tree, &value), 0);
      EXPECT_LE(value, 1.05 * least) << "on its own, with few moves";
      settings.starts = starts;
      settings.moves = 0;
      ASSERT_EQ(optimise_tree(problem, -1, settings, arena, &tree, &value), 0);
      EXPECT_LE(value, least) << "greedy, with starts";
      ASSERT_TRUE(is_spanning(tree));
      EXPECT_EQ(revalued(problem, tree), value);
      EXPECT_NEAR(predicted(tree, direction, costs, arena), value, 1e-4 * value);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, OptimiseOnMachine, testing::ValuesIn(machines()), name_of);

TEST(Optimise, RandomMatrices) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const uint32_t n = 1 + seed % 23;
    Random made(n, seed / 23, seed);
    const int root = seed % 3 == 0 ? -1 : static_cast<int>(seed % n);
    MappedArena arena(1 << 22);
    OptimiseSettings settings;
    settings.moves = 2000;
    settings.seed = seed;
    Tree tree, greedy;
    double value = -1, greedy_value = -1;
    ASSERT_EQ(optimise_tree(made.problem, root, settings, arena, &tree, &value), 0);
    ASSERT_TRUE(is_spanning(tree));
    EXPECT_EQ(revalued(made.problem, tree), value);
    if (root >= 0) {
      EXPECT_EQ(tree.root, root);
    }
    settings.moves = 0;
    ASSERT_EQ(optimise_tree(made.problem, root, settings, arena, &greedy, &greedy_value), 0);
    EXPECT_LE(value, greedy_value) << "annealing starts there";
  }
}

TEST(Optimise, SameSeedSameTree) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 4, 8, 60, 250, 0.5f, 4).paper(arena);
  TreeProblem problem;
  ASSERT_EQ(make_problem(costs, Direction::kReduce, arena, &problem), 0);
  OptimiseSettings settings;
  settings.moves = 30000;
  for (uint64_t seed : {1u, 2u, 77u}) {
    settings.seed = seed;
    Tree first, second;
    double first_value = 0, second_value = 0;
    ASSERT_EQ(optimise_tree(problem, -1, settings, arena, &first, &first_value), 0);
    ASSERT_EQ(optimise_tree(problem, -1, settings, arena, &second, &second_value), 0);
    EXPECT_TRUE(same(first, second));
    EXPECT_EQ(first_value, second_value);
  }
}

TEST(Optimise, TheSmallest) {
  for (uint32_t n = 1; n <= 3; ++n) {
    for (int root = -1; root < static_cast<int>(n); ++root) {
      Random made(n, 0, n);
      MappedArena arena(1 << 20);
      Tree tree;
      double value = -1;
      ASSERT_EQ(optimise_tree(made.problem, root, {}, arena, &tree, &value), 0);
      ASSERT_TRUE(is_spanning(tree));
      if (n == 1) {
        EXPECT_EQ(value, 0);
      }
      if (n == 2) {
        const double down = made.edge[1], up = made.edge[2];
        EXPECT_EQ(value, root == 0 ? down : root == 1 ? up : std::min(down, up));
      }
    }
  }
  Random made(3, 0, 1);
  MappedArena arena(1 << 20);
  Tree tree;
  double value = -1;
  EXPECT_EQ(optimise_tree(made.problem, 3, {}, arena, &tree, &value), -EINVAL);
  EXPECT_EQ(optimise_tree(made.problem, -2, {}, arena, &tree, &value), -EINVAL);
  // Of three, the root tells both or one of them tells the other: six trees for each root.
  auto edge = [&](int v, int c) { return double{made.edge[v * 3 + c]}; };
  auto busy = [&](int v, int c) { return double{made.busy[v * 3 + c]}; };
  for (int r = 0; r < 3; ++r) {
    const int a = (r + 1) % 3, b = (r + 2) % 3;
    const double best =
        std::min({edge(r, a) + edge(a, b), edge(r, b) + edge(b, a), std::max(edge(r, a), busy(r, a) + edge(r, b)),
                  std::max(edge(r, b), busy(r, b) + edge(r, a))});
    ASSERT_EQ(optimise_tree(made.problem, r, {}, arena, &tree, &value), 0);
    EXPECT_NEAR(value, best, 1e-6 * best);
  }
}

TEST(Optimise, AFullArenaIsAnErrorAndNothingIsLeft) {
  Random made(40, 0, 1);
  MappedArena whole(1 << 20);
  for (size_t bytes = 0; bytes < size_t{1} << 17; bytes += 250) {
    Arena part(whole.make<char>(0), bytes);
    const size_t left = part.left();
    Tree tree;
    double value = -1;
    OptimiseSettings settings;
    settings.moves = 100;
    const int error = optimise_tree(made.problem, -1, settings, part, &tree, &value);
    if (error == 0) {
      EXPECT_GT(bytes, 4000u);
      EXPECT_TRUE(is_spanning(tree));
      EXPECT_LE(left - part.left(), 8u * 40 + 8) << "only the tree stays";
      return;
    }
    EXPECT_EQ(error, -ENOMEM);
    EXPECT_EQ(part.left(), left);
  }
  ADD_FAILURE() << "128 KiB are enough for 40";
}

TEST(Optimise, LimitsEndTheSearchButNotTheResult) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 8, 16, 60, 250, 0.5f, 4).paper(arena);
  TreeProblem problem;
  ASSERT_EQ(make_problem(costs, Direction::kBroadcast, arena, &problem), 0);
  Tree tree;
  double late = -1, stopped = -1, timed = -1;
  OptimiseSettings settings;
  settings.limits.deadline_ns = 1;  // long ago
  ASSERT_EQ(optimise_tree(problem, -1, settings, arena, &tree, &late), 0);
  EXPECT_TRUE(is_spanning(tree));
  const std::atomic<bool> stop = true;
  settings.limits = {0, &stop};
  ASSERT_EQ(optimise_tree(problem, -1, settings, arena, &tree, &stopped), 0);
  EXPECT_TRUE(is_spanning(tree));
  settings.limits = {os::now_ns() + 30'000'000, nullptr};
  settings.moves = 2'000'000'000;
  const int64_t begin = os::now_ns();
  ASSERT_EQ(optimise_tree(problem, -1, settings, arena, &tree, &timed), 0);
  EXPECT_LT(os::now_ns() - begin, 2'000'000'000) << "30 ms on a machine that may be busy";
  EXPECT_TRUE(is_spanning(tree));
  EXPECT_LE(timed, late);
  // A start that is handed in is a result at once.
  Tree start;
  ASSERT_EQ(make_tree(problem.n, 5, arena, &start), 0);
  for (uint16_t v = 0; v < problem.n; ++v) {
    if (v != 5) append_child(start, 5, v);
  }
  const Tree* const starts[] = {&start};
  settings.limits = {1, nullptr};
  settings.starts = starts;
  double value = -1;
  ASSERT_EQ(optimise_tree(problem, 5, settings, arena, &tree, &value), 0);
  EXPECT_EQ(revalued(problem, start), value);
  ASSERT_EQ(optimise_tree(problem, 6, settings, arena, &tree, &value), 0) << "a start with another root does not count";
  EXPECT_EQ(tree.root, 6);
}

}  // namespace
