// Curves over sizes, both axes logarithmic, with the places where they cross: for terminals and as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/svg.h"

namespace smelt {

struct PlotCurve {
  std::string name;
  char mark;  // for terminals
  std::vector<uint64_t> x;
  std::vector<double> y;  // > 0
};
struct PlotPlace {
  uint64_t x;
  std::string words;
};
struct Plot {
  std::string title, x_name, y_name;
  std::vector<PlotCurve> curves;
  std::vector<PlotPlace> places;  // a line upright at each
};

std::string plot_text(const Plot& plot, uint32_t width = 76, uint32_t height = 20);
Drawing plots_drawing(const std::vector<Plot>& plots);
std::string plots_svg(const std::vector<Plot>& plots);  // under each other

}  // namespace smelt
