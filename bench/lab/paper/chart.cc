// The SVG pen: the panels of a figure one under the other, each with its legend above the plot, where no curve runs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/lab/paper/figure.h"
#include "draw/colour.h"
#include "draw/svg.h"

namespace smelt::paper {
namespace {

constexpr double kMargin = 30, kLeft = 74, kWidth = 760, kHeight = 260;

// Okabe and Ito's palette (2008), which colour-blind people can tell apart, without its yellow, too pale for lines.
constexpr std::array<const char*, 8> kSeriesColours = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                       "#56b4e9", "#d55e00", "#5b5b5b", "#8c6d31"};
const char* colour_of(size_t series) { return kSeriesColours[series % kSeriesColours.size()]; }
const char* dash_of(size_t series) { return series % 2 == 1 ? "stroke-dasharray=\"6 3\"" : ""; }

bool is_drawn(const Cell& cell) { return cell.words.empty() && cell.value > 0; }

bool has_values(const Panel& panel, size_t series) {
  return std::any_of(panel.rows.begin(), panel.rows.end(), [&](const Row& row) { return is_drawn(row.cells[series]); });
}

bool has_values(const Panel& panel) {
  for (size_t s = 0; s < panel.series.size(); ++s)
    if (has_values(panel, s)) return true;
  return false;
}

// Lines of at most `width`, broken between words.
std::vector<std::string> broken(const std::string& text, double size, double width) {
  std::vector<std::string> lines;
  std::string line;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && text_width(line + " " + word, size) > width) lines.push_back(line), line.clear();
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

// An axis: values to pixels, and where its ticks are.
struct Axis {
  bool logarithmic = false;
  double low = 0, high = 1;      // values
  double begin = 0, length = 1;  // pixels; a negative length for y
  std::vector<double> ticks;

  double place(double value) const {
    const double share = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return begin + length * share;
  }
};

// 1, 2 or 5 times a power of ten.
double round_step(double rough) {
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * 0.999) return factor * power;
  return 10 * power;
}

Axis value_axis(double least, double most, bool logarithmic, double begin, double length) {
  Axis axis{logarithmic, 0, 1, begin, length, {}};
  if (logarithmic) {
    axis.low = std::pow(10, std::floor(std::log10(least * 0.999)));
    axis.high = std::max(std::pow(10, std::ceil(std::log10(most))), axis.low * 10);
    for (double tick = axis.low; tick <= axis.high * 1.001; tick *= 10) axis.ticks.push_back(tick);
  } else {
    const double step = round_step(most / 5);
    axis.high = std::ceil(most / step * 1.0001) * step;
    for (double tick = 0; tick <= axis.high * 1.0001; tick += step) axis.ticks.push_back(tick);
  }
  return axis;
}

std::string tick_text(double value) {
  if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:g}", value);
}

// The extremes of the drawn values, spread included.
std::pair<double, double> extremes(const Panel& panel) {
  double least = 1e300, most = 0;
  for (const Row& row : panel.rows)
    for (const Cell& cell : row.cells)
      if (is_drawn(cell)) {
        least = std::min(least, cell.value);
        most = std::max(most, cell.value * (1 + std::min(cell.spread, 1.0)));
      }
  return {least, most};
}

Axis draw_values(Svg& svg, const Panel& panel, double top, double width) {
  const auto [least, most] = extremes(panel);
  const Axis y = value_axis(least, most, panel.log_y, top + kHeight, -kHeight);
  for (const double tick : y.ticks) {
    svg.line(kLeft, y.place(tick), kLeft + width, y.place(tick), kGrid, 0.8);
    svg.text(kLeft - 6, y.place(tick) + 4, tick_text(tick), {.size = 11, .anchor = Anchor::kEnd});
  }
  svg.text(16, top + kHeight / 2, fmt::format("{}, {}{}", panel.y_title, panel.unit, panel.log_y ? " (log)" : ""),
           {.size = 12, .anchor = Anchor::kMiddle, .turned = -90});
  svg.line(kLeft, top, kLeft, top + kHeight, kFaint, 1);
  svg.line(kLeft, top + kHeight, kLeft + width, top + kHeight, kFaint, 1);
  return y;
}

