#include "bench/lab/bounds/bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/os/os.h"
#include "bench/lab/bounds/bounds.h"
#include "bench/lab/bounds/cut_bound.h"
#include "generate/exact.h"
#include "generate/optimise.h"
#include "machines.h"
#include "schedule/choose.h"
#include "schedule/predict.h"
#include "schedule/schedule.h"
#include "schedule/validate.h"

using namespace smelt;
using namespace smelt::test;

namespace {

// All rooted trees of n participants, by their parents: the least value of them.
double brute_force(const TreeProblem& problem, int root) {
  const uint32_t n = problem.n;
  std::vector<double> scratch(2 * n);
  std::vector<uint16_t> order(2 * n);
  double least = -1;
  for (uint32_t r = root < 0 ? 0 : root; r < (root < 0 ? n : root + 1u); ++r) {
    std::vector<uint32_t> parent(n, 0);
    for (;;) {
      MappedArena arena(1 << 12);
      Tree tree;
      if (make_tree(n, static_cast<uint16_t>(r), arena, &tree) != 0) return -1;
      bool fine = true;
      for (uint32_t v = 0; v < n; ++v) {
        if (v == r) continue;
        fine &= parent[v] != v;
        append_child(tree, static_cast<uint16_t>(parent[v]), static_cast<uint16_t>(v));
      }
      if (fine && is_spanning(tree)) {
        const double value = sort_and_value(problem, tree, scratch.data(), order.data());
        if (least < 0 || value < least) least = value;
      }
      uint32_t v = 0;
      for (; v < n; ++v) {
        if (v == r) continue;
        if (++parent[v] < n) break;
        parent[v] = 0;
      }
      if (v == n) break;
    }
  }
  return least;
}

struct Made {
  std::vector<float> edge, busy;
  std::vector<uint16_t> node, llc;
  TreeProblem problem;

  Made(uint32_t n, uint32_t kind, uint32_t seed) : edge(n * n), busy(n * n), node(n), llc(n) {
    std::mt19937 random(seed);
    for (uint32_t v = 0; v < n; ++v) {
      node[v] = static_cast<uint16_t>(random() % 2);
      llc[v] = static_cast<uint16_t>(2 * node[v] + random() % 2);
    }
    for (uint32_t v = 0; v < n; ++v) {
      for (uint32_t c = 0; c < n; ++c) {
        if (v == c) continue;
        const size_t at = v * n + c;
        const float draw = static_cast<float>(random() % 1000 + 1);
        switch (kind) {
          case 0: busy[at] = draw, edge[at] = draw + static_cast<float>(random() % 1000); break;
          case 1: busy[at] = random() % 2 ? 0 : draw, edge[at] = random() % 2 ? busy[at] : busy[at] + draw; break;
          case 2:
            busy[at] = draw * (random() % 3 ? 1e-6f : 1e6f), edge[at] = busy[at] * (random() % 2 ? 1 : 1000);
            break;
          case 3: busy[at] = 30, edge[at] = 100; break;
          case 4: busy[at] = 30, edge[at] = llc[v] == llc[c] ? 50 : node[v] == node[c] ? 120 : 700; break;
          case 5: busy[at] = 0.01f * draw, edge[at] = 300; break;
          case 6: busy[at] = 0, edge[at] = 0; break;
        }
      }
    }
    problem = {n, Direction::kBroadcast, edge.data(), busy.data(), node.data(), llc.data()};
  }
};
constexpr uint32_t kKinds = 7;

std::vector<float> shortest_hops(const Costs& costs) {
  const uint32_t n = costs.n;
  std::vector<float> way(costs.hop, costs.hop + size_t{n} * n);
  for (uint32_t k = 0; k < n; ++k)
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t j = 0; j < n; ++j) way[i * n + j] = std::min(way[i * n + j], way[i * n + k] + way[k * n + j]);
  return way;
}

TEST(Bound, IsNeverAboveTheBestOfAllTrees) {
  MappedArena arena(kBlockBytes);
  for (uint32_t seed = 0; seed < 105; ++seed) {
    const uint32_t n = seed < 98 ? 1 + seed % 5 : 6;
    Made made(n, seed % kKinds, seed);
    for (int root : {-1, static_cast<int>(seed % n)}) {
      if (n == 6 && root < 0) continue;
      const double best = brute_force(made.problem, root), bound = lower_bound(made.problem, root, arena);
      EXPECT_LE(bound, best) << "kind " << seed % kKinds << " seed " << seed << " root " << root;
      EXPECT_GE(bound, 0);
      if (n <= 2) {
        EXPECT_NEAR(bound, best, 1e-2 * best);
      }
    }
  }
}

