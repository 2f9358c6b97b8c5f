// smelt info --machine: what is known of a machine that is not this one, and what follows from it.
#include <fmt/format.h>

#include <set>

#include "cli/class_figures.h"
#include "cli/info.h"
#include "cli/methods.h"
#include "cli/other_figures.h"
#include "cli/thresholds.h"
#include "pictures/machines/machine_file.h"
#include "pictures/picture_request.h"
#include "pictures/verbs.h"
#include "pictures/zoo_list.h"

namespace smelt {
namespace {

template <typename Number>
size_t distinct(const Number* numbers, uint32_t n) {
  return numbers ? std::set<Number>(numbers, numbers + n).size() : 1;
}

Document advice_document(const std::string& kind) {
  if (kind == "classes")
    return "these costs are estimated from what others published; run 'smelt calibrate' on the machine itself";
  if (kind == "guessed")
    return "these costs are typical ones for the shape; run 'smelt calibrate' on the machine itself";
  return nullptr;
}

Document info_document(const MachineFile& machine) {
  const Costs& costs = machine.overlap;
  const Picture barrier = make_picture(machine, {});
  Document out = {{"machine", machine.name},
                  {"pus", costs.n},
                  {"cores", distinct(machine.core.data(), costs.n)},
                  {"llcs", distinct(costs.llc, costs.n)},
                  {"numa_nodes", distinct(costs.node, costs.n)},
                  {"packages", distinct(machine.package.data(), costs.n)},
                  {"cpus", machine.cpus},
                  {"kind", machine.kind},
                  {"origin", barrier.origin},
                  {"sources", machine.sources},
                  {"unit", cost_unit_name(costs.unit)},
                  {"hops", hops_document(costs, machine.package, machine.core)},
                  {"classes", classes_document(machine.classes)},
                  {"raced", winners_document(machine.winners, machine.winner_cpus)},
                  {"methods", methods_document(machine.curves)}};
  add_other_figures(out, machine.queues, machine.wait, machine.fans, machine.distances);
  out["barrier"] = barrier_document(machine.cpus, barrier);
  out["advice"] = advice_document(machine.kind);
  return out;
}

}  // namespace

int info_of_machine(const InfoArguments& arguments) {
  if (arguments.machine == kZooList) return put_zoo_list(arguments.json);
  const MachineFile machine = read_machine_file(arguments.machine);
  if (machine.here) return info_of_this_machine(arguments);
  if (!machine.note.empty()) warn(machine.note);
  if (arguments.thresholds)
    show(thresholds_document(machine.name, profile_of(machine),
                             situation_of(machine.cpus.size(), arguments.participants, false)),
         arguments.json, thresholds_text);
  else
    show(info_document(machine), arguments.json, info_text);
  return 0;
}

}  // namespace smelt
