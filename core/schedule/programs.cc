// Finds which signal answers which wait.
#include "schedule/programs.h"

#include <algorithm>
#include <cerrno>

namespace smelt {

namespace {

bool in_range(const Schedule& schedule, uint16_t* who) {
  *who = kNobody;
  const uint32_t n = schedule.n;
  if (n == 0 || n > kMaxParticipants || !schedule.begin || schedule.begin[0] != 0) return false;
  if (schedule.root != kNobody ? schedule.root >= n : schedule.op != Operation::kBarrier) return false;
  uint32_t slots = 0;
  for (uint16_t i = 0; i < n; ++i) {
    *who = i;
    if (schedule.begin[i + 1] < schedule.begin[i]) return false;
    for (uint32_t s = schedule.begin[i]; s < schedule.begin[i + 1]; ++s) {
      const Step& step = schedule.steps[s];
      if (step.kind != StepKind::kSignal && step.kind != StepKind::kWait) return false;
      if (step.first != slots || step.count == 0 || step.count > n) return false;
      slots += step.count;
      for (uint32_t slot = step.first; slot < slots; ++slot) {
        if (schedule.peers[slot] >= n || schedule.peers[slot] == i) return false;
      }
    }
  }
  return true;
}

constexpr uint64_t channel(uint64_t end) { return end >> 32; }  // sender and receiver

// By the 16 bits from `shift` on, numbers below n; equal ones stay in their order. `begin` [n + 1] and `sorted` [count]
// are scratch.
void sort_by(uint64_t* ends, uint32_t count, uint32_t shift, uint32_t n, uint32_t* begin, uint64_t* sorted) {
  const auto number = [shift](uint64_t end) { return end >> shift & 0xffff; };
  std::fill_n(begin, n + 1, 0u);
  for (uint32_t k = 0; k < count; ++k) ++begin[number(ends[k]) + 1];
  for (uint32_t i = 1; i < n; ++i) begin[i] += begin[i - 1];
  for (uint32_t k = 0; k < count; ++k) sorted[begin[number(ends[k])]++] = ends[k];
  std::copy_n(sorted, count, ends);
}

}  // namespace

int Programs::match(const Schedule& of, Arena& arena, uint16_t* who) {
  if (!in_range(of, who)) return -EINVAL;
  schedule = &of;
  slots = 0;
  const uint32_t steps = of.begin[of.n];
  if (steps > 0) slots = of.steps[steps - 1].first + of.steps[steps - 1].count;
  partner = arena.make<uint32_t>(slots);
  step = arena.make<uint32_t>(slots);
  sent = arena.make<bool>(slots);
  at = arena.make<uint32_t>(of.n);
  missing = arena.make<uint32_t>(of.n);
  ready = arena.make<uint16_t>(of.n);
  char* const scratch = arena.mark();
  uint64_t* const ends = arena.make<uint64_t>(slots);
  uint64_t* const sorted = arena.make<uint64_t>(slots);
  uint32_t* const begin = arena.make<uint32_t>(of.n + 1);
  if (!partner || !step || !sent || !at || !missing || !ready || !ends || !sorted || !begin) return -ENOMEM;

  // receiver | sender | slot: sorted, the ends of one channel stand together in program order. Signals from the front,
  // waits behind them.
  uint32_t signals = 0, waits = 0;
  for (uint32_t s = 0; s < steps; ++s)
    if (of.steps[s].kind == StepKind::kSignal) signals += of.steps[s].count;
  waits = signals;
  uint32_t told = 0;
  for (uint16_t i = 0; i < of.n; ++i) {
    for (uint32_t s = of.begin[i]; s < of.begin[i + 1]; ++s) {
      for (uint32_t slot = of.steps[s].first; slot < of.steps[s].first + of.steps[s].count; ++slot) {
        step[slot] = s;
        partner[slot] = kNoSlot;
        const bool is_signal = of.steps[s].kind == StepKind::kSignal;
        const uint64_t from = is_signal ? i : of.peers[slot], to = is_signal ? of.peers[slot] : i;
        ends[is_signal ? told++ : waits++] = to << 48 | from << 32 | slot;
      }
    }
  }
  // Programs come by participant, so signals are in the order of senders and need that of receivers; waits, in the
  // order of receivers, need that of senders first.
  sort_by(ends, signals, 48, of.n, begin, sorted);
  sort_by(ends + signals, slots - signals, 32, of.n, begin, sorted);
  sort_by(ends + signals, slots - signals, 48, of.n, begin, sorted);
  for (uint32_t s = 0, w = signals; s < signals && w < slots;) {
    if (channel(ends[s]) < channel(ends[w])) {
      ++s;
    } else if (channel(ends[s]) > channel(ends[w])) {
      ++w;
    } else {
      const auto from = static_cast<uint32_t>(ends[s++]), to = static_cast<uint32_t>(ends[w++]);
      partner[from] = to;
      partner[to] = from;
    }
  }
  arena.rewind(scratch);
  return 0;
}

}  // namespace smelt
