// The pictures of `smelt draw`: of each kind one function per pen. SVG and text know all four; DOT what is a graph
// (dot_picture in picture.h draws the tree, text_picture its terminal version).
#pragma once

#include <string>
#include <vector>

#include "draw/layout.h"
#include "draw/picture.h"
#include "draw/svg.h"

namespace smelt {

struct TextStyle {
  bool utf8 = true;     // else ASCII
  bool colour = false;  // ANSI escapes, for terminals
};

// Of `picture`, only the machine, its costs and the participants are looked at. One panel per kind.
Drawing matrix_drawing(const Picture& picture, const std::vector<CostKind>& kinds);
std::string matrix_svg(const Picture& picture, const std::vector<CostKind>& kinds);
nlohmann::ordered_json matrix_document(const Picture& picture, const std::vector<CostKind>& kinds);  // rows: senders
std::string matrix_text(const Picture& picture, const std::vector<CostKind>& kinds, const TextStyle& style);

Drawing tree_drawing(const Picture& picture);  // of trees only
std::string tree_svg(const Picture& picture);

Drawing schedule_drawing(const Picture& picture);
std::string schedule_svg(const Picture& picture);
std::string schedule_text(const Picture& picture, const TextStyle& style);
std::string schedule_dot(const Picture& picture);
nlohmann::ordered_json rounds_document(const Picture& picture);

Drawing timeline_drawing(const Picture& picture);
std::string timeline_svg(const Picture& picture);
std::string timeline_text(const Picture& picture, const TextStyle& style);
nlohmann::ordered_json timeline_document(const Picture& picture);

}  // namespace smelt
