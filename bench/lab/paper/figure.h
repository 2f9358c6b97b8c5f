// A table or a figure of a paper, as data: the text and the picture are both made of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt::paper {

// Where a row's numbers come from. Every row says so in its first column.
enum class Origin {
  kMeasured,   // on this machine, now
  kPredicted,  // by the cost model, for a machine of the paper
  kPaper       // out of the paper's text
};
const char* kind_name(Origin kind);

struct Cell {
  double value = 0;        // 0: there is none
  double spread = 0;       // relative, to either side: half the inter-quartile range, or the paper's standard error
  std::string words = {};  // instead of a number, where a paper says a range
};

struct FigureRow {
  Origin kind = Origin::kMeasured;
  std::string name = {};
  std::vector<Cell> cells = {};  // one per series
  double hop_ns = 0;             // of the ping-pongs taken with the measurement; 0: none
  double x = 0;                  // of lines
};

enum class Chart { kBars, kLines, kHeat, kNone };

// One table, and its plot. All numbers have one unit; the rows of a plot with lines are of one kind.
struct Panel {
  std::string title = {};
  std::string rows_are = {};  // the kind of the rows: "machine"; with lines the x axis, with its unit
  std::string unit = {};      // of the numbers: "ns", "times"
  std::string y_title = {};   // their kind: "time of a barrier"
  Chart chart = Chart::kBars;
  bool log_x = false, log_y = false;
  std::vector<std::string> series = {};
  std::vector<FigureRow> rows = {};
  std::vector<std::string> notes = {};
};

struct Figure {
  std::string title = {};
  std::string source = {};  // the paper, and what it says there
  std::vector<Panel> panels = {};
  std::vector<std::string> notes = {};  // the parts that could not be done, and why
};

std::string text_of(const Figure& figure);
std::string document_of(const Figure& figure);  // JSON
// By pictures/draw.py and our figure.py, which lie in the build tree. Throws UserError.
void draw(const Figure& figure, const std::string& build, const std::string& path);

}  // namespace smelt::paper