TEST(Bound, IsNeverAboveTheExactOptimum) {
  MappedArena arena(kBlockBytes);
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const uint32_t n = 7 + seed % 3;
    Made made(n, seed % kKinds, seed);
    for (int root : {-1, static_cast<int>(seed % n)}) {
      char* const mark = arena.mark();
      Tree tree;
      double best = 0;
      ASSERT_EQ(exact_tree(made.problem, root, {}, arena, &tree, &best), 0);
      EXPECT_LE(lower_bound(made.problem, root, arena), best * 1.000002)
          << "kind " << seed % kKinds << " seed " << seed;
      arena.rewind(mark);
    }
  }
}

// Of all sets of participants and the best tree to gather each: none has heard of more by then.
TEST(Heard, NobodyHasHeardOfMore) {
  constexpr uint32_t kCount = 64;
  MappedArena arena(kBlockBytes);
  for (uint32_t seed = 0; seed < 2 * kKinds; ++seed) {
    const uint32_t n = 6;
    const Made made(n, seed % kKinds, seed);
    Tree tree;
    double all = 0;
    ASSERT_EQ(exact_tree(made.problem, -1, {}, arena, &tree, &all), 0);
    const double range = 1.5 * all + 1;
    std::vector<float> most(kCount + 1, float{n});
    lower_heard(made.problem, range, kCount, most.data(), arena);
    EXPECT_TRUE(std::is_sorted(most.begin(), most.end()));
    if (seed % kKinds >= 3 && seed % kKinds <= 5) {
      EXPECT_LT(most[0], 1.01) << "kind " << seed % kKinds << ": it says something";
    }
    for (uint32_t set = 1; set < 1u << n; ++set) {
      std::vector<uint32_t> in;
      for (uint32_t v = 0; v < n; ++v)
        if (set >> v & 1) in.push_back(v);
      const uint32_t size = static_cast<uint32_t>(in.size());
      std::vector<float> edge, busy;
      for (uint32_t v : in) {
        for (uint32_t c : in) {
          edge.push_back(made.edge[v * n + c]);
          busy.push_back(made.busy[v * n + c]);
        }
      }
      const std::vector<uint16_t> zeros(size);
      const TreeProblem part{size, Direction::kReduce, edge.data(), busy.data(), zeros.data(), zeros.data()};
      char* const mark = arena.mark();
      double value = 0;
      ASSERT_EQ(exact_tree(part, -1, {}, arena, &tree, &value), 0);
      arena.rewind(mark);
      const auto sample = static_cast<uint32_t>(std::ceil(value * 1.000002 / range * kCount));
      if (sample <= kCount) {
        EXPECT_GE(most[sample], size) << "kind " << seed % kKinds << " seed " << seed << " set " << set;
      }
    }
  }
}

TEST(Bound, KnowsWhatIsKnown) {
  MappedArena arena(kBlockBytes);
  // Alike, an edge as long as the busy time: doubling. 70 take 7 rounds.
  const Costs costs = make_machine("m", 1, 70, 1, 1, 0, 1).paper(arena);
  TreeProblem problem;
  ASSERT_EQ(make_problem(costs, Direction::kBroadcast, arena, &problem), 0);
  std::vector<float> one(70 * 70, 100.0f);
  problem.edge = problem.busy = one.data();
  EXPECT_NEAR(lower_bound(problem, -1, arena), 700, 7);
  EXPECT_NEAR(lower_bound(problem, 5, arena), 700, 7);
  EXPECT_LE(lower_bound(problem, 5, arena), 700);
}

TEST(Bound, WithLittleMemoryItIsStillABound) {
  MappedArena whole(1 << 22);
  Made made(8, 0, 1);
  const double full = lower_bound(made.problem, 0, whole);
  for (size_t bytes : {0u, 100u, 1000u, 10000u}) {
    Arena part(whole.make<char>(0), bytes);
    EXPECT_LE(lower_bound(made.problem, 0, part), full);
    EXPECT_EQ(part.left(), bytes);
  }
}

