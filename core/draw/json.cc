// Pictures for programs. Documented in smelt.1, under smelt tree and smelt draw; docs/model.md says how to price the
// first.
#include <nlohmann/json.hpp>

#include <algorithm>

#include "draw/charts.h"

namespace smelt {

using Json = nlohmann::ordered_json;  // as documented, not by the alphabet

namespace {

Json costs_document(const Picture& p) {
  return {{"machine", p.machine}, {"origin", p.origin}, {"unit", cost_unit_name(p.costs.unit)}};
}

Json cpus_of(const Picture& p, const std::vector<uint16_t>& participants) {
  Json cpus = Json::array();
  for (const uint16_t i : participants) cpus.push_back(p.cpu[i]);
  return cpus;
}

}  // namespace

Json picture_document(const Picture& p) {
  Json out = {{"machine", p.machine},     {"op", operation_name(p.op)}, {"pattern", p.pattern},
              {"requested", p.requested}, {"cost_model", p.cost_model}, {"unit", cost_unit_name(p.costs.unit)},
              {"predicted", p.predicted}};
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

Json matrix_document(const Picture& p, const std::vector<CostKind>& kinds) {
  Json out = costs_document(p);
  for (const CostKind kind : kinds) {
    const HeatMap map = lay_out_heat_map(p, kind);
    const size_t n = map.rows.order.size();
    out["cpus"] = cpus_of(p, map.rows.order);
    Json matrix = Json::array();
    for (size_t row = 0; row < n; ++row)
      matrix.push_back(std::vector<float>(map.cells.begin() + static_cast<std::ptrdiff_t>(row * n),
                                          map.cells.begin() + static_cast<std::ptrdiff_t>((row + 1) * n)));
    out[kind == CostKind::kSend ? "send" : kind == CostKind::kReceive ? "receive" : "hop"] = std::move(matrix);
  }
  return out;
}

Json rounds_document(const Picture& p) {
  const RoundChart chart = lay_out_rounds(p);
  Json out = costs_document(p), messages = Json::array();
  for (const RoundChart::Message& one : chart.messages)
    messages.push_back({{"from", p.cpu[one.from]}, {"to", p.cpu[one.to]}, {"round", one.round}});
  out.update({{"op", operation_name(p.op)},
              {"pattern", p.pattern},
              {"predicted", p.predicted},
              {"cpus", cpus_of(p, chart.rows.order)},
              {"rounds", chart.rounds},
              {"messages", std::move(messages)}});
  return out;
}

Json timeline_document(const Picture& p) {
  constexpr const char* kDoing[] = {"send", "receive", "wait"};
  const Timeline line = lay_out_timeline(p);
  Json out = costs_document(p), bars = Json::array(), flights = Json::array();
  for (const Timeline::Bar& one : line.bars)
    bars.push_back({{"cpu", p.cpu[one.who]},
                    {"doing", kDoing[static_cast<size_t>(one.doing)]},
                    {"begin", one.begin},
                    {"end", one.end}});
  for (const Timeline::Flight& one : line.flights)
    flights.push_back({{"from", p.cpu[one.from]}, {"to", p.cpu[one.to]}, {"begin", one.begin}, {"end", one.end}});
  out.update({{"op", operation_name(p.op)},
              {"pattern", p.pattern},
              {"cpus", cpus_of(p, line.rows.order)},
              {"end", line.end},
              {"bars", std::move(bars)},
              {"flights", std::move(flights)}});
  return out;
}

}  // namespace smelt
