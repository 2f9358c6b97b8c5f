// The heat map in SVG: one square panel per kind of cost, the NUMA nodes' boundaries across it, a frame around every
// last-level cache, and the scale below. Where a cell has room it holds its number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "draw/charts.h"
#include "draw/colour.h"
#include "draw/svg.h"

namespace smelt {
namespace {

const char* panel_title(CostKind kind) {
  return kind == CostKind::kSend ? "Send" : kind == CostKind::kReceive ? "Receive" : "Hop";
}
const char* panel_words(CostKind kind) {
  return kind == CostKind::kSend      ? "how long a message keeps its sender"
         : kind == CostKind::kReceive ? "the rest, until its receiver has it"
                                      : "from the store until a polling receiver has it";
}

struct Panel {
  const Picture& p;
  const HeatMap map;
  Svg& svg;
  double cell, x, y;  // of the upper left cell
  bool has_title;
  uint32_t n = static_cast<uint32_t>(map.rows.order.size());

  double side() const { return cell * n; }

  // A path per colour: a rectangle per cell would be 20 MB for 256 CPUs. 64 colours are more than anybody tells apart.
  void cells() {
    constexpr int kShades = 64;
    std::map<int, std::string> paths;
    const auto shade_at = [this](uint32_t row, uint32_t column) {
      return map.is_empty(row, column) ? -1
                                       : static_cast<int>(std::lround(
                                             map.scale.position(map.cells[size_t{row} * n + column]) * (kShades - 1)));
    };
    for (uint32_t row = 0; row < n; ++row)
      for (uint32_t column = 0; column < n;) {
        const int shade = shade_at(row, column);
        uint32_t end = column + 1;
        while (end < n && shade_at(row, end) == shade) ++end;
        paths[shade] += fmt::format("M{} {}h{}v1h-{}z", column, row, end - column, end - column);
        column = end;
      }
    svg.open("", fmt::format("class=\"cells\" transform=\"translate({} {}) scale({})\" shape-rendering=\"crispEdges\"",
                             px(x), px(y), px(cell)));
    for (const auto& [shade, path] : paths)
      svg.raw(fmt::format("<path fill=\"{}\" d=\"{}\"/>\n",
                          shade < 0 ? kEmptyCell : hex(cost_colour(static_cast<double>(shade) / (kShades - 1))), path));
    svg.close();
  }

  void numbers() {
    if (cell < 30) return;  // three digits and a margin
    constexpr double size = kLeastText;
    for (uint32_t row = 0; row < n; ++row)
      for (uint32_t column = 0; column < n; ++column) {
        if (map.is_empty(row, column)) continue;
        const double cost = map.cells[size_t{row} * n + column];
        const bool dark = is_dark(cost_colour(map.scale.position(cost)));
        svg.text(x + cell * (column + 0.5), y + cell * (row + 0.5) + size * 0.36,
                 cost < 10 ? fmt::format("{:.1f}", cost) : fmt::format("{:.0f}", cost),
                 {.size = size, .anchor = Anchor::kMiddle, .fill = dark ? "#ffffff" : kInkOnColour});
      }
  }

  void outlines() {
    for (const Rows::Block& llc : map.rows.llcs)
      svg.outline(x + cell * llc.first, y + cell * llc.first, cell * llc.count, cell * llc.count, kInk, 0.8);
    // Thinner where the nodes are small: lines must not cover the costs.
    if (map.rows.kind == Rows::Kind::kNode) return;  // each row is one
    const double thick = std::clamp(cell * n / static_cast<double>(map.rows.nodes.size()) / 60, 0.5, 1.0);
    for (const Rows::Block& node : map.rows.nodes) {
      if (node.first == 0) continue;
      const double at = cell * node.first;
      svg.line(x + at, y, x + at, y + side(), "#ffffff", 2.6 * thick);
      svg.line(x, y + at, x + side(), y + at, "#ffffff", 2.6 * thick);
    }
    if (map.rows.nodes.size() > 1)
      for (const Rows::Block& node : map.rows.nodes)
        svg.outline(x + cell * node.first, y + cell * node.first, cell * node.count, cell * node.count, kInk,
                    2 * thick);
    svg.outline(x, y, side(), side(), kInk, 1);
  }

