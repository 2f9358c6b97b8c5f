// The machine's shape as boxes in boxes: the browser lays them out, so that they suit a telephone and a wall.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/html.h"

namespace smelt::html {
namespace {

struct Level {
  const char* name;   // of a box, before its number
  const char* style;  // its class
  const std::vector<uint16_t>* number;
  std::vector<Level> same = {};  // levels whose boxes are these, too: one box has all their names
};

struct Builder {
  const Boxes& machine;
  std::vector<Level> levels;

  // Machines number caches and cores through; files may begin anew in each package. Members are told apart by the way
  // down to them.
  std::string inside(size_t depth, const std::vector<uint32_t>& members) const {
    if (depth == levels.size()) {
      std::string out;
      for (const uint32_t i : members) out += cpu(i);
      return out;
    }
    const Level& level = levels[depth];
    std::vector<uint16_t> seen;
    for (const uint32_t i : members)
      if (std::find(seen.begin(), seen.end(), (*level.number)[i]) == seen.end()) seen.push_back((*level.number)[i]);
    std::string out;
    for (const uint16_t number : seen) {
      std::vector<uint32_t> own;
      for (const uint32_t i : members)
        if ((*level.number)[i] == number) own.push_back(i);
      const bool core = std::string_view(level.style) == "core";
      out += fmt::format("<div class=\"box {}\">", level.style);
      if (!core) {
        std::string name = fmt::format("{} {}", level.name, number);
        for (const Level& other : level.same) name += fmt::format(", {} {}", other.name, (*other.number)[own.front()]);
        out += fmt::format("<span class=\"name\">{}</span>", name);
      }
      out += fmt::format("<div class=\"within\">{}</div></div>\n", inside(depth + 1, own));
    }
    return out;
  }

  std::string cpu(uint32_t i) const {
    std::string where;
    const auto add = [&](const char* name, const std::vector<uint16_t>& number) {
      if (!number.empty()) where += fmt::format(", {} {}", name, number[i]);
    };
    add("core", machine.core), add("cache", machine.llc), add("node", machine.node), add("package", machine.package);
    return fmt::format("<span class=\"cpu\" data-tip=\"CPU {0}{1}\">{0}</span>", machine.cpu[i], where);
  }
};

size_t distinct(const std::vector<uint16_t>& numbers) {
  return std::set<uint16_t>(numbers.begin(), numbers.end()).size();
}

}  // namespace

std::string boxes(const Boxes& machine) {
  Builder builder{machine, {}};
  size_t above = 1;
  const Level all[] = {{"package", "package", &machine.package},
                       {"node", "node", &machine.node},
                       {"cache", "llc", &machine.llc},
                       {"core", "core", &machine.core}};
  for (const Level& level : all) {
    const size_t count = distinct(*level.number);
    if (level.number->empty() || count == machine.cpu.size()) continue;
    const bool core = std::string_view(level.style) == "core";
    if (count == above && !builder.levels.empty() && !core) builder.levels.back().same.push_back(level);
    if (count <= above) continue;
    builder.levels.push_back(level);
    above = count;
  }
  std::vector<uint32_t> everybody(machine.cpu.size());
  for (uint32_t i = 0; i < everybody.size(); ++i) everybody[i] = i;
  return "<div class=\"machine\">" + builder.inside(0, everybody) + "</div>\n";
}

}  // namespace smelt::html
