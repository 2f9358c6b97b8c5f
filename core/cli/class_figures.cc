#include "cli/class_figures.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "model/distance.h"

namespace smelt {

using Json = nlohmann::ordered_json;

std::string class_name(const ClassFigures& figures, const std::vector<ClassFigures>& all) {
  const std::string name = distance_name(static_cast<Distance>(figures.distance));
  const auto several = std::count_if(all.begin(), all.end(), [&](const ClassFigures& other) {
    return other.distance == figures.distance;
  });
  return several > 1 ? fmt::format("{} ({})", name, figures.part + 1) : name;
}

nlohmann::ordered_json marks_json(uint32_t marks) {
  auto out = Json::array();
  for (uint32_t m = 0; m < kClassMarks; ++m)
    if (marks >> m & 1) out.push_back(kClassMarkNames[m]);
  return out;
}

std::string marks_text(uint32_t marks) {
  std::vector<std::string> names = marks_json(marks);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string classes_text(const std::vector<ClassFigures>& classes, CostUnit unit) {
  if (classes.empty()) return "";
  std::string out = fmt::format("measured, {:<16} {:>8} {:>8} {:>9} {:>8}  marks\n", cost_unit_name(unit), "pairs",
                                "samples", "median", "spread");
  for (const ClassFigures& c : classes) {
    std::string row = fmt::format("  {:<24} {:>8} {:>8} {:>9.1f} {:>6.0f} %  {}", class_name(c, classes), c.pairs,
                                  c.samples, c.hop, c.spread * 100.0, marks_text(c.marks));
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + "\n";
  }
  return out;
}

nlohmann::ordered_json classes_json(const std::vector<ClassFigures>& classes) {
  auto out = Json::array();
  for (const ClassFigures& c : classes)
    out.push_back({{"distance", distance_name(static_cast<Distance>(c.distance))},
                   {"part", c.part},
                   {"pairs", c.pairs},
                   {"samples", c.samples},
                   {"hop", c.hop},
                   {"send_busy", c.send_busy},
                   {"recv_busy", c.recv_busy},
                   {"ready_read", c.ready_read},
                   {"spread", c.spread},
                   {"marks", marks_json(c.marks)}});
  return out;
}

std::string wait_text(const WaitFigures& wait) {
  std::vector<std::string> parts;
  const auto add = [&parts](float ns, const char* what) {
    if (ns > 0) parts.push_back(ns < 1000 ? fmt::format("{} {:.3g} ns", what, ns) : fmt::format("{} {:.3g} us", what, ns / 1000));
  };
  add(wait.poll, "a poll");
  add(wait.yield, "a yield");
  add(wait.futex_wake, "waking a sleeper");
  add(wait.futex_return, "until it runs");
  return parts.empty() ? "" : fmt::format("waiting     {}\n", fmt::join(parts, ", "));
}

nlohmann::ordered_json wait_json(const WaitFigures& wait) {
  const auto figure = [](float ns) { return ns > 0 ? Json(ns) : Json(nullptr); };
  return {{"poll", figure(wait.poll)},
          {"yield", figure(wait.yield)},
          {"futex_wake", figure(wait.futex_wake)},
          {"futex_return", figure(wait.futex_return)}};
}

}  // namespace smelt