  void labels() {
    constexpr double size = kLeastText;
    const uint32_t every = label_step(size + 1.5, cell);
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; ++i) largest = std::max(largest, map.rows.number(p, i));
    const double widest = text_width(std::to_string(largest), size);
    const bool turned = widest > cell * every - 3;
    for (uint32_t i = 0; i < n; ++i) {
      const std::string number = std::to_string(map.rows.number(p, i));
      const double at = cell * (i + 0.5);
      svg.hint(x, y + cell * i, side(), cell, "from " + map.rows.name(p, i));
      if (i % every != 0) continue;
      svg.text(x - 6, y + at + size * 0.36, number, {.size = size, .anchor = Anchor::kEnd});
      if (turned)
        svg.text(x + at + size * 0.36, y - 6, number, {.size = size, .turned = -90});
      else
        svg.text(x + at, y - 6, number, {.size = size, .anchor = Anchor::kMiddle});
    }
    if (map.rows.nodes.size() < 2 || map.rows.kind == Rows::Kind::kNode) return;
    for (const Rows::Block& node : map.rows.nodes) {
      const std::string name = fmt::format("node {}", node.number);
      const double middle = cell * (node.first + node.count / 2.0);
      if (text_width(name, kLeastText) > cell * node.count) continue;
      svg.text(x + middle, y - 12 - (turned ? widest : size), name, {.anchor = Anchor::kMiddle, .fill = kFaint});
      svg.text(x - 14 - widest, y + middle, name, {.anchor = Anchor::kMiddle, .fill = kFaint, .turned = -90});
    }
  }

  void scale(const std::string& id) {
    const double top = y + side() + 20, width = side();
    std::string stops;
    for (int i = 0; i <= 9; ++i)
      stops += fmt::format("<stop offset=\"{}%\" stop-color=\"{}\"/>", px(i * 100 / 9.0), hex(cost_colour(i / 9.0)));
    svg.raw(fmt::format("<defs><linearGradient id=\"{}\">{}</linearGradient></defs>\n", id, stops));
    svg.rect(x, top, width, 11, fmt::format("url(#{})", id));
    svg.outline(x, top, width, 11, kInk, 0.6);
    if (!(map.scale.high > map.scale.low)) {  // one cost, or none
      svg.text(x, top + 26, cost_text(map.scale.low));
    } else {
      const int parts = width >= 300 ? 4 : 2;
      for (int i = 0; i <= parts; ++i) {
        const double at = static_cast<double>(i) / parts;
        const char* beyond = i == 0 && map.scale.cut_below ? "≤ " : i == parts && map.scale.cut_above ? "≥ " : "";
        svg.line(x + at * width, top + 11, x + at * width, top + 15, kInk, 0.8);
        svg.text(x + at * width, top + 27, beyond + cost_text(map.scale.cost(at)),
                 {.anchor = i == 0       ? Anchor::kStart
                            : i == parts ? Anchor::kEnd
                                         : Anchor::kMiddle});
      }
    }
    svg.text(x + width / 2, top + 43,
             fmt::format("{}{}", cost_unit_name(p.costs.unit), map.scale.logarithmic ? ", logarithmic scale" : ""),
             {.anchor = Anchor::kMiddle, .fill = kFaint});
  }

  void draw(CostKind kind, const std::string& id) {
    if (has_title) {
      svg.text(x, y - 62, panel_title(kind), {.size = 14, .bold = true});
      svg.text(x, y - 46, panel_words(kind), {.fill = kFaint});
    }
    cells();
    numbers();
    outlines();
    labels();
    scale(id);
  }
};

}  // namespace

Drawing matrix_drawing(const Picture& p, const std::vector<CostKind>& kinds) {
  constexpr double kLeft = 56, kBelow = 68, kGap = 40;
  const bool several = kinds.size() > 1;  // else the drawing's title is the panel's
  const double top = several ? 74 : 44;
  const Rows rows = arrange(p);
  const auto n = static_cast<double>(rows.order.size());
  // About 600 a side; a few CPUs would be silly at that, and 256 want more.
  const double cell =
      n > 200 ? std::floor(900 / n * 4) / 4 : std::clamp(std::floor(600 / n), 3.0, n <= 4 ? 64.0 : 40.0);
  const double panel = std::max(cell * n, 330.0);
  Svg svg;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const double x = kLeft + static_cast<double>(i) * (panel + kLeft + kGap);
    Panel{p, lay_out_heat_map(p, kinds[i]), svg, cell, x, top, several}.draw(kinds[i], fmt::format("scale{}", i));
  }
  const double width = static_cast<double>(kinds.size()) * (kLeft + panel + kGap) - kGap;
  std::vector<std::string> notes = {"row: sender, column: receiver; CPUs by the kernel's numbers"};
  if (rows.folded())
    notes[0] =
        fmt::format("row: sender, column: receiver; each is a {}, of whose CPUs a cell is the mean", rows.what());
  if (rows.nodes.size() > 1) notes[0] += rows.llcs.empty() ? "; frames: NUMA nodes" : "; bold frames: NUMA nodes";
  if (!rows.llcs.empty()) notes[0] += "; thin frames: last-level caches";
  const std::string title = several ? "What a message between two CPUs costs"
                                    : fmt::format("{}: {}", panel_title(kinds[0]), panel_words(kinds[0]));
  return {title, std::move(svg), width, top + cell * n + kBelow, std::move(notes)};
}

std::string matrix_svg(const Picture& p, const std::vector<CostKind>& kinds) {
  return svg_page(p, matrix_drawing(p, kinds));
}

}  // namespace smelt
