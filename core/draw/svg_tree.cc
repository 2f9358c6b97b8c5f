// The tree in SVG: levels as rows, the root on top, every link with its cost, links between NUMA nodes in another
// colour and dashed. A barrier's two trees stand side by side while a screen has room for both, else below each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/charts.h"
#include "draw/colour.h"
#include "draw/svg.h"

namespace smelt {
namespace {

constexpr double kBetween = 48;      // two trees
constexpr double kWidestRow = 1500;  // of trees side by side

struct TreeDrawing {
  static constexpr double kLevelNames = 66;  // the column of the levels' names

  const Picture& p;
  const TreeSide& side;
  const Tree& tree;
  const TreeLayout layout;
  const Rows rows;
  Svg svg;
  double gap, radius, level_height, left, top;

  TreeDrawing(const Picture& picture, const TreeSide& drawn)
      : p(picture), side(drawn), tree(*drawn.tree), layout(lay_out_tree(tree)), rows(arrange(p)) {
    gap = std::clamp(2700 / (layout.width + 1), 8.0, 52.0);
    level_height = std::clamp(1400.0 / layout.levels, 12.0, 100.0);
    radius = std::min({gap * 0.4, level_height * 0.36, 16.0});
    // Narrow trees stand in the middle above their legend.
    left = kLevelNames + std::max(0.0, (420 - kLevelNames - gap * layout.width - 2 * radius) / 2);
    top = *side.title ? 56 : 24;
  }

  double x(uint16_t i) const { return left + gap * layout.x[i] + radius; }
  double y(uint16_t i) const { return top + level_height * layout.level[i]; }
  double width() const { return 2 * left - kLevelNames + gap * layout.width + 2 * radius; }
  bool shows_costs() const { return gap >= 28 && level_height >= 40; }  // three digits wide

  double height() const { return top + level_height * (layout.levels - 1) + radius; }
  double hop(uint16_t parent, uint16_t child) const { return side.hop(p.costs, parent, child); }

  void title() {
    if (*side.title)
      svg.text(0, 14, fmt::format("{}, {} the tree", side.title, side.up ? "up" : "down"), {.size = 14, .bold = true});
  }

  void levels() {
    const auto every = static_cast<uint32_t>(std::ceil(14 / level_height));
    for (uint32_t level = 0; level < layout.levels; ++level) {
      const double at = top + level_height * level;
      svg.line(kLevelNames - 10, at, width(), at, kGrid, 1);
      if (level % every == 0) svg.text(0, at + 4, fmt::format("level {}", level), {.fill = kFaint});
    }
  }

  // A link leaves its parent downwards and comes to its child from straight above, so that the links of siblings part
  // early and a cost stands above the child it belongs to. Bezier's four points, and the point at `t`.
  struct Link {
    double x1, y1, x2, y2;
    double bend1() const { return y1 + 0.35 * (y2 - y1); }
    double bend2() const { return y2 - 0.9 * (y2 - y1); }
    double x_at(double t) const { return x1 + (x2 - x1) * t * t * (3 - 2 * t); }
    double y_at(double t) const {
      const double s = 1 - t;
      return s * s * s * y1 + 3 * s * s * t * bend1() + 3 * s * t * t * bend2() + t * t * t * y2;
    }
  };
  Link link(uint16_t parent, uint16_t child) const { return {x(parent), y(parent), x(child), y(child)}; }

  template <typename Do>
  void for_each_link(Do act) {
    for (uint32_t i = 0; i < tree.n; ++i)
      if (tree.parent[i] != kNobody) act(tree.parent[i], static_cast<uint16_t>(i));
  }

  void links() {
    for_each_link([this](uint16_t parent, uint16_t child) {
      const bool far = crosses_nodes(p, parent, child);
      const Link at = link(parent, child);
      svg.raw(fmt::format("<path d=\"M{} {}C{} {} {} {} {} {}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}/>\n",
                          px(at.x1), px(at.y1), px(at.x1), px(at.bend1()), px(at.x2), px(at.bend2()), px(at.x2),
                          px(at.y2), far ? kFar : kNear, px(std::clamp(radius / 8, 0.7, 1.8)),
                          far ? " stroke-dasharray=\"5 3\"" : ""));
    });
  }

  void link_costs() {
    if (!shows_costs()) return;
    constexpr double size = kLeastText;
    for_each_link([&](uint16_t parent, uint16_t child) {
      const Link at = link(parent, child);
      double t = 1;
      while (t > 0 && at.y_at(t) > at.y2 - radius - 12) t -= 0.01;
      const double cost = hop(parent, child);
      const std::string words = cost < 10 ? fmt::format("{:.1f}", cost) : fmt::format("{:.0f}", cost);
      const double wide = text_width(words, size) + 3, middle = at.x_at(t), level = at.y_at(t);
      svg.raw(
          fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#ffffff\" fill-opacity=\"0.9\"/>\n",
                      px(middle - wide / 2), px(level - size / 2 - 1), px(wide), px(size + 2)));
      svg.text(middle, level + size * 0.36, words,
               {.size = size, .anchor = Anchor::kMiddle, .fill = crosses_nodes(p, parent, child) ? kFarWords : kNear});
    });
  }

