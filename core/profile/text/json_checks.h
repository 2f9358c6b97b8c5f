// Strict reading of JSON that somebody else wrote: each wrong thing is one clear line, beginning with the file's name.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "profile/profile.h"
#include "profile/text/error.h"

namespace smelt {

// Counts the values that a text would become before it becomes them: a tree of JSON takes twenty times the text that it
// is made from.
class JsonSize {
 public:
  // The limits of the largest profile: five names for each of its CPUs and few others; four matrices, the winners'
  // programs, and little else.
  static constexpr size_t kMostNames = 1u << 15;
  static constexpr size_t kMostValues = 4 * size_t{kMaxProfileCpus} * kMaxProfileCpus + 2 * size_t{kMaxWinnerWords};

  bool too_large() const { return values_ > kMostValues || names_ > kMostNames; }

  // nlohmann's SAX interface: false ends the parsing.
  bool null() { return value(); }
  bool boolean(bool) { return value(); }
  bool number_integer(int64_t) { return value(); }
  bool number_unsigned(uint64_t) { return value(); }
  bool number_float(double, const std::string&) { return value(); }
  bool string(std::string&) { return value(); }
  bool binary(std::vector<uint8_t>&) { return value(); }
  bool start_object(size_t) { return value(); }
  bool key(std::string&) { return ++names_ <= kMostNames; }
  bool end_object() { return true; }
  bool start_array(size_t) { return value(); }
  bool end_array() { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) { return false; }

 private:
  bool value() { return ++values_ <= kMostValues; }
  size_t values_ = 0, names_ = 0;
};

class JsonChecks {
 public:
  explicit JsonChecks(std::string file) : file_(std::move(file)) {}

  template <typename... Arguments>
  [[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    throw UserError(file_ + ": " + fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  nlohmann::json parse(std::string_view text) const {
    JsonSize size;
    // Text that is no JSON at all is refused below, with the place of the error.
    if (!nlohmann::json::sax_parse(text, &size) && size.too_large())
      fail("too large: more than {} numbers or {} names describe no machine of {} CPUs", JsonSize::kMostValues,
           JsonSize::kMostNames, kMaxProfileCpus);
    try {
      return nlohmann::json::parse(text);
    } catch (const nlohmann::json::exception& error) {
      // The library's text begins with its own tag, "[json.exception.parse_error.101] ".
      const std::string_view what = error.what();
      const size_t tag = what.find("] ");
      fail("not valid JSON: {}", tag == what.npos ? what : what.substr(tag + 2));
    }
  }

  const nlohmann::json& member(const nlohmann::json& object, const char* key) const {
    if (!object.is_object()) fail("a JSON object is expected");
    const auto found = object.find(key);
    if (found == object.end()) fail("\"{}\" is missing", key);
    return *found;
  }

  std::string text(const nlohmann::json& object, const char* key) const {
    const nlohmann::json& value = member(object, key);
    if (!value.is_string()) fail("\"{}\" is not a text", key);
    return value.get<std::string>();
  }

  double number(const nlohmann::json& object, const char* key) const {
    return cost(member(object, key), fmt::format("\"{}\"", key));
  }

  uint32_t whole(const nlohmann::json& value, const std::string& what, uint32_t largest) const {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > largest)
      fail("{} is not a whole number from 0 to {}", what, largest);
    return value.get<uint32_t>();
  }

  // So many numbers, finite, >= 0.
  std::vector<float> costs(const nlohmann::json& object, const char* key, uint32_t count) const {
    const nlohmann::json& values = member(object, key);
    if (!values.is_array() || values.size() != count) fail("\"{}\" is not a list of {} numbers", key, count);
    std::vector<float> out;
    for (uint32_t i = 0; i < count; ++i)
      out.push_back(static_cast<float>(cost(values[i], fmt::format("\"{}\"[{}]", key, i))));
    return out;
  }

  // `key`'s list of at most so many.
  const nlohmann::json& list(const nlohmann::json& object, const char* key, uint32_t most, const char* of) const {
    const nlohmann::json& values = member(object, key);
    if (!values.is_array() || values.size() > most) fail("\"{}\" is not a list of at most {} {}", key, most, of);
    return values;
  }

  // One of `count` names: its number.
  uint32_t one_of(const nlohmann::json& value, const char* what, const char* const* names, uint32_t count) const {
    for (uint32_t i = 0; i < count; ++i)
      if (value == names[i]) return i;
    fail("{} is {}, not one of \"{}\"", what, value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace),
         fmt::join(names, names + count, "\", \""));
  }

  CostUnit unit(const nlohmann::json& object, const char* key) const {
    const std::string name = text(object, key);
    for (const CostUnit unit : {CostUnit::kNanoseconds, CostUnit::kCycles})
      if (name == cost_unit_name(unit)) return unit;
    fail("\"{}\" is \"{}\", not \"ns\" or \"cycles\"", key, name);
  }

  // n x n numbers, finite, >= 0, the diagonal 0.
  std::vector<float> matrix(const nlohmann::json& object, const char* key, uint32_t n) const {
    const nlohmann::json& rows = member(object, key);
    if (!rows.is_array() || rows.size() != n) fail("\"{}\" is not a square matrix of {} rows", key, n);
    std::vector<float> out;
    out.reserve(size_t{n} * n);
    for (uint32_t i = 0; i < n; ++i) {
      if (!rows[i].is_array() || rows[i].size() != n) fail("row {} of \"{}\" has not {} numbers", i, key, n);
      for (uint32_t j = 0; j < n; ++j) {
        const double value = cost(rows[i][j], fmt::format("\"{}\"[{}][{}]", key, i, j));
        if (i == j && value != 0) fail("\"{}\"[{}][{}] is {}, the diagonal must be 0", key, i, j, value);
        out.push_back(static_cast<float>(value));
      }
    }
    return out;
  }

 private:
  double cost(const nlohmann::json& value, const std::string& what) const {
    if (!value.is_number()) fail("{} is not a number", what);
    const double number = value.get<double>();
    if (!std::isfinite(number) || number < 0 || number >= 1e9) fail("{} is {}, not a cost from 0 to 1e9", what, number);
    return number;
  }

  std::string file_;
};

}  // namespace smelt
