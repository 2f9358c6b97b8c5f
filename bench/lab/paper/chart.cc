// A figure as a picture: pictures/draw.py draws it from a document, which is all that it is made of.
#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/lab/paper/figure.h"
#include "profile/text/error.h"

namespace smelt::paper {
namespace {

using Json = nlohmann::ordered_json;

Json panel_document(const Panel& panel) {
  constexpr const char* kCharts[] = {"bars", "lines", "heat", "none"};
  Json rows = Json::array();
  for (const FigureRow& row : panel.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row.cells)
      cells.push_back({{"value", cell.value}, {"spread", cell.spread}, {"words", cell.words}});
    rows.push_back({{"kind", kind_name(row.kind)}, {"name", row.name}, {"x", row.x}, {"cells", std::move(cells)}});
  }
  return {{"title", panel.title},
          {"rows_are", panel.rows_are},
          {"unit", panel.unit},
          {"y", panel.y_title},
          {"chart", kCharts[static_cast<size_t>(panel.chart)]},
          {"log_x", panel.log_x},
          {"log_y", panel.log_y},
          {"series", panel.series},
          {"rows", std::move(rows)},
          {"notes", panel.notes}};
}

}  // namespace

std::string document_of(const Figure& figure) {
  Json panels = Json::array();
  for (const Panel& panel : figure.panels) panels.push_back(panel_document(panel));
  const Json document = {
      {"title", figure.title}, {"source", figure.source}, {"panels", std::move(panels)}, {"notes", figure.notes}};
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void draw(const Figure& figure, const std::string& build, const std::string& path) {
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  const std::string command =
      fmt::format("python3 '{0}/pictures/draw.py' '{0}/bench/lab/figure.py' {1}'", build, quoted);
  std::signal(SIGPIPE, SIG_IGN);  // it may end before it has read everything
  std::FILE* const pipe = ::popen(command.c_str(), "we");
  if (!pipe) throw UserError("no process can be started; is there memory?");
  const std::string text = document_of(figure);
  std::fwrite(text.data(), 1, text.size(), pipe);
  if (::pclose(pipe) != 0) throw UserError(fmt::format("cannot write {}", path));
}

}  // namespace smelt::paper
