#include "bench/lab/subsets.h"

#include <algorithm>
#include <numeric>

#include "generate/exact.h"
#include "generate/random.h"
#include "generate/registry.h"
#include "profile/profile.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

// Predictions of one value, added up in different orders.
constexpr double kRounding = 1e-6;

std::vector<uint16_t> draw(SplitMix64& random, uint32_t of, uint32_t count) {
  std::vector<uint16_t> all(of);
  std::iota(all.begin(), all.end(), uint16_t{0});
  for (uint32_t i = 0; i < count; ++i) std::swap(all[i], all[i + random.below(of - i)]);
  all.resize(count);
  std::sort(all.begin(), all.end());
  return all;
}

double predicted(const char* name, Operation op, const Costs& costs, const SearchEffort& effort, Arena& arena) {
  char* const start = arena.mark();
  Pattern pattern;
  Choice choice;
  if (find_pattern(name, &pattern) != 0 || build(pattern, op, -1, costs, arena, &choice, effort) != 0)
    throw UserError("out of memory; take smaller --sizes");
  arena.rewind(start);
  return choice.predicted;
}

}  // namespace

void SubsetGaps::add(double gap, const MachineFile& machine, const std::vector<uint32_t>& cpus) {
  optimal += gap <= kRounding;
  mean += gap;
  if (gap <= worst) return;
  worst = gap;
  worst_machine = machine.name;
  worst_cpus = cpus;
}

void compare_subsets(const MachineFile& machine, uint32_t nth, const SubsetRequest& request, SubsetResult* out) {
  const auto n = static_cast<uint32_t>(machine.cpus.size());
  if (n < request.least) return;
  const uint32_t most = std::min(request.most, n);
  const Costs& all = request.paper ? machine.paper : machine.overlap;
  MappedArena arena(4 * generation_bytes(most) + 2 * exact_bytes(most));
  if (!arena.ok()) throw UserError("out of memory; take smaller --sizes");
  char* const start = arena.mark();
  // Seeds that lie close together, of runs and of machines, start far apart.
  SplitMix64 random(SplitMix64(request.effort.seed).next() + nth);
  for (uint32_t k = 0; k < request.count && !request.effort.limits.exceeded(); ++k) {
    arena.rewind(start);
    const std::vector<uint16_t> members = draw(random, n, request.least + random.below(most - request.least + 1));
    Costs costs;
    if (subset_costs(all, members, arena, &costs) != 0) throw UserError("out of memory; take smaller --sizes");
    SearchEffort search = request.effort;
    search.most_exact = 0;
    search.seed = random.next();
    SearchEffort exact = request.effort;
    exact.most_exact = most;
    const double optimum = predicted("optimised", request.op, costs, exact, arena);
    const double found = predicted("optimised", request.op, costs, search, arena);
    const double adaptive = predicted("adaptive-sorted", request.op, costs, search, arena);
    if (request.effort.limits.exceeded()) return;  // none of them may be what it was to be
    std::vector<uint32_t> cpus;
    for (const uint16_t member : members) cpus.push_back(machine.cpus[member]);
    const auto gap = [optimum](double value) { return optimum > 0 ? std::max(0.0, value / optimum - 1) : 0; };
    ++out->sets;
    out->search.add(gap(found), machine, cpus);
    out->adaptive.add(gap(adaptive), machine, cpus);
  }
}

}  // namespace smelt
