// A table for terminals out of a document: its rows are JSON objects, a column says which member it shows and how.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

// Members keep the order in which they were put in. A verb's findings are one of these.
using Document = nlohmann::ordered_json;

enum class As : uint8_t {
  kText,  // a string, or a list of them with commas between
  kWhole,
  kTenths,  // digits behind the point
  kHundredths,
  kThousandths,
  kPercent,  // 0.12: 12 %
  kTenthsPercent,
  kThousandthsPercent,
  kChange,  // 1.2: +20 %
  kCpus,    // a list of CPUs: 0-3,8
};

struct Column {
  std::string title;
  std::string member;
  As form = As::kText;
};
// "pattern; predicted|1; in a loop=predicted_in_a_loop|1": titles, the members where they have other names, and behind
// the bar how they are shown, spelt as in told().
std::vector<Column> columns(std::string_view spelt);

// `title` stands over the first column, whose own title is not shown.
struct Table {
  std::string title;
  std::vector<Column> columns;
  Document rows;
};

// One value as a table shows it; "-" where it is null or missing.
std::string shown(const Document& row, const std::string& member, As form = As::kText);

// "0-3,8,10-11" from ascending numbers.
std::string cpu_ranges(const std::vector<uint32_t>& cpus);

// A sentence with members in braces: "{pairs} pairs, {spread|%}, of {a.machine}". Behind the bar stands how:
// 0 to 3 digits behind the point, %, .1% and .3%, +%, cpus.
std::string told(const Document& document, std::string_view words);

std::string table_text(const Table& table);  // "" where there are no rows

// For programs: indented, floats without digits that a float does not have, bad UTF-8 replaced.
std::string document_text(const Document& document, int indent = 2);  // -1: all in one line

}  // namespace smelt
