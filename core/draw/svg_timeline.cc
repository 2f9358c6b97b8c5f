// Schedule and timeline in SVG: both have a lane per participant, one over rounds, the other over time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "draw/charts.h"
#include "draw/colour.h"
#include "draw/svg.h"

namespace smelt {
namespace {

constexpr size_t kMostArrows = 20000;  // beyond, a picture is black and its file huge
constexpr size_t kMostHeads = 1500;
constexpr size_t kMostTold = 600;  // arrows and bars that explain themselves

std::string headline(const Picture& p, const char* what) {
  return fmt::format("{} by {}: {} {}, {}", operation_name(p.op), p.pattern, cost_text(p.predicted),
                     cost_unit_name(p.costs.unit), what);
}

// Both colours of arrow heads.
void define_heads(Svg& svg) {
  std::string defs = "<defs>";
  for (const auto& [id, colour] : {std::pair("near", kNear), std::pair("far", kFar)})
    defs += fmt::format(
        "<marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
        "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 1L8 4L0 7z\" fill=\"{}\"/></marker>",
        id, colour);
  svg.raw(defs + "</defs>\n");
}

std::string folded_note(const Rows& rows) {
  if (!rows.folded()) return "";
  return fmt::format(" A lane is a {}, with what its CPUs do, whichever of them.", rows.what());
}

struct Ends {
  double x1, y1, x2, y2;
};

void arrow(Svg& svg, const Ends& at, bool far, bool head) {
  svg.line(at.x1, at.y1, at.x2, at.y2, far ? kFar : kNear, 1.1,
           head ? (far ? "marker-end=\"url(#far)\"" : "marker-end=\"url(#near)\"") : "");
}

// With words above it, and wide enough for a hand to find.
void told_arrow(Svg& svg, const Ends& at, bool far, bool head, uint16_t from, uint16_t to, std::string_view words) {
  svg.open(words, link_attribute(from, to));
  arrow(svg, at, far, head);
  svg.line(at.x1, at.y1, at.x2, at.y2, "#000000", 7, "stroke-opacity=\"0\" pointer-events=\"stroke\"");
  svg.close();
}

// Many arrows over each other: the more there are, the fainter each.
std::string arrow_group(size_t count) {
  return fmt::format("stroke-opacity=\"{}\"", px(count <= 200    ? 0.9
                                                 : count <= 1500 ? 0.6
                                                 : count <= 6000 ? 0.3
                                                                 : 0.15));
}

std::vector<Sample> arrow_samples(const Picture& p, const Rows& rows, const char* words) {
  if (rows.nodes.size() < 2 || !p.costs.node) return {{Sample::Kind::kLine, kNear, words}};
  return {{Sample::Kind::kLine, kNear, fmt::format("{} inside a NUMA node", words)},
          {Sample::Kind::kLine, kFar, "between NUMA nodes"}};
}

// Arrows without heads, of folded rows: a path for each colour, and what lies within a pixel of another is left out.
class ArrowPaths {
 public:
  void add(const Ends& at, bool far) {
    const auto whole = [](double x) { return static_cast<int>(std::lround(x)); };
    const std::tuple line(whole(at.x1), whole(at.y1), whole(at.x2), whole(at.y2), far);
    if (seen_.insert(line).second)
      paths_[far] +=
          fmt::format("M{} {}L{} {}", std::get<0>(line), std::get<1>(line), std::get<2>(line), std::get<3>(line));
  }
  void draw(Svg& svg) const {
    svg.open("", arrow_group(seen_.size()));
    for (const bool far : {false, true})
      if (!paths_[far].empty())
        svg.raw(fmt::format("<path fill=\"none\" stroke=\"{}\" stroke-width=\"1.1\" d=\"{}\"/>\n", far ? kFar : kNear,
                            paths_[far]));
    svg.close();
  }

