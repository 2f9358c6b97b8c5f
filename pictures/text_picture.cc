// The text pen.
//
// A tree is drawn with one participant per line, children below their parent in send order, the figures in columns on
// the left so that they align however deep the tree is:
//
//   informed    hop  level
//        0.0             0  CPU 0
//       62.2   62.2      1  ├─ CPU 1
//      120.9   58.7      2  │  ╰> CPU 3
//      130.8   62.2      1  └─ CPU 2
//
// CPU 3 is an only child and is not indented against its parent, so a chain of 256 stays narrow.
// An exchange is drawn round by round: its senders and receivers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "pictures/picture.h"

namespace smelt {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kDeepest = 24;  // levels of indentation drawn; the level's number tells the rest

struct Glyphs {
  const char *bar, *branch, *last, *only, *arrow, *deeper;
};
constexpr Glyphs kUtf8 = {"│  ", "├─ ", "└─ ", "╰> ", "→", "… "};
constexpr Glyphs kAscii = {"|  ", "|- ", "`- ", "`> ", "->", "~ "};

class TreePen {
 public:
  TreePen(const Picture& picture, const TreeSide& side, const Glyphs& glyphs)
      : p_(picture), side_(side), glyphs_(glyphs) {}

  std::string draw() {
    out_ = fmt::format("{:>10} {:>9} {:>6}\n", side_.event, "hop", "level");
    visit(side_.tree->root, 0, "");
    return std::move(out_);
  }

 private:
  void line(uint16_t node, size_t level, const std::string& prefix) {
    const uint16_t parent = side_.tree->parent[node];
    const std::string hop = parent == kNobody ? "" : fmt::format("{:.1f}", side_.hop(p_.costs, parent, node));
    out_ += fmt::format("{:10.1f} {:>9} {:6}  {}CPU {}", side_.times[node], hop, level, prefix, p_.cpu[node]);
    // The node is worth a word where it changes: that is the expensive message.
    if (p_.costs.node && (parent == kNobody || p_.costs.node[parent] != p_.costs.node[node]))
      out_ += fmt::format("  (node {})", p_.costs.node[node]);
    out_ += '\n';
  }

  // Recursion is as deep as the tree, at most kMaxParticipants.
  void visit(uint16_t node, size_t level, const std::string& own_prefix) {
    line(node, level, own_prefix);
    const std::vector<uint16_t> list = children(*side_.tree, node);
    for (size_t i = 0; i < list.size(); ++i) {
      std::string prefix = bars_.size() > kDeepest ? glyphs_.deeper : "";
      for (size_t b = bars_.size() > kDeepest ? bars_.size() - kDeepest : 0; b < bars_.size(); ++b) prefix += bars_[b];
      if (list.size() == 1) {
        visit(list[i], level + 1, prefix + glyphs_.only);
        continue;
      }
      const bool last = i + 1 == list.size();
      bars_.push_back(last ? "   " : glyphs_.bar);
      visit(list[i], level + 1, prefix + (last ? glyphs_.last : glyphs_.branch));
      bars_.pop_back();
    }
  }

  const Picture& p_;
  const TreeSide& side_;
  const Glyphs& glyphs_;
  std::vector<const char*> bars_;
  std::string out_;
};

// Words in columns of one width, wrapped.
std::string in_columns(const std::vector<std::string>& words) {
  size_t widest = 0;
  for (const std::string& word : words) widest = std::max(widest, word.size());
  const size_t per_line = std::max<size_t>(1, (kWidth - 2) / (widest + 3));
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    out += i % per_line == 0 ? "  " : "   ";
    const bool ends = (i + 1) % per_line == 0 || i + 1 == words.size();
    out += ends ? words[i] + "\n" : fmt::format("{:<{}}", words[i], widest);
  }
  return out;
}

using Sends = std::map<uint16_t, std::vector<uint32_t>>;  // sender -> CPUs it sends to in this round, ascending