  void nodes() {
    std::vector<size_t> nth(p.cpu.size(), 0);  // participant -> which of the NUMA nodes
    for (size_t b = 0; b < rows.nodes.size(); ++b)
      for (uint32_t row = rows.nodes[b].first; row < rows.nodes[b].first + rows.nodes[b].count; ++row)
        nth[rows.order[row]] = b;
    const size_t digits = std::max<size_t>(2, std::to_string(*std::max_element(p.cpu.begin(), p.cpu.end())).size());
    const bool has_room = 1.9 * radius >= 0.6 * kLeastText * static_cast<double>(digits);  // one for all
    for (uint32_t i = 0; i < tree.n; ++i) {
      const auto who = static_cast<uint16_t>(i);
      const std::string cpu = std::to_string(p.cpu[i]);
      const uint16_t parent = tree.parent[who];
      const std::string from = parent == kNobody ? "" : fmt::format("; link {}", cost_text(hop(parent, who)));
      svg.open(fmt::format("CPU {}, node {}: {} at {} {}{}", cpu, p.costs.node ? p.costs.node[i] : 0, side.event,
                           cost_text(side.times[i]), cost_unit_name(p.costs.unit), from),
               parent == kNobody ? ""
               : side.up         ? link_attribute(who, parent)
                                 : link_attribute(parent, who));
      const bool root = who == tree.root;
      svg.circle(x(who), y(who), radius, node_tint(nth[i]), kInk,
                 root ? std::max(1.4, radius / 7) : std::min(1.0, radius / 6));
      if (has_room)
        svg.text(x(who), y(who) + kLeastText * 0.36, cpu,
                 {.anchor = Anchor::kMiddle, .fill = kInkOnColour, .bold = root});
      svg.close();
    }
  }

  double legend(Svg& page, double at) const {
    const bool several = rows.nodes.size() > 1;
    const std::string what = shows_costs() ? fmt::format(", with its hop in {}", cost_unit_name(p.costs.unit)) : "";
    std::vector<Sample> samples = {{Sample::Kind::kLine, kNear, (several ? "link inside a NUMA node" : "link") + what}};
    if (several) samples.push_back({Sample::Kind::kLine, kFar, "between NUMA nodes", true});
    double widest = svg_legend(page, 0, at, samples);
    if (!several) return widest;
    std::vector<Sample> tints;  // one per colour, with the nodes that have it
    for (size_t b = 0; b < std::min(rows.nodes.size(), kNodeTints); ++b) {
      std::string words = fmt::format("node {}", rows.nodes[b].number);
      for (size_t more = b + kNodeTints; more < rows.nodes.size(); more += kNodeTints)
        words += fmt::format(", {}", rows.nodes[more].number);
      tints.push_back({Sample::Kind::kCircle, node_tint(b), words});
    }
    widest = std::max(widest, svg_legend(page, 0, at + 20, tints));
    return widest;
  }
};

}  // namespace

Drawing tree_drawing(const Picture& p) {
  const std::vector<TreeSide> sides = tree_sides(p);
  std::vector<TreeDrawing> drawings;
  for (const TreeSide& side : sides) drawings.emplace_back(p, side);
  double abreast = 0;
  bool all_costs = true;
  for (TreeDrawing& drawing : drawings) {
    drawing.title();
    drawing.levels();
    drawing.links();
    drawing.link_costs();
    drawing.nodes();
    abreast += drawing.width() + kBetween;
    all_costs &= drawing.shows_costs();
  }
  Svg all;
  double width = 0, height = 0;
  const bool in_a_row = abreast - kBetween <= kWidestRow;
  for (const TreeDrawing& drawing : drawings) {
    const double x = in_a_row && width > 0 ? width + kBetween : 0, y = !in_a_row && height > 0 ? height + kBetween : 0;
    all.raw(fmt::format("<g transform=\"translate({} {})\">\n", px(x), px(y)));
    all.raw(drawing.svg.body());
    all.close();
    width = std::max(width, x + drawing.width());
    height = std::max(height, y + drawing.height());
  }
  const double below = height + 36;
  const double legend = drawings.front().legend(all, below);
  const std::string title = fmt::format("{} by {}: {} {}", operation_name(p.op), p.pattern, cost_text(p.predicted),
                                        cost_unit_name(p.costs.unit));
  const char* direction = sides.size() > 1                ? "Messages go up the one tree and down the other"
                          : p.op == Operation::kBroadcast ? "Messages go down the tree"
                          : p.op == Operation::kReduce    ? "Messages go up the tree"
                                                          : "Messages go up the tree and down again";
  const char* order = p.op == Operation::kReduce
                          ? "a parent takes its children's as they come"
                          : "a parent's children stand from left to right in the order in which it tells them";
  std::vector<std::string> notes = {fmt::format("{}; {}.", direction, order)};
  if (!all_costs) notes.push_back("Too many links for their costs here: a browser shows them at each CPU.");
  return {title, std::move(all), std::max(width, legend), below + (drawings.front().rows.nodes.size() > 1 ? 26 : 6),
          std::move(notes)};
}

std::string tree_svg(const Picture& p) { return svg_page(p, tree_drawing(p)); }

}  // namespace smelt
