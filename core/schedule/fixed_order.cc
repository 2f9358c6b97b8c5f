#include "schedule/fixed_order.h"

#include <cerrno>
#include <limits>

#include "schedule/predict.h"

namespace smelt {
namespace {

template <uint32_t kWidth>
int schedule_of(const Parts<kWidth>& parts, Arena& arena, Schedule* out) {
  const uint32_t n = parts.n;
  const auto root = static_cast<uint16_t>(parts.root);
  char* const start = arena.mark();
  Schedule made{
      n, Operation::kReduce, root, arena.make<uint32_t>(n + 1), arena.make<Step>(2 * n), arena.make<uint16_t>(2 * n)};
  if (!made.begin || !made.steps || !made.peers) {
    arena.rewind(start);
    return -ENOMEM;
  }
  uint32_t steps = 0, peers = 0;
  const auto add = [&](uint32_t peer) { made.peers[peers++] = static_cast<uint16_t>(peer); };
  for (uint32_t i = 0; i < n; ++i) {
    made.begin[i] = steps;
    const uint32_t mine = parts.of(i), head = parts.head(mine), begin = peers;
    for (uint32_t k = parts.first(mine + 1); i == head && k-- > parts.first(mine);)
      if (k != i) add(k);
    for (uint32_t part = parts.count; i == root && part-- > 0;)
      if (part != mine) add(parts.head(part));
    if (peers > begin) made.steps[steps++] = Step{StepKind::kWait, false, begin, peers - begin, true};
    if (i == root) continue;
    made.steps[steps++] = Step{StepKind::kSignal, false, peers, 1};
    add(i == head ? root : head);
  }
  made.begin[n] = steps;
  *out = made;
  return 0;
}

}  // namespace

int fixed_order_schedule(uint32_t n, uint32_t root, uint32_t count, Arena& arena, Schedule* out) {
  if (n > kBlockSize) return schedule_of(Parts<kBlockSize>{n, root}, arena, out);
  return schedule_of(Parts<1>{n, root, count ? count : n}, arena, out);
}

int cheapest_fixed_order(uint32_t n, uint32_t root, const Costs& costs, Arena& arena, uint32_t* count, double* price) {
  const auto cache = [&](uint32_t i) { return costs.llc[i]; };
  uint32_t last = n - 1;  // the first of those at the end who share a cache, if it is not the root's
  while (n <= kBlockSize && cache(root) != cache(n - 1) && cache(last - 1) == cache(n - 1)) --last;
  *price = std::numeric_limits<double>::infinity();
  for (uint32_t parts = n;; parts = last + 1) {
    char* const scratch = arena.mark();
    Schedule schedule;
    double makespan = 0;
    int error = fixed_order_schedule(n, root, parts, arena, &schedule);
    if (!error) error = price_schedule(schedule, costs, arena, &makespan);
    arena.rewind(scratch);
    if (error) return error;
    if (makespan < *price) *count = parts, *price = makespan;
    if (parts == last + 1) return 0;
  }
}

}  // namespace smelt
