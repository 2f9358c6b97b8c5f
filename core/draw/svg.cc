// The elements of all SVG pictures.
#include "draw/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "draw/colour.h"

namespace smelt {
namespace {

constexpr double kMargin = 36;
constexpr double kNarrowest = 680;  // of the space between the margins, for the caption's sake

// Bytes of the UTF-8 character that `text` begins with, 0 where it is none that XML may hold.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xf0 && first < 0xf5 ? 4
                        : first >= 0xe0                 ? 3
                        : first >= 0xc2                 ? 2
                                                        : 0;
  if (length == 0 || first >= 0xf5 || length > text.size()) return 0;
  unsigned code = length == 1 ? first : first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool forbidden = (code >= 0xd800 && code < 0xe000) || code == 0xfffe || code == 0xffff || code > 0x10ffff ||
                         (code >= 0x7f && code < 0xa0);
  return overlong || forbidden ? 0 : length;
}

// Words into lines no wider than this; a word that is too wide alone is cut.
std::vector<std::string> wrapped(const std::string& text, double size, double width) {
  std::vector<std::string> lines;
  std::string line;
  const auto put_word = [&](std::string word) {
    if (!line.empty() && text_width(line + " " + word, size) > width) lines.push_back(std::move(line)), line.clear();
    while (line.empty() && text_width(word, size) > width && word.size() > 8) {
      size_t cut = word.size() - 1;
      while (cut > 8 && text_width(word.substr(0, cut), size) > width) --cut;
      while (cut > 1 && (static_cast<unsigned char>(word[cut]) & 0xc0) == 0x80) --cut;
      lines.push_back(word.substr(0, cut));
      word.erase(0, cut);
    }
    line += line.empty() ? word : " " + word;
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) put_word(text.substr(at, end - at));
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

const char* anchor_name(Anchor anchor) {
  return anchor == Anchor::kStart ? "start" : anchor == Anchor::kMiddle ? "middle" : "end";
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const char c = text[0];
    if (length == 0) {
      out += '?';
    } else if (length > 1) {
      out += text.substr(0, length);
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&apos;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::string px(double value) {
  if (!std::isfinite(value)) return "0";
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string link_attribute(uint16_t from, uint16_t to) { return fmt::format("data-link=\"{} {}\"", from, to); }

double text_width(std::string_view text, double size) {
  const auto characters = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
  return 0.55 * size * static_cast<double>(characters);
}

std::string cost_text(double cost) {
  return cost == 0    ? "0"
         : cost < 10  ? fmt::format("{:.2f}", cost)
         : cost < 100 ? fmt::format("{:.1f}", cost)
                      : fmt::format("{:.0f}", cost);
}

uint32_t label_step(double room, double available) {
  uint32_t step = 1;
  while (available * step < room) step *= 2;
  return step;
}

void Svg::rect(double x, double y, double width, double height, std::string_view fill) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", px(x), px(y), px(width),
                       px(height), fill);
}

void Svg::outline(double x, double y, double width, double height, std::string_view stroke, double thick) {
  body_ += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"/>\n", px(x),
      px(y), px(width), px(height), stroke, px(thick));
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view stroke, double thick,
               std::string_view more) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"{}\"{}{}/>\n",
                       px(x1), px(y1), px(x2), px(y2), stroke, px(thick), more.empty() ? "" : " ", more);
}

void Svg::circle(double x, double y, double radius, std::string_view fill, std::string_view stroke, double thick) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"{}\"/>\n", px(x),
                       px(y), px(radius), fill, stroke, px(thick));
}

void Svg::text(double x, double y, std::string_view text, const TextLook& look) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\"", px(x), px(y), px(look.size));
  if (look.anchor != Anchor::kStart) body_ += fmt::format(" text-anchor=\"{}\"", anchor_name(look.anchor));
  if (look.fill != kInk) body_ += fmt::format(" fill=\"{}\"", look.fill);
  if (look.bold) body_ += " font-weight=\"bold\"";
  if (look.turned != 0) body_ += fmt::format(" transform=\"rotate({} {} {})\"", px(look.turned), px(x), px(y));
  body_ += '>' + xml_text(text) + "</text>\n";
}

void Svg::open(std::string_view title, std::string_view attributes) {
  body_ += fmt::format("<g{}{}>", attributes.empty() ? "" : " ", attributes);
  body_ += title.empty() ? "\n" : "<title>" + xml_text(title) + "</title>\n";
}

void Svg::hint(double x, double y, double width, double height, std::string_view title) {
  body_ += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" "
      "pointer-events=\"all\"><title>{}</title></rect>\n",
      px(x), px(y), px(width), px(height), xml_text(title));
}

std::string svg_element(const Drawing& drawing, const std::string& id) {
  std::string body = drawing.svg.body();
  // A quote is never text's: that is escaped.
  const auto rename = [&](std::string_view before) {
    for (size_t at = body.find(before); at != std::string::npos; at = body.find(before, at)) {
      at += before.size();
      body.insert(at, id + "-");
    }
  };
  rename(" id=\"");
  rename("=\"url(#");
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{2}\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"-1 -1 {0} {1}\" fill=\"currentColor\">\n{3}</svg>",
      px(drawing.width + 2), px(drawing.height + 2), xml_text(drawing.title), body);
}

