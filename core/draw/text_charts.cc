// Heat map, schedule and timeline for terminals and text files: without colours they say the same.
#include "draw/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "draw/colour.h"

namespace smelt {
namespace {

constexpr size_t kTableWidth = 110;    // of tables, where their content allows
constexpr uint32_t kNumbersUpTo = 16;  // CPUs whose costs are printed as numbers; beyond, cells are shaded
constexpr uint32_t kMostCells = 96;    // shaded cells a side; beyond, neighbours share one
constexpr const char* kReset = "\x1b[0m";

std::string paint(Colour background) {
  return fmt::format("\x1b[48;2;{};{};{}m\x1b[38;5;{}m", background.red, background.green, background.blue,
                     is_dark(background) ? 15 : 16);
}

std::string repeat(const char* glyph, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += glyph;
  return out;
}

const char* title_of(CostKind kind) {
  return kind == CostKind::kSend      ? "send: how long a message keeps its sender"
         : kind == CostKind::kReceive ? "receive: the rest, until its receiver has it"
                                      : "hop: from the store until a polling receiver has it";
}

bool begins_node(const Rows& rows, uint32_t row) {
  return std::any_of(rows.nodes.begin(), rows.nodes.end(),
                     [row](const Rows::Block& block) { return row > 0 && block.first == row; });
}

class MatrixPen {
 public:
  MatrixPen(const Picture& p, CostKind kind, const TextStyle& style)
      : p_(p), map_(lay_out_heat_map(p, kind)), style_(style), n_(static_cast<uint32_t>(p.cpu.size())) {}

  std::string draw(CostKind kind) {
    out_ = fmt::format("{}, in {} (row: sender, column: receiver)\n\n", title_of(kind), cost_unit_name(p_.costs.unit));
    n_ <= kNumbersUpTo ? numbers() : shades();
    return std::move(out_);
  }

 private:
  uint32_t cpu(uint32_t row) const { return p_.cpu[map_.rows.order[row]]; }
  const char* bar() const { return style_.utf8 ? "│" : "|"; }
  const char* dash() const { return style_.utf8 ? "─" : "-"; }
  const char* cross() const { return style_.utf8 ? "┼" : "+"; }

  void numbers() {
    constexpr size_t kCell = 7;
    const auto row_text = [&](const std::string& label, auto cell) {
      out_ += fmt::format("{:>8} ", label);
      for (uint32_t column = 0; column < n_; ++column) {
        if (begins_node(map_.rows, column)) out_ += fmt::format(" {}", bar());
        out_ += cell(column);
      }
      out_ += '\n';
    };
    row_text("CPU", [&](uint32_t column) { return fmt::format("{:>{}}", cpu(column), kCell); });
    for (uint32_t row = 0; row < n_; ++row) {
      if (begins_node(map_.rows, row)) {
        out_ += std::string(9, ' ');
        for (uint32_t column = 0; column < n_; ++column) {
          if (begins_node(map_.rows, column)) out_ += std::string(dash()) + cross();
          out_ += repeat(dash(), kCell);
        }
        out_ += '\n';
      }
      row_text(std::to_string(cpu(row)), [&](uint32_t column) {
        if (row == column) return fmt::format("{:>{}}", ".", kCell);
        const double cost = map_.cells[size_t{row} * n_ + column];
        const std::string text = fmt::format("{:>{}.1f}", cost, kCell - 1);
        if (!style_.colour) return fmt::format(" {}", text);
        return fmt::format(" {}{}{}", paint(cost_colour(map_.scale.position(cost))), text, kReset);
      });
    }
  }

  // The median of the costs that share a cell; negative where there is none.
  double shared_cost(uint32_t row, uint32_t column, uint32_t per_cell) const {
    std::vector<float> costs;
    for (uint32_t i = row; i < std::min(n_, row + per_cell); ++i)
      for (uint32_t j = column; j < std::min(n_, column + per_cell); ++j)
        if (i != j) costs.push_back(map_.cells[size_t{i} * n_ + j]);
    if (costs.empty()) return -1;
    const auto middle = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2);
    std::nth_element(costs.begin(), middle, costs.end());
    return *middle;
  }

