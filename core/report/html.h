// Parts of an HTML page. Text comes in as text and is escaped here; arguments named html are written as they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "draw/svg.h"

namespace smelt::html {

// <tag attributes>text</tag>
std::string element(std::string_view tag, std::string_view text, std::string_view attributes = "");
std::string paragraph(std::string_view text);
std::string note(std::string_view text);  // in the second rank
std::string preformatted(std::string_view text, std::string_view label);
std::string link_to(std::string_view id, std::string_view text);  // a place in this page

// An element wider than the screen scrolls by itself, and the page does not.
std::string scrolling(const std::string& html, std::string_view label);

// The drawing with its title above and its notes below. `more` are further attributes of the figure.
std::string figure(const Drawing& drawing, const std::string& id, std::string_view more = "");

// Closed until somebody asks for it; printed open.
std::string folded(std::string_view title, const std::string& html);

// A few figures that come first.
struct Tile {
  std::string value, words;
};
std::string tiles(const std::vector<Tile>& all);

// A machine as boxes in each other: packages, NUMA nodes, last-level caches, cores, and in these the CPUs by the
// kernel's numbers. Levels whose boxes are the same ones share them; cores of one CPU each are left out.
struct Boxes {
  std::vector<uint32_t> cpu;
  std::vector<uint16_t> package, node, llc, core;  // [cpu.size()]; empty: not known
};
std::string boxes(const Boxes& machine);

}  // namespace smelt::html
