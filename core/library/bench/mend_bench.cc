// Mending a tree when a participant leaves or joins (library/patterns/mend.h), on the machines of the zoo.
//
//   mend/<op>/<machine>/<n>    one change: a participant drawn at random leaves, or joins if it is out; n is how many
//                              there could be, and about half to all of them are in
//   bound/<op>/<machine>/<n>   the bound that the gap is stated against
//
// Time is per change. Counters, of mend: ratio and worst_ratio = value after a change / value of a search from the
// beginning with its default effort (generate/optimise.h), mean and worst of kLooks looks, taken kBetween changes apart
// and not timed; gap = mean of what gap() says then.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "generate/optimise.h"
#include "library/patterns/mend.h"
#include "pictures/machines/machine_file.h"
#include "pictures/machines/zoo.h"

namespace {

using namespace smelt;

constexpr int kLooks = 12, kBetween = 25;
constexpr size_t kArenaBytes = size_t{256} << 20;

[[noreturn]] void fail(const char* what) {
  fmt::print(stderr, "mend_bench: {}\n", what);
  std::exit(1);
}

std::vector<uint16_t> drawn(uint32_t of, uint32_t count, std::mt19937& random) {
  std::vector<uint16_t> all(of);
  std::iota(all.begin(), all.end(), uint16_t{0});
  std::shuffle(all.begin(), all.end(), random);
  all.resize(count);
  return all;
}

// The problem among some of those that `costs` are of.
struct Posed {
  MappedArena arena{kArenaBytes};
  Costs costs;
  TreeProblem problem;

  Posed(const Costs& of, const std::vector<uint16_t>& members, Direction direction) {
    if (subset_costs(of, members, arena, &costs) != 0 || make_problem(costs, direction, arena, &problem) != 0)
      fail("out of memory");
  }

  double search(Tree* tree) {
    double value = 0;
    if (optimise_tree(problem, -1, {}, arena, tree, &value) != 0) fail("the search failed");
    return value;
  }
};

// A tree of three quarters of n, found by a search, and changes to it.
struct Team {
  std::mt19937 random{20161102};
  Direction direction;
  Posed all;
  Mender mender;

  Team(const MachineFile& machine, uint32_t n, Direction way)
      : direction(way), all(machine.overlap, drawn(machine.overlap.n, n, random), way) {
    const std::vector<uint16_t> members = drawn(n, n - n / 4, random);
    Posed some(all.costs, members, direction);
    Tree tree;
    some.search(&tree);
    if (mender.make(all.problem, true, all.arena) != 0) fail("out of memory");
    mender.load(tree, members.data());
  }

  void change() {
    const uint32_t most = all.problem.n, least = (most + 1) / 2;
    const auto v = static_cast<uint16_t>(random() % most);
    if (mender.is_member(v) && mender.count() > least)
      mender.leave(v);
    else
      mender.join(v);  // nothing, if it is in
  }

  std::vector<uint16_t> members() const {
    std::vector<uint16_t> list;
    for (uint16_t v = 0; v < all.problem.n; ++v)
      if (mender.is_member(v)) list.push_back(v);
    return list;
  }
};

void mend(benchmark::State& state, const MachineFile& machine, uint32_t n, Direction direction) {
  Team team(machine, n, direction);
  double ratio = 0, worst = 0, gap = 0;
  for (int look = 0; look < kLooks; ++look) {
    for (int i = 0; i < kBetween; ++i) team.change();
    Posed now(team.all.costs, team.members(), direction);
    Tree fresh;
    const double here = team.mender.value() / now.search(&fresh);
    ratio += here / kLooks;
    worst = std::max(worst, here);
    gap += team.mender.gap() / kLooks;
  }
  for (auto _ : state) team.change();
  state.counters["ratio"] = ratio;
  state.counters["worst_ratio"] = worst;
  state.counters["gap"] = gap;
}

void bound(benchmark::State& state, const MachineFile& machine, uint32_t n, Direction direction) {
  Team team(machine, n, direction);
  for (auto _ : state) benchmark::DoNotOptimize(team.mender.bound());
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  std::vector<MachineFile> machines;
  for (const ZooEntry& entry : zoo()) machines.push_back(read_machine_file("zoo:" + std::string(entry.name)));
  for (const Direction direction : {Direction::kBroadcast, Direction::kReduce}) {
    const char* const op = direction == Direction::kBroadcast ? "broadcast" : "reduce";
    for (size_t k = 0; k < machines.size(); ++k) {
      const MachineFile& machine = machines[k];
      const std::string of = fmt::format("/{}/{}/", op, zoo()[k].name);
      for (const uint32_t n : {16u, 32u, 64u, 128u, 256u}) {
        if (n > machine.overlap.n) break;
        benchmark::RegisterBenchmark(("mend" + of + std::to_string(n)).c_str(), [&machine, n,
                                                                                 direction](benchmark::State& state) {
          mend(state, machine, n, direction);
        })->Unit(benchmark::kMicrosecond);
        benchmark::RegisterBenchmark(("bound" + of + std::to_string(n)).c_str(), [&machine, n,
                                                                                  direction](benchmark::State& state) {
          bound(state, machine, n, direction);
        })->Unit(benchmark::kMicrosecond);
      }
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