// Rows of samples, as many as it takes. Returns its height.
double draw_legend(Svg& svg, const Panel& panel, double top) {
  double y = top + 12;
  double x = kLeft;
  for (size_t s = 0; s < panel.series.size(); ++s) {
    if (!has_values(panel, s)) continue;
    const Sample sample{panel.chart == Chart::kBars ? Sample::Kind::kBox : Sample::Kind::kLine, colour_of(s),
                        panel.series[s], s % 2 == 1};
    const double width = 24 + text_width(sample.words, 11) + 14;
    if (x > kLeft && x + width > kLeft + kWidth) x = kLeft, y += 18;
    x += svg_legend(svg, x, y, {sample});
  }
  return y - top + 14;
}

void draw_spread(Svg& svg, const Axis& y, double x, const Cell& cell) {
  if (cell.spread <= 0) return;
  const double low = std::max(cell.value * (1 - cell.spread), y.logarithmic ? y.low : 0.0);
  svg.line(x, y.place(low), x, y.place(std::min(cell.value * (1 + cell.spread), y.high)), kInk, 1);
}

// A group of bars for each row, below it the row's name and kind. Returns the height.
double draw_bars(Svg& svg, const Panel& panel, double top) {
  const Axis y = draw_values(svg, panel, top, kWidth);
  std::vector<size_t> drawn;
  for (size_t s = 0; s < panel.series.size(); ++s)
    if (has_values(panel, s)) drawn.push_back(s);
  const double room = kWidth / static_cast<double>(panel.rows.size());
  const double bar = std::min(room * 0.84 / static_cast<double>(drawn.size()), 40.0);
  for (size_t k = 0; k < drawn.size(); ++k) {
    svg.open(panel.series[drawn[k]], "class=\"series\"");
    for (size_t r = 0; r < panel.rows.size(); ++r) {
      const Cell& cell = panel.rows[r].cells[drawn[k]];
      if (!is_drawn(cell)) continue;
      const double middle = kLeft + room * (static_cast<double>(r) + 0.5);
      const double x = middle + bar * (static_cast<double>(k) - static_cast<double>(drawn.size()) / 2);
      const double height = std::max(top + kHeight - y.place(cell.value), 0.5);
      svg.rect(x + bar * 0.06, top + kHeight - height, bar * 0.88, height, colour_of(drawn[k]));
      draw_spread(svg, y, x + bar / 2, cell);
      svg.hint(x, top + kHeight - height, bar, height,
               fmt::format("{}: {}", panel.rows[r].name, cost_text(cell.value)));
    }
    svg.close();
  }
  // Where the names do not fit next to each other, they are broken into lines.
  double deepest = 0;
  for (size_t r = 0; r < panel.rows.size(); ++r) {
    const double middle = kLeft + room * (static_cast<double>(r) + 0.5);
    double depth = top + kHeight + 16;
    for (const std::string& line : broken(panel.rows[r].name, 11, room - 4)) {
      svg.text(middle, depth, line, {.size = 11, .anchor = Anchor::kMiddle});
      depth += 13;
    }
    svg.text(middle, depth, kind_name(panel.rows[r].kind), {.size = 10, .anchor = Anchor::kMiddle, .fill = kFaint});
    deepest = std::max(deepest, depth);
  }
  svg.text(kLeft + kWidth / 2, deepest + 20, panel.rows_are, {.size = 12, .anchor = Anchor::kMiddle});
  return deepest + 26 - top;
}

double draw_lines(Svg& svg, const Panel& panel, double top) {
  const Axis y = draw_values(svg, panel, top, kWidth);
  Axis x{panel.log_x, panel.rows.front().x, panel.rows.back().x, kLeft + 14, kWidth - 28, {}};
  if (x.high <= x.low) x.low /= 2, x.high *= 2;  // one row alone stands in the middle, or thereabouts
  double last = -1e9;
  for (const Row& row : panel.rows) {
    const double at = x.place(row.x);
    svg.line(at, top + kHeight, at, top + kHeight + 4, kFaint, 1);
    const double wide = text_width(row.name, 11);
    if (at - wide / 2 < last + 6) continue;
    svg.text(at, top + kHeight + 18, row.name, {.size = 11, .anchor = Anchor::kMiddle});
    last = at + wide / 2;
  }
  svg.text(kLeft + kWidth / 2, top + kHeight + 38,
           fmt::format("{}{} ({})", panel.rows_are, panel.log_x ? ", log" : "", kind_name(panel.rows.front().kind)),
           {.size = 12, .anchor = Anchor::kMiddle});
  for (size_t s = 0; s < panel.series.size(); ++s) {
    if (!has_values(panel, s)) continue;
    svg.open(panel.series[s], "class=\"series\"");
    const Row* before = nullptr;
    for (const Row& row : panel.rows) {
      const Cell& cell = row.cells[s];
      if (!is_drawn(cell)) {
        before = nullptr;
        continue;
      }
      if (before)
        svg.line(x.place(before->x), y.place(before->cells[s].value), x.place(row.x), y.place(cell.value), colour_of(s),
                 1.8, dash_of(s));
      svg.circle(x.place(row.x), y.place(cell.value), 2.6, colour_of(s), colour_of(s), 1);
      draw_spread(svg, y, x.place(row.x), cell);
      before = &row;
    }
    svg.close();
  }
  return kHeight + 46;
}