 private:
  std::set<std::tuple<int, int, int, int, bool>> seen_;
  std::string paths_[2];
};

// A bar as it is drawn.
struct Span {
  Timeline::Doing doing;
  uint32_t row;
  double begin, wide;
};

// Neighbours of one kind that are no wider than a hair become one.
template <typename X>
std::vector<Span> spans(const Timeline& line, X x) {
  constexpr double kHair = 1.5;
  std::vector<Span> out;
  for (size_t i = 0; i < line.bars.size();) {
    const Timeline::Bar& first = line.bars[i];
    const auto thin = [&](const Timeline::Bar& bar) { return x(bar.end) - x(bar.begin) < kHair; };
    size_t last = i;
    while (thin(line.bars[last]) && last + 1 < line.bars.size() && line.bars[last + 1].who == first.who &&
           line.bars[last + 1].doing == first.doing && thin(line.bars[last + 1]))
      ++last;
    out.push_back({first.doing, line.rows.row[first.who], x(first.begin), x(line.bars[last].end) - x(first.begin)});
    i = last + 1;
  }
  if (!line.rows.folded()) return out;
  // Somebody of the row's does it: what is one behind the other, or over it, is one.
  std::sort(out.begin(), out.end(), [](const Span& a, const Span& b) {
    return std::tuple(a.doing, a.row, a.begin) < std::tuple(b.doing, b.row, b.begin);
  });
  std::vector<Span> merged;
  for (const Span& span : out) {
    Span* const before = merged.empty() ? nullptr : &merged.back();
    if (before && before->doing == span.doing && before->row == span.row &&
        span.begin <= before->begin + before->wide + 1)
      before->wide = std::max(before->wide, span.begin + span.wide - before->begin);
    else
      merged.push_back(span);
  }
  return merged;
}

// One path per kind of bar.
template <typename X>
void bars(Svg& svg, const Picture& p, const Timeline& line, const Lanes& lanes, X x) {
  std::string paths[3];
  for (const Span& span : spans(line, x)) {
    const double height = lanes.height * (span.doing == Timeline::Doing::kWait ? 0.24 : 0.6);
    // Others keep a hair's distance.
    const double shown = span.wide > 4 ? span.wide - 0.6 : std::max(span.wide, 0.6);
    paths[static_cast<size_t>(span.doing)] += fmt::format(
        "M{} {}h{}v{}h-{}z", px(span.begin), px(lanes.middle(span.row) - height / 2), px(shown), px(height), px(shown));
  }
  const auto put = [&](Timeline::Doing doing, const char* colour) {
    const std::string& path = paths[static_cast<size_t>(doing)];
    if (!path.empty()) svg.raw(fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", colour, path));
  };
  put(Timeline::Doing::kWait, kWaitBar);
  put(Timeline::Doing::kReceive, kReceiveBar);
  put(Timeline::Doing::kSend, kSendBar);
  if (line.bars.size() > kMostTold || line.rows.folded()) return;
  for (const Timeline::Bar& bar : line.bars) {
    const char* does = bar.doing == Timeline::Doing::kSend   ? "sends"
                       : bar.doing == Timeline::Doing::kWait ? "waits"
                                                             : "receives";
    svg.hint(x(bar.begin), lanes.middle(line.rows.row[bar.who]) - lanes.height * 0.3, x(bar.end) - x(bar.begin),
             lanes.height * 0.6,
             fmt::format("CPU {} {} from {} to {} {}", p.cpu[bar.who], does, cost_text(bar.begin), cost_text(bar.end),
                         cost_unit_name(p.costs.unit)));
  }
}

}  // namespace

Drawing schedule_drawing(const Picture& p) {
  const RoundChart chart = lay_out_rounds(p);
  const uint32_t rounds = std::max(chart.rounds, 1u);
  const double column = std::clamp(1000.0 / rounds, 24.0, 320.0), inset = 10, top = 26;
  Svg svg;
  define_heads(svg);
  const Lanes lanes = svg_lanes(svg, p, chart.rows, column * rounds + 2 * inset, top);
  const auto x = [&](uint32_t round) { return lanes.left + inset + column * round; };

  for (uint32_t round = 0; round < chart.rounds; ++round) {
    const auto first = std::lower_bound(chart.messages.begin(), chart.messages.end(), round,
                                        [](const RoundChart::Message& m, uint32_t r) { return m.round < r; });
    const auto count = std::count_if(first, chart.messages.end(), [round](const auto& m) { return m.round == round; });
    const bool short_name = column < text_width("round 10", kLeastText) + 8;
    svg.text(x(round) + column / 2, top - 10,
             short_name ? std::to_string(round + 1) : fmt::format("round {}", round + 1),
             {.anchor = Anchor::kMiddle, .fill = kFaint});
    const std::string words = fmt::format("{} message{}", count, count == 1 ? "" : "s");
    if (column >= text_width(words, kLeastText))
      svg.text(x(round) + column / 2, lanes.bottom() + 18, words, {.anchor = Anchor::kMiddle, .fill = kFaint});
  }
  for (uint32_t round = 0; round <= rounds; ++round)
    svg.line(x(round), top, x(round), lanes.bottom(), kTick, 0.8, "stroke-dasharray=\"2 3\"");

  // Heads of many arrows cover each other, and messages go to the right in any case.
  const size_t count = chart.messages.size();
  const bool draw = count <= kMostArrows, heads = count <= kMostHeads && count <= 4 * lanes.count * rounds;
  if (chart.rows.folded()) {
    ArrowPaths paths;
    for (const auto& m : chart.messages)
      paths.add({x(m.round), lanes.middle(chart.rows.row[m.from]), x(m.round + 1), lanes.middle(chart.rows.row[m.to])},
                crosses_nodes(p, m.from, m.to));
    paths.draw(svg);
  } else if (draw) {
    const double dot = std::clamp(lanes.height * 0.16, 0.8, 3.0), end = heads ? dot : 0;
    svg.open("", arrow_group(chart.messages.size()));
    for (const auto& m : chart.messages) {
      const Ends at = {x(m.round), lanes.middle(chart.rows.row[m.from]), x(m.round + 1) - end,
                       lanes.middle(chart.rows.row[m.to])};
      const bool far = crosses_nodes(p, m.from, m.to);
      if (count <= kMostTold)
        told_arrow(svg, at, far, heads, m.from, m.to,
                   fmt::format("CPU {} to CPU {}: hop {} {}", p.cpu[m.from], p.cpu[m.to],
                               cost_text(p.costs.hop[p.costs.at(m.from, m.to)]), cost_unit_name(p.costs.unit)));
      else
        arrow(svg, at, far, heads);
    }
    svg.close();
    if (lanes.height >= 8) {
      uint32_t last_round = ~0u;
      uint16_t last = kNobody;
      for (const auto& m : chart.messages) {  // by round and sender: each sender's dot once
        if (m.round != last_round || m.from != last)
          svg.circle(x(m.round), lanes.middle(chart.rows.row[m.from]), dot, kInk, "none", 0);
        last_round = m.round, last = m.from;
      }
    }
  } else {
    svg.text(lanes.left + lanes.width / 2, (lanes.top + lanes.bottom()) / 2,
             fmt::format("{} messages: too many for arrows", chart.messages.size()),
             {.size = 14, .anchor = Anchor::kMiddle});
  }
  const double below = lanes.bottom() + 44;
  const double legend = svg_legend(svg, lanes.left, below, arrow_samples(p, chart.rows, "message"));
  return {headline(p, "who waits for whom"),
          std::move(svg),
          lanes.left + std::max(lanes.width, legend),
          below + 6,
          {"A column is a round: what a participant sends in it needs only what reached it in the columns before. "
           "An arrow ends at who waits for it." +
           folded_note(chart.rows)}};
}

std::string schedule_svg(const Picture& p) { return svg_page(p, schedule_drawing(p)); }

Drawing timeline_drawing(const Picture& p) {
  const Timeline line = lay_out_timeline(p);
  const char* unit = cost_unit_name(p.costs.unit);
  const double top = 12, wide = 960;
  Svg svg;
  define_heads(svg);
  const Lanes lanes = svg_lanes(svg, p, line.rows, wide, top);
  const auto x = [&](double time) { return lanes.left + (line.end > 0 ? time / line.end * wide : 0); };

  for (const double tick : axis_ticks(line.end, 11)) {
    svg.line(x(tick), top, x(tick), lanes.bottom() + 4, kTick, 0.7);
    svg.text(x(tick), lanes.bottom() + 18, fmt::format("{:g}", tick), {.anchor = Anchor::kMiddle});
  }
  svg.text(lanes.left + wide / 2, lanes.bottom() + 36, fmt::format("time in {}", unit),
           {.anchor = Anchor::kMiddle, .fill = kFaint});

  const double thick = lanes.height * 0.6;
  bars(svg, p, line, lanes, x);
  const bool folded = line.rows.folded();
  const bool draw = folded || line.flights.size() <= kMostArrows;
  const bool heads = line.flights.size() <= kMostHeads && lanes.height >= 7;
  if (folded) {
    ArrowPaths paths;
    for (const Timeline::Flight& f : line.flights)
      paths.add({x(f.begin), lanes.middle(line.rows.row[f.from]), x(f.end), lanes.middle(line.rows.row[f.to])},
                crosses_nodes(p, f.from, f.to));
    paths.draw(svg);
  } else if (draw) {
    svg.open("", arrow_group(line.flights.size()));
    for (const Timeline::Flight& f : line.flights) {
      // From the edge of the sender's bar that faces the receiver to the edge that faces the sender.
      const double down = line.rows.row[f.from] < line.rows.row[f.to] ? thick / 2 : -thick / 2;
      const Ends at = {x(f.begin), lanes.middle(line.rows.row[f.from]) + down, x(f.end),
                       lanes.middle(line.rows.row[f.to]) - down};
      const bool far = crosses_nodes(p, f.from, f.to);
      if (line.flights.size() <= kMostTold)
        told_arrow(
            svg, at, far, heads, f.from, f.to,
            fmt::format("CPU {} to CPU {}: sent at {}, read from {} {} on; hop {}", p.cpu[f.from], p.cpu[f.to],
                        cost_text(f.begin), cost_text(f.end), unit, cost_text(p.costs.hop[p.costs.at(f.from, f.to)])));
      else
        arrow(svg, at, far, heads);
    }
    svg.close();
  }
  std::vector<double> done(lanes.count, 0);  // all of the row are
  for (size_t i = 0; i < p.done.size(); ++i) done[line.rows.row[i]] = std::max(done[line.rows.row[i]], p.done[i]);
  for (uint32_t row = 0; row < lanes.count; ++row)
    svg.line(x(done[row]), lanes.middle(row) - lanes.height * 0.42, x(done[row]),
             lanes.middle(row) + lanes.height * 0.42, kInk, 1.4);
  const double below = lanes.bottom() + 64;
  double legend = svg_legend(svg, lanes.left, below,
                             {{Sample::Kind::kBox, kSendBar, "sends"},
                              {Sample::Kind::kBox, kReceiveBar, "receives"},
                              {Sample::Kind::kBox, kWaitBar, "waits"}});
  svg.line(lanes.left + legend + 8, below - 10, lanes.left + legend + 8, below + 2, kInk, 1.4);
  svg.text(lanes.left + legend + 18, below, "is done");
  legend += 18 + text_width("is done", kLeastText) + 14;
  if (draw) svg_legend(svg, lanes.left + legend, below, arrow_samples(p, line.rows, "message"));
  std::vector<std::string> notes = {
      "Predicted, everybody starting at 0. An arrow goes from when the sender is through with a message to when its "
      "receiver begins to read it."};
  notes[0] += folded_note(line.rows);
  if (!draw) notes.push_back(fmt::format("{} messages: too many for arrows.", line.flights.size()));
  return {headline(p, "what everybody does when"), std::move(svg), lanes.left + wide + 20, below + 6, std::move(notes)};
}

std::string timeline_svg(const Picture& p) { return svg_page(p, timeline_drawing(p)); }

}  // namespace smelt
