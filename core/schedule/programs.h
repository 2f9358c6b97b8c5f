// Running the programs of a schedule in the mind: what validate and predict share.
//
// Every wait names its peers, so a program meets the same messages in whatever order the participants are run: the
// order here (whoever can go on goes on) shows what happens in all of them.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "schedule/schedule.h"

namespace smelt {

inline constexpr uint32_t kNoSlot = ~0u;

// A slot is an index into Schedule::peers: one message as its sender or as its receiver sees it.
struct Programs {
  const Schedule* schedule = nullptr;
  uint32_t slots = 0;
  uint32_t* partner = nullptr;  // [slots] the other end of the message, or kNoSlot: never waited for, or never sent
  uint32_t* step = nullptr;     // [slots] the step it belongs to
  bool* sent = nullptr;         // [slots] of waits: has the message been sent?
  uint32_t* at = nullptr;       // [n] the step a participant is at
  uint32_t* missing = nullptr;  // [n] messages its present wait still lacks
  uint16_t* ready = nullptr;    // [n] stack of those who can go on

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
        for (uint32_t slot = now.first; slot < now.first + now.count; ++slot) {
          if (partner[slot] == kNoSlot) continue;
          sent[partner[slot]] = true;
          const uint16_t to = s.peers[slot];
          // missing > 0 says that it stands at a wait, the step whether at this one: nobody is woken for nothing, so
          // every wait is looked at twice at most.
          if (missing[to] > 0 && at[to] == step[partner[slot]] && --missing[to] == 0) ready[count++] = to;
        }
      }
    }
  }
};

}  // namespace smelt