// A box for each number, dearest colour for the largest, the number in it.
double draw_heat(Svg& svg, const Panel& panel, double top) {
  const auto [least, most] = extremes(panel);
  double left = 0;
  for (const Row& row : panel.rows)
    left = std::max(left, text_width(fmt::format("{} ({})", row.name, kind_name(row.kind)), 11) + 16);
  const double wide = (kLeft + kWidth - left) / static_cast<double>(panel.series.size()), high = 24;
  for (size_t r = 0; r < panel.rows.size(); ++r)
    svg.text(left - 8, top + 20 + high * (static_cast<double>(r) + 0.66),
             fmt::format("{} ({})", panel.rows[r].name, kind_name(panel.rows[r].kind)),
             {.size = 11, .anchor = Anchor::kEnd});
  for (size_t s = 0; s < panel.series.size(); ++s) {
    const double x = left + wide * static_cast<double>(s);
    svg.text(x + wide / 2, top + 14, panel.series[s], {.size = 12, .anchor = Anchor::kMiddle});
    svg.open(panel.series[s], "class=\"series\"");
    for (size_t r = 0; r < panel.rows.size(); ++r) {
      const Cell& cell = panel.rows[r].cells[s];
      if (cell.value <= 0 && cell.words.empty()) continue;
      const double y = top + 20 + high * static_cast<double>(r);
      const Colour colour = cost_colour(most > least ? (cell.value - least) / (most - least) : 0);
      const bool drawn = is_drawn(cell);
      if (drawn) svg.rect(x + 1, y + 1, wide - 2, high - 2, hex(colour));
      svg.text(x + wide / 2, y + 16, drawn ? cost_text(cell.value) : cell.words,
               {.size = 12, .anchor = Anchor::kMiddle, .fill = drawn && is_dark(colour) ? "#ffffff" : kInk});
    }
    svg.close();
  }
  const double bottom = top + 20 + high * static_cast<double>(panel.rows.size());
  svg.text(left + (kLeft + kWidth - left) / 2, bottom + 18, fmt::format("{}, {}", panel.y_title, panel.unit),
           {.size = 12, .anchor = Anchor::kMiddle});
  return bottom + 24 - top;
}

}  // namespace

std::string svg_of(const Figure& figure) {
  Svg svg;
  double y = 16;
  const auto words = [&](const std::string& text, const TextLook& look, double advance) {
    for (const std::string& line : broken(text, look.size, kLeft + kWidth)) svg.text(0, y, line, look), y += advance;
  };
  words(figure.title, {.size = 17, .bold = true}, 22);
  words(figure.source, {.size = 11, .fill = kFaint}, 15);
  for (const Panel& panel : figure.panels) {
    if (panel.chart == Chart::kNone || !has_values(panel)) continue;
    y += 20;
    words(panel.title, {.size = 13, .bold = true}, 16);
    if (panel.chart != Chart::kHeat) y += draw_legend(svg, panel, y);
    y += panel.chart == Chart::kBars    ? draw_bars(svg, panel, y)
         : panel.chart == Chart::kLines ? draw_lines(svg, panel, y)
                                        : draw_heat(svg, panel, y);
    y += 14;
    for (const std::string& note : panel.notes) words(note, {.size = 11, .fill = kFaint}, 15);
  }
  y += 6;
  for (const std::string& note : figure.notes) words(note, {.size = 11, .fill = kFaint}, 15);
  const double width = kLeft + kWidth + 2 * kMargin, height = y + 2 * kMargin - 10;
  return fmt::format(
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
             "height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"Helvetica, Arial, sans-serif\" fill=\"{2}\">\n"
             "<title>{3}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
             "<g transform=\"translate({4} {4})\">\n",
             px(width), px(height), kInk, xml_text(figure.title), px(kMargin)) +
         svg.body() + "</g>\n</svg>\n";
}

}  // namespace smelt::paper
