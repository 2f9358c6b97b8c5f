#include "draw/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/colour.h"
#include "draw/svg.h"

namespace smelt {
namespace {

struct Axes {
  double x_low = 1e300, x_high = 0, y_low = 1e300, y_high = 0;

  explicit Axes(const Plot& plot) {
    for (const PlotCurve& curve : plot.curves)
      for (size_t i = 0; i < curve.x.size(); ++i) {
        const double x = static_cast<double>(curve.x[i]), y = curve.y[i];
        x_low = std::min(x_low, x), x_high = std::max(x_high, x);
        y_low = std::min(y_low, y), y_high = std::max(y_high, y);
      }
    if (!(x_high > 0)) x_low = 1, x_high = 2, y_low = 1, y_high = 2;
    if (x_high <= x_low) x_high = 2 * x_low;
    if (y_high <= y_low) y_high = 2 * y_low;
  }
  // 0 .. 1
  double across(double x) const { return std::log(x / x_low) / std::log(x_high / x_low); }
  double up(double y) const { return std::log(y / y_low) / std::log(y_high / y_low); }
  bool has(uint64_t x) const { return static_cast<double>(x) >= x_low && static_cast<double>(x) <= x_high; }
};

// Where a curve is at x: on the straight line between two samples, as it is used.
double value_at(const PlotCurve& curve, double x) {
  size_t i = 1;
  while (i + 1 < curve.x.size() && static_cast<double>(curve.x[i]) < x) ++i;
  const double from = static_cast<double>(curve.x[i - 1]), to = static_cast<double>(curve.x[i]);
  return curve.y[i - 1] + (curve.y[i] - curve.y[i - 1]) * (x - from) / (to - from);
}

std::string size_text(uint64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{}", bytes);
}

// Powers of two, so many that their labels do not touch.
std::vector<uint64_t> ticks(const Axes& axes, uint32_t most) {
  std::vector<uint64_t> all, some;
  for (uint64_t x = 1; static_cast<double>(x) <= axes.x_high; x *= 2)
    if (axes.has(x)) all.push_back(x);
  const size_t step = std::max<size_t>(1, (all.size() + most - 1) / most);
  for (size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

}  // namespace

std::string plot_text(const Plot& plot, uint32_t width, uint32_t height) {
  const Axes axes(plot);
  std::vector<std::string> rows(height, std::string(width, ' '));
  const auto column = [&](double x) { return static_cast<size_t>(std::lround(axes.across(x) * (width - 1))); };
  const auto row = [&](double y) { return height - 1 - static_cast<size_t>(std::lround(axes.up(y) * (height - 1))); };
  for (const PlotPlace& place : plot.places)
    for (std::string& line : rows)
      if (axes.has(place.x)) line[column(static_cast<double>(place.x))] = ':';
  for (const PlotCurve& curve : plot.curves)
    for (uint32_t c = 0; c < width && curve.x.size() > 1; ++c) {
      const double x = axes.x_low * std::pow(axes.x_high / axes.x_low, static_cast<double>(c) / (width - 1));
      if (x < static_cast<double>(curve.x.front()) || x > 1.0001 * static_cast<double>(curve.x.back())) continue;
      const double y = value_at(curve, x);
      if (y > 0 && y <= 1.0001 * axes.y_high && y >= 0.9999 * axes.y_low)
        rows[std::min<size_t>(row(std::min(y, axes.y_high)), height - 1)][c] = curve.mark;
    }
  std::string out = plot.title + "\n";
  for (uint32_t r = 0; r < height; ++r) {
    const double y = axes.y_low * std::pow(axes.y_high / axes.y_low, 1 - static_cast<double>(r) / (height - 1));
    std::string line = fmt::format("{:>9} |{}", r % 4 == 0 || r + 1 == height ? cost_text(y) : "", rows[r]);
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  std::string labels(width + 12, ' ');
  for (const uint64_t x : ticks(axes, 7)) {
    const std::string text = size_text(x);
    const size_t at = 11 + column(static_cast<double>(x));
    if (at + text.size() > labels.size()) labels.resize(at + text.size(), ' ');
    labels.replace(at, text.size(), text);
  }
  labels.resize(labels.find_last_not_of(' ') + 1);
  out += std::string(10, ' ') + "+" + std::string(width, '-') + "\n" + labels + "\n";
  out += fmt::format("{:>9}  {} over {};", "", plot.y_name, plot.x_name);
  for (const PlotCurve& curve : plot.curves) out += fmt::format(" {} {}", curve.mark, curve.name);
  out += "\n";
  for (const PlotPlace& place : plot.places) out += fmt::format("{:>9}  : {}\n", "", place.words);
  return out;
}

Drawing plots_drawing(const std::vector<Plot>& plots) {
  constexpr double kWidth = 620, kHeight = 300, kLeft = 70, kTop = 40, kBelow = 90;
  constexpr const char* kColours[] = {"#1b6ca8", "#c8553d", "#4f8a3d", "#7d5ba6",
                                      "#8a6d1b", "#3d8a86", "#a8326c", "#555555"};
  Svg svg;
  double top = 0;
  for (const Plot& plot : plots) {
    const Axes axes(plot);
    const double bottom = top + kTop + kHeight;
    const auto x_of = [&](double x) { return kLeft + axes.across(x) * kWidth; };
    const auto y_of = [&](double y) { return bottom - axes.up(y) * kHeight; };
    svg.open(plot.title);
    svg.text(kLeft, top + 20, plot.title, {.size = 14, .bold = true});
    svg.outline(kLeft, top + kTop, kWidth, kHeight, kDivide, 1);
    for (const uint64_t x : ticks(axes, 9)) {
      svg.line(x_of(static_cast<double>(x)), top + kTop, x_of(static_cast<double>(x)), bottom, kGrid, 1);
      svg.text(x_of(static_cast<double>(x)), bottom + 16, size_text(x), {.anchor = Anchor::kMiddle});
    }
    for (double y = std::pow(10, std::ceil(std::log10(axes.y_low))); y <= axes.y_high; y *= 10) {
      svg.line(kLeft, y_of(y), kLeft + kWidth, y_of(y), kGrid, 1);
      svg.text(kLeft - 6, y_of(y) + 4, cost_text(y), {.anchor = Anchor::kEnd});
    }
    for (const PlotPlace& place : plot.places) {
      if (!axes.has(place.x)) continue;
      const double x = x_of(static_cast<double>(place.x));
      svg.open(place.words);
      svg.line(x, top + kTop, x, bottom, kInk, 1, "stroke-dasharray=\"4 3\"");
      svg.close();
    }
    std::vector<Sample> samples;
    for (size_t i = 0; i < plot.curves.size(); ++i) {
      const PlotCurve& curve = plot.curves[i];
      const char* colour = kColours[i % std::size(kColours)];
      samples.push_back({Sample::Kind::kLine, colour, curve.name});
      std::string points;
      for (size_t k = 0; k < curve.x.size(); ++k)
        points += fmt::format("{},{} ", px(x_of(static_cast<double>(curve.x[k]))), px(y_of(curve.y[k])));
      svg.raw(
          fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>\n", points, colour));
    }
    svg_legend(svg, kLeft, bottom + 38, samples);
    svg.text(kLeft, bottom + 60, fmt::format("{} over {}", plot.y_name, plot.x_name));
    svg.close();
    top = bottom + kBelow;
  }
  return {plots.empty() ? "" : plots.front().title, std::move(svg), kLeft + kWidth + 40, top, {}};
}

std::string plots_svg(const std::vector<Plot>& plots) {
  const Drawing drawing = plots_drawing(plots);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "style=\"max-width:100%;height:auto\" "
      "font-family=\"sans-serif\" fill=\"{3}\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{2}</svg>\n",
      px(drawing.width), px(drawing.height), drawing.svg.body(), kInk);
}

}  // namespace smelt
