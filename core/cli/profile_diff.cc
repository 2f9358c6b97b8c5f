#include "cli/profile_diff.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/terminal.h"
#include "profile/text/rows.h"

namespace smelt {
namespace {

Document hops_row(const HopChange& change) {
  Document row = {{"pairs", change.pairs}, {"a", change.a}, {"b", change.b}};
  for (size_t m = 0; m < std::size(kMatrices); ++m)
    row[kMatrixNames[m]] = change.ratio[m] > 0 ? Document(change.ratio[m]) : Document(nullptr);
  return row;
}

Document profile_row(const ProfileImage& image, const std::string& file) {
  return {{"file", file},
          {"machine", image.header.machine},
          {"fingerprint", fmt::format("{:016x}", image.header.fingerprint)},
          {"created", image.header.created},
          {"date", date_text(image.header.created)}};
}

}  // namespace

Document change_document(const ProfileChange& change, const ProfileImage& a, const std::string& file_a,
                         const ProfileImage& b, const std::string& file_b) {
  Document out = {{"a", profile_row(a, file_a)},  {"b", profile_row(b, file_b)}, {"cpus", change.common},
                  {"only_a", change.only_a},      {"only_b", change.only_b},     {"overall", hops_row(change.overall)},
                  {"classes", Document::array()}, {"limit", kLargeChange},       {"beyond", change.beyond}};
  for (const ClassChange& c : change.classes) {
    Document row = {{"distance", distance_name(c.distance)}};
    row.update(hops_row(c.change));
    out["classes"].push_back(std::move(row));
  }
  out["farthest"] = change.farthest > 0
                        ? Document{{"cpus", {change.farthest_from, change.farthest_to}}, {"hop", change.farthest}}
                        : Document(nullptr);
  out["winners"] = Document::array();
  const auto pattern = [](const std::string& name) { return name.empty() ? Document(nullptr) : Document(name); };
  for (const WinnerChange& w : change.winners)
    out["winners"].push_back({{"operation", w.operation}, {"cpus", w.cpus}, {"a", pattern(w.a)}, {"b", pattern(w.b)}});
  return out;
}

std::string change_text(const Document& document) {
  std::string out;
  out += fact("A", one_line(told(document, "{a.file}: {a.date}, {a.machine}")));
  out += fact("B", one_line(told(document, "{b.file}: {b.date}, {b.machine}")));
  if (document["a"]["fingerprint"] != document["b"]["fingerprint"])
    out += fact("machines", told(document, "{a.fingerprint} and {b.fingerprint}: not alike"));
  out += fact("CPUs", fmt::format("{} in both: {}", document["cpus"].size(), shown(document, "cpus", As::kCpus)));
  if (!document["only_a"].empty()) out += fact("only in A", shown(document, "only_a", As::kCpus));
  if (!document["only_b"].empty()) out += fact("only in B", shown(document, "only_b", As::kCpus));
  const Document& overall = document["overall"];
  if (overall["pairs"] > 0) {
    Document rows = document["classes"];
    Document all = {{"distance", "all"}};
    all.update(overall);
    rows.push_back(std::move(all));
    Table table{"median, B/A by pair", columns("distance; pairs|0; hop A=a|1; hop B=b|1"), std::move(rows)};
    constexpr const char* kTitles[] = {"hop", "send", "receive", "read"};
    for (size_t m = 0; m < std::size(kMatrices); ++m)
      table.columns.push_back({kTitles[m], kMatrixNames[m], As::kHundredths});
    out += table_text(table);
    const Document& farthest = document["farthest"];
    out += fact("changed", told(document, "{beyond} of {overall.pairs} pairs by more than {limit|%}") +
                               (farthest.is_null() ? ""
                                                   : fmt::format("; most, CPU {} to {}: {}", farthest["cpus"][0].dump(),
                                                                 farthest["cpus"][1].dump(),
                                                                 shown(farthest, "hop", As::kHundredths))));
  }
  for (const Document& w : document["winners"]) {
    const auto pattern = [&w](const char* letter) { return w[letter].is_null() ? "none" : shown(w, letter); };
    out += fact("winner", fmt::format("{} on CPUs {}: {}, now {}", shown(w, "operation"), shown(w, "cpus", As::kCpus),
                                      pattern("a"), pattern("b")));
  }
  return out;
}

}  // namespace smelt