  std::string shade(double position, size_t width) const {
    if (style_.colour) return paint(cost_colour(position)) + std::string(width, ' ') + kReset;
    static constexpr const char* kUtf8[] = {"·", "░", "▒", "▓", "█"};
    static constexpr const char* kAscii[] = {".", ":", "o", "O", "#"};
    const auto level = std::min<size_t>(static_cast<size_t>(position * 5), 4);
    return repeat((style_.utf8 ? kUtf8 : kAscii)[level], width);
  }

  void shades() {
    const uint32_t per_cell = std::bit_ceil((n_ + kMostCells - 1) / kMostCells);  // so that cells fit nodes and caches
    const size_t width = n_ <= 48 ? 2 : 1;
    std::vector<std::string> labels;
    size_t widest = 0;
    for (uint32_t row = 0; row < n_; row += per_cell) {
      std::vector<uint32_t> cpus;
      for (uint32_t i = row; i < std::min(n_, row + per_cell); ++i) cpus.push_back(cpu(i));
      std::sort(cpus.begin(), cpus.end());
      labels.push_back(cpu_ranges(cpus));
      widest = std::max(widest, labels.back().size());
    }
    // A boundary inside a shared cell is drawn before the first cell that is all behind it.
    // Where nodes are only a few cells, there would be more lines than cells.
    const bool lines = n_ >= 4 * per_cell * map_.rows.nodes.size();
    const auto boundary = [&](uint32_t cell) {
      if (!lines) return false;
      for (uint32_t row = cell < per_cell ? 0 : cell - per_cell + 1; row <= cell; ++row)
        if (begins_node(map_.rows, row)) return true;
      return false;
    };
    std::string rule = std::string(widest + 3, ' ');
    for (uint32_t column = 0; column < n_; column += per_cell) {
      if (boundary(column)) rule += cross();
      rule += repeat(dash(), width);
    }
    if (per_cell == 1) column_numbers(widest, width);
    size_t line = 0;
    for (uint32_t row = 0; row < n_; row += per_cell) {
      if (boundary(row)) out_ += rule + '\n';
      out_ += fmt::format("  {:>{}} ", labels[line++], widest);
      for (uint32_t column = 0; column < n_; column += per_cell) {
        if (boundary(column)) out_ += bar();
        const double cost = shared_cost(row, column, per_cell);
        out_ += cost < 0 ? std::string(width, ' ') : shade(map_.scale.position(cost), width);
      }
      out_ += '\n';
    }
    legend(per_cell);
  }

  // Upright, one digit per line.
  void column_numbers(size_t left, size_t width) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n_; ++i) largest = std::max(largest, cpu(i));
    const size_t digits = std::to_string(largest).size();
    for (size_t digit = 0; digit < digits; ++digit) {
      std::string line(left + 3, ' ');
      for (uint32_t i = 0; i < n_; ++i) {
        if (begins_node(map_.rows, i)) line += bar();
        line += fmt::format("{:>{}}", fmt::format("{:>{}}", cpu(i), digits)[digit], width);
      }
      out_ += line + '\n';
    }
  }

  void legend(uint32_t per_cell) {
    out_ += '\n';
    for (int level = 0; level < 5; ++level)
      out_ += fmt::format("  {} {:.4g}-{:.4g}", shade((level + 0.5) / 5, 2), map_.scale.cost(level / 5.0),
                          map_.scale.cost((level + 1) / 5.0));
    out_ += fmt::format(" {}{}\n", cost_unit_name(p_.costs.unit), map_.scale.logarithmic ? ", logarithmic scale" : "");
    if (map_.scale.cut_below || map_.scale.cut_above)
      out_ += "  the half per cent beyond either end looks like the end\n";
    if (per_cell > 1)
      out_ += fmt::format("  a cell is the median between {} and {} CPUs; columns as rows\n", per_cell, per_cell);
  }

  const Picture& p_;
  const HeatMap map_;
  const TextStyle& style_;
  const uint32_t n_;
  std::string out_;
};

