// The text pen: tables for terminals, one line per row, the kind of its numbers first.
#include <fmt/format.h>

#include <algorithm>

#include "bench/lab/paper/figure.h"

namespace smelt::paper {
namespace {

size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, size_t width, bool right) {
  const std::string space(width > width_of(text) ? width - width_of(text) : 0, ' ');
  return right ? space + text : text + space;
}

// Three significant digits, or all that stand before the point.
std::string cost_text(double cost) {
  return fmt::format("{:.{}f}", cost, cost == 0 || cost >= 100 ? 0 : cost < 10 ? 2 : 1);
}

// The papers' numbers as they stand there, ours with three digits.
std::string cell_text(const Cell& cell, Origin kind) {
  if (!cell.words.empty()) return cell.words;
  if (cell.value == 0) return "-";
  const std::string number = kind == Origin::kPaper ? fmt::format("{:g}", cell.value) : cost_text(cell.value);
  return cell.spread > 0 ? fmt::format("{} ±{:.{}f}%", number, 100 * cell.spread, cell.spread < 0.01 ? 1 : 0) : number;
}

std::string table_of(const Panel& panel) {
  bool hops = false;
  for (const FigureRow& row : panel.rows) hops = hops || row.hop_ns > 0;
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> head{"kind", panel.rows_are};
  head.insert(head.end(), panel.series.begin(), panel.series.end());
  if (hops) head.push_back("a hop, ns");
  lines.push_back(head);
  for (const FigureRow& row : panel.rows) {
    std::vector<std::string> line{kind_name(row.kind), row.name};
    for (const Cell& cell : row.cells) line.push_back(cell_text(cell, row.kind));
    if (hops) line.push_back(row.hop_ns > 0 ? fmt::format("{:.1f}", row.hop_ns) : "-");
    lines.push_back(line);
  }
  std::vector<size_t> widths(head.size(), 0);
  for (const auto& line : lines)
    for (size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], width_of(line[c]));
  std::string out;
  for (const auto& line : lines) {
    std::string text = " ";
    for (size_t c = 0; c < line.size(); ++c) text += (c ? "  " : " ") + padded(line[c], widths[c], c > 1);
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace

const char* kind_name(Origin kind) {
  return kind == Origin::kMeasured ? "measured" : kind == Origin::kPredicted ? "predicted" : "paper";
}

std::string text_of(const Figure& figure) {
  std::string out = fmt::format("== {}\n{}\n", figure.title, figure.source);
  for (const Panel& panel : figure.panels) {
    out += fmt::format("\n{}: {}, in {}\n{}", panel.title, panel.y_title, panel.unit, table_of(panel));
    for (const std::string& note : panel.notes) out += "  # " + note + "\n";
  }
  if (!figure.notes.empty()) out += "\n";
  for (const std::string& note : figure.notes) out += "# " + note + "\n";
  return out;
}

}  // namespace smelt::paper