// Ended early it says less, and nothing wrong.
TEST(Bound, LimitsEndIt) {
  MappedArena arena(kBlockBytes);
  const Costs costs = make_machine("m", 8, 16, 60, 250, 0.5f, 4).paper(arena);
  TreeProblem problem;
  ASSERT_EQ(make_problem(costs, Direction::kBroadcast, arena, &problem), 0);
  const double full = lower_bound(problem, -1, arena);
  std::atomic<bool> stop = true;
  const size_t left = arena.left();
  const int64_t begin = os::now_ns();
  const double stopped = lower_bound(problem, -1, arena, {0, &stop});
  EXPECT_LT(os::now_ns() - begin, 1'000'000'000) << "a millisecond or two, on a machine that may be busy";
  EXPECT_EQ(arena.left(), left);
  EXPECT_GT(stopped, 0);
  EXPECT_LT(stopped, full);
  EXPECT_LE(lower_bound(problem, -1, arena, {os::now_ns() + 20'000'000, nullptr}), full);
  stop = false;
  EXPECT_EQ(lower_bound(problem, -1, arena, {0, &stop}), full);
  // Of ways that are not yet the shortest nothing can be said, but something of the tree to gather.
  stop = true;
  const double barrier = price_bound(costs, Operation::kBarrier, -1, arena);
  EXPECT_GT(barrier, price_bound(costs, Operation::kBarrier, -1, arena, {0, &stop}));
  EXPECT_GT(price_bound(costs, Operation::kBarrier, -1, arena, {0, &stop}), 0);
  EXPECT_EQ(price_bound(costs, Operation::kBroadcast, -1, arena, {0, &stop}, true), 0);
}

// The least price of all exchanges of three participants in two rounds that are barriers, or of many at random among
// more.
double least_exchange(const Costs& costs, Arena& arena, std::mt19937& random) {
  const uint32_t n = costs.n;
  std::vector<RoundMessage> pairs;
  for (uint16_t i = 0; i < n; ++i)
    for (uint16_t j = 0; j < n; ++j)
      if (i != j) pairs.push_back({0, i, j});
  const uint32_t sets = 1u << pairs.size(), tries = n == 3 ? sets * sets : 20000;
  double least = 1e30;
  for (uint32_t k = 0; k < tries; ++k) {
    char* const mark = arena.mark();
    const uint32_t rounds = n == 3 ? 2 : 1 + random() % 3;
    std::vector<RoundMessage> messages;
    for (uint16_t round = 0; round < rounds; ++round) {
      const uint32_t set = n == 3 ? (round ? k / sets : k % sets) : random() % sets | random() % sets;
      for (size_t m = 0; m < pairs.size(); ++m)
        if (set >> m & 1) messages.push_back({round, pairs[m].from, pairs[m].to});
    }
    Schedule schedule;
    const Exchange exchange{n, rounds, static_cast<uint32_t>(messages.size()), messages.data()};
    EXPECT_EQ(barrier_schedule(exchange, arena, &schedule, &costs), 0);
    double price = 0;
    if (check_schedule(schedule, arena) == 0 && price_schedule(schedule, costs, arena, &price) == 0)
      least = std::min(least, price);
    arena.rewind(mark);
  }
  return least;
}

TEST(Bound, IsNotAboveAnyExchange) {
  std::mt19937 random(1);
  for (uint32_t kind = 0; kind < 6; ++kind) {
    const uint32_t n = kind < 2 ? 3 : 4 + kind % 2;
    MappedArena arena(1 << 22);
    const TestMachine machine =
        make_machine("m", 1 + kind % 2 * (n / 2), kind % 2 ? (n + 1) / 2 : n, 50, 300, 0.5f, kind);
    Costs whole = machine.overlap(arena), costs;
    const uint16_t members[] = {0, 1, 2, 3, 4};
    ASSERT_EQ(subset_costs(whole, {members, n}, arena, &costs), 0);
    const double bound = price_bound(costs, Operation::kBarrier, -1, arena);
    const double least = least_exchange(costs, arena, random);
    EXPECT_LE(bound, least * (1 + 1e-5)) << "kind " << kind;
    EXPECT_LT(least, 4 * bound) << "kind " << kind << ": were there barriers among them?";
  }
}

// Links that a message keeps for long: what crosses them decides, of exchanges. (The cut alone is asked, since trees'
// messages do not queue.)
TEST(Bound, NothingCrossesSlowLinksSooner) {
  std::mt19937 random(2);
  const auto other = static_cast<uint32_t>(Distance::kOther);
  for (const float service : {100.0f, 300.0f, 900.0f}) {
    for (uint32_t n = 3; n <= 5; ++n) {
      MappedArena arena(1 << 24);
      const uint32_t inside = n == 3 ? 2 : n - 2;  // 2 + 1, 2 + 2, 3 + 2
      const TestMachine machine = make_machine("m", 2, inside, 50, 300, 0.5f, n);
      Costs whole = machine.overlap(arena), costs;
      const uint16_t members[] = {0, 1, 2, 3, 4};
      ASSERT_EQ(subset_costs(whole, {members, n}, arena, &costs), 0);
      costs.service[other] = service;
      const double known = 10, cut = cut_bound(costs, shortest_hops(costs).data(), known, arena, {});
      const double least = least_exchange(costs, arena, random);
      EXPECT_LE(cut, least * (1 + 1e-5)) << service << " among " << n;
      EXPECT_LE(price_bound(costs, Operation::kBarrier, -1, arena), least * (1 + 1e-5));
    }
  }
  // Eight on each side, of which each has heard of all before one message is through: the second one's receivers come a
  // link's time later, and so do those who only hear from them.
  MappedArena arena(kBlockBytes);
  Costs costs = make_machine("m", 2, 8, 10, 300, 0, 1).overlap(arena);
  costs.service[other] = 0;
  const auto way = shortest_hops(costs);
  EXPECT_EQ(cut_bound(costs, way.data(), 10, arena, {}), 0) << "nothing keeps the links";
  costs.service[other] = 5;
  const double quick = cut_bound(costs, way.data(), 100, arena, {});
  costs.service[other] = 50;
  const double slow = cut_bound(costs, way.data(), 100, arena, {});
  EXPECT_GT(quick, 300);
  EXPECT_GT(slow, quick);
  EXPECT_EQ(cut_bound(costs, way.data(), slow + 1, arena, {}), 0) << "nothing above what is known";
  Arena none(nullptr, 0);
  EXPECT_EQ(cut_bound(costs, way.data(), 100, none, {}), 0);
  std::atomic<bool> stop = true;
  EXPECT_EQ(cut_bound(costs, way.data(), 100, arena, {0, &stop}), 0);
}

// The bound of a machine and a tree of it: the order of the two is a proof that neither is wrong in that direction.
class BoundOnMachine : public testing::TestWithParam<TestMachine> {};
std::string name_of(const testing::TestParamInfo<TestMachine>& info) { return info.param.name; }

TEST_P(BoundOnMachine, IsBelowATree) {
  for (bool overlap : {false, true}) {
    MappedArena arena(kBlockBytes);
    const Costs costs = overlap ? GetParam().overlap(arena) : GetParam().paper(arena);
    TreeProblem problem;
    ASSERT_EQ(make_problem(costs, overlap ? Direction::kReduce : Direction::kBroadcast, arena, &problem), 0);
    const int root = overlap ? 0 : -1;
    OptimiseSettings settings;
    settings.moves = 3000;
    Tree tree;
    double value = -1;
    ASSERT_EQ(optimise_tree(problem, root, settings, arena, &tree, &value), 0);
    const double bound = lower_bound(problem, root, arena);
    EXPECT_LE(bound, value);
    // Costs drawn pair by pair leave nothing that participants of a group have in common.
    if (GetParam().name.find("random") != 0) {
      EXPECT_GE(bound, 0.5 * value) << "and not far";
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, BoundOnMachine, testing::ValuesIn(machines()), name_of);

TEST(Bound, NothingIsBelow) {
  for (const TestMachine& machine : machines()) {
    MappedArena arena(kBlockBytes);
    for (const Costs& costs : {machine.paper(arena), machine.overlap(arena)}) {
      for (Operation op : {Operation::kBroadcast, Operation::kReduce, Operation::kBarrier}) {
        char* const mark = arena.mark();
        Choice best;
        ASSERT_EQ(choose_best(op, -1, costs, arena, &best), 0);
        const double bound = price_bound(costs, op, -1, arena, {}, true);
        EXPECT_LE(bound, best.predicted * (1 + 1e-5)) << machine << ", " << operation_name(op);
        Choice rooted;
        ASSERT_EQ(choose_best(op, 0, costs, arena, &rooted), 0);
        EXPECT_LE(price_bound(costs, op, 0, arena, {}, true), rooted.predicted * (1 + 1e-5)) << machine;
        if (best.predicted > 0) {
          EXPECT_GT(bound, 0) << machine;
        }
        arena.rewind(mark);
      }
    }
  }
}

// Links that every message keeps for longer make exchanges dear, and trees stay what they were.
TEST(Bound, NothingIsBelowWhereLinksAreSlow) {
  uint32_t raised = 0;
  for (const TestMachine& machine : machines()) {
    if (machine.n > 64) continue;
    MappedArena arena(kBlockBytes);
    Costs costs = machine.overlap(arena);
    const double before = price_bound(costs, Operation::kBarrier, -1, arena);
    for (float& service : costs.service) service *= 4;
    Choice best;
    ASSERT_EQ(choose_best(Operation::kBarrier, -1, costs, arena, &best, kStartEffort), 0);
    const double bound = price_bound(costs, Operation::kBarrier, -1, arena);
    EXPECT_LE(bound, best.predicted * (1 + 1e-5)) << machine;
    EXPECT_GE(bound, before * (1 - 1e-5)) << machine;
    raised += bound > 1.02 * before;
  }
  EXPECT_GT(raised, 0u);
}

}  // namespace
