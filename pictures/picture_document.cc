// A picture for programs. Documented in smelt.1, under smelt tree; docs/model.md says how to price it.
#include <nlohmann/json.hpp>

#include <algorithm>

#include "pictures/picture.h"

namespace smelt {

using Json = nlohmann::ordered_json;  // as documented, not by the alphabet

namespace {

// How a tree is drawn: its messages' direction, and of each participant the event's time and the cost of its link.
Json side_document(const Picture& p, const TreeSide& side) {
  Json times = Json::object(), hops = Json::object();
  for (uint32_t i = 0; i < p.tree.n; ++i) {
    const std::string cpu = std::to_string(p.cpu[i]);
    times[cpu] = side.times[i];
    if (const uint16_t parent = side.tree->parent[i]; parent != kNobody)
      hops[cpu] = side.hop(p.costs, parent, static_cast<uint16_t>(i));
  }
  return {{"children", side.tree == &p.gather ? "gather" : "children"},
          {"title", side.title},
          {"root", p.cpu[side.tree->root]},
          {"up", side.up},
          {"down", side.down},
          {"event", side.event},
          {"times", std::move(times)},
          {"hops", std::move(hops)}};
}

}  // namespace

void add_cpus(Json& out, const Picture& p) {
  for (const char* const member : {"cpus", "nodes", "caches", "cores"}) out[member] = Json::array();
  for (const uint16_t i : shown_order(p)) {
    out["cpus"].push_back(p.cpu[i]);
    out["nodes"].push_back(p.costs.node ? p.costs.node[i] : 0);
    out["caches"].push_back(p.costs.llc ? p.costs.llc[i] : 0);
    out["cores"].push_back(p.core.empty() ? i : p.core[i]);
  }
}

Json picture_document(const Picture& p) {
  Json out = {{"machine", p.machine},
              {"origin", p.origin},
              {"op", operation_name(p.op)},
              {"pattern", p.pattern},
              {"requested", p.requested},
              {"cost_model", p.cost_model},
              {"unit", cost_unit_name(p.costs.unit)},
              {"predicted", p.predicted}};
  if (p.op == Operation::kBarrier) out["predicted_in_a_loop"] = p.steady;
  const auto cpu_of = [&p](uint16_t participant) { return p.cpu[participant]; };
  if (p.is_tree) {
    out["root"] = cpu_of(p.tree.root);
    Json drawn = Json::array();
    for (const TreeSide& side : tree_sides(p)) {
      drawn.push_back(side_document(p, side));
      Json lists = Json::object();
      for (uint32_t i = 0; i < p.tree.n; ++i) {
        Json list = Json::array();
        for (const uint16_t child : children(*side.tree, static_cast<uint16_t>(i))) list.push_back(cpu_of(child));
        lists[std::to_string(p.cpu[i])] = std::move(list);
      }
      out[side.tree == &p.gather ? "gather" : "children"] = std::move(lists);
    }
    out["sides"] = std::move(drawn);
    add_cpus(out, p);
  }
  const uint32_t steps = p.schedule.n > 0 ? p.schedule.begin[p.schedule.n] : 0;
  const bool lines =
      std::any_of(p.schedule.steps, p.schedule.steps + steps, [](const Step& s) { return s.shared_line; });
  if (p.op == Operation::kBarrier || lines) {
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
  return out;
}

}  // namespace smelt
