// The parts of a report: what comes in as text stays text, a machine's boxes have every CPU once.
#include "report/html.h"

#include <gtest/gtest.h>

#include "report/page.h"
#include "report/table.h"

using namespace smelt;

namespace {

constexpr const char* kHostile = "</td><script>alert('1')</script>\" onload=\"x & \xff";

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(Html, WhatIsTextStaysText) {
  const Table table{kHostile, {{kHostile, "a"}, {"n", "b", As::kWhole}}, {{{"a", kHostile}, {"b", 1}}}};
  Drawing drawing{kHostile, {}, 10, 10, {kHostile}};
  drawing.svg.text(0, 0, kHostile);
  const std::string parts[] = {html::paragraph(kHostile),
                               html::note(kHostile),
                               html::preformatted(kHostile, kHostile),
                               html::tiles({{kHostile, kHostile}}),
                               html::folded(kHostile, ""),
                               html::link_to(kHostile, kHostile),
                               table_html(table, true),
                               html::figure(drawing, "id"),
                               html_page({kHostile, kHostile, {{"a", kHostile, ""}}, "{}", kHostile})};
  for (const std::string& part : parts) {
    EXPECT_EQ(part.find("<script>alert"), std::string::npos) << part;
    EXPECT_EQ(part.find("\" onload"), std::string::npos) << part;
    EXPECT_EQ(part.find('\xff'), std::string::npos) << part;
    EXPECT_NE(part.find("&lt;script&gt;"), std::string::npos) << part;
  }
}

TEST(Html, DataDoNotEndTheScriptThatHoldsThem) {
  const std::string page = html_page({"t", "s", {}, "{\"x\":\"</script><b>\"}", "f"});
  EXPECT_NE(page.find("\\u003c/script>\\u003cb>"), std::string::npos);
}

TEST(Html, NamesInPicturesAreTheFigures) {
  Drawing drawing{"t", {}, 10, 10, {}};
  drawing.svg.raw("<defs><marker id=\"near\"/></defs>");
  drawing.svg.line(0, 0, 1, 1, "#000000", 1, "marker-end=\"url(#near)\"");
  drawing.svg.text(0, 0, " id=\"near\" =\"url(#near)");  // words are not names
  const std::string html = html::figure(drawing, "one");
  EXPECT_EQ(count(html, " id=\"one-near\""), 1u) << html;
  EXPECT_EQ(count(html, "=\"url(#one-near)\""), 1u) << html;
  EXPECT_EQ(count(html, "one-near"), 2u) << html;
}

TEST(Html, BoxesHaveEveryCpuOnce) {
  // Two packages that are the nodes, too, a cache for two cores, two threads each.
  html::Boxes machine;
  for (uint16_t i = 0; i < 16; ++i) {
    machine.cpu.push_back(100u + i);
    machine.core.push_back(i / 2);
    machine.llc.push_back(i / 4);
    machine.node.push_back(i / 8);
    machine.package.push_back(i / 8);
  }
  const std::string html = html::boxes(machine);
  for (const uint32_t cpu : machine.cpu)
    EXPECT_EQ(count(html, std::string(">").append(std::to_string(cpu)).append("</span>")), 1u) << html;
  EXPECT_EQ(count(html, "class=\"box package\""), 2u);
  EXPECT_EQ(count(html, "package 1, node 1<"), 1u);
  EXPECT_EQ(count(html, "class=\"box llc\""), 4u);
  EXPECT_EQ(count(html, "class=\"box core\""), 8u);
  EXPECT_EQ(count(html, "<div"), count(html, "</div>"));

  // Nothing is known but the CPUs.
  const std::string bare = html::boxes({{3}, {}, {}, {}, {}});
  EXPECT_EQ(count(bare, "data-tip=\"CPU 3\""), 1u) << bare;
}

}  // namespace
