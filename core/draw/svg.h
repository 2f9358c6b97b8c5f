// The SVG pen: shapes and text onto a page that says what it shows, of which machine, in which unit, and when.
//
// Coordinates are pixels, the origin of a drawing its own upper left corner. Text is escaped here and nowhere else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "draw/layout.h"
#include "draw/picture.h"

namespace smelt {

// Fit for XML: the five special characters written as entities; control characters and bytes that are no UTF-8
// replaced.
std::string xml_text(std::string_view text);

enum class Anchor { kStart, kMiddle, kEnd };

// The least that is easily read, in pixels: a text without room for it is left out, and browsers show it above its
// thing.
inline constexpr double kLeastText = 12;

struct TextLook {
  double size = kLeastText;
  Anchor anchor = Anchor::kStart;
  std::string_view fill = "#1a1a1a";
  bool bold = false;
  double turned = 0;  // degrees, clockwise
};

class Svg {
 public:
  void rect(double x, double y, double width, double height, std::string_view fill);
  void outline(double x, double y, double width, double height, std::string_view stroke, double thick);
  void line(double x1, double y1, double x2, double y2, std::string_view stroke, double thick,
            std::string_view more = "");  // further attributes
  void circle(double x, double y, double radius, std::string_view fill, std::string_view stroke, double thick);
  void text(double x, double y, std::string_view text, const TextLook& look = {});
  void raw(std::string_view svg) { body_ += svg; }  // elements that no other function draws; already escaped
  // Until close(), everything belongs to one thing; browsers show `title` above it.
  void open(std::string_view title, std::string_view attributes = "");
  void close() { body_ += "</g>\n"; }
  // An invisible area with a title.
  void hint(double x, double y, double width, double height, std::string_view title);

  const std::string& body() const { return body_; }

 private:
  std::string body_;
};

// Two digits behind the point at most. A value that is not a number becomes 0: no viewer survives a NaN.
std::string px(double value);
// Generous: viewers have different fonts.
double text_width(std::string_view text, double size);
// Labels that would touch are left out: every how many stays? A power of two, which suits SMT and cache sizes.
uint32_t label_step(double room, double available);
// A cost for people: three significant digits or all that stand before the point.
std::string cost_text(double cost);

// A drawing with the texts above and below it, not yet on a page.
struct Drawing {
  std::string title;
  Svg svg;
  double width = 0, height = 0;
  std::vector<std::string> notes;  // one line each
};

// The whole file: caption above, drawing below, then the notes, and the program and date of the drawing.
std::string svg_page(const Picture& picture, const Drawing& drawing);
// The element for an HTML page, which says the rest itself; ink is the page's. `id` goes before all names in it.
std::string svg_element(const Drawing& drawing, const std::string& id);

// For a page's script, which adds what kind of link it is: participants.
std::string link_attribute(uint16_t from, uint16_t to);

// A legend in one row: coloured samples with their words. Returns its width.
struct Sample {
  enum class Kind { kBox, kLine, kCircle } kind;
  std::string colour, words;
  bool dashed = false;
};
double svg_legend(Svg& svg, double x, double y, const std::vector<Sample>& samples);

// One lane per participant under each other, those of a NUMA node on one tint, CPU numbers on the left; the common part
// of schedule and timeline.
struct Lanes {
  double height = 0;         // of one lane
  double left = 0, top = 0;  // where the first lane begins
  double width = 0;
  double bottom() const { return top + height * static_cast<double>(count); }
  double middle(uint32_t row) const { return top + height * (row + 0.5); }
  size_t count = 0;
};
Lanes svg_lanes(Svg& svg, const Picture& picture, const Rows& rows, double width, double top);

}  // namespace smelt
