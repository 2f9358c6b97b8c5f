// One line after the other in the order of time: out of the core, through the part that its distance shares, a hop; a
// CPU that has all lines of its round begins the next. In bursts of one line, which several exchange with each other,
// it begins to read them when it has seen the first, so the second takes a whole read; and its next stores find the
// others still reading: 3/8 of a read more for each line. Written without a look at schedule/predict.cc, whose prices
// are held against it.
#include "bench/lab/simulated_bursts.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

namespace smelt {
namespace {

constexpr uint32_t kSettled = 4, kCounted = 20;  // rounds

struct Cpu {
  std::vector<uint32_t> targets;                                     // in the order of the stores
  size_t sources = 0;                                                // lines that it gets in a round
  uint32_t round = 0;                                                // that it is in
  size_t stored = 0;                                                 // lines of this round
  double now = 0;                                                    // when it stores the next
  std::map<uint32_t, std::vector<std::pair<double, uint32_t>>> got;  // round -> (visible, from)
  double settled = 0, counted = 0;  // when the rounds were over that do not count, and those that do
};

using Key = std::tuple<Distance, uint32_t, uint32_t>;

}  // namespace

double simulate_bursts(const Costs& costs, std::span<const std::pair<uint32_t, uint32_t>> pairs, int lines) {
  std::map<uint32_t, Cpu> cpus;
  for (const auto& [a, b] : pairs)
    for (int i = 0; i < lines; ++i) {
      cpus[a].targets.push_back(b), cpus[b].targets.push_back(a);
      ++cpus[a].sources, ++cpus[b].sources;
    }
  std::map<Key, double> free;
  const auto through = [&](const Key& what, Distance service, double at) {
    double& until = free[what];
    at = std::max(at, until);
    until = at + double{costs.service[static_cast<uint32_t>(service)]};
    return at;
  };
  using Event = std::pair<double, uint32_t>;  // time, the CPU that stores its next line
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  for (const auto& [i, cpu] : cpus) events.push({0, i});
  size_t left = cpus.size();  // whose rounds are not over
  // All lines of the round are stored and under way to it: it reads them, and goes on.
  const auto finish = [&](uint32_t i) {
    Cpu& cpu = cpus[i];
    if (cpu.stored < cpu.targets.size() || cpu.got[cpu.round].size() < cpu.sources) return;
    std::vector<std::pair<double, uint32_t>> all = std::move(cpu.got[cpu.round]);
    cpu.got.erase(cpu.round);
    std::sort(all.begin(), all.end());
    double collisions = 0;
    bool whole = true;
    for (const auto& [visible, from] : all) {
      const size_t at = costs.at(from, i);
      const double ready = cpu.now + double{(whole ? costs.ready_read : costs.recv_busy)[at]};
      whole = lines == 1 && &visible == &all.front().first && visible > ready;
      cpu.now = std::max(ready, visible);
      collisions += 0.375 * double{costs.ready_read[at]};
    }
    if (lines == 1 && all.size() > 1) cpu.now += collisions;
    cpu.stored = 0;
    if (++cpu.round == kSettled) cpu.settled = cpu.now;
    if (cpu.round == kSettled + kCounted) cpu.counted = cpu.now, --left;
    if (left > 0) events.push({cpu.now, i});  // a CPU that is ahead goes on: the others keep its company to the end
  };
  while (left > 0) {
    const auto [now, i] = events.top();
    events.pop();
    Cpu& cpu = cpus[i];
    const uint32_t to = cpu.targets[cpu.stored++];
    const size_t at = costs.at(i, to);
    const Distance distance = distance_in(costs, i, to);
    double leaves = now;
    if (distance != Distance::kSameCore)
      leaves = through({Distance::kSameCore, costs.core[i], 0}, Distance::kSameCore, leaves);
    if (distance == Distance::kSameLlc || distance == Distance::kSameNode)
      leaves = through({distance, costs.llc[i], 0}, distance, leaves);
    else if (distance != Distance::kSameCore && costs.node[i] != costs.node[to])
      leaves = through({Distance::kOther, costs.node[i], costs.node[to]}, distance, leaves);
    Cpu& target = cpus[to];
    target.got[cpu.round].push_back({leaves + double{costs.hop[at]}, i});
    cpu.now = now + double{costs.send_busy[at]};
    if (cpu.stored < cpu.targets.size())
      events.push({cpu.now, i});
    else
      finish(i);
    if (target.got[target.round].size() == target.sources && to != i) finish(to);
  }
  std::vector<double> rounds;
  for (const auto& [i, cpu] : cpus) rounds.push_back((cpu.counted - cpu.settled) / kCounted);
  const auto middle = rounds.begin() + static_cast<ptrdiff_t>(rounds.size() / 2);
  std::nth_element(rounds.begin(), middle, rounds.end());
  return *middle;
}

}  // namespace smelt
