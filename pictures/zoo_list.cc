#include "pictures/zoo_list.h"

#include <string>

#include "cli/command.h"
#include "discover/class_file.h"
#include "zoo/zoo.h"

namespace smelt {

namespace {

std::string zoo_text(const Document& rows) {
  return table_text({"name", columns("name; CPUs=cpus|0; machine, for --machine zoo:NAME=title"), rows});
}

}  // namespace

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
