#include "cli/class_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/distance.h"
#include "profile/text/rows.h"
#include "profile/text/statistics.h"

namespace smelt {

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

Document conditions_document(uint32_t conditions) {
  Document out = Document::array();
  for (uint32_t c = 0; c < kConditions; ++c)
    if (conditions >> c & 1) out.push_back(kConditionNames[c]);
  return out;
}

Document classes_document(const std::vector<ClassFigures>& classes) {
  Document out = Document::array();
  for (const ClassFigures& c : classes) {
    Document row = {{"class", class_name(c, classes)}};
    Document figures = report_row(c);
    Document marks = std::move(figures["marks"]);  // the last word
    figures.erase("marks");
    row.update(figures);
    row["marks"] = std::move(marks);
    out.push_back(std::move(row));
  }
  return out;
}

Table classes_table(const Document& rows, const std::string& unit) {
  return {"measured, " + unit, columns("class; pairs|0; samples|0; median=hop|1; spread|%; marks"), rows};
}

Document winners_document(const std::vector<Winner>& winners, const std::vector<std::vector<uint32_t>>& cpus) {
  Document out = Document::array();
  for (size_t w = 0; w < winners.size(); ++w) {
    Document figures = report_row(winners[w]);
    Document row = {{"op", figures["operation"]}, {"cpus", cpus[w]}};
    figures.erase("operation");
    row.update(figures);
    if (row["skewed"] == 0) row["skewed"] = nullptr;  // it was not timed so
    out.push_back(std::move(row));
  }
  return out;
}

Document winners_document(const ProfileImage& image) {
  std::vector<std::vector<uint32_t>> cpus;
  for (const Winner& winner : image.winners) cpus.push_back(image.cpus_of(winner));
  return winners_document(image.winners, cpus);
}

Table winners_table(Document rows) {
  constexpr size_t kMost = 12;  // so that no row is longer than 120 columns
  for (Document& row : rows) {
    const std::string cpus = shown(row, "cpus", As::kCpus);
    row["what"] = fmt::format("{} on {}: {}", row["op"].get<std::string>(),
                              cpus.size() <= kMost ? cpus : fmt::format("{} CPUs", row["cpus"].size()),
                              row["pattern"].get<std::string>());
    const double predicted = row["predicted"], measured = row["measured"];
    row["times"] = predicted > 0 ? Document(measured / predicted) : Document(nullptr);
  }
  return {"raced on this machine, in loops, ns",
          columns("what won=what; predicted|1; tight=measured|1; times|2; spread|%; skewed|1; a hop=hop|1"),
          std::move(rows)};
}

Document hops_document(const Costs& costs, const std::vector<uint16_t>& package, const std::vector<uint16_t>& core) {
  std::vector<double> hops[kDistances];
  const auto place = [&](uint32_t i) {
    return Location{core[i], costs.llc ? costs.llc[i] : uint16_t{0}, costs.node ? costs.node[i] : uint16_t{0},
                    package[i]};
  };
  for (uint32_t a = 0; a < costs.n; ++a)
    for (uint32_t b = 0; b < costs.n; ++b)
      if (a != b)
        hops[static_cast<uint32_t>(distance_between(place(a), place(b)))].push_back(costs.hop[costs.at(a, b)]);
  Document rows = Document::array();
  for (uint32_t d = 0; d < kDistances; ++d) {
    if (hops[d].empty()) continue;
    const auto [least, most] = std::minmax_element(hops[d].begin(), hops[d].end());
    rows.push_back({{"distance", distance_name(static_cast<Distance>(d))},
                    {"pairs", hops[d].size()},
                    {"min", *least},
                    {"median", median(hops[d])},
                    {"max", *most}});
  }
  return rows;
}

Table hops_table(const Document& rows, const std::string& unit) {
  return {"one hop, " + unit, columns("distance; pairs|0; min|1; median|1; max|1"), rows};
}

}  // namespace smelt
