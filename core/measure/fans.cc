// Two scripts, both on the parent's clock, in batches of round trips one after the other, so that a batch may be
// divided by its length:
//
//   gather    the parent stores one line that all children poll; each answers on a line of its own; the parent reads
//             them all
//   scatter   the parent stores a line for each child; the last one answers
//
// Only as many threads run as a fan has members: further pollers, even of other lines, would be in the way of the
// caches.
#include "measure/fans.h"

#include "measure/bench_lines.h"
#include "measure/cores.h"
#include "measure/pinned.h"
#include "profile/text/statistics.h"

namespace smelt {
namespace {

constexpr uint32_t kMostChildren = kFanChildren[kFanSizes - 1];
constexpr size_t kLeastFanBatches = 3;  // before the time limit counts

struct FanBoard {
  explicit FanBoard(uint32_t children) : lines(1 + children, kMostChildren) {}
  Line& answer(uint32_t child) const { return *lines.of(1 + child); }

  const OwnLines lines;
  Line* const to = lines.of(0);                       // the parent's: scatter: one for each; gather: the first, for all
  alignas(kLineBytes) std::atomic<uint64_t> last{0};  // the epoch that ends the script; told with its post
};

// Round trips by `trip(epoch)` until there are enough; the first batch warms up. Returns ns of one, leaves the epoch
// after the last.
template <typename Trip>
double round_trip(const FanEffort& effort, uint64_t* epoch, Trip trip) {
  std::vector<double> batches;
  const int64_t until = os::now_ns() + effort.limit_ns;
  for (uint32_t b = 0; b <= effort.batches; ++b) {
    if (batches.size() >= kLeastFanBatches && os::now_ns() > until) break;
    const uint64_t start = ticks();
    for (uint32_t i = 0; i < effort.round_trips; ++i) trip(++*epoch);
    if (b > 0) batches.push_back(ns_between(start, ticks()) / effort.round_trips);
  }
  ++*epoch;
  return median(batches);
}

// A child: hears on `line`, answers where it has to, until the script ends.
void serve(FanBoard& board, const Line& line, Line* answer) {
  for (uint64_t epoch = 1;; ++epoch) {
    await(line.epoch, epoch);
    const bool ends = board.last.load(std::memory_order_relaxed) == epoch;
    if (answer) post(*answer, epoch);
    if (ends) return;
  }
}

double gather(const Fan& fan, uint32_t count, const FanEffort& effort) {
  FanBoard board(count);
  double ns = 0;
  const auto collect = [&](uint64_t epoch) {
    post(*board.to, epoch);
    for (uint32_t i = 0; i < count; ++i) await(board.answer(i).epoch, epoch);
  };
  std::vector<PinnedJob> jobs{{static_cast<int>(fan.parent), [&] {
                                 uint64_t epoch = 0;
                                 ns = round_trip(effort, &epoch, collect);
                                 board.last.store(epoch, std::memory_order_relaxed);
                                 collect(epoch);
                               }}};
  for (uint32_t i = 0; i < count; ++i)
    jobs.push_back({static_cast<int>(fan.children[i]), [&board, i] { serve(board, *board.to, &board.answer(i)); }});
  run_pinned(jobs);
  return ns;
}

double scatter(const Fan& fan, uint32_t count, const FanEffort& effort) {
  FanBoard board(count);
  double ns = 0;
  const auto send = [&](uint64_t epoch) {
    for (uint32_t i = 0; i < count; ++i) post(board.to[i], epoch);
    await(board.answer(count - 1).epoch, epoch);
  };
  std::vector<PinnedJob> jobs{{static_cast<int>(fan.parent), [&] {
                                 uint64_t epoch = 0;
                                 ns = round_trip(effort, &epoch, send);
                                 board.last.store(epoch, std::memory_order_relaxed);
                                 send(epoch);
                               }}};
  for (uint32_t i = 0; i < count; ++i)
    jobs.push_back({static_cast<int>(fan.children[i]),
                    [&board, i, count] { serve(board, board.to[i], i + 1 == count ? &board.answer(i) : nullptr); }});
  run_pinned(jobs);
  return ns;
}

}  // namespace

std::vector<Fan> fan_cpus(const ProfileImage& image) {
  std::vector<Fan> fans;
  for (const Distance distance : {Distance::kSameLlc, Distance::kSameNode, Distance::kSamePackage, Distance::kOther}) {
    Fan fan{distance, image.os_cpu[0], {}};
    for (const uint32_t i : first_of_each_core(image))
      if (i > 0 && distance_in(image, 0, i) == distance && fan.children.size() < kMostChildren)
        fan.children.push_back(image.os_cpu[i]);
    if (!fan.children.empty()) fans.push_back(std::move(fan));
  }
  return fans;
}

void raise_by_fans(ProfileImage& image) {
  constexpr uint32_t kEnough = 2;   // of kFanChildren: four
  constexpr double kClearly = 1.1;  // more than noise
  const uint32_t n = image.n();
  for (const FanCurves& fan : image.fans) {
    uint32_t last = 0;
    while (last + 1 < kFanSizes && fan.scatter[last + 1] > 0 && fan.gather[last + 1] > 0) ++last;
    if (last < kEnough) continue;
    const auto further = [&](const float* trips) {
      return double{trips[last] - trips[0]} / (kFanChildren[last] - kFanChildren[0]);
    };
    const double send = further(fan.scatter), receive = further(fan.gather) - double{image.header.poller};
    const auto raise = [](float& cost, double least) {
      if (least > kClearly * double{cost}) cost = rounded_cost(least);
    };
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t j = 0; j < n; ++j) {
        if (i == j || static_cast<uint32_t>(distance_in(image, i, j)) != fan.distance) continue;
        raise(image.send_busy[size_t{i} * n + j], send);
        raise(image.recv_busy[size_t{i} * n + j], receive);
      }
    for (ClassFigures& figures : image.classes) {
      if (figures.distance != fan.distance) continue;
      raise(figures.send_busy, send);
      raise(figures.recv_busy, receive);
    }
  }
}

FanCurves measure_fan(const Fan& fan, const FanEffort& effort) {
  ns_per_tick();
  FanCurves out{};
  out.distance = static_cast<uint32_t>(fan.distance);
  for (uint32_t i = 0; i < kFanSizes && kFanChildren[i] <= fan.children.size(); ++i) {
    out.gather[i] = rounded_cost(gather(fan, kFanChildren[i], effort));
    out.scatter[i] = rounded_cost(scatter(fan, kFanChildren[i], effort));
  }
  return out;
}

}  // namespace smelt
