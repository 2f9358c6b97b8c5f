#include "cli/other_figures.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "cli/methods.h"
#include "model/curves.h"
#include "model/distance.h"
#include "profile/text/rows.h"

namespace smelt {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kShownSize = 5;  // of kSampledBytes: longer than a system call, shorter than a cache
static_assert(kSampledBytes[kShownSize] == 64 << 10);

const char* name_of(uint32_t distance) { return distance_name(static_cast<Distance>(distance)); }

// The sizes come in rising order, and a measurement that ends early has the first of them.
uint32_t measured_sizes(const auto& figures) {
  return static_cast<uint32_t>(std::find(std::begin(figures), std::end(figures), 0.0f) - std::begin(figures));
}

Json row_of(const auto& curves, const char* axis, const auto& at, uint32_t count) {
  Json row = {{"distance", name_of(curves.distance)}, {axis, std::vector<uint64_t>(at, at + count)}};
  const Json figures = report_row(curves);
  for (const auto& [name, values] : figures.items())
    if (values.is_array()) row[name] = std::vector<float>(values.begin(), values.begin() + count);
  return row;
}

// What all pairs of that distance have in common.
const char* shared_by(uint32_t distance) {
  switch (static_cast<Distance>(distance)) {
    case Distance::kSameCore: return "out of a core";
    case Distance::kSameLlc: return "through a last-level cache";
    case Distance::kSameNode: return "out of a last-level cache";
    default: return "between two nodes";
  }
}

}  // namespace

std::string queues_text(const std::vector<QueueCurves>& queues, float all_to_all) {
  std::string out;
  for (const QueueCurves& queue : queues) {
    const uint32_t count = measured_sizes(queue.line);
    if (count == 0) continue;
    out += fmt::format("queueing    {}: {}, a message takes {}{} (up to {} pairs at once, fitted within {:.0f} %)\n",
                       name_of(queue.distance), shared_by(queue.distance), queue.reached ? "" : "at most ",
                       time_text(queue.service), kQueuePairs[count - 1], queue.residual * 100.0);
  }
  if (all_to_all > 0)
    out += fmt::format("adding up   a small all-to-all took {:.2f} times what these figures make of it\n",
                       double{all_to_all});
  return out;
}

Json queues_json(const std::vector<QueueCurves>& queues) {
  auto out = Json::array();
  for (const QueueCurves& queue : queues) {
    Json row = row_of(queue, "pairs", kQueuePairs, measured_sizes(queue.line));
    row.update({{"service", queue.service}, {"reached", queue.reached != 0}, {"residual", queue.residual}});
    out.push_back(std::move(row));
  }
  return out;
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.3g} ns", ns);
  return ns < 1e6 ? fmt::format("{:.3g} µs", ns / 1e3) : fmt::format("{:.3g} ms", ns / 1e6);
}

std::string other_figures_text(const WaitFigures& wait, const std::vector<FanCurves>& fans,
                               const std::vector<DistanceCurves>& distances) {
  std::string out;
  if (wait.poll > 0) {
    out += fmt::format("waiting     a poll {}, a yield {}", time_text(wait.poll), time_text(wait.yield));
    if (wait.futex_return > 0)
      out += fmt::format(", waking somebody {}, who then runs after {}", time_text(wait.futex_wake),
                         time_text(wait.futex_return));
    out += "\n";
  }
  for (const FanCurves& fan : fans) {
    const uint32_t count = measured_sizes(fan.gather);
    if (count == 0) continue;
    out += fmt::format("fan         {}: round trips with", name_of(fan.distance));
    const auto add = [&](uint32_t i) {
      out += fmt::format("{} {} {}: gather {}, scatter {}", i ? ";" : "", kFanChildren[i], i ? "children" : "child",
                         time_text(fan.gather[i]), time_text(fan.scatter[i]));
    };
    add(0);
    if (count > 1) add(count - 1);
    out += "\n";
  }
  for (const DistanceCurves& curves : distances) {
    if (curves.copy[kShownSize] <= 0) continue;
    out += fmt::format("copying     {}: {} in {}", name_of(curves.distance), bytes_text(kSampledBytes[kShownSize]),
                       time_text(curves.copy[kShownSize]));
    if (curves.single_copy[kShownSize] > 0)
      out += fmt::format(", single copy {}", time_text(curves.single_copy[kShownSize]));
    out += fmt::format(", adding {}\n", time_text(curves.reduce[kShownSize]));
  }
  return out;
}

void add_other_figures(Json& report, const WaitFigures& wait, const std::vector<FanCurves>& fans,
                       const std::vector<DistanceCurves>& distances) {
  report["waiting"] = nullptr;
  if (wait.poll > 0) {
    report["waiting"] = report_row(wait);
    for (Json& ns : report["waiting"])
      if (ns == 0) ns = nullptr;
  }
  report["fans"] = Json::array();
  for (const FanCurves& fan : fans)
    report["fans"].push_back(row_of(fan, "children", kFanChildren, measured_sizes(fan.gather)));
  report["copying"] = Json::array();
  for (const DistanceCurves& curves : distances)
    report["copying"].push_back(row_of(curves, "bytes", kSampledBytes, kCurveSizes));
}

}  // namespace smelt
