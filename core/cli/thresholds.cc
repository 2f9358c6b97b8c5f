#include "cli/thresholds.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/fingerprint.h"
#include "base/options.h"
#include "cli/methods.h"
#include "cli/other_figures.h"

namespace smelt {
namespace {

// What the thresholds are computed from, as a view of the file.
Profile profile_of(const MachineFile& machine) {
  Profile out;
  if (machine.unit == CostUnit::kNanoseconds) out.costs = machine.overlap;
  if (machine.kind == "measured") out.source = ProfileSource::kSetting;  // all that counts is that it is no guess
  out.header.one_way_hop = machine.one_way_hop;
  out.header.classes = static_cast<uint32_t>(machine.classes.size());
  out.classes = machine.classes.data();
  out.header.distances = static_cast<uint32_t>(machine.distances.size());
  out.distances = machine.distances.data();
  out.header.curve_sets = static_cast<uint32_t>(machine.curves.size());
  out.curves = machine.curves.data();
  out.wait = &machine.wait;
  return out;
}

std::string value_text(const Threshold& threshold) {
  const std::string unit = threshold_info(threshold.id).unit;
  if (threshold.value == kNever) return "never";
  if (unit == "bytes") return bytes_text(threshold.value);
  return unit == "ns" ? time_text(static_cast<double>(threshold.value)) : fmt::format("{} {}", threshold.value, unit);
}

std::string reason_text(const Threshold& threshold) {
  char text[320];
  threshold_reason(threshold, text, sizeof text);
  return text;
}

// The same of calls that a barrier follows, where that is another value; nothing where it is not, or was asked for.
std::optional<Threshold> strict_one(const Threshold& loose, const MachineFile& machine, Situation situation) {
  if (situation.strict) return {};
  situation.strict = true;
  const Profile profile = profile_of(machine);
  const Threshold strict = find_threshold(loose.id, &profile, situation);
  return strict.value == loose.value ? std::nullopt : std::optional(strict);
}

template <typename Row>
void for_each_threshold(const MachineFile& machine, const Situation& situation, Row row) {
  const Profile profile = profile_of(machine);
  for (uint32_t i = 0; i < kThresholds; ++i) row(find_threshold(static_cast<ThresholdId>(i), &profile, situation));
}

}  // namespace

Situation situation_of(size_t cpus, uint32_t participants, bool this_machine) {
  Situation out;
  out.participants = participants ? participants : std::max<uint32_t>(2, static_cast<uint32_t>(cpus));
  out.crowded = out.participants > cpus;
  out.moves = this_machine && is_virtual_machine();
  out.strict = std::string_view(options().sync) == "strict";
  return out;
}

std::string thresholds_text(const MachineFile& machine, const Situation& situation) {
  std::string out =
      fmt::format("machine     {}\nfor         groups of {} processes{}{}\n", machine.name, situation.participants,
                  situation.crowded ? ", more than CPUs" : "", situation.moves ? ", on a virtual machine" : "");
  if (situation.strict) out.insert(out.size() - 1, ", a barrier after each call");
  for_each_threshold(machine, situation, [&](const Threshold& threshold) {
    const ThresholdInfo& info = threshold_info(threshold.id);
    out += fmt::format("{} {}  [{}]{}{}\n    {}\n    {}\n", info.name, value_text(threshold),
                       threshold_origin_name(threshold.origin), info.setting[0] ? "  " : "", info.setting, info.decides,
                       reason_text(threshold));
    if (const auto strict = strict_one(threshold, machine, situation))
      out += fmt::format("    strict {}: {}\n", value_text(*strict), reason_text(*strict));
  });
  return out;
}

std::vector<ThresholdRow> threshold_rows(const MachineFile& machine, const Situation& situation) {
  std::vector<ThresholdRow> rows;
  for_each_threshold(machine, situation, [&](const Threshold& threshold) {
    std::string reason = reason_text(threshold);
    if (const auto strict = strict_one(threshold, machine, situation))
      reason += fmt::format("; strict {}: {}", value_text(*strict), reason_text(*strict));
    const ThresholdInfo& info = threshold_info(threshold.id);
    const ThresholdOrigin from = threshold.origin;
    rows.push_back({info.name, value_text(threshold), threshold_origin_name(from), info.setting, info.decides, reason,
                    from == ThresholdOrigin::kCurves || from == ThresholdOrigin::kFigure ||
                        from == ThresholdOrigin::kSituation || from == ThresholdOrigin::kSetting});
  });
  return rows;
}

std::string thresholds_json(const MachineFile& machine, const Situation& situation) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  const auto value = [](const Threshold& threshold) {
    return threshold.value == kNever ? Json(nullptr) : Json(threshold.value);
  };
  for_each_threshold(machine, situation, [&](const Threshold& threshold) {
    const ThresholdInfo& info = threshold_info(threshold.id);
    rows.push_back({{"name", info.name},
                    {"value", value(threshold)},
                    {"strict", value(strict_one(threshold, machine, situation).value_or(threshold))},
                    {"unit", info.unit},
                    {"origin", threshold_origin_name(threshold.origin)},
                    {"setting", info.setting[0] ? Json(info.setting) : Json(nullptr)},
                    {"decides", info.decides},
                    {"reason", reason_text(threshold)}});
  });
  const Json out = {{"machine", machine.name},
                    {"participants", situation.participants},
                    {"crowded", situation.crowded},
                    {"moves", situation.moves},
                    {"thresholds", std::move(rows)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace smelt
