#include "cli/profile_diff.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "draw/picture.h"

namespace smelt {
namespace {

using Json = nlohmann::ordered_json;

std::string ratio_text(double ratio) { return ratio > 0 ? fmt::format("{:.2f}", ratio) : "-"; }

std::string row_text(const char* name, const HopChange& change) {
  std::string out = fmt::format("  {:<21} {:>8} {:>9.1f} {:>9.1f}", name, change.pairs, change.a, change.b);
  for (const double ratio : change.ratio) out += fmt::format(" {:>7}", ratio_text(ratio));
  return out + "\n";
}

Json row_json(const HopChange& change) {
  Json row = {{"pairs", change.pairs}, {"a", change.a}, {"b", change.b}};
  for (size_t m = 0; m < std::size(kMatrices); ++m)
    row[kMatrixNames[m]] = change.ratio[m] > 0 ? Json(change.ratio[m]) : Json(nullptr);
  return row;
}

}  // namespace

std::string change_text(const ProfileChange& change) {
  std::string out = fmt::format("CPUs        {} in both: {}\n", change.common.size(), cpu_ranges(change.common));
  if (!change.only_a.empty()) out += fmt::format("only in A   {}\n", cpu_ranges(change.only_a));
  if (!change.only_b.empty()) out += fmt::format("only in B   {}\n", cpu_ranges(change.only_b));
  if (change.overall.pairs > 0) {
    out += fmt::format("{:<23} {:>8} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7}\n", "median, B/A by pair", "pairs", "hop A",
                       "hop B", "hop", "send", "receive", "read");
    for (const ClassChange& c : change.classes) out += row_text(distance_name(c.distance), c.change);
    out += row_text("all", change.overall);
    out += fmt::format("changed     {} of {} pairs by more than {:.0f} %", change.beyond, change.overall.pairs,
                       kLargeChange * 100);
    if (change.farthest > 0)
      out += fmt::format("; most, CPU {} to {}: {:.2f}", change.farthest_from, change.farthest_to, change.farthest);
    out += "\n";
  }
  for (const WinnerChange& w : change.winners)
    out += fmt::format("winner      {} on CPUs {}: {}, now {}\n", w.operation, cpu_ranges(w.cpus),
                       w.a.empty() ? "none" : w.a, w.b.empty() ? "none" : w.b);
  return out;
}

std::string change_json(const ProfileChange& change, const ProfileImage& a, const ProfileImage& b) {
  const auto who = [](const ProfileImage& image) {
    return Json{{"machine", image.header.machine},
                {"fingerprint", fmt::format("{:016x}", image.header.fingerprint)},
                {"created", image.header.created}};
  };
  Json out = {{"a", who(a)},
              {"b", who(b)},
              {"cpus", change.common},
              {"only_a", change.only_a},
              {"only_b", change.only_b},
              {"overall", row_json(change.overall)},
              {"classes", Json::array()},
              {"limit", kLargeChange},
              {"beyond", change.beyond}};
  for (const ClassChange& c : change.classes) {
    Json row = {{"distance", distance_name(c.distance)}};
    row.update(row_json(c.change));
    out["classes"].push_back(std::move(row));
  }
  out["farthest"] = change.farthest > 0
                        ? Json{{"cpus", {change.farthest_from, change.farthest_to}}, {"hop", change.farthest}}
                        : Json(nullptr);
  out["winners"] = Json::array();
  const auto pattern = [](const std::string& name) { return name.empty() ? Json(nullptr) : Json(name); };
  for (const WinnerChange& w : change.winners)
    out["winners"].push_back({{"operation", w.operation}, {"cpus", w.cpus}, {"a", pattern(w.a)}, {"b", pattern(w.b)}});
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace smelt
