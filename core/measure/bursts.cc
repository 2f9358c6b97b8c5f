// A round needs no acknowledgement: a sender that has all lines of its partner's round knows that the partner has read
// its lines of the round before, so it may overwrite them. Nor need all begin at once: a sender that is ahead waits for
// its partner in the first round.
#include "measure/bursts.h"

#include <map>
#include <memory>
#include <vector>

#include "base/os/os.h"
#include "measure/bench_lines.h"
#include "measure/pinned.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

// Zeroed pages are lines as they start; the thread that stores one first decides on which node it lies.
struct Unmap {
  size_t bytes;
  void operator()(Line* lines) const { os::unmap_pages(lines, bytes); }
};
using Lines = std::unique_ptr<Line[], Unmap>;

Lines map_lines(size_t count) {
  const size_t bytes = count * sizeof(Line);
  Lines lines(static_cast<Line*>(os::map_pages(bytes)), Unmap{bytes});
  if (!lines) throw UserError("out of memory for the lines of a measurement");
  return lines;
}

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
  const Lines memory = map_lines(2 * each * pairs.size());
  std::map<int, Part> parts;
  Line* next = memory.get();
  for (const CpuPair& pair : pairs)
    for (const auto& [from, to] : {std::pair{pair.a, pair.b}, std::pair{pair.b, pair.a}})
      for (size_t i = 0; i < each; ++i, ++next) {
        parts[from].out.push_back(next);
        parts[to].in.push_back(next);
      }
  std::vector<PinnedJob> jobs;
  for (auto& [cpu, part] : parts) jobs.push_back({cpu, [&part] { play(part); }});
  run_pinned(jobs);
  std::vector<double> ns;
  for (const auto& [cpu, part] : parts) ns.push_back(part.ns);
  return median(ns);
}

}  // namespace smelt
