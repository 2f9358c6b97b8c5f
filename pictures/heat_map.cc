// The text pen of the costs: without colours it says the same.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "pictures/documents.h"

namespace smelt {
namespace {

// From a cost to 0 (cheapest) .. 1 (dearest). Logarithmic where the costs span more than a factor of 8, so that near
// classes stay apart. The half per cent at either end does not stretch the scale of 16
// CPUs and more.
struct Scale {
  double low = 0, high = 0;
  bool logarithmic = false;
  bool cut_below = false, cut_above = false;  // there are costs beyond low, beyond high

  double position(double cost) const;
  double cost(double position) const;  // the inverse
};

Scale scale_of(std::vector<float> costs, uint32_t n) {
  Scale scale;
  if (costs.empty()) return scale;
  std::sort(costs.begin(), costs.end());
  const size_t beyond = n >= 16 ? costs.size() / 200 : 0;
  scale.low = costs[beyond];
  scale.high = costs[costs.size() - 1 - beyond];
  scale.cut_below = costs.front() < scale.low;
  scale.cut_above = costs.back() > scale.high;
  scale.logarithmic = scale.low > 0 && scale.high > 8 * scale.low;
  return scale;
}

double Scale::position(double cost) const {
  if (!(high > low)) return 0;
  const double at =
      logarithmic ? std::log(std::max(cost, low) / low) / std::log(high / low) : (cost - low) / (high - low);
  return std::clamp(at, 0.0, 1.0);
}

double Scale::cost(double position) const {
  return logarithmic ? low * std::pow(high / low, position) : low + position * (high - low);
}

struct HeatMap {
  std::vector<uint16_t> order;  // row -> participant
  std::vector<bool> begins;     // row -> the first of its NUMA node, but for the first of all
  size_t nodes = 1;
  std::vector<float> cells;  // [rows * rows]: row = sender, column = receiver; 0 from a CPU to itself
  Scale scale;

  HeatMap(const Picture& p, CostKind kind) : order(shown_order(p)), begins(order.size()) {
    for (size_t row = 1; row < order.size(); ++row) {
      begins[row] = p.costs.node && p.costs.node[order[row]] != p.costs.node[order[row - 1]];
      nodes += begins[row];
    }
    std::vector<float> sent;
    for (const uint16_t from : order)
      for (const uint16_t to : order) {
        cells.push_back(from == to ? 0 : cost_of(p.costs, kind, from, to));
        if (from != to) sent.push_back(cells.back());
      }
    scale = scale_of(std::move(sent), static_cast<uint32_t>(order.size()));
  }
  bool begins_node(uint32_t row) const { return begins[row]; }
};

struct Colour {
  uint8_t red, green, blue;
};

Colour cost_colour(double position) {
  // viridis at ninths, light to dark; between them straight lines are near enough.
  static constexpr Colour kStops[] = {{0xfd, 0xe7, 0x25}, {0xb5, 0xde, 0x2b}, {0x6e, 0xce, 0x58}, {0x35, 0xb7, 0x79},
                                      {0x1f, 0x9e, 0x89}, {0x26, 0x82, 0x8e}, {0x31, 0x68, 0x8e}, {0x3e, 0x49, 0x89},
                                      {0x48, 0x28, 0x78}, {0x44, 0x01, 0x54}};
  constexpr size_t kLast = std::size(kStops) - 1;
  const double at = std::clamp(position, 0.0, 1.0) * kLast;
  const size_t lower = std::min(static_cast<size_t>(at), kLast - 1);
  const double part = at - static_cast<double>(lower);
  const auto mix = [part](uint8_t a, uint8_t b) { return static_cast<uint8_t>(std::lround(a + part * (b - a))); };
  const Colour &a = kStops[lower], &b = kStops[lower + 1];
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

bool is_dark(Colour c) {
  // Relative luminance, and where black and white have the same contrast to it (WCAG 2.2, 1.4.3).
  const auto linear = [](uint8_t part) {
    const double s = part / 255.0;
    return s <= 0.04045 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue) < 0.179;
}

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

class MatrixPen {
 public:
  MatrixPen(const Picture& p, CostKind kind, const TextStyle& style)
      : p_(p), map_(p, kind), style_(style), n_(static_cast<uint32_t>(p.cpu.size())) {}

  std::string draw(CostKind kind) {
    out_ = fmt::format("{}, in {} (row: sender, column: receiver)\n\n", title_of(kind), cost_unit_name(p_.costs.unit));
    n_ <= kNumbersUpTo ? numbers() : shades();
    return std::move(out_);
  }

 private:
  uint32_t cpu(uint32_t row) const { return p_.cpu[map_.order[row]]; }
  const char* bar() const { return style_.utf8 ? "│" : "|"; }
  const char* dash() const { return style_.utf8 ? "─" : "-"; }
  const char* cross() const { return style_.utf8 ? "┼" : "+"; }

  void numbers() {
    constexpr size_t kCell = 7;
    const auto row_text = [&](const std::string& label, auto cell) {
      out_ += fmt::format("{:>8} ", label);
      for (uint32_t column = 0; column < n_; ++column) {
        if (map_.begins_node(column)) out_ += fmt::format(" {}", bar());
        out_ += cell(column);
      }
      out_ += '\n';
    };
    row_text("CPU", [&](uint32_t column) { return fmt::format("{:>{}}", cpu(column), kCell); });
    for (uint32_t row = 0; row < n_; ++row) {
      if (map_.begins_node(row)) {
        out_ += std::string(9, ' ');
        for (uint32_t column = 0; column < n_; ++column) {
          if (map_.begins_node(column)) out_ += std::string(dash()) + cross();
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
    const bool lines = n_ >= 4 * per_cell * map_.nodes;
    const auto boundary = [&](uint32_t cell) {
      if (!lines) return false;
      for (uint32_t row = cell < per_cell ? 0 : cell - per_cell + 1; row <= cell; ++row)
        if (map_.begins_node(row)) return true;
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
        if (map_.begins_node(i)) line += bar();
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

}  // namespace

std::string text_heat_map(const Picture& p, const std::vector<CostKind>& kinds, const TextStyle& style) {
  std::string out = text_header(p);
  for (const CostKind kind : kinds) out += fmt::format("\n{}", MatrixPen(p, kind, style).draw(kind));
  return out;
}

}  // namespace smelt
