// The Graphviz pen: smelt tree --format dot | dot -Tsvg > tree.svg
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "draw/colour.h"
#include "draw/layout.h"
#include "draw/picture.h"

namespace smelt {
namespace {

constexpr const char* kRoundColours[] = {"#1b6ca8", "#c8553d", "#588157", "#7b2d8b", "#b8860b", "#444444"};

std::string name(const std::string& tree, uint32_t cpu) { return fmt::format("{}{}", tree, cpu); }

// Everybody, by NUMA node.
std::string clusters(const Picture& p, const std::string& tree, uint16_t root) {
  std::map<uint16_t, std::vector<uint32_t>> nodes;  // NUMA node -> participants
  for (uint32_t i = 0; i < p.cpu.size(); ++i) nodes[p.costs.node ? p.costs.node[i] : 0].push_back(i);
  std::string out;
  for (const auto& [node, members] : nodes) {
    out += fmt::format("  subgraph cluster_{}{} {{\n    label=\"node {}\";\n   ", tree, node, node);
    for (const uint32_t i : members)
      out += fmt::format(" {}{}{};", name(tree, p.cpu[i]), tree.empty() ? "" : fmt::format(" [label={}]", p.cpu[i]),
                         i == root ? " [shape=doublecircle]" : "");
    out += "\n  }\n";
  }
  return out;
}

}  // namespace

std::string dot_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

std::string dot_picture(const Picture& p) {
  const char* unit = cost_unit_name(p.costs.unit);
  std::string out = fmt::format(
      "digraph smelt {{\n  label={};\n",
      dot_quoted(fmt::format("{}: {} by {}, {:.1f} {} ({} cost model){}", p.machine, operation_name(p.op), p.pattern,
                             p.predicted, unit, p.cost_model, p.date.empty() ? "" : ", " + p.date)));
  out += "  node [shape=circle, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n";

  if (p.is_tree) {
    // Two trees have everybody twice: each node's name then begins with the tree's.
    for (const TreeSide& side : tree_sides(p)) {
      const std::string title = side.title;
      if (!title.empty()) out += fmt::format("  subgraph cluster_{} {{\n  label=\"{}\";\n", title, title);
      out += clusters(p, title, side.tree->root);
      // Drawn root first; a reduction's messages run the other way along the same edges, those of a barrier's only tree
      // both ways.
      const char* direction = side.up ? ", dir=back" : side.down ? "" : ", dir=both";
      for (uint32_t i = 0; i < side.tree->n; ++i) {
        const auto parent = static_cast<uint16_t>(i);
        uint32_t order = 0;
        for (const uint16_t child : children(*side.tree, parent))
          out += fmt::format("  {} -> {} [label=\"{}: {:.0f}\"{}{}];\n", name(title, p.cpu[parent]),
                             name(title, p.cpu[child]), ++order, side.hop(p.costs, parent, child), direction,
                             crosses_nodes(p, parent, child) ? fmt::format(", color=\"{}\"", kFar) : "");
      }
      if (!title.empty()) out += "  }\n";
    }
  } else {
    out += clusters(p, "", kNobody);
    for (uint32_t m = 0; m < p.exchange.count; ++m) {
      const Message& message = p.exchange.messages[m];
      out += fmt::format("  {} -> {} [label=\"{}: {:.0f}\", color=\"{}\"];\n", p.cpu[message.from], p.cpu[message.to],
                         message.round + 1, p.costs.hop[p.costs.at(message.from, message.to)],
                         kRoundColours[message.round % std::size(kRoundColours)]);
    }
  }
  return out + "}\n";
}

}  // namespace smelt