std::string svg_page(const Picture& p, const Drawing& drawing) {
  const double inner = std::max(drawing.width, kNarrowest);
  std::vector<uint32_t> cpus = p.cpu;
  std::sort(cpus.begin(), cpus.end());
  Svg page;
  double y = kMargin + 14;
  const auto lines = [&](const std::string& text, const TextLook& look, double advance) {
    for (const std::string& line : wrapped(text, look.size, inner)) {
      page.text(kMargin, y, line, look);
      y += advance;
    }
  };
  lines(drawing.title, {.size = 18, .bold = true}, 24);
  lines(fmt::format("{} \u2013 CPUs {}", p.machine, cpu_ranges(cpus)), {}, 17);
  lines(fmt::format("costs in {}, {} cost model{}{}", p.costs.unit == CostUnit::kCycles ? "cycles" : "nanoseconds (ns)",
                    p.cost_model, p.origin.empty() ? "" : "; ", p.origin),
        {.fill = kFaint}, 17);
  y += 10;
  page.raw(fmt::format("<g transform=\"translate({} {})\">\n", px(kMargin + (inner - drawing.width) / 2), px(y)));
  page.raw(drawing.svg.body());
  page.close();
  y += drawing.height + 30;
  for (const std::string& note : drawing.notes) lines(note, {.fill = kFaint}, 16);
  lines(p.date.empty() ? "drawn by smelt draw" : "drawn by smelt draw, " + p.date, {.fill = kFaint}, 16);
  y += kMargin - 22;

  const double full = inner + 2 * kMargin;
  return fmt::format(
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
             "height=\"{1}\" viewBox=\"0 0 {0} {1}\" style=\"max-width:100%;height:auto\" "
             "font-family=\"Helvetica, Arial, sans-serif\" fill=\"{2}\">\n"
             "<title>{3}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
             px(full), px(y), kInk, xml_text(drawing.title)) +
         page.body() + "</svg>\n";
}

double svg_legend(Svg& svg, double x, double y, const std::vector<Sample>& samples) {
  const double begin = x;
  for (const Sample& sample : samples) {
    switch (sample.kind) {
      case Sample::Kind::kBox: svg.rect(x, y - 9, 18, 10, sample.colour); break;
      case Sample::Kind::kLine:
        svg.line(x, y - 4, x + 18, y - 4, sample.colour, 1.8, sample.dashed ? "stroke-dasharray=\"4 3\"" : "");
        break;
      case Sample::Kind::kCircle: svg.circle(x + 9, y - 4, 6, sample.colour, kInk, 1); break;
    }
    svg.text(x + 24, y, sample.words);
    x += 24 + text_width(sample.words, kLeastText) + 14;
  }
  return x - begin;
}

Lanes svg_lanes(Svg& svg, const Picture& p, const Rows& rows, double width, double top) {
  Lanes lanes;
  lanes.count = rows.order.size();
  lanes.height = std::clamp(720.0 / static_cast<double>(lanes.count), 4.0, 24.0);
  lanes.top = top;
  lanes.width = width;
  const bool several = rows.nodes.size() > 1 && rows.kind != Rows::Kind::kNode;
  const double size = kLeastText;
  double names = text_width("CPU 1023", size);
  if (rows.kind == Rows::Kind::kBlock)
    for (uint32_t row = 0; row < lanes.count; ++row) names = std::max(names, text_width(rows.name(p, row), size));
  lanes.left = names + 8 + (several ? text_width("node 255", kLeastText) + 10 : 0);

  for (size_t b = 0; b < rows.nodes.size(); ++b) {
    const Rows::Block& block = rows.nodes[b];
    const double y = lanes.top + lanes.height * block.first, height = lanes.height * block.count;
    if (b % 2 == 0) svg.rect(lanes.left, y, width, height, kLane);
    if (b > 0) svg.line(several ? 0 : lanes.left, y, lanes.left + width, y, kDivide, 0.8);
    if (several && height >= kLeastText)
      svg.text(0, y + height / 2 + 4, fmt::format("node {}", block.number), {.fill = kFaint});
  }
  const uint32_t every = label_step(size + 1, lanes.height);
  for (uint32_t row = 0; row < lanes.count; ++row) {
    const uint16_t who = rows.order[row];
    if (row % every == 0)
      svg.text(lanes.left - 8, lanes.middle(row) + size * 0.36, rows.name(p, row),
               {.size = size, .anchor = Anchor::kEnd});
    svg.line(lanes.left, lanes.middle(row), lanes.left + width, lanes.middle(row), kGrid, 0.7);
    svg.hint(0, lanes.top + lanes.height * row, lanes.left + width, lanes.height,
             rows.name(p, row) + (several ? fmt::format(", node {}", p.costs.node[who]) : ""));
  }
  return lanes;
}

}  // namespace smelt
