#include "cli/profile_diff.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "draw/picture.h"
#include "measure/statistics.h"
#include "profile/text/error.h"

namespace smelt {
namespace {

using Json = nlohmann::ordered_json;

// Both profiles over the CPUs that they share.
struct Pairs {
  const ProfileImage& a;
  const ProfileImage& b;
  std::vector<std::pair<uint32_t, uint32_t>> index;  // of a common CPU in a and in b
};

Pairs common_pairs(const ProfileImage& a, const ProfileImage& b, ProfileChange* change) {
  Pairs pairs{a, b, {}};
  for (uint32_t i = 0; i < a.n(); ++i) {
    const auto found = std::lower_bound(b.os_cpu.begin(), b.os_cpu.end(), a.os_cpu[i]);
    const bool both = found != b.os_cpu.end() && *found == a.os_cpu[i];
    (both ? change->common : change->only_a).push_back(a.os_cpu[i]);
    if (both) pairs.index.emplace_back(i, static_cast<uint32_t>(found - b.os_cpu.begin()));
  }
  std::set_difference(b.os_cpu.begin(), b.os_cpu.end(), a.os_cpu.begin(), a.os_cpu.end(),
                      std::back_inserter(change->only_b));
  return pairs;
}

using Matrix = std::vector<float> ProfileImage::*;

// What two costs of a pair give; a cost of 0 has no ratio.
struct Samples {
  std::vector<double> a, b, ratio[4];

  HopChange summary() const {
    return {static_cast<uint32_t>(a.size()),
            median(a),
            median(b),
            median(ratio[0]),
            median(ratio[1]),
            median(ratio[2]),
            median(ratio[3])};
  }
};

Distance distance_in(const ProfileImage& image, uint32_t i, uint32_t j) {
  const auto place = [&image](uint32_t cpu) {
    return Place{image.core[cpu], image.llc[cpu], image.node[cpu], image.package[cpu]};
  };
  return distance_between(place(i), place(j));
}

void compare_costs(const Pairs& pairs, ProfileChange* change) {
  static constexpr Matrix kMatrices[4] = {&ProfileImage::hop, &ProfileImage::send_busy, &ProfileImage::recv_busy,
                                          &ProfileImage::ready_read};
  Samples all, classes[kDistances];
  double farthest = -1;
  for (const auto& [from_a, from_b] : pairs.index)
    for (const auto& [to_a, to_b] : pairs.index) {
      if (from_a == to_a) continue;
      const size_t in_a = size_t{from_a} * pairs.a.n() + to_a, in_b = size_t{from_b} * pairs.b.n() + to_b;
      for (Samples* samples : {&all, &classes[static_cast<size_t>(distance_in(pairs.a, from_a, to_a))]}) {
        samples->a.push_back(pairs.a.hop[in_a]);
        samples->b.push_back(pairs.b.hop[in_b]);
        for (size_t m = 0; m < 4; ++m) {
          const double before = (pairs.a.*kMatrices[m])[in_a], after = (pairs.b.*kMatrices[m])[in_b];
          if (before > 0 && after > 0) samples->ratio[m].push_back(after / before);
        }
      }
      if (pairs.a.hop[in_a] <= 0 || pairs.b.hop[in_b] <= 0) continue;
      const double ratio = double{pairs.b.hop[in_b]} / pairs.a.hop[in_a];
      if (ratio > 1 + kLargeChange || ratio < 1 / (1 + kLargeChange)) ++change->beyond;
      if (std::abs(std::log(ratio)) > farthest) {
        farthest = std::abs(std::log(ratio));
        change->farthest = ratio;
        change->farthest_from = pairs.a.os_cpu[from_a];
        change->farthest_to = pairs.a.os_cpu[to_a];
      }
    }
  change->overall = all.summary();
  for (size_t d = 0; d < kDistances; ++d)
    if (!classes[d].a.empty()) change->classes.push_back({static_cast<Distance>(d), classes[d].summary()});
}

void compare_winners(const ProfileImage& a, const ProfileImage& b, ProfileChange* change) {
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, WinnerChange> found;
  for (const ProfileImage* image : {&a, &b})
    for (const Winner& winner : image->winners) {
      std::vector<uint32_t> cpus;
      for (uint32_t i = 0; i < winner.participants; ++i)
        cpus.push_back(image->os_cpu[image->winner_words[winner.first_word + i]]);
      std::sort(cpus.begin(), cpus.end());
      WinnerChange& entry = found[{winner.operation, cpus}];
      entry.operation = kWinnerOperationNames[winner.operation];
      entry.cpus = std::move(cpus);
      (image == &a ? entry.a : entry.b) = winner.pattern;
    }
  for (auto& [key, entry] : found)
    if (entry.a != entry.b) change->winners.push_back(std::move(entry));
}

std::string ratio_text(double ratio) { return ratio > 0 ? fmt::format("{:.2f}", ratio) : "-"; }

std::string row_text(const char* name, const HopChange& change) {
  return fmt::format("  {:<21} {:>8} {:>9.1f} {:>9.1f} {:>7} {:>7} {:>7} {:>7}\n", name, change.pairs, change.a,
                     change.b, ratio_text(change.ratio), ratio_text(change.send_busy), ratio_text(change.recv_busy),
                     ratio_text(change.ready_read));
}

Json row_json(const HopChange& change) {
  const auto ratio = [](double value) { return value > 0 ? Json(value) : Json(nullptr); };
  return {{"pairs", change.pairs},
          {"a", change.a},
          {"b", change.b},
          {"hop", ratio(change.ratio)},
          {"send_busy", ratio(change.send_busy)},
          {"recv_busy", ratio(change.recv_busy)},
          {"ready_read", ratio(change.ready_read)}};
}

}  // namespace

ProfileChange compare_profiles(const ProfileImage& a, const ProfileImage& b) {
  if (a.header.unit != b.header.unit) throw UserError("one profile's costs are in ns, the other's in cycles");
  ProfileChange change;
  const Pairs pairs = common_pairs(a, b, &change);
  if (pairs.index.empty())
    throw UserError(
        fmt::format("the profiles have no CPU in common: {} and {}", cpu_ranges(a.os_cpu), cpu_ranges(b.os_cpu)));
  compare_costs(pairs, &change);
  compare_winners(a, b, &change);
  return change;
}

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
