#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace smelt {
namespace {

constexpr int kDigits = 7;  // of a float

void round_floats(Document& value) {
  if (value.is_structured())
    for (Document& part : value) round_floats(part);
  else if (value.is_number_float() && std::isfinite(value.get<double>()))
    value = std::strtod(fmt::format("{:.{}g}", value.get<double>(), kDigits).c_str(), nullptr);
}

std::string text_of(const Document& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string out;
  for (const Document& part : value) out += (out.empty() ? "" : ", ") + text_of(part);
  return out;
}

bool is_number(const Column& column) { return column.form != As::kText && column.form != As::kCpus; }

// Counts characters of UTF-8.
size_t columns_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// What lies before the first `between`, and what behind it; all and nothing where there is none.
std::pair<std::string_view, std::string_view> split(std::string_view text, char between) {
  const size_t at = std::min(text.find(between), text.size());
  return {text.substr(0, at), text.substr(std::min(at + 1, text.size()))};
}

As form_named(std::string_view spelt) {
  constexpr std::pair<std::string_view, As> kForms[] = {
      {"0", As::kWhole},   {"1", As::kTenths},          {"2", As::kHundredths},           {"3", As::kThousandths},
      {"%", As::kPercent}, {".1%", As::kTenthsPercent}, {".3%", As::kThousandthsPercent}, {"+%", As::kChange},
      {"cpus", As::kCpus}};
  for (const auto& [name, form] : kForms)
    if (spelt == name) return form;
  return As::kText;
}

std::vector<std::string> cells_of(const Table& table, const Document& row) {
  std::vector<std::string> cells;
  for (const Column& column : table.columns) cells.push_back(shown(row, column.member, column.form));
  return cells;
}

}  // namespace

std::string cpu_ranges(const std::vector<uint32_t>& cpus) {
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    const char* comma = text.empty() ? "" : ",";
    // Two neighbours read better as a pair than as a range.
    if (end - i > 2) {
      text += fmt::format("{}{}-{}", comma, cpus[i], cpus[end - 1]);
    } else {
      text += fmt::format("{}{}", comma, cpus[i]);
      end = i + 1;
    }
    i = end;
  }
  return text;
}

std::string shown(const Document& row, const std::string& member, As form) {
  const auto found = row.find(member);
  if (found == row.end() || found->is_null()) return "-";
  const auto number = [&] { return found->get<double>(); };
  switch (form) {
    case As::kText: return text_of(*found);
    case As::kWhole: return fmt::format("{:.0f}", number());
    case As::kTenths: return fmt::format("{:.1f}", number());
    case As::kHundredths: return fmt::format("{:.2f}", number());
    case As::kThousandths: return fmt::format("{:.3f}", number());
    case As::kPercent: return fmt::format("{:.0f} %", 100 * number());
    case As::kTenthsPercent: return fmt::format("{:.1f} %", 100 * number());
    case As::kThousandthsPercent: return fmt::format("{:.3f} %", 100 * number());
    case As::kChange: return fmt::format("{:+.0f} %", 100 * (number() - 1));
    case As::kCpus: return cpu_ranges(found->get<std::vector<uint32_t>>());
  }
  return "";
}

std::vector<Column> columns(std::string_view spelt) {
  std::vector<Column> out;
  while (!spelt.empty()) {
    const size_t end = std::min(spelt.find("; "), spelt.size());
    const auto [named, form] = split(spelt.substr(0, end), '|');
    const auto [title, member] = split(named, '=');
    out.push_back({std::string(title), std::string(named.size() == title.size() ? title : member), form_named(form)});
    spelt.remove_prefix(std::min(end + 2, spelt.size()));
  }
  return out;
}

std::string told(const Document& document, std::string_view words) {
  std::string out;
  for (size_t at = 0; at < words.size();) {
    const size_t open = std::min(words.find('{', at), words.size()), close = words.find('}', open);
    out += words.substr(at, open - at);
    if (close == std::string_view::npos) return out;
    auto [name, form] = split(words.substr(open + 1, close - open - 1), '|');
    const Document* in = &document;
    for (size_t dot; (dot = name.find('.')) != std::string_view::npos; name.remove_prefix(dot + 1))
      in = &in->at(std::string(name.substr(0, dot)));
    out += shown(*in, std::string(name), form_named(form));
    at = close + 1;
  }
  return out;
}

std::string table_text(const Table& table) {
  if (table.rows.empty()) return "";
  constexpr const char* kIndent = "  ";  // of rows, below the title
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : table.columns) lines[0].push_back(column.title);
  lines[0][0] = table.title;
  for (const Document& row : table.rows) {
    lines.push_back(cells_of(table, row));
    lines.back()[0].insert(0, kIndent);
  }
  std::vector<size_t> widths(table.columns.size());
  for (const auto& line : lines)
    for (size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], columns_of(line[c]));
  std::string out;
  for (const auto& line : lines) {
    std::string text;
    for (size_t c = 0; c < widths.size(); ++c) {
      const std::string room(widths[c] - columns_of(line[c]), ' ');
      text += (c ? "  " : "") + (is_number(table.columns[c]) ? room + line[c] : line[c] + room);
    }
    out += text.erase(text.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string document_text(const Document& document, int indent) {
  Document rounded = document;
  round_floats(rounded);
  return rounded.dump(indent, ' ', false, Document::error_handler_t::replace) + "\n";
}

}  // namespace smelt
