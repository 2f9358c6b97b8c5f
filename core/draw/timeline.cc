// The layouts over rounds and over time: the schedule is run once, in rounds (schedule/programs.h) or with the costs'
// clock (schedule/predict.h).
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <new>
#include <stdexcept>

#include "draw/layout.h"
#include "schedule/predict.h"
#include "schedule/programs.h"

namespace smelt {
namespace {

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

RoundChart lay_out_rounds(const Picture& p) {
  RoundChart chart;
  chart.rows = arrange(p);
  const Schedule& s = p.schedule;
  MappedArena arena(scratch_bytes(s));
  Programs programs;
  uint16_t who = kNobody;
  check(programs.match(s, arena, &who));
  std::vector<uint32_t> reached(s.n, 0), round_of(programs.slots, 0);
  programs.run(
      [&](uint16_t i, uint32_t step) {
        for (uint32_t slot = s.steps[step].first; slot < s.steps[step].first + s.steps[step].count; ++slot) {
          if (programs.partner[slot] != kNoSlot) round_of[programs.partner[slot]] = reached[i];
          chart.messages.push_back({i, s.peers[slot], reached[i]});
          chart.rounds = std::max(chart.rounds, reached[i] + 1);
        }
      },
      [&](uint16_t i, uint32_t step) {
        for (uint32_t slot = s.steps[step].first; slot < s.steps[step].first + s.steps[step].count; ++slot)
          reached[i] = std::max(reached[i], round_of[slot] + 1);
      });
  std::stable_sort(chart.messages.begin(), chart.messages.end(), [&](const auto& a, const auto& b) {
    return a.round != b.round ? a.round < b.round : chart.rows.row[a.from] < chart.rows.row[b.from];
  });
  return chart;
}

Timeline lay_out_timeline(const Picture& p) {
  Timeline out;
  out.rows = arrange(p);
  const Schedule& s = p.schedule;
  const uint32_t slots = slots_of(s);
  std::vector<double> begin(slots), end(slots);
  std::vector<uint32_t> partner(slots, kNoSlot);
  Trace trace{begin.data(), end.data(), partner.data()};
  MappedArena arena(scratch_bytes(s));
  Prediction prediction;
  check(predict(s, p.costs, arena, &prediction, &trace));
  out.end = prediction.makespan;

  const auto add = [&out](uint16_t who, Timeline::Doing doing, double from, double to) {
    if (to > from) out.bars.push_back({who, doing, from, to});
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
          if (!what.shared_line) add(i, Timeline::Doing::kSend, begin[slot], end[slot]);
          through = std::max(through, end[slot]);
        }
        if (what.shared_line) add(i, Timeline::Doing::kSend, now, through);
        now = through;
        continue;
      }
      std::stable_sort(served.begin(), served.end(), [&](uint32_t a, uint32_t b) { return end[a] < end[b]; });
      for (const uint32_t slot : served) {
        add(i, Timeline::Doing::kWait, now, begin[slot]);
        add(i, Timeline::Doing::kReceive, begin[slot], end[slot]);
        now = end[slot];
        if (const uint32_t sent = partner[slot]; sent != kNoSlot)
          out.flights.push_back({s.peers[slot], i, std::min(end[sent], begin[slot]), begin[slot]});
      }
    }
  }
  return out;
}

std::vector<double> axis_ticks(double end, uint32_t most) {
  std::vector<double> ticks = {0};
  if (!(end > 0) || most < 2) return ticks;
  const double rough = end / (most - 1);
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * decade;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * decade >= rough) {
      step = factor * decade;
      break;
    }
  for (uint32_t i = 1; i * step <= end * (1 + 1e-9); ++i) ticks.push_back(i * step);
  return ticks;
}

}  // namespace smelt
