#include "generate/exact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "machines.h"
#include "schedule/choose.h"
#include "schedule/predict.h"

using namespace smelt;
using namespace smelt::test;

namespace {

constexpr Direction kDirections[] = {Direction::kBroadcast, Direction::kReduce};
constexpr double kRounding = 2e-6;  // relative: what exact.h allows for searching in float, and some more

// A problem made up here, with no machine behind it.
struct Made {
  uint32_t n;
  std::vector<float> edge, busy;
  std::vector<uint16_t> node;

  TreeProblem problem() const { return {n, Direction::kBroadcast, edge.data(), busy.data(), node.data(), node.data()}; }
};

struct Kind {
  const char* name;
  std::function<float(std::mt19937&)> draw;  // busy, and what edge is more than that
};

float uniform(std::mt19937& random, float low, float high) {
  return std::uniform_real_distribution<float>(low, high)(random);
}

const Kind kKinds[] = {
    {"any", [](std::mt19937& random) { return uniform(random, 0, 100); }},
    {"half of them zero", [](std::mt19937& random) { return random() % 2 ? 0 : uniform(random, 0, 100); }},
    {"all zero", [](std::mt19937&) { return 0.0f; }},
    {"all alike", [](std::mt19937&) { return 100.0f; }},
    {"small integers", [](std::mt19937& random) { return static_cast<float>(random() % 4); }},
    {"huge ratios", [](std::mt19937& random) { return std::pow(10.0f, uniform(random, -9, 9)); }},
    {"near and far", [](std::mt19937& random) { return (random() % 2 ? 1 : 10) * uniform(random, 50, 60); }},
    {"long waits",
     [](std::mt19937& random) { return random() % 3 ? uniform(random, 0, 1) : uniform(random, 50, 100); }},
};

Made make(const Kind& kind, uint32_t n, uint32_t seed, bool symmetric = false) {
  std::mt19937 random(seed);
  Made made{n, std::vector<float>(n * n), std::vector<float>(n * n), std::vector<uint16_t>(n)};
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t j = 0; j < n; ++j) {
      if (i == j) continue;
      made.busy[i * n + j] = kind.draw(random);
      made.edge[i * n + j] = made.busy[i * n + j] + kind.draw(random);
      if (!symmetric || j > i) continue;
      made.busy[i * n + j] = made.busy[j * n + i];
      made.edge[i * n + j] = made.edge[j * n + i];
    }
  }
  return made;
}

