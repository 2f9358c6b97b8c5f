// The tables behind colour.h.
#include "draw/colour.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace smelt {

Colour cost_colour(double position) {
  // viridis at ninths, light to dark; between them straight lines are near enough.
  static constexpr Colour kStops[] = {{0xfd, 0xe7, 0x25}, {0xb5, 0xde, 0x2b}, {0x6e, 0xce, 0x58}, {0x35, 0xb7, 0x79},
                                      {0x1f, 0x9e, 0x89}, {0x26, 0x82, 0x8e}, {0x31, 0x68, 0x8e}, {0x3e, 0x49, 0x89},
                                      {0x48, 0x28, 0x78}, {0x44, 0x01, 0x54}};
  constexpr size_t kLast = std::size(kStops) - 1;
  const double at = std::clamp(position, 0.0, 1.0) * kLast;
  const size_t lower = std::min(static_cast<size_t>(at), kLast - 1);
  const double part = at - static_cast<double>(lower);
  const auto mix = [part](uint8_t a, uint8_t b) { return static_cast<uint8_t>(std::lround(a + part * (b - a))); };
  const Colour &a = kStops[lower], &b = kStops[lower + 1];
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

bool is_dark(Colour c) {
  // Relative luminance, and where black and white have the same contrast to it (WCAG 2.2, 1.4.3).
  const auto linear = [](uint8_t part) {
    const double s = part / 255.0;
    return s <= 0.04045 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue) < 0.179;
}

std::string hex(Colour c) { return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }

const char* node_tint(size_t nth_node) {
  static constexpr const char* kTints[kNodeTints] = {"#cfe3f3", "#fde2c4", "#d3ecd9", "#f6d3dc",
                                                     "#e6dbf1", "#f4efc0", "#dcdcdc", "#cdeeee"};
  return kTints[nth_node % kNodeTints];
}

}  // namespace smelt
