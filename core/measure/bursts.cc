// A round needs no acknowledgement: a sender that has all lines of its partner's round knows that the partner has read
// its lines of the round before, so it may overwrite them. All need not begin at once either: a sender that is ahead
// waits for its partner in the first round.
#include "measure/bursts.h"

#include <map>
#include <vector>

#include "measure/bench_lines.h"
#include "measure/pinned.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

struct Part {
  std::vector<Line*> out, in;
  double ns = 0;
};

void play(Part& part) {
  std::vector<double> batches;
  uint64_t epoch = 0;
  for (int batch = -kWarmUpBursts; batch < kBurstBatches; ++batch) {
    const uint64_t start = ticks();
    for (int round = 0; round < kBurstRounds; ++round) {
      ++epoch;
      for (Line* line : part.out) post(*line, epoch);
      for (const Line* line : part.in) await(line->epoch, epoch);
    }
    if (batch >= 0) batches.push_back(ns_between(start, ticks()) / kBurstRounds);
  }
  part.ns = median(batches);
}

}  // namespace

double measure_bursts(std::span<const CpuPair> pairs, int lines) {
  ns_per_tick();  // once, before any thread measures
  const auto each = static_cast<size_t>(lines);
  const OwnLines memory(2 * pairs.size(), each);
  std::map<int, Part> parts;
  size_t owner = 0;
  for (const CpuPair& pair : pairs)
    for (const auto& [from, to] : {std::pair{pair.a, pair.b}, std::pair{pair.b, pair.a}}) {
      Line* const next = memory.of(owner++);
      for (size_t i = 0; i < each; ++i) {
        parts[from].out.push_back(next + i);
        parts[to].in.push_back(next + i);
      }
    }
  std::vector<PinnedJob> jobs;
  for (auto& [cpu, part] : parts) jobs.push_back({cpu, [&part] { play(part); }});
  run_pinned(jobs);
  std::vector<double> ns;
  for (const auto& [cpu, part] : parts) ns.push_back(part.ns);
  return median(ns);
}

}  // namespace smelt
