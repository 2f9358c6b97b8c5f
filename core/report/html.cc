#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>

namespace smelt::html {

std::string element(std::string_view tag, std::string_view text, std::string_view attributes) {
  return fmt::format("<{0}{1}{2}>{3}</{0}>\n", tag, attributes.empty() ? "" : " ", attributes, xml_text(text));
}

std::string paragraph(std::string_view text) { return element("p", text); }

std::string note(std::string_view text) { return element("p", text, "class=\"note\""); }

std::string link_to(std::string_view id, std::string_view text) {
  return fmt::format("<a href=\"#{}\">{}</a>", xml_text(id), xml_text(text));
}

std::string preformatted(std::string_view text, std::string_view label) {
  std::string lines;  // xml_text knows one line
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines += xml_text(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return scrolling("<pre>" + lines + "</pre>", label);
}

std::string scrolling(const std::string& html, std::string_view label) {
  return fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{}</div>\n",
                     xml_text(label), html);
}

std::string figure(const Drawing& drawing, const std::string& id, std::string_view more) {
  std::string out = fmt::format("<figure id=\"{}\"{}{}>\n<figcaption>{}</figcaption>\n", id, more.empty() ? "" : " ",
                                more, xml_text(drawing.title));
  out += scrolling(svg_element(drawing, id), drawing.title);
  for (const std::string& line : drawing.notes) out += note(line);
  return out + "</figure>\n";
}

std::string folded(std::string_view title, const std::string& html) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", xml_text(title), html);
}

std::string tiles(const std::vector<Tile>& all) {
  std::string out = "<ul class=\"tiles\">\n";
  for (const Tile& tile : all)
    out += fmt::format("<li><b>{}</b> <span>{}</span></li>\n", xml_text(tile.value), xml_text(tile.words));
  return out + "</ul>\n";
}

}  // namespace smelt::html