size_t shown_width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(std::string text, size_t width) {
  const size_t shown = shown_width(text);
  return shown < width ? text + std::string(width - shown, ' ') : text;
}

// "1,4-7", or their number where that is long.
std::string peers_text(std::vector<uint32_t> cpus) {
  std::sort(cpus.begin(), cpus.end());
  const std::string all = cpu_ranges(cpus);
  return all.size() <= 16 ? all : fmt::format("{} CPUs", cpus.size());
}

void trim(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
}

}  // namespace

std::string matrix_text(const Picture& p, const std::vector<CostKind>& kinds, const TextStyle& style) {
  std::string out = text_header(p);
  for (const CostKind kind : kinds) out += fmt::format("\n{}", MatrixPen(p, kind, style).draw(kind));
  return out;
}

std::string schedule_text(const Picture& p, const TextStyle& style) {
  const RoundChart chart = lay_out_rounds(p);
  struct Cell {
    std::vector<uint32_t> sends, waits;
  };
  std::vector<std::vector<Cell>> cells(p.cpu.size(), std::vector<Cell>(chart.rounds));
  for (const auto& m : chart.messages) {
    cells[m.from][m.round].sends.push_back(p.cpu[m.to]);
    cells[m.to][m.round].waits.push_back(p.cpu[m.from]);
  }
  const char *to = style.utf8 ? "→" : ">", *from = style.utf8 ? "←" : "<";
  const auto text_of = [&](const Cell& cell) {
    const std::string sends = cell.sends.empty() ? "" : fmt::format("{}{}", to, peers_text(cell.sends));
    const std::string waits = cell.waits.empty() ? "" : fmt::format("{}{}", from, peers_text(cell.waits));
    return fmt::format("{}{}{}", sends, sends.empty() || waits.empty() ? "" : " ", waits);
  };
  std::vector<size_t> widths;
  for (uint32_t round = 0; round < chart.rounds; ++round) {
    widths.push_back(fmt::formatted_size("round {}", round + 1));
    for (const auto& row : cells) widths.back() = std::max(widths.back(), shown_width(text_of(row[round])));
  }

  std::string out = text_header(p);
  out += fmt::format("\nA row is a CPU: {} whom it signals, {} for whom it waits, round by round.\n", to, from);
  for (uint32_t first = 0; first < std::max(chart.rounds, 1u);) {
    uint32_t last = first;
    size_t width = 10;
    while (last < chart.rounds && (last == first || width + widths[last] + 2 <= kTableWidth))
      width += widths[last++] + 2;
    std::string line = "\n     CPU";
    for (uint32_t round = first; round < last; ++round)
      line += "  " + padded(fmt::format("round {}", round + 1), widths[round]);
    trim(line);
    out += line + '\n';
    for (uint32_t row = 0; row < p.cpu.size(); ++row) {
      const uint16_t who = chart.rows.order[row];
      if (begins_node(chart.rows, row)) out += repeat(style.utf8 ? "─" : "-", width - 2) + '\n';
      line = fmt::format("{:>8}", p.cpu[who]);
      for (uint32_t round = first; round < last; ++round)
        line += "  " + padded(text_of(cells[who][round]), widths[round]);
      trim(line);
      out += line + '\n';
    }
    first = std::max(last, first + 1);
  }
  return out;
}

