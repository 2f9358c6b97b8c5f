// The common part of the pens.
#include "pictures/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "schedule/predict.h"

namespace smelt {

std::vector<uint16_t> shown_order(const Picture& p) {
  std::vector<uint16_t> order(p.cpu.size());
  std::iota(order.begin(), order.end(), uint16_t{0});
  const auto place = [&p](uint16_t i) {
    return std::tuple(p.costs.node ? p.costs.node[i] : 0, p.costs.llc ? p.costs.llc[i] : 0,
                      p.core.empty() ? 0 : p.core[i], p.cpu[i]);
  };
  std::sort(order.begin(), order.end(), [&](uint16_t a, uint16_t b) { return place(a) < place(b); });
  return order;
}

std::vector<uint16_t> children(const Tree& tree, uint16_t parent) {
  std::vector<uint16_t> list;
  for (uint16_t c = tree.first[parent]; c != kNobody; c = tree.next[c]) list.push_back(c);
  return list;
}

namespace {

// When the message that informs a participant has arrived, if the root of the tree sends at 0: everybody's send
// occupies it for send_busy and is visible after the hop. The release half of a barrier, the whole of a broadcast.
std::vector<double> arrival_times(const Tree& tree, const Costs& costs) {
  std::vector<double> arrival(tree.n, 0);
  std::vector<uint16_t> order(tree.n);
  order.resize(top_down_order(tree, order.data()));
  for (const uint16_t parent : order) {
    double now = arrival[parent];
    for (uint16_t c = tree.first[parent]; c != kNobody; c = tree.next[c]) {
      arrival[c] = now + costs.hop[costs.at(parent, c)];
      now += costs.send_busy[costs.at(parent, c)];
    }
  }
  return arrival;
}

// When everybody has sent, the root when it has everything. All 0 when memory is out.
std::vector<double> sending_times(const Tree& tree, const Costs& costs) {
  std::vector<double> times(tree.n, 0);
  MappedArena arena((size_t{1} << 16) + size_t{tree.n} * 512);
  Schedule schedule;
  Prediction prediction;
  if (arena.ok() && reduce_schedule(tree, arena, &schedule) == 0 && predict(schedule, costs, arena, &prediction) == 0)
    times.assign(prediction.done, prediction.done + tree.n);
  return times;
}

// By lines that several poll: what the schedule's price says.
std::vector<double> informed_times(const Picture& p) {
  std::vector<double> times = p.done;
  bool lines = false;
  for (uint32_t i = 0; i < p.schedule.n; ++i)
    for (uint32_t s = p.schedule.begin[i]; s < p.schedule.begin[i + 1]; ++s) {
      const Step& step = p.schedule.steps[s];
      if (step.kind != StepKind::kSignal) continue;
      lines |= step.shared_line;
      double busy = 0;
      for (uint32_t k = 0; k < step.count; ++k) {
        const double one = p.costs.send_busy[p.costs.at(i, p.schedule.peers[step.first + k])];
        busy = step.shared_line ? std::max(busy, one) : busy + one;
      }
      times[i] -= busy;
    }
  return lines ? times : arrival_times(p.tree, p.costs);
}

}  // namespace

std::vector<TreeSide> tree_sides(const Picture& p) {
  std::vector<TreeSide> sides;
  switch (p.op) {
    case Operation::kBroadcast: sides.push_back({&p.tree, false, true, "", "informed", informed_times(p)}); break;
    case Operation::kReduce: sides.push_back({&p.tree, true, false, "", "has sent", p.done}); break;
    case Operation::kBarrier: {
      // The order in which a parent hears its children is nobody's choice: trees differ in their edges.
      const bool two =
          p.gather.n == p.tree.n && !std::equal(p.gather.parent, p.gather.parent + p.tree.n, p.tree.parent);
      if (two) sides.push_back({&p.gather, true, false, "gather", "has sent", sending_times(p.gather, p.costs)});
      sides.push_back({&p.tree, false, two, two ? "release" : "", "leaves", p.done});
    }
  }
  return sides;
}

}  // namespace smelt
