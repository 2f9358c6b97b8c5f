// The pen for programs. Documented in smelt.1, under smelt tree; docs/model.md says how to price this output.
#include <nlohmann/json.hpp>

#include "draw/picture.h"

namespace smelt {

std::string json_picture(const Picture& p) {
  using Json = nlohmann::ordered_json;  // as documented, not by the alphabet
  Json out = {{"machine", p.machine},       {"op", operation_name(p.op)},
              {"pattern", p.pattern},       {"requested", p.requested},
              {"cost_model", p.cost_model}, {"unit", cost_unit_name(p.costs.unit)},
              {"predicted", p.predicted},   {"bound", p.bound}};
  if (p.op == Operation::kBarrier) out["predicted_in_a_loop"] = p.steady;
  const auto cpu_of = [&p](uint16_t participant) { return p.cpu[participant]; };
  if (p.is_tree) {
    out["root"] = cpu_of(p.tree.root);
    for (const TreeSide& side : tree_sides(p)) {
      Json lists = Json::object();
      for (uint32_t i = 0; i < p.tree.n; ++i) {
        Json list = Json::array();
        for (const uint16_t child : children(*side.tree, static_cast<uint16_t>(i))) list.push_back(cpu_of(child));
        lists[std::to_string(p.cpu[i])] = std::move(list);
      }
      out[side.tree == &p.gather ? "gather" : "children"] = std::move(lists);
    }
  }
  if (p.op == Operation::kBarrier) {
    Json programs = Json::object();
    for (uint32_t i = 0; i < p.schedule.n; ++i) {
      Json program = Json::array();
      for (uint32_t s = p.schedule.begin[i]; s < p.schedule.begin[i + 1]; ++s) {
        const Step& step = p.schedule.steps[s];
        Json peers = Json::array();
        for (uint32_t k = 0; k < step.count; ++k) peers.push_back(cpu_of(p.schedule.peers[step.first + k]));
        Json entry = Json::object();
        entry[step.kind == StepKind::kSignal ? "signal" : "wait"] = std::move(peers);
        if (step.shared_line) entry["shared_line"] = true;
        program.push_back(std::move(entry));
      }
      programs[std::to_string(p.cpu[i])] = std::move(program);
    }
    out["programs"] = std::move(programs);
  }
  // A machine's name comes from a file and may hold anything: bad UTF-8 is replaced, never thrown about.
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace smelt