std::string schedule_dot(const Picture& p) {
  const RoundChart chart = lay_out_rounds(p);
  std::string out =
      fmt::format("digraph smelt {{\n  label={};\n",
                  dot_quoted(fmt::format("{}: {} by {}, {:.1f} {} ({} cost model){}", p.machine, operation_name(p.op),
                                         p.pattern, p.predicted, cost_unit_name(p.costs.unit), p.cost_model,
                                         p.date.empty() ? "" : ", " + p.date)));
  out +=
      "  rankdir=LR;\n  node [shape=circle, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", "
      "fontsize=10];\n";
  // A node is a participant at the beginning of a round; it stands on the line of its earlier and later selves.
  for (const uint16_t who : chart.rows.order) {
    for (uint32_t round = 0; round <= chart.rounds; ++round)
      out += fmt::format("  \"{}@{}\" [label=\"{}\", group=\"{}\"];\n", p.cpu[who], round, p.cpu[who], p.cpu[who]);
    for (uint32_t round = 0; round < chart.rounds; ++round)
      out += fmt::format("  \"{}@{}\" -> \"{}@{}\" [style=dotted, arrowhead=none, weight=8];\n", p.cpu[who], round,
                         p.cpu[who], round + 1);
  }
  for (const auto& m : chart.messages)
    out +=
        fmt::format("  \"{}@{}\" -> \"{}@{}\" [label=\"{:.0f}\", color=\"{}\"];\n", p.cpu[m.from], m.round, p.cpu[m.to],
                    m.round + 1, p.costs.hop[p.costs.at(m.from, m.to)], crosses_nodes(p, m.from, m.to) ? kFar : kNear);
  return out + "}\n";
}

std::string timeline_text(const Picture& p, const TextStyle& style) {
  constexpr size_t kColumns = 80;
  const Timeline line = lay_out_timeline(p);
  const double per_column = line.end > 0 ? line.end / kColumns : 1;
  // Of a participant's actions in a column's time, work counts before waiting, however short; then the longer.
  std::vector<std::vector<std::array<double, 3>>> spent(p.cpu.size(),
                                                        std::vector<std::array<double, 3>>(kColumns, {0, 0, 0}));
  for (const Timeline::Bar& bar : line.bars) {
    const auto first = std::min(static_cast<size_t>(bar.begin / per_column), kColumns - 1);
    for (size_t column = first; column < kColumns && static_cast<double>(column) * per_column < bar.end; ++column) {
      const double begin = std::max(bar.begin, static_cast<double>(column) * per_column);
      const double end = std::min(bar.end, static_cast<double>(column + 1) * per_column);
      spent[bar.who][column][static_cast<size_t>(bar.doing)] += std::max(end - begin, 1e-9 * per_column);
    }
  }
  static constexpr const char* kUtf8[] = {"█", "▒", "·"};
  static constexpr const char* kAscii[] = {"S", "r", "."};
  static constexpr const char* kEscapes[] = {"\x1b[34m", "\x1b[33m", "\x1b[90m"};
  const auto glyph = [&](size_t doing) {
    const std::string plain = (style.utf8 ? kUtf8 : kAscii)[doing];
    return style.colour ? kEscapes[doing] + plain + kReset : plain;
  };

  std::string out = text_header(p);
  out += fmt::format("\n{} sends   {} receives   {} waits\n\n", glyph(0), glyph(1), glyph(2));
  out += "     CPU\n";
  for (uint32_t row = 0; row < p.cpu.size(); ++row) {
    const uint16_t who = line.rows.order[row];
    if (begins_node(line.rows, row)) out += std::string(10, ' ') + repeat(style.utf8 ? "─" : "-", kColumns) + '\n';
    std::string lane;
    for (const auto& [send, receive, wait] : spent[who])
      lane += send > 0 && send >= receive ? glyph(0) : receive > 0 ? glyph(1) : wait > 0 ? glyph(2) : " ";
    trim(lane);
    out += fmt::format("{:>8}  {}\n", p.cpu[who], lane);
  }
  std::string marks(kColumns + 12, ' ');
  for (const double tick : axis_ticks(line.end, 9)) {
    const std::string number = fmt::format("{:g}", tick);
    marks.replace(10 + std::min(static_cast<size_t>(tick / per_column), kColumns), number.size(), number);
  }
  trim(marks);
  return out + marks + " " + cost_unit_name(p.costs.unit) + "\n";
}

}  // namespace smelt
