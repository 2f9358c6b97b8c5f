// Pictures for programs. Documented in smelt.1, under smelt tree and smelt draw; docs/model.md says how to price the
// first.
//
// The rounds and times are those of the schedule, run once, in rounds (schedule/programs.h) or with the costs' clock
// (schedule/predict.h).
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>

#include "cli/picture.h"
#include "schedule/predict.h"
#include "schedule/programs.h"

namespace smelt {

using Json = nlohmann::ordered_json;  // as documented, not by the alphabet

namespace {

Json costs_document(const Picture& p) {
  return {{"machine", p.machine},
          {"origin", p.origin},
          {"cost_model", p.cost_model},
          {"unit", cost_unit_name(p.costs.unit)}};
}

// The participants as a picture has them from top to bottom, and the places of each.
void add_cpus(Json& out, const Picture& p) {
  for (const char* const member : {"cpus", "nodes", "caches", "cores"}) out[member] = Json::array();
  for (const uint16_t i : shown_order(p)) {
    out["cpus"].push_back(p.cpu[i]);
    out["nodes"].push_back(p.costs.node ? p.costs.node[i] : 0);
    out["caches"].push_back(p.costs.llc ? p.costs.llc[i] : 0);
    out["cores"].push_back(p.core.empty() ? i : p.core[i]);
  }
}

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

uint32_t slots_of(const Schedule& schedule) {
  const uint32_t steps = schedule.begin[schedule.n];
  return steps == 0 ? 0 : schedule.steps[steps - 1].first + schedule.steps[steps - 1].count;
}

// Room for running the programs once; lazily backed.
size_t scratch_bytes(const Schedule& schedule) {
  return size_t{slots_of(schedule)} * 128 + size_t{schedule.n} * 256 + 65536;
}

// The schedule was validated when it was planned, so only memory can be short.
void check(int error) {
  if (error == -ENOMEM) throw std::bad_alloc();
  if (error != 0) throw std::runtime_error("a schedule that cannot be run was to be drawn");
}

}  // namespace

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

Json matrix_document(const Picture& p, const std::vector<CostKind>& kinds) {
  Json out = costs_document(p);
  add_cpus(out, p);
  const std::vector<uint16_t> order = shown_order(p);
  for (const CostKind kind : kinds) {
    Json matrix = Json::array();
    for (const uint16_t from : order) {
      std::vector<float> row;
      for (const uint16_t to : order) row.push_back(from == to ? 0 : cost_of(p.costs, kind, from, to));
      matrix.push_back(std::move(row));
    }
    out[kind == CostKind::kSend ? "send" : kind == CostKind::kReceive ? "receive" : "hop"] = std::move(matrix);
  }
  return out;
}

// The waits between participants: a message's round is the number of messages, one after the other, that its sender
// must have waited for. In an exchange these are its rounds, in a broadcast the tree's levels.
Json rounds_document(const Picture& p) {
  struct Message {
    uint32_t round, row, from, to;
  };
  std::vector<Message> messages;
  uint32_t rounds = 0;
  const Schedule& s = p.schedule;
  MappedArena arena(scratch_bytes(s));
  Programs programs;
  uint16_t who = kNobody;
  check(programs.match(s, arena, &who));
  std::vector<uint32_t> row(s.n), reached(s.n, 0), round_of(programs.slots, 0);
  const std::vector<uint16_t> order = shown_order(p);
  for (uint32_t r = 0; r < order.size(); ++r) row[order[r]] = r;
  programs.run(
      [&](uint16_t i, uint32_t step) {
        for (uint32_t slot = s.steps[step].first; slot < s.steps[step].first + s.steps[step].count; ++slot) {
          if (programs.partner[slot] != kNoSlot) round_of[programs.partner[slot]] = reached[i];
          messages.push_back({reached[i], row[i], i, s.peers[slot]});
          rounds = std::max(rounds, reached[i] + 1);
        }
      },
      [&](uint16_t i, uint32_t step) {
        for (uint32_t slot = s.steps[step].first; slot < s.steps[step].first + s.steps[step].count; ++slot)
          reached[i] = std::max(reached[i], round_of[slot] + 1);
      });
  std::stable_sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) {
    return std::pair(a.round, a.row) < std::pair(b.round, b.row);
  });
  Json out = costs_document(p), list = Json::array();
  for (const Message& one : messages)
    list.push_back({{"from", p.cpu[one.from]},
                    {"to", p.cpu[one.to]},
                    {"round", one.round},
                    {"hop", p.costs.hop[p.costs.at(one.from, one.to)]}});
  add_cpus(out, p);
  out.update({{"op", operation_name(p.op)},
              {"pattern", p.pattern},
              {"predicted", p.predicted},
              {"rounds", rounds},
              {"messages", std::move(list)}});
  return out;
}

// Everybody's actions over time, from a traced run of the prediction. A message flies from when its sender is through
// with it to when its receiver begins with it.
Json timeline_document(const Picture& p) {
  const Schedule& s = p.schedule;
  const uint32_t slots = slots_of(s);
  std::vector<double> begin(slots), end(slots);
  std::vector<uint32_t> partner(slots, kNoSlot);
  Trace trace{begin.data(), end.data(), partner.data()};
  MappedArena arena(scratch_bytes(s));
  Prediction prediction;
  check(predict(s, p.costs, arena, &prediction, &trace));

  Json bars = Json::array(), flights = Json::array(), done = Json::array();
  const auto add = [&](uint16_t who, const char* doing, double from, double to) {
    if (to > from) bars.push_back({{"cpu", p.cpu[who]}, {"doing", doing}, {"begin", from}, {"end", to}});
  };
  std::vector<uint32_t> served;
  for (uint16_t i = 0; i < s.n; ++i) {
    double now = 0;
    for (uint32_t step = s.begin[i]; step < s.begin[i + 1]; ++step) {
      const Step& what = s.steps[step];
      served.clear();
      for (uint32_t slot = what.first; slot < what.first + what.count; ++slot) served.push_back(slot);
      if (what.kind == StepKind::kSignal) {
        double through = now;
        for (const uint32_t slot : served) {  // through one line, all are one store
          if (!what.shared_line) add(i, "send", begin[slot], end[slot]);
          through = std::max(through, end[slot]);
        }
        if (what.shared_line) add(i, "send", now, through);
        now = through;
        continue;
      }
      std::stable_sort(served.begin(), served.end(), [&](uint32_t a, uint32_t b) { return end[a] < end[b]; });
      for (const uint32_t slot : served) {
        add(i, "wait", now, begin[slot]);
        add(i, "receive", begin[slot], end[slot]);
        now = end[slot];
        if (const uint32_t sent = partner[slot]; sent != kNoSlot)
          flights.push_back({{"from", p.cpu[s.peers[slot]]},
                             {"to", p.cpu[i]},
                             {"begin", std::min(end[sent], begin[slot])},
                             {"end", begin[slot]}});
      }
    }
  }
  for (const uint16_t i : shown_order(p)) done.push_back(p.done[i]);
  Json out = costs_document(p);
  add_cpus(out, p);
  out.update({{"op", operation_name(p.op)},
              {"pattern", p.pattern},
              {"end", prediction.makespan},
              {"done", std::move(done)},
              {"bars", std::move(bars)},
              {"flights", std::move(flights)}});
  return out;
}

}  // namespace smelt
