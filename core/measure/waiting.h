// The costs of waiting: a poll, giving way, waking a sleeper, being woken. WaitFigures of profile/measured.h.
#pragma once

#include <cstdint>

#include "profile/measured.h"

namespace smelt {

// How much is measured; the defaults take about 20 ms on an idle machine.
struct WaitEffort {
  uint32_t batches = 9;   // of polls
  uint32_t polls = 2048;  // in each
  uint32_t yields = 512;  // one by one
  uint32_t wakes = 64;
  int64_t limit_ns =
      100'000'000;  // for the yields, and again for the wakes: on a busy machine fewer are made, but at least 8
};

// Polls and yields on `cpu`; a sleeper on `other` is woken from there, and `answer_hop` is the time of its answer, ns.
// other < 0: there is no other CPU, and the two figures of sleeping stay 0. Throws UserError when a CPU may not be
// used.
WaitFigures measure_waiting(int cpu, int other, double answer_hop, const WaitEffort& effort = {});

}  // namespace smelt