// By the definition in problem.h: every order of every node's children. parent[root] is root.
double value_by_orders(const TreeProblem& problem, const std::vector<uint32_t>& parent, uint32_t v) {
  std::vector<uint32_t> order;
  std::vector<double> below(problem.n);
  for (uint32_t c = 0; c < problem.n; ++c) {
    if (c == v || parent[c] != v) continue;
    order.push_back(c);
    below[c] = value_by_orders(problem, parent, c);
  }
  double least = order.empty() ? 0 : std::numeric_limits<double>::infinity();
  do {
    double sent = 0, value = 0;
    for (uint32_t c : order) {
      value = std::max(value, sent + problem.edge_of(v, c) + below[c]);
      sent += problem.busy_of(v, c);
    }
    least = std::min(least, value);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

// Every tree there is: every choice of a parent for everybody but the root, those with a loop left out.
double least_of_all_trees(const TreeProblem& problem, uint32_t root) {
  const uint32_t n = problem.n;
  double least = std::numeric_limits<double>::infinity();
  std::vector<uint32_t> parent(n, 0);
  parent[root] = root;
  for (;;) {
    bool tree = true;
    for (uint32_t i = 0; i < n && tree; ++i) {
      uint32_t up = i;
      for (uint32_t steps = 0; steps < n && up != root; ++steps) up = parent[up];
      tree = up == root && (i == root || parent[i] != i);
    }
    if (tree) least = std::min(least, value_by_orders(problem, parent, root));
    uint32_t digit = 0;
    for (; digit < n; ++digit) {
      if (digit == root) continue;
      if (++parent[digit] < n) break;
      parent[digit] = 0;
    }
    if (digit == n) return least;
  }
}

// The recurrence at the head of exact.cc as it stands there, for all roots. By what is left after c: out[v] =
// f[v][all].
std::vector<double> by_plain_recurrence(const TreeProblem& problem) {
  const uint32_t n = problem.n, sets = 1u << n;
  std::vector<std::vector<double>> f(n, std::vector<double>(sets, 0));
  for (uint32_t set = 1; set < sets; ++set) {
    for (uint32_t v = 0; v < n; ++v) {
      if (set >> v & 1) continue;
      double least = std::numeric_limits<double>::infinity();
      for (uint32_t part = set; part != 0; part = (part - 1) & set) {
        const double rest = f[v][set ^ part];
        for (uint32_t c = 0; c < n; ++c) {
          if (!(part >> c & 1)) continue;
          least =
              std::min(least, std::max(problem.edge_of(v, c) + f[c][part ^ (1u << c)], problem.busy_of(v, c) + rest));
        }
      }
      f[v][set] = least;
    }
  }
  std::vector<double> all(n);
  for (uint32_t v = 0; v < n; ++v) all[v] = f[v][(sets - 1) ^ (1u << v)];
  return all;
}

struct Found {
  int error = 0;
  Tree tree;
  double value = -1;
};

Found search(const TreeProblem& problem, int root, Arena& arena) {
  Found found;
  found.error = exact_tree(problem, root, {}, arena, &found.tree, &found.value);
  return found;
}

// The search, and what holds of every result.
Found checked_search(const TreeProblem& problem, int root, Arena& arena, const std::string& where) {
  const Found found = search(problem, root, arena);
  EXPECT_EQ(found.error, 0) << where;
  if (found.error != 0) return found;
  EXPECT_TRUE(is_spanning(found.tree)) << where;
  EXPECT_EQ(found.tree.n, problem.n) << where;
  if (root >= 0) {
    EXPECT_EQ(found.tree.root, root) << where;
  }
  Tree copy;
  EXPECT_EQ(make_tree(problem.n, found.tree.root, arena, &copy), 0);
  copy_tree(found.tree, copy);
  std::vector<double> scratch(2 * problem.n);
  std::vector<uint16_t> order(2 * problem.n);
  EXPECT_EQ(sort_and_value(problem, copy, scratch.data(), order.data()), found.value) << where;
  EXPECT_TRUE(std::equal(copy.next, copy.next + copy.n, found.tree.next)) << "not in the best order: " << where;
  return found;
}

void expect_near(double value, double wanted, const std::string& where) {
  EXPECT_NEAR(value, wanted, kRounding * wanted) << where;
}

// From every root, and from the best.
void expect_values(const TreeProblem& problem, const std::vector<double>& wanted, const std::string& where) {
  MappedArena arena(kBlockBytes);
  for (uint32_t root = 0; root < problem.n; ++root) {
    const std::string whence = where + " from " + std::to_string(root);
    expect_near(checked_search(problem, static_cast<int>(root), arena, whence).value, wanted[root], whence);
  }
  const Found best = checked_search(problem, -1, arena, where);
  expect_near(best.value, *std::min_element(wanted.begin(), wanted.end()), where);
  expect_near(best.value, wanted[best.tree.root], where);
}

TEST(Exact, IsTheLeastOfAllTreesInAllOrders) {
  for (const Kind& kind : kKinds) {
    for (bool symmetric : {false, true}) {
      for (uint32_t n = 1; n <= 5; ++n) {
        for (uint32_t seed = 0; seed < (n < 5 ? 10u : 20u); ++seed) {
          const Made made = make(kind, n, 100 * n + seed, symmetric);
          std::vector<double> wanted;
          for (uint32_t root = 0; root < n; ++root) wanted.push_back(least_of_all_trees(made.problem(), root));
          expect_values(made.problem(), wanted,
                        std::string(kind.name) + ", " + std::to_string(n) + ", seed " + std::to_string(seed));
        }
      }
    }
  }
}

TEST(Exact, IsWhatThePlainRecurrenceFinds) {
  for (const Kind& kind : kKinds) {
    for (uint32_t n = 6; n <= 10; ++n) {
      const Made made = make(kind, n, n);
      expect_values(made.problem(), by_plain_recurrence(made.problem()),
                    std::string(kind.name) + ", " + std::to_string(n));
    }
  }
  const Made made = make(kKinds[0], 12, 1);
  expect_values(made.problem(), by_plain_recurrence(made.problem()), "12");
}

// A. Bar-Noy, S. Kipnis, "Designing Broadcasting Algorithms in the Postal Model" (1992): with a message on its way for
// `latency` sends' time, N(t) = N(t - 1) + N(t - latency) are informed after t, and no more can be.
TEST(Exact, IsTheFibonacciTreeInThePostalModel) {
  for (uint32_t latency : {1u, 2u, 3u, 5u, 40u}) {
    for (uint32_t n : {2u, 3u, 4u, 5u, 8u, 9u, 13u, 14u, 16u}) {
      if (n > 13 && latency != 2) continue;
      Made made = make(kKinds[3], n, 1);
      for (uint32_t i = 0; i < n * n; ++i) made.edge[i] = i % (n + 1) ? static_cast<float>(latency) : 0;
      for (uint32_t i = 0; i < n * n; ++i) made.busy[i] = i % (n + 1) ? 1 : 0;
      std::vector<uint32_t> informed{1};
      while (informed.back() < n) {
        const size_t t = informed.size();
        informed.push_back(informed[t - 1] + (t >= latency ? informed[t - latency] : 0));
      }
      MappedArena arena(kBlockBytes);
      const Found found = checked_search(made.problem(), -1, arena, std::to_string(n));
      EXPECT_EQ(found.value, static_cast<double>(informed.size() - 1)) << n << " at " << latency;
      EXPECT_EQ(found.tree.root, 0) << "of equals the lowest";
    }
  }
}

double predicted(const Tree& tree, Direction direction, const Costs& costs, Arena& arena) {
  Schedule schedule;
  Prediction prediction;
  const int error = direction == Direction::kBroadcast ? broadcast_schedule(tree, arena, &schedule)
                                                       : reduce_schedule(tree, arena, &schedule);
  EXPECT_EQ(error, 0);
  EXPECT_EQ(predict(schedule, costs, arena, &prediction), 0);
  return prediction.makespan;
}

void expect_no_pattern_better(const Costs& costs, Direction direction, int root, double value, Arena& arena,
                              const std::string& where) {
  const Operation op = direction == Direction::kBroadcast ? Operation::kBroadcast : Operation::kReduce;
  for (const PatternInfo& info : pattern_registry()) {
    // By lines that several poll a broadcast may be cheaper than by any tree of messages.
    if (!info.tree || (is_by_lines(info) && op == Operation::kBroadcast)) continue;
    std::vector<uint32_t> arguments{info.default_argument};
    if (info.argument) arguments = {1, 2, 3, 4, 8};
    for (uint32_t argument : arguments) {
      char* const mark = arena.mark();
      Choice choice;
      ASSERT_EQ(build({&info, argument}, op, root, costs, arena, &choice), 0) << info.name << ": " << where;
      EXPECT_LE(value, choice.predicted * (1 + kRounding)) << info.name << ':' << argument << ": " << where;
      arena.rewind(mark);
    }
  }
}

// Returns the value from the best root.
double expect_best_on(const Costs& costs, Direction direction, const std::string& where) {
  MappedArena arena(kBlockBytes);
  TreeProblem problem;
  EXPECT_EQ(make_problem(costs, direction, arena, &problem), 0);
  double least = 0;
  for (int root : {-1, 0, static_cast<int>(costs.n) - 1}) {
    const Found found = checked_search(problem, root, arena, where);
    if (found.error != 0) return 0;
    EXPECT_NEAR(predicted(found.tree, direction, costs, arena), found.value, 1e-6 * found.value) << where;
    expect_no_pattern_better(costs, direction, root, found.value, arena, where);
    if (root < 0) least = found.value;
    EXPECT_LE(least, found.value * (1 + kRounding)) << "the best root is not: " << where;
  }
  return least;
}

TEST(Exact, IsWhatIsPredictedAndNoPatternIsBetter) {
  for (const TestMachine& machine : machines()) {
    MappedArena arena(kBlockBytes);
    for (uint32_t size : {1u, 2u, 4u, 7u, 9u, 11u}) {
      const auto members = random_subset(machine.n, size, 31 * machine.n + size);
      for (bool paper : {true, false}) {
        Costs part;
        ASSERT_EQ(subset_costs(paper ? machine.paper(arena) : machine.overlap(arena), members, arena, &part), 0);
        for (Direction direction : kDirections) {
          expect_best_on(part, direction,
                         machine.name + ", " + std::to_string(size) + (paper ? ", paper" : ", overlap") +
                             (direction == Direction::kBroadcast ? ", broadcast" : ", reduction"));
        }
      }
    }
  }
}

TEST(Exact, TheLargestProblemIsServed) {
  MappedArena arena(kBlockBytes);
  const TestMachine* const machine = find_machine("spread_2x10");
  ASSERT_TRUE(machine);
  Costs part;
  ASSERT_EQ(subset_costs(machine->paper(arena), random_subset(machine->n, kMostExact, 1), arena, &part), 0);
  EXPECT_GT(expect_best_on(part, Direction::kReduce, machine->name), 0);
}

TEST(Exact, TheBestRootIsTheLowestOfThoseNoWorseThanAnother) {
  for (const Kind& kind : kKinds) {
    for (uint32_t seed = 0; seed < 10; ++seed) {
      MappedArena arena(kBlockBytes);
      const Made made = make(kind, 8, seed);
      const Found best = checked_search(made.problem(), -1, arena, kind.name);
      for (int root = 0; root < 8; ++root) {
        const Found other = search(made.problem(), root, arena);
        EXPECT_LE(best.value, other.value * (1 + kRounding)) << kind.name;
        if (root < best.tree.root) {
          EXPECT_GT(other.value, best.value * (1 - kRounding)) << kind.name;
        }
        if (root == best.tree.root) {
          expect_near(other.value, best.value, kind.name);
        }
      }
    }
  }
  MappedArena arena(kBlockBytes);
  EXPECT_EQ(search(make(kKinds[2], 9, 1).problem(), -1, arena).tree.root, 0);
  EXPECT_EQ(search(make(kKinds[3], 9, 1).problem(), -1, arena).tree.root, 0);
}

TEST(Exact, OneAndTwo) {
  MappedArena arena(kBlockBytes);
  const Made one = make(kKinds[0], 1, 1);
  EXPECT_EQ(checked_search(one.problem(), -1, arena, "one").value, 0);
  EXPECT_EQ(checked_search(one.problem(), 0, arena, "one").value, 0);
  Made two = make(kKinds[0], 2, 1);
  two.edge = {0, 9, 8, 0};
  two.busy = {0, 9, 1, 0};
  EXPECT_EQ(checked_search(two.problem(), 0, arena, "two").value, 9);
  EXPECT_EQ(checked_search(two.problem(), 1, arena, "two").value, 8);
  EXPECT_EQ(checked_search(two.problem(), -1, arena, "two").tree.root, 1);
}

TEST(Exact, SumsBeyondFloatAreHeld) {
  MappedArena arena(kBlockBytes);
  const float large = std::numeric_limits<float>::max();
  Made made = make(kKinds[3], 8, 1);
  for (uint32_t i = 0; i < 64; ++i) made.edge[i] = made.busy[i] = i % 9 ? large : 0;
  EXPECT_EQ(checked_search(made.problem(), -1, arena, "large").value, 3.0 * large);  // 8 = 2^3, as in a binomial tree
}

TEST(Exact, EndsEvenWithCostsThatAreNotFinite) {
  MappedArena arena(kBlockBytes);
  Made made = make(kKinds[0], 6, 1);
  std::fill(made.edge.begin(), made.edge.end(), std::numeric_limits<float>::infinity());
  for (int root : {-1, 3}) {
    const Found found = search(made.problem(), root, arena);
    EXPECT_EQ(found.error, 0);
    EXPECT_TRUE(is_spanning(found.tree));
  }
}

TEST(Exact, WhatCannotBeIsRefused) {
  MappedArena arena(kBlockBytes);
  const size_t left = arena.left();
  const Made made = make(kKinds[0], 5, 1), large = make(kKinds[0], kMostExact + 1, 1);
  EXPECT_EQ(search(made.problem(), 5, arena).error, -EINVAL);
  EXPECT_EQ(search(made.problem(), -2, arena).error, -EINVAL);
  EXPECT_EQ(search(made.problem(), 70000, arena).error, -EINVAL);
  EXPECT_EQ(search(TreeProblem{}, -1, arena).error, -EINVAL);
  EXPECT_EQ(search(large.problem(), -1, arena).error, -ERANGE);
  EXPECT_EQ(search(large.problem(), 70000, arena).error, -ERANGE);
  EXPECT_EQ(exact_bytes(kMostExact + 1), 0u);
  EXPECT_EQ(arena.left(), left);
}

TEST(Exact, TheArenaIsEnoughOrReportedAndOnlyTheTreeStays) {
  for (uint32_t n = 1; n <= 12; ++n) {
    const Made made = make(kKinds[0], n, n);
    for (int root = -1; root < static_cast<int>(n); ++root) {
      std::vector<char> memory(exact_bytes(n) + 1);
      for (size_t bytes : {size_t{0}, size_t{8} * n, exact_bytes(n) / 5}) {
        Arena small(memory.data() + 1, bytes);
        EXPECT_EQ(search(made.problem(), root, small).error, -ENOMEM) << n << " in " << bytes;
        EXPECT_EQ(small.left(), bytes);
      }
      Arena enough(memory.data() + 1, exact_bytes(n));
      EXPECT_EQ(search(made.problem(), root, enough).error, 0) << n << " from " << root;
      EXPECT_GE(enough.left() + 8 * n + alignof(uint16_t), exact_bytes(n));
    }
  }
}

TEST(Exact, ALimitEndsTheSearch) {
  MappedArena arena(kBlockBytes);
  const size_t left = arena.left();
  const Made made = make(kKinds[0], kMostExact, 1), small = make(kKinds[0], 3, 1);
  Tree tree;
  double value = -1;
  std::atomic<bool> stop{true};
  for (const SearchLimits& limits :
       {SearchLimits{1, nullptr}, SearchLimits{0, &stop}, SearchLimits{os::now_ns() + 2000000, nullptr}}) {
    EXPECT_EQ(exact_tree(made.problem(), -1, limits, arena, &tree, &value), -EINTR);
    EXPECT_EQ(arena.left(), left);
    EXPECT_EQ(tree.n, 0u);
    EXPECT_EQ(value, -1);
  }
  EXPECT_EQ(exact_tree(small.problem(), 0, {0, &stop}, arena, &tree, &value), -EINTR);
  stop = false;
  const SearchLimits far{os::now_ns() + int64_t{3600} * 1000000000, &stop};
  EXPECT_EQ(exact_tree(small.problem(), -1, far, arena, &tree, &value), 0);
}

TEST(Exact, TheSameAgain) {
  for (const Kind& kind : kKinds) {
    MappedArena arena(kBlockBytes);
    const Made made = make(kind, 9, 3);
    const Found once = search(made.problem(), -1, arena);
    arena.make<char>(12345);
    const Found again = search(made.problem(), -1, arena);
    ASSERT_EQ(again.error, 0);
    EXPECT_EQ(once.value, again.value);
    EXPECT_EQ(once.tree.root, again.tree.root);
    EXPECT_TRUE(std::equal(once.tree.parent, once.tree.parent + 9, again.tree.parent)) << kind.name;
    EXPECT_TRUE(std::equal(once.tree.next, once.tree.next + 9, again.tree.next)) << kind.name;
  }
}

}  // namespace
