#include "cli/class_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "draw/picture.h"
#include "model/distance.h"
#include "profile/text/rows.h"

namespace smelt {

using Json = nlohmann::ordered_json;

std::string class_name(const ClassFigures& figures, const std::vector<ClassFigures>& all) {
  const std::string name = distance_name(static_cast<Distance>(figures.distance));
  const auto several = std::count_if(all.begin(), all.end(),
                                     [&](const ClassFigures& other) { return other.distance == figures.distance; });
  return several > 1 ? fmt::format("{} ({})", name, figures.part + 1) : name;
}

std::string marks_text(uint32_t marks) {
  std::vector<const char*> names;
  for (uint32_t m = 0; m < kClassMarks; ++m)
    if (marks >> m & 1) names.push_back(kClassMarkNames[m]);
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
  for (const ClassFigures& c : classes) {
    Json row = report_row(c);
    Json marks = std::move(row["marks"]);  // the last word
    row.erase("marks");
    row["marks"] = std::move(marks);
    out.push_back(std::move(row));
  }
  return out;
}

namespace {

// Short enough that no row is longer than 120 columns; the JSON form has all.
std::string team_text(const std::vector<uint32_t>& cpus) {
  constexpr size_t kMost = 12;
  const std::string ranges = cpu_ranges(cpus);
  return ranges.size() <= kMost ? ranges : fmt::format("{} CPUs", cpus.size());
}

}  // namespace

std::string winners_text(const std::vector<Winner>& winners, const std::vector<std::vector<uint32_t>>& cpus) {
  if (winners.empty()) return "";
  std::string out = fmt::format("{:<46} {:>9} {:>9} {:>8} {:>9} {:>12}\n", "raced on this machine, ns", "predicted",
                                "measured", "spread", "skewed", "beside a hop");
  for (size_t w = 0; w < winners.size(); ++w) {
    const Winner& winner = winners[w];
    out += fmt::format(
        "  {:<44} {:>9.1f} {:>9.1f} {:>6.0f} % {:>9} {:>12.1f}\n",
        fmt::format("{} on {}: {}", kWinnerOperationNames[winner.operation], team_text(cpus[w]), winner.pattern),
        winner.predicted, winner.measured, winner.spread * 100.0,
        winner.skewed > 0 ? fmt::format("{:.1f}", winner.skewed) : "-", winner.hop);
  }
  return out;
}

nlohmann::ordered_json winners_json(const std::vector<Winner>& winners,
                                    const std::vector<std::vector<uint32_t>>& cpus) {
  auto out = Json::array();
  for (size_t w = 0; w < winners.size(); ++w) {
    Json figures = report_row(winners[w]);
    Json row = {{"op", figures["operation"]}, {"cpus", cpus[w]}};
    figures.erase("operation");
    row.update(figures);
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace smelt
