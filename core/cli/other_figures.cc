#include "cli/other_figures.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

uint32_t measured_children(const FanCurves& fan) {
  uint32_t count = 0;
  while (count < kFanSizes && fan.gather[count] > 0) ++count;
  return count;
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
  const auto row_of = [](const auto& curves, const char* axis, const auto& at, uint32_t count) {
    Json row = {{"distance", name_of(curves.distance)}, {axis, std::vector<uint64_t>(at, at + count)}};
    const Json figures = report_row(curves);
    for (const auto& [name, values] : figures.items())
      if (values.is_array()) row[name] = std::vector<float>(values.begin(), values.begin() + count);
    return row;
  };
  report["waiting"] = nullptr;
  if (wait.poll > 0) {
    report["waiting"] = report_row(wait);
    for (Json& ns : report["waiting"])
      if (ns == 0) ns = nullptr;
  }
  report["fans"] = Json::array();
  for (const FanCurves& fan : fans)
    report["fans"].push_back(row_of(fan, "children", kFanChildren, measured_children(fan)));
  report["copying"] = Json::array();
  for (const DistanceCurves& curves : distances)
    report["copying"].push_back(row_of(curves, "bytes", kSampledBytes, kCurveSizes));
}

}  // namespace smelt
