#include "report/page.h"

#include <fmt/format.h>

#include <string_view>

#include "draw/colour.h"
#include "report/html.h"

namespace smelt {
namespace {

#include "report/page_parts.inc"

// Of hexadecimal digits, as a content security policy wants it.
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto nibble = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::string out;
  unsigned bits = 0, count = 0;
  for (const char c : hex) {
    bits = bits << 4 | nibble(c), count += 4;
    if (count >= 6) out += kLetters[bits >> (count - 6) & 63], count -= 6;
  }
  if (count > 0) out += kLetters[bits << (6 - count) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

// The pictures have colours for white paper; where the page is dark, these become the page's.
std::string picture_colours() {
  constexpr std::pair<const char*, const char*> kColours[] = {
      {kInk, "ink"},      {kFaint, "faint"}, {kGrid, "grid"}, {kTick, "tick"},          {kDivide, "divide"},
      {kLane, "lane"},    {kNear, "near"},   {kFar, "far"},   {kFarWords, "far-words"}, {kEmptyCell, "lane"},
      {kWaitBar, "wait"},
  };
  std::string out;
  for (const auto& [colour, name] : kColours)
    out += fmt::format("figure [fill=\"{0}\"]{{fill:var(--{1})}}figure [stroke=\"{0}\"]{{stroke:var(--{1})}}\n", colour,
                       name);
  return out + "figure rect[fill=\"#ffffff\"]{fill:var(--card)}\n";
}

// No word of JSON's ends a script.
std::string inside_script(std::string_view json) {
  std::string out;
  for (const char c : json)
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

}  // namespace

std::string html_page(const ReportPage& page) {
  std::string contents, sections;
  for (const ReportSection& section : page.sections) {
    contents += "<li>" + html::link_to(section.id, section.title) + "</li>\n";
    sections += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}</section>\n",
        section.id, xml_text(section.title), section.html);
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{title}</title>\n<style>\n{style}{colours}</style>\n</head>\n<body id=\"top\">\n"
      "<header>\n<h1>{title}</h1>\n<p class=\"subtitle\">{subtitle}</p>\n</header>\n"
      "<nav aria-label=\"Contents\"><ul>\n{contents}</ul></nav>\n<main>\n{sections}</main>\n"
      "<footer><p>{footer}</p><p>{top}</p></footer>\n<div id=\"tip\" role=\"tooltip\" hidden></div>\n"
      "<script type=\"application/json\" id=\"data\">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n",
      fmt::arg("hash", base64_of_hex(kScriptHash)), fmt::arg("title", xml_text(page.title)), fmt::arg("style", kStyle),
      fmt::arg("colours", picture_colours()), fmt::arg("subtitle", xml_text(page.subtitle)),
      fmt::arg("contents", contents), fmt::arg("sections", sections), fmt::arg("footer", xml_text(page.footer)),
      fmt::arg("top", html::link_to("top", "Up")), fmt::arg("data", inside_script(page.data)),
      fmt::arg("script", kScript));
}

}  // namespace smelt
