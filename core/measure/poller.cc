// One writer, k pollers. Odd episodes go to the first poller alone, over a line that only it polls; even ones to all,
// over the shared line. Both are round trips on the writer's clock, and alternate so that both see the same moment.
#include "measure/poller.h"

#include <algorithm>

#include "measure/bench_lines.h"
#include "measure/pinned.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

constexpr size_t kMostPollers = 16;  // that take part, at most
constexpr int kWarmUpRounds = 8;     // that do not count

}  // namespace

double measure_poller(int writer, const std::vector<int>& all_pollers, double recv_busy, int samples) {
  const size_t pollers = std::min(all_pollers.size(), kMostPollers);
  ns_per_tick();
  const OwnLines lines(1 + pollers, 2);
  Line &alone = lines.of(0)[0], &shared = lines.of(0)[1];
  const auto answer = [&lines](size_t poller) -> Line& { return *lines.of(1 + poller); };
  std::vector<double> one, all;
  std::vector<PinnedJob> jobs;
  jobs.push_back({writer, [&] {
                    uint64_t epoch = 0;
                    for (int sample = -kWarmUpRounds; sample < samples; ++sample) {
                      settle();
                      const uint64_t start = ticks();
                      post(alone, ++epoch);
                      await(answer(0).epoch, epoch);
                      const uint64_t between = ticks();
                      settle();
                      const uint64_t again = ticks();
                      post(shared, ++epoch);
                      for (size_t i = 0; i < pollers; ++i) await(answer(i).epoch, epoch);
                      const uint64_t end = ticks();
                      if (sample < 0) continue;
                      one.push_back(ns_between(start, between));
                      all.push_back(ns_between(again, end));
                    }
                  }});
  for (size_t i = 0; i < pollers; ++i)
    jobs.push_back({all_pollers[i], [&, i] {
                      const auto last = 2 * static_cast<uint64_t>(kWarmUpRounds + samples);
                      for (uint64_t epoch = 2; epoch <= last; epoch += 2) {
                        if (i == 0) {
                          await(alone.epoch, epoch - 1);
                          post(answer(0), epoch - 1);
                        }
                        await(shared.epoch, epoch);
                        post(answer(i), epoch);
                      }
                    }});
  run_pinned(jobs);
  const double further = (midmean(all) - midmean(one)) / static_cast<double>(pollers - 1);
  return std::max(0.0, further - recv_busy);
}

}  // namespace smelt
