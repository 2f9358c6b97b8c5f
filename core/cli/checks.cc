#include "cli/checks.h"

#include <charconv>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace smelt {
namespace {

// All of `text`, in decimal.
template <typename Number>
bool reads(const std::string& text, Number* out) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *out);
  return error == std::errc{} && stop == end;
}

}  // namespace

CLI::Validator number_between(double least, double most) {
  const auto check = [least, most](const std::string& text) {
    double value = 0;
    // Not-a-number compares false with everything.
    return reads(text, &value) && value >= least && value <= most
               ? std::string()
               : fmt::format("'{}' is not a number from {} to {}", text, least, most);
  };
  return CLI::Validator(check, fmt::format("NUMBER from {} to {}", least, most));
}

CLI::Validator whole_number() {
  const auto check = [](const std::string& text) {
    uint64_t value = 0;
    return reads(text, &value) ? std::string()
                               : fmt::format("'{}' is not a whole number from 0 to {}", text, UINT64_MAX);
  };
  return CLI::Validator(check, "");
}

}  // namespace smelt
