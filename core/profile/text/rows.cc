// Profiles are read by people, so distances, marks and operations go by their names, dates by the calendar.
#include "profile/text/rows.h"

#include <algorithm>
#include <charconv>
#include <ctime>

#include "profile/text/image.h"

namespace smelt {

std::string date_text(int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  char text[40];
  return std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0 ? text : "1970-01-01T00:00:00Z";
}

std::string duration_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 100 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string conditions_text(const PackedHeader& header) {
  std::string out;
  for (uint32_t c = 0; c < kConditions; ++c)
    if (header.conditions >> c & 1)
      out += fmt::format("{}{}{}", out.empty() ? "" : ", ", kConditionNames[c],
                         1u << c == kBesideOthers ? fmt::format(" ({:.1f} CPUs)", header.others) : "");
  return out;
}

namespace {

using Json = nlohmann::json;

// Firmware names need not be UTF-8; the bytes that are not become U+FFFD.
std::string json_text(std::string_view text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

int64_t seconds_from(const std::string& text, const char* name, const JsonChecks& checks) {
  std::tm utc{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  if (!end || *end != '\0') checks.fail("\"{}\" is not a date like 2026-01-31T12:00:00Z", name);
  return ::timegm(&utc);
}

uint64_t hexadecimal_from(const std::string& text, const char* name, const JsonChecks& checks) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc{} || stop != end) checks.fail("\"{}\" is not a hexadecimal number", name);
  return value;
}

std::vector<const Field*> fields_in_json_order(const Description& description) {
  std::vector<const Field*> fields;
  for (const Field& field : description.fields)
    if (field.place > 0) fields.push_back(&field);
  std::stable_sort(fields.begin(), fields.end(), [](const Field* a, const Field* b) { return a->place < b->place; });
  return fields;
}

std::vector<std::string> names_of(const Rule& rule, uint32_t marks) {
  std::vector<std::string> names;
  for (uint32_t m = 0; m < rule.most; ++m)
    if (marks >> m & 1) names.emplace_back(rule.names[m]);
  return names;
}

std::string list(const float* values, uint32_t count) {
  return fmt::format("[{}]", fmt::join(values, values + count, ", "));
}

std::string value_text(const Field& field, const void* row) {
  const auto number = [&] { return *values_of<uint32_t>(field, row); };
  const float* const costs = values_of<float>(field, row);
  switch (field.rule.form) {
    case Form::kCost: return field.count == 1 ? fmt::format("{}", *costs) : list(costs, field.count);
    case Form::kCurves: {
      std::string out = "{\n";
      for (uint32_t m = 0; m < kCurveMethods; ++m)
        out += fmt::format("      \"{}\": {}{}\n", kCurveMethodNames[m], list(costs + m * kCurveSizes, kCurveSizes),
                           m + 1 < kCurveMethods ? "," : "");
      return out + "    }";
    }
    case Form::kWhole:
    case Form::kOrderedPairs: return fmt::format("{}", number());
    case Form::kName:
    case Form::kUnit: return json_text(field.rule.names[number()]);
    case Form::kMarks: {
      std::vector<std::string> marks = names_of(field.rule, number());
      for (std::string& mark : marks) mark = json_text(mark);
      return fmt::format("[{}]", fmt::join(marks, ", "));
    }
    case Form::kText: return json_text(values_of<char>(field, row));
    case Form::kHexadecimal: return fmt::format("\"{:016x}\"", *values_of<uint64_t>(field, row));
    case Form::kDate: return json_text(date_text(*values_of<int64_t>(field, row)));
    case Form::kKind: return is_measured(*static_cast<const PackedHeader*>(row)) ? "\"measured\"" : "\"guessed\"";
    case Form::kAxis: break;
    case Form::kHidden:
    case Form::kReserved: return {};
  }
  const Axis& axis = *field.rule.axis;
  return fmt::format("[{}]", fmt::join(axis.at, axis.at + axis.count, ", "));
}

void read_value(const Json& object, const JsonChecks& checks, const Field& field, uint32_t cpus, void* row) {
  const char* const name = field.name;
  const Rule& rule = field.rule;
  uint32_t& number = *values_of<uint32_t>(field, row);
  float* const costs = values_of<float>(field, row);
  const auto whole = [&](uint32_t most) {
    return checks.whole(checks.member(object, name), fmt::format("\"{}\"", name), most);
  };
  const auto read_list = [&checks](const Json& from, const char* key, uint32_t count, float* into) {
    const std::vector<float> values = checks.costs(from, key, count);
    std::copy(values.begin(), values.end(), into);
  };
  switch (rule.form) {
    case Form::kCost:
      if (field.count == 1)
        *costs = static_cast<float>(checks.number(object, name));
      else
        read_list(object, name, field.count, costs);
      break;
    case Form::kCurves:
      for (uint32_t m = 0; m < kCurveMethods; ++m)
        read_list(checks.member(object, name), kCurveMethodNames[m], kCurveSizes, costs + m * kCurveSizes);
      break;
    case Form::kWhole:
      number = whole(rule.most);
      if (number < rule.least) checks.fail("\"{}\" is {}, not {} to {}", name, number, rule.least, rule.most);
      break;
    case Form::kOrderedPairs: number = whole(cpus * (cpus - 1)); break;
    case Form::kName:
      if (rule.optional && !object.contains(name)) break;
      number = checks.one_of(checks.member(object, name), fmt::format("\"{}\"", name).c_str(), rule.names, rule.most);
      break;
    case Form::kUnit: number = static_cast<uint32_t>(checks.unit(object, name)); break;
    case Form::kMarks:
      number = 0;
      for (const Json& mark : checks.list(object, name, rule.most, name))
        number |= 1u << checks.one_of(mark, "a mark", rule.names, rule.most);
      break;
    case Form::kText: set_text(values_of<char>(field, row), field.count, checks.text(object, name)); break;
    case Form::kHexadecimal:
      *values_of<uint64_t>(field, row) = hexadecimal_from(checks.text(object, name), name, checks);
      break;
    case Form::kDate: *values_of<int64_t>(field, row) = seconds_from(checks.text(object, name), name, checks); break;
    case Form::kAxis: {
      // Sizes that this Smelt does not sample would be read as others.
      const std::vector<uint64_t> known(rule.axis->at, rule.axis->at + rule.axis->count);
      if (checks.member(object, name) != Json(known)) checks.fail("\"{}\" is not [{}]", name, fmt::join(known, ", "));
      break;
    }
    case Form::kKind:
    case Form::kHidden:
    case Form::kReserved: break;
  }
}

}  // namespace

std::vector<std::string> json_members(const Description& description, const void* row) {
  std::vector<std::string> members;
  for (const Field* field : fields_in_json_order(description))
    if (!field->rule.optional || *values_of<uint32_t>(*field, row) != 0)
      members.push_back(fmt::format("\"{}\": {}", field->name, value_text(*field, row)));
  return members;
}

void read_members(const Json& object, const JsonChecks& checks, const Description& description, uint32_t cpus,
                  void* row) {
  for (const Field* field : fields_in_json_order(description)) read_value(object, checks, *field, cpus, row);
}

nlohmann::ordered_json report_row(const Description& description, const void* row) {
  nlohmann::ordered_json out;
  for (const Field* field : fields_in_json_order(description)) {
    const auto number = [&] { return *values_of<uint32_t>(*field, row); };
    const float* const costs = values_of<float>(*field, row);
    nlohmann::ordered_json& value = out[field->name];
    switch (field->rule.form) {
      case Form::kName: value = field->rule.names[number()]; break;
      case Form::kMarks: value = names_of(field->rule, number()); break;
      case Form::kText: value = values_of<char>(*field, row); break;
      case Form::kWhole: value = number(); break;
      case Form::kCost:
        if (field->count == 1)
          value = *costs;
        else
          value = std::vector<float>(costs, costs + field->count);
        break;
      default: out.erase(field->name);
    }
  }
  return out;
}

}  // namespace smelt
