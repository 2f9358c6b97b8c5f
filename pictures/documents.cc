// The rounds and times are those of the schedule, run once, in rounds (schedule/programs.h) or with the costs' clock
// (schedule/predict.h).
#include "pictures/documents.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <utility>

#include "schedule/predict.h"
#include "schedule/programs.h"

namespace smelt {
namespace {

Document costs_document(const Picture& p) {
  return {{"machine", p.machine},
          {"origin", p.origin},
          {"cost_model", p.cost_model},
          {"unit", cost_unit_name(p.costs.unit)}};
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

float cost_of(const Costs& costs, CostKind kind, uint16_t from, uint16_t to) {
  switch (kind) {
    case CostKind::kSend: return costs.t_send(from, to);
    case CostKind::kReceive: return costs.t_receive(from, to);
    case CostKind::kHop: break;
  }
  return costs.hop[costs.at(from, to)];
}

Document matrix_document(const Picture& p, const std::vector<CostKind>& kinds) {
  Document out = costs_document(p);
  add_cpus(out, p);
  const std::vector<uint16_t> order = shown_order(p);
  for (const CostKind kind : kinds) {
    Document matrix = Document::array();
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
Document rounds_document(const Picture& p) {
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
  Document out = costs_document(p), list = Document::array();
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
Document timeline_document(const Picture& p) {
  const Schedule& s = p.schedule;
  const uint32_t slots = slots_of(s);
  std::vector<double> begin(slots), end(slots);
  std::vector<uint32_t> partner(slots, kNoSlot);
  Trace trace{begin.data(), end.data(), partner.data()};
  MappedArena arena(scratch_bytes(s));
  Prediction prediction;
  check(predict(s, p.costs, arena, &prediction, &trace));

  Document bars = Document::array(), flights = Document::array(), done = Document::array();
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
  Document out = costs_document(p);
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
