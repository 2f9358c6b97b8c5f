// The steps of a wait, each by the code that waits: the polls of transport/line.h, the yield and the futex of base/os.
//
//   poll    a line in the own cache, again and again, with the pause between: batches, median
//   yield   one at a time, lower quartile: the figure is for a yield that finds nobody, and on a busy machine many find
//           somebody
//   wake    the sleeper goes to sleep on a bell as policy/wait.cc does; the waker lets it fall asleep, posts, and is
//           answered over a line of the sleeper's. Both figures are taken by the waker's clock; the answer's hop is
//           taken off the second
#include "measure/waiting.h"

#include <algorithm>
#include <vector>

#include "measure/bench_lines.h"
#include "measure/pinned.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

constexpr uint32_t kLeastSamples = 8;  // before the time limit counts
// A sleeper takes so long from announcing itself as one to being one. That is longer than a system call, and long
// enough for a CPU to fall idle.
constexpr double kFallAsleepNs = 50'000;

struct WaitingBoard {
  const OwnLines lines{2, 2};
  Line& polled = lines.of(0)[0];  // never posted
  Line &call = lines.of(0)[1], &answer = *lines.of(1);
};

void pass(double ns) {
  const uint64_t start = ticks();
  while (ns_between(start, ticks()) < ns) cpu_pause();
}

bool enough(uint32_t samples, uint32_t wanted, int64_t until) {
  return samples >= wanted || (samples >= kLeastSamples && os::now_ns() > until);
}

double poll_cost(const Line& line, const WaitEffort& effort) {
  std::vector<double> batches;
  for (uint32_t b = 0; b <= effort.batches; ++b) {
    const uint64_t start = ticks();
    for (uint32_t i = 0; i < effort.polls; ++i) {
      if (poll(line.epoch, 1)) break;
      cpu_pause();
    }
    if (b > 0) batches.push_back(ns_between(start, ticks()) / effort.polls);
  }
  return median(batches);
}

double yield_cost(const WaitEffort& effort) {
  std::vector<double> yields, nothing;
  const int64_t until = os::now_ns() + effort.limit_ns;
  while (!enough(static_cast<uint32_t>(yields.size()), effort.yields, until)) {
    const uint64_t start = ticks();
    os::yield_cpu();
    const uint64_t end = ticks();
    nothing.push_back(ns_between(end, ticks()));
    yields.push_back(ns_between(start, end));
  }
  return std::max(0.0, quantile(yields, 0.25) - median(nothing));
}

// The sleeping end of policy/wait.cc alone.
void sleep_until(Line& line, uint64_t epoch) {
  while (!poll(line.epoch, epoch)) {
    const uint32_t word = line.bell.wake.load(std::memory_order_acquire);
    line.bell.sleepers.store(1, std::memory_order_relaxed);
    full_fence();
    if (!poll(line.epoch, epoch)) os::futex_wait(&line.bell.wake, word);
  }
}

}  // namespace

WaitFigures measure_waiting(int cpu, int other, double answer_hop, const WaitEffort& effort) {
  ns_per_tick();
  WaitingBoard board;
  WaitFigures out{};
  std::vector<double> calls, returns;
  std::atomic<uint64_t> last{0};  // the epoch after which nobody sleeps any more
  const auto wake = [&] {
    const int64_t until = os::now_ns() + effort.limit_ns;
    uint64_t epoch = 0;
    for (bool done = false; !done;) {
      done = enough(static_cast<uint32_t>(calls.size()), effort.wakes, until);
      ++epoch;
      if (done) last.store(epoch, std::memory_order_relaxed);  // told with the post
      while (board.call.bell.sleepers.load(std::memory_order_acquire) == 0) cpu_pause();
      pass(kFallAsleepNs);
      const uint64_t start = ticks();
      post(board.call, epoch, PostOrder::kFenced);
      const uint64_t called = ticks();
      await(board.answer.epoch, epoch);
      const uint64_t end = ticks();
      if (epoch == 1 || done) continue;  // the first warms up
      calls.push_back(ns_between(start, called));
      returns.push_back(ns_between(start, end));
    }
  };
  const auto sleep = [&] {
    for (uint64_t epoch = 1;; ++epoch) {
      sleep_until(board.call, epoch);
      const bool done = last.load(std::memory_order_relaxed) == epoch;
      post(board.answer, epoch);
      if (done) return;
    }
  };
  std::vector<PinnedJob> jobs{{cpu, [&] {
                                 out.poll = rounded_cost(poll_cost(board.polled, effort));
                                 out.yield = rounded_cost(yield_cost(effort));
                                 if (other >= 0) wake();
                               }}};
  if (other >= 0) jobs.push_back({other, sleep});
  run_pinned(jobs);
  if (other < 0) return out;
  out.futex_wake = rounded_cost(median(calls));
  out.futex_return = rounded_cost(std::max(0.0, median(returns) - answer_hop));
  return out;
}

}  // namespace smelt