std::string draw_round(const Picture& p, uint32_t round, const Sends& sends, const Glyphs& glyphs) {
  size_t messages = 0, everywhere = 0;
  for (const auto& [from, to] : sends) {
    messages += to.size();
    everywhere += to.size() + 1 == p.exchange.n;
  }
  std::string out = fmt::format("round {}: {} message{}\n", round, messages, messages == 1 ? "" : "s");
  if (everywhere == p.exchange.n && p.exchange.n > 2) return out + fmt::format("  each {} all others\n", glyphs.arrow);
  // Senders to the same receivers are one entry: a gather of 64 is "1-63 -> 0".
  std::map<std::vector<uint32_t>, std::vector<uint32_t>> groups;
  for (const auto& [from, to] : sends) groups[to].push_back(p.cpu[from]);
  std::vector<std::pair<std::vector<uint32_t>, std::string>> entries;
  for (auto& [to, from] : groups) {
    std::sort(from.begin(), from.end());
    entries.emplace_back(from, fmt::format("{} {} {}", cpu_ranges(from), glyphs.arrow, cpu_ranges(to)));
  }
  std::sort(entries.begin(), entries.end());
  std::vector<std::string> words;
  for (auto& entry : entries) words.push_back(std::move(entry.second));
  return out + in_columns(words);
}

std::string draw_exchange(const Picture& p, const Glyphs& glyphs) {
  std::string out;
  uint32_t at = 0;
  for (uint32_t round = 0; round < p.exchange.rounds; ++round) {
    Sends sends;
    for (; at < p.exchange.count && p.exchange.messages[at].round == round; ++at)
      sends[p.exchange.messages[at].from].push_back(p.cpu[p.exchange.messages[at].to]);
    for (auto& [from, to] : sends) std::sort(to.begin(), to.end());
    out += draw_round(p, round + 1, sends, glyphs);
  }
  const auto last = std::max_element(p.done.begin(), p.done.end());
  if (last != p.done.end())
    out += fmt::format("first out after {:.1f} {}, last (CPU {}) after {:.1f}\n",
                       *std::min_element(p.done.begin(), p.done.end()), cost_unit_name(p.costs.unit),
                       p.cpu[static_cast<size_t>(last - p.done.begin())], *last);
  return out;
}

std::string draw_trees(const Picture& p, const Glyphs& glyphs) {
  std::string out;
  for (const TreeSide& side : tree_sides(p)) {
    if (!out.empty()) out += '\n';
    if (*side.title) out += fmt::format("{}, {} the tree\n", side.title, side.up ? "up" : "down");
    out += TreePen(p, side, glyphs).draw();
  }
  return out;
}

}  // namespace

std::string text_header(const Picture& p) {
  std::vector<uint32_t> cpus = p.cpu;
  std::sort(cpus.begin(), cpus.end());
  std::string out;
  out += fmt::format("machine     {}\n", p.machine);
  if (!p.origin.empty()) out += fmt::format("costs       {}\n", p.origin);
  out += fmt::format("CPUs        {}: {}\n", cpus.size(), cpu_ranges(cpus));
  if (!p.pattern.empty()) {
    out += fmt::format("operation   {}{}\n", operation_name(p.op),
                       p.is_tree ? fmt::format(", root CPU {}", p.cpu[p.tree.root]) : "");
    out += fmt::format("pattern     {}{}\n", p.pattern,
                       p.requested == p.pattern ? "" : fmt::format(" (asked for: {})", p.requested));
  }
  out += fmt::format("cost model  {}\n", p.cost_model);
  if (!p.pattern.empty()) {
    out += fmt::format("predicted   {:.1f} {}{}\n", p.predicted, cost_unit_name(p.costs.unit),
                       p.op == Operation::kBarrier ? fmt::format(", {:.1f} in a loop", p.steady) : "");
  }
  if (!p.date.empty()) out += fmt::format("drawn       {}\n", p.date);
  return out;
}

std::string text_picture(const Picture& p, bool utf8) {
  const Glyphs& glyphs = utf8 ? kUtf8 : kAscii;
  return text_header(p) + "\n" + (p.is_tree ? draw_trees(p, glyphs) : draw_exchange(p, glyphs));
}

}  // namespace smelt
