#include "cli/zoo_list.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <string>

#include "cli/command.h"
#include "discover/class_file.h"
#include "zoo/zoo.h"

namespace smelt {

int put_zoo_list(bool json) {
  size_t width = 0;
  for (const ZooEntry& entry : zoo()) width = std::max(width, std::strlen(entry.name));
  std::string text = fmt::format("{:{}} {:>5}  machine, for --machine zoo:NAME\n", "name", width, "CPUs");
  auto rows = nlohmann::ordered_json::array();
  for (const ZooEntry& entry : zoo()) {
    const JsonChecks checks(std::string("zoo:") + entry.name);
    const ClassFile file = class_file_from_json(checks.parse(entry.text), checks);
    const size_t cpus = file.machine.pus.size();
    text += fmt::format("{:{}} {:5}  {}\n", entry.name, width, cpus, file.title);
    auto costs = nlohmann::ordered_json::object();
    for (const ClassCost& cost : file.costs)
      costs[distance_name(cost.distance)] = {{"transfer_ns", cost.transfer_ns}, {"source", cost.source}};
    rows.push_back({{"name", entry.name},
                    {"cpus", cpus},
                    {"title", file.title},
                    {"shape", file.shape},
                    {"note", file.note},
                    {"costs", std::move(costs)}});
  }
  put(json ? rows.dump(2) + "\n" : text);
  return 0;
}

}  // namespace smelt
