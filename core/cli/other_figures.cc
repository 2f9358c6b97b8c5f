#include "cli/other_figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/methods.h"
#include "cli/terminal.h"
#include "model/curves.h"
#include "model/distance.h"
#include "profile/text/rows.h"

namespace smelt {
namespace {

constexpr uint32_t kShownSize = 5;  // of kSampledBytes: longer than a system call, shorter than a cache
static_assert(kSampledBytes[kShownSize] == 64 << 10);

const char* name_of(uint32_t distance) { return distance_name(static_cast<Distance>(distance)); }

// The sizes come in rising order, and a measurement that ends early has the first of them.
uint32_t measured_sizes(const auto& figures) {
  return static_cast<uint32_t>(std::find(std::begin(figures), std::end(figures), 0.0f) - std::begin(figures));
}

Document row_of(const auto& curves, const char* axis, const auto& at, uint32_t count) {
  Document row = {{"distance", name_of(curves.distance)}, {axis, std::vector<uint64_t>(at, at + count)}};
  const Document figures = report_row(curves);
  for (const auto& [name, values] : figures.items())
    if (values.is_array()) row[name] = std::vector<float>(values.begin(), values.begin() + count);
  return row;
}

// The thing that all pairs of that distance share.
const char* shared_by(const std::string& distance) {
  if (distance == distance_name(Distance::kSameCore)) return "out of a core";
  if (distance == distance_name(Distance::kSameLlc)) return "through a last-level cache";
  return distance == distance_name(Distance::kSameNode) ? "out of a last-level cache" : "between two nodes";
}

}  // namespace

Document queues_document(const std::vector<QueueCurves>& queues) {
  Document out = Document::array();
  for (const QueueCurves& queue : queues) {
    Document row = row_of(queue, "pairs", kQueuePairs, measured_sizes(queue.line));
    row.update({{"service", queue.service}, {"reached", queue.reached != 0}, {"residual", queue.residual}});
    out.push_back(std::move(row));
  }
  return out;
}

std::string queues_text(const Document& document) {
  std::string out;
  for (const Document& queue : document["queues"]) {
    const auto distance = queue["distance"].get<std::string>();
    if (queue["pairs"].empty()) continue;
    out += fact("queueing",
                fmt::format("{}: {}, a message takes {}{} (up to {} pairs at once, fitted within {})", distance,
                            shared_by(distance), queue["reached"] ? "" : "at most ", time_text(queue["service"]),
                            queue["pairs"].back().dump(), shown(queue, "residual", As::kPercent)));
  }
  return out;
}

std::string time_text(double ns) {
  if (ns < 1e3) return fmt::format("{:.3g} ns", ns);
  return ns < 1e6 ? fmt::format("{:.3g} µs", ns / 1e3) : fmt::format("{:.3g} ms", ns / 1e6);
}

std::string other_figures_text(const Document& document) {
  std::string out;
  if (const Document& wait = document["waiting"]; !wait.is_null()) {
    std::string line =
        fmt::format("a poll {}, a yield {}", time_text(wait["poll"]), time_text(wait.value("yield", 0.0)));
    if (wait["futex_return"].is_number())
      line += fmt::format(", waking somebody {}, who then runs after {}", time_text(wait["futex_wake"]),
                          time_text(wait["futex_return"]));
    out += fact("waiting", line);
  }
  for (const Document& fan : document["fans"]) {
    const Document& children = fan["children"];
    if (children.empty()) continue;
    std::string line = shown(fan, "distance") + ": round trips with";
    for (size_t i = 0; i < children.size(); i += std::max<size_t>(children.size() - 1, 1))
      line += fmt::format("{} {} {}: gather {}, scatter {}", i ? ";" : "", children[i].dump(), i ? "children" : "child",
                          time_text(fan["gather"][i]), time_text(fan["scatter"][i]));
    out += fact("fan", line);
  }
  for (const Document& curves : document["copying"]) {
    const double copy = curves["copy"][kShownSize], single = curves["single_copy"][kShownSize];
    if (copy <= 0) continue;
    out += fact("copying", fmt::format("{}: {} in {}{}, adding {}{}", shown(curves, "distance"),
                                       bytes_text(kSampledBytes[kShownSize]), time_text(copy),
                                       single > 0 ? ", single copy " + time_text(single) : "",
                                       time_text(curves["reduce"][kShownSize]),
                                       curves.contains("copied_by") ? "; raced: " + shown(curves, "copied_by") : ""));
  }
  return out;
}

void add_other_figures(Document& out, const std::vector<QueueCurves>& queues, const WaitFigures& wait,
                       const std::vector<FanCurves>& fans, const std::vector<DistanceCurves>& distances) {
  out["queues"] = queues_document(queues);
  out["waiting"] = nullptr;
  if (wait.poll > 0) {
    out["waiting"] = report_row(wait);
    for (Document& ns : out["waiting"])
      if (ns == 0) ns = nullptr;
  }
  out["fans"] = Document::array();
  for (const FanCurves& fan : fans)
    out["fans"].push_back(row_of(fan, "children", kFanChildren, measured_sizes(fan.gather)));
  out["copying"] = Document::array();
  for (const DistanceCurves& curves : distances) {
    Document row = row_of(curves, "bytes", kSampledBytes, kCurveSizes);
    if (curves.copied_by != 0) row["copied_by"] = kCopyChoiceNames[curves.copied_by];
    out["copying"].push_back(std::move(row));
  }
}

}  // namespace smelt
