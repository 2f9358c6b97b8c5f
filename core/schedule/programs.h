// Running the programs of a schedule in the mind: the common part of validate and predict.
//
// Every wait names its peers, so a program meets the same messages in any order in which the participants are run: the
// order here (a participant that can go on goes on) shows what happens in all of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/arena.h"
#include "schedule/schedule.h"

namespace smelt {

inline constexpr uint32_t kNoSlot = ~0u;  // of a message that nobody waits for

// Whose turn is when, for participants that are run in the order of time.
struct Turn {
  double time;
  uint16_t rank, who;
};

// A slot is an index into Schedule::peers: one message as its sender or as its receiver sees it.
struct Programs {
  const Schedule* schedule = nullptr;
  uint32_t slots = 0;
  uint32_t* partner = nullptr;  // [slots] the other end of the message, or kNoSlot: never waited for, or never sent
  uint32_t* step = nullptr;     // [slots] the step it belongs to
  bool* sent = nullptr;         // [slots] of waits: has the message been sent?
  uint32_t* at = nullptr;       // [n] the step a participant is at
  uint32_t* missing = nullptr;  // [n] messages its present wait still lacks
  uint16_t* ready = nullptr;    // [n] stack of those that can go on

  // Matches the k-th signal of p to q with the k-th wait of q for p. 0; -EINVAL: malformed, then *who did it; -ENOMEM.
  int match(const Schedule& of, Arena& arena, uint16_t* who);

  bool finished(uint16_t i) const { return at[i] == schedule->begin[i + 1]; }

  // Runs everybody as far as it goes. on_signal(i, step) when i sends, on_wait(i, step) when all messages of the
  // wait have been sent; step is an index.
  template <typename OnSignal, typename OnWait>
  void run(OnSignal on_signal, OnWait on_wait) {
    const Schedule& s = *schedule;
    uint32_t count = s.n;
    for (uint16_t i = 0; i < s.n; ++i) {
      at[i] = s.begin[i];
      ready[i] = i;
    }
    while (count > 0) {
      const uint16_t i = ready[--count];
      for (; !finished(i); ++at[i]) {
        const Step& now = s.steps[at[i]];
        if (now.kind == StepKind::kWait) {
          for (uint32_t slot = now.first; slot < now.first + now.count; ++slot) missing[i] += !sent[slot];
          if (missing[i] > 0) break;
          on_wait(i, at[i]);
          continue;
        }
        on_signal(i, at[i]);
        deliver(now, [&](uint16_t to) { ready[count++] = to; });
      }
    }
  }

  // The same, but signals are sent in the order of time: by now(i) when i comes to one, of equal ones the lower rank(i)
  // first. `queue` has room for n.
  template <typename Now, typename Rank, typename OnSignal, typename OnWait>
  void run_in_time(Turn* queue, Now now, Rank rank, OnSignal on_signal, OnWait on_wait) {
    const Schedule& s = *schedule;
    uint32_t count = 0;
    // Goes on to the next signal.
    const auto advance = [&](uint16_t i) {
      for (; !finished(i); ++at[i]) {
        const Step& next = s.steps[at[i]];
        if (next.kind == StepKind::kSignal) {
          queue[count++] = Turn{now(i), rank(i), i};
          std::push_heap(queue, queue + count, later);
          return;
        }
        for (uint32_t slot = next.first; slot < next.first + next.count; ++slot) missing[i] += !sent[slot];
        if (missing[i] > 0) return;
        on_wait(i, at[i]);
      }
    };
    for (uint16_t i = 0; i < s.n; ++i) at[i] = s.begin[i];
    for (uint16_t i = 0; i < s.n; ++i) advance(i);
    while (count > 0) {
      std::pop_heap(queue, queue + count, later);
      const uint16_t i = queue[--count].who;
      const Step& step = s.steps[at[i]];
      on_signal(i, at[i]++);
      deliver(step, advance);
      advance(i);
    }
  }

 private:
  static bool later(const Turn& a, const Turn& b) { return a.time != b.time ? a.time > b.time : a.rank > b.rank; }

  // wake(to) for everybody whose wait lacks nothing more.
  template <typename Wake>
  void deliver(const Step& signal, Wake wake) {
    for (uint32_t slot = signal.first; slot < signal.first + signal.count; ++slot) {
      if (partner[slot] == kNoSlot) continue;
      sent[partner[slot]] = true;
      const uint16_t to = schedule->peers[slot];
      // missing > 0 says that it stands at a wait, the step whether at this one: nobody is woken for nothing, so every
      // wait is looked at twice at most.
      if (missing[to] > 0 && at[to] == step[partner[slot]] && --missing[to] == 0) wake(to);
    }
  }
};

}  // namespace smelt
