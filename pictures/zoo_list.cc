#include "pictures/zoo_list.h"

#include <string>

#include "cli/command.h"
#include "pictures/machines/class_file.h"
#include "pictures/machines/zoo.h"

namespace smelt {

namespace {

std::string zoo_text(const Document& rows) {
  return table_text({"name", columns("name; CPUs=cpus|0; machine, for --machine zoo:NAME=title"), rows});
}

}  // namespace

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const ZooEntry& entry : zoo()) names.push_back(std::string("zoo:") + entry.name);
  return names;
}

int put_zoo_list(bool json) {
  Document rows = Document::array();
  for (const ZooEntry& entry : zoo()) {
    const JsonChecks checks(std::string("zoo:") + entry.name);
    const ClassFile file = class_file_from_json(checks.parse(entry.text), checks);
    Document costs = Document::object();
    for (const ClassCost& cost : file.costs)
      costs[distance_name(cost.distance)] = {{"transfer_ns", cost.transfer_ns}, {"source", cost.source}};
    rows.push_back({{"name", entry.name},
                    {"cpus", file.machine.pus.size()},
                    {"title", file.title},
                    {"shape", file.shape},
                    {"note", file.note},
                    {"costs", std::move(costs)}});
  }
  show(rows, json, zoo_text);
  return 0;
}

}  // namespace smelt
