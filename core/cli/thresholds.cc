#include "cli/thresholds.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/fingerprint.h"
#include "base/options.h"
#include "cli/methods.h"
#include "cli/other_figures.h"
#include "cli/terminal.h"

namespace smelt {
namespace {

// The value is in the threshold's unit.
std::string value_text(const Document& value, const std::string& unit) {
  if (value.is_null()) return "never";
  if (unit == "bytes") return bytes_text(value.get<uint64_t>());
  return unit == "ns" ? time_text(value.get<double>()) : fmt::format("{} {}", value.get<uint64_t>(), unit);
}

// The value for calls that a barrier follows; "" if it is the same.
std::string strict_text(const Document& row) {
  return row["strict_reason"].is_null() ? "" : told(row, "strict {strict_shown}: {strict_reason}");
}

std::string reason_text(const Threshold& threshold) {
  char text[320];
  threshold_reason(threshold, text, sizeof text);
  return text;
}

// The same of calls that a barrier follows, where that is another value; nothing where it is not, or was asked for.
std::optional<Threshold> strict_one(const Threshold& loose, const Profile& profile, Situation situation) {
  if (situation.strict) return {};
  situation.strict = true;
  const Threshold strict = find_threshold(loose.id, &profile, situation);
  return strict.value == loose.value ? std::nullopt : std::optional(strict);
}

}  // namespace

Situation situation_of(size_t cpus, uint32_t participants, bool this_machine) {
  Situation out;
  out.participants = participants ? participants : std::max<uint32_t>(2, static_cast<uint32_t>(cpus));
  out.crowded = out.participants > cpus;
  out.here = this_machine;
  out.moves = this_machine && is_virtual_machine();
  out.strict = std::string_view(options().sync) == "strict";
  return out;
}

Document thresholds_document(const std::string& machine, const Profile& profile, const Situation& situation) {
  Document rows = Document::array();
  const auto value = [](const Threshold& threshold) {
    return threshold.value == kNever ? Document(nullptr) : Document(threshold.value);
  };
  for (uint32_t i = 0; i < kThresholds; ++i) {
    const Threshold threshold = find_threshold(static_cast<ThresholdId>(i), &profile, situation);
    const auto strict = strict_one(threshold, profile, situation);
    const ThresholdInfo& info = threshold_info(threshold.id);
    const ThresholdOrigin from = threshold.origin;
    rows.push_back({{"name", info.name},
                    {"value", value(threshold)},
                    {"strict", value(strict.value_or(threshold))},
                    {"unit", info.unit},
                    {"shown", value_text(value(threshold), info.unit)},
                    {"strict_shown", value_text(value(strict.value_or(threshold)), info.unit)},
                    {"origin", threshold_origin_name(from)},
                    {"of_machine", from == ThresholdOrigin::kCurves || from == ThresholdOrigin::kFigure ||
                                       from == ThresholdOrigin::kSituation || from == ThresholdOrigin::kSetting},
                    {"setting", info.setting[0] ? Document(info.setting) : Document(nullptr)},
                    {"decides", info.decides},
                    {"reason", reason_text(threshold)},
                    {"strict_reason", strict ? Document(reason_text(*strict)) : Document(nullptr)}});
  }
  return {{"machine", machine},           {"participants", situation.participants},
          {"crowded", situation.crowded}, {"moves", situation.moves},
          {"strict", situation.strict},   {"thresholds", std::move(rows)}};
}

std::string thresholds_text(const Document& document) {
  std::string out = fact("machine", shown(document, "machine"));
  out += fact("for", fmt::format("groups of {} processes{}{}{}", shown(document, "participants"),
                                 document["crowded"] ? ", more than CPUs" : "",
                                 document["moves"] ? ", on a virtual machine" : "",
                                 document["strict"] ? ", a barrier after each call" : ""));
  for (const Document& row : document["thresholds"]) {
    out += fmt::format("{} {}  [{}]{}\n    {}\n    {}\n", shown(row, "name"), shown(row, "shown"), shown(row, "origin"),
                       row["setting"].is_null() ? "" : "  " + shown(row, "setting"), shown(row, "decides"),
                       shown(row, "reason"));
    if (const std::string strict = strict_text(row); !strict.empty()) out += "    " + strict + "\n";
  }
  return out;
}

}  // namespace smelt
