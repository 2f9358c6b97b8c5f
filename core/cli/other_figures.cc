#include "cli/other_figures.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/methods.h"
#include "model/curves.h"
#include "model/distance.h"

namespace smelt {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kShownSize = 5;  // of kSampledBytes: longer than a system call, shorter than a cache
static_assert(kSampledBytes[kShownSize] == 64 << 10);

const char* name_of(uint32_t distance) { return distance_name(static_cast<Distance>(distance)); }

uint32_t measured_children(const FanCurves& fan) {
  uint32_t count = 0;
  while (count < kFanSizes && fan.gather[count] > 0) ++count;
  return count;
}

template <size_t size>
Json list(const float (&values)[size], uint32_t count = size) {
  return Json(std::vector<float>(values, values + count));
}

}  // namespace

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
    const uint32_t count = measured_children(fan);
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
  const auto figure = [](float ns) { return ns > 0 ? Json(ns) : Json(nullptr); };
  if (wait.poll > 0)
    report["waiting"] = {{"poll", figure(wait.poll)},
                         {"yield", figure(wait.yield)},
                         {"futex_wake", figure(wait.futex_wake)},
                         {"futex_return", figure(wait.futex_return)}};
  report["fans"] = Json::array();
  for (const FanCurves& fan : fans) {
    const uint32_t count = measured_children(fan);
    report["fans"].push_back({{"distance", name_of(fan.distance)},
                              {"children", std::vector<uint32_t>(kFanChildren, kFanChildren + count)},
                              {"gather", list(fan.gather, count)},
                              {"scatter", list(fan.scatter, count)}});
  }
  report["copying"] = Json::array();
  for (const DistanceCurves& curves : distances)
    report["copying"].push_back({{"distance", name_of(curves.distance)},
                                 {"bytes", kSampledBytes},
                                 {"copy", list(curves.copy)},
                                 {"single_copy", list(curves.single_copy)},
                                 {"reduce", list(curves.reduce)}});
}

}  // namespace smelt
