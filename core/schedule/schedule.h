// A pattern becomes each participant's steps.
//
// A schedule is one little program per participant: `signal` peers, `wait` for peers, in order. Broadcast, reduction
// and barrier differ only in the programs, so one engine validates them all (validate.h), one prices them all
// (predict.h) and one executes them (team/barrier.h).
// The k-th wait of q for p waits for the k-th signal of p to q.
#pragma once

#include <cstdint>

#include "generate/exchange.h"
#include "generate/registry.h"
#include "generate/tree.h"

namespace smelt {

enum class Operation : uint8_t { kBroadcast, kReduce, kBarrier };
const char* operation_name(Operation op);  // "broadcast", "reduce", "barrier"

enum class StepKind : uint8_t { kSignal, kWait };

struct Step {
  StepKind kind = StepKind::kSignal;
  // A signal through one line that all receivers poll (one store, `poller` extra per further reader) instead of one
  // line per receiver (one store each, in order).
  bool shared_line = false;
  uint32_t first = 0;  // peers[first .. first + count); the ranges of successive steps follow each other without gaps
  uint32_t count = 0;
  // A wait whose messages are taken in the order of its peers, whichever comes first.
  bool in_order = false;
};

struct Schedule {
  uint32_t n = 0;
  Operation op = Operation::kBarrier;
  uint16_t root = kNobody;    // of broadcasts, reductions and barriers by trees
  uint32_t* begin = nullptr;  // [n + 1]: participant p runs steps[begin[p] .. begin[p + 1])
  Step* steps = nullptr;
  uint16_t* peers = nullptr;
};

// Each returns 0, -EINVAL (tree not spanning, messages out of range) or -ENOMEM.
int broadcast_schedule(const Tree& tree, Arena& arena, Schedule* out);
int reduce_schedule(const Tree& tree, Arena& arena, Schedule* out);  // children are waited for in one step, any order
int barrier_schedule(const Tree& gather, const Tree& release, Arena& arena, Schedule* out);  // same root
// The same, but children of one parent poll lines that they share: few, as many as generate/release.h finds best, and
// for each side of a boundary one of its own where that is cheaper than to cross it.
int lined_barrier_schedule(const Tree& gather, const Tree& release, const Costs& costs, Arena& arena, Schedule* out);
// ... one for those of a group[child] that follow each other.
int lined_barrier_schedule(const Tree& gather, const Tree& release, const uint16_t* group, Arena& arena, Schedule* out);
int lined_broadcast_schedule(const Tree& tree, const uint16_t* group, Arena& arena, Schedule* out);
// A barrier in which every participant releases all its children through one line.
int fork_join_schedule(const Tree& gather, const Tree& release, Arena& arena, Schedule* out);
// A participant that signals two or more in one round does it by a shared line; where costs are given, by as many as
// tell all soonest (generate/line_split.h).
int barrier_schedule(const Exchange& exchange, Arena& arena, Schedule* out, const Costs* costs = nullptr);

// The same schedule with other participants in its places: participant i becomes place[i]. `place` is a permutation. 0
// or -ENOMEM.
int move_participants(const Schedule& schedule, const uint16_t* place, Arena& arena, Schedule* out);

}  // namespace smelt
