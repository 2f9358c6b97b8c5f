// The costs of a message between each pair of CPUs: the numbers every generator and every prediction works on.
//
// The paper's model (Smelt, OSDI 2016, §3.1) is additive: a send blocks the sender t_send, a receive blocks the
// receiver t_receive, and the costs add up. Real cores overlap, so ours carries four numbers per ordered pair:
//
//   hop         store by the sender -> seen by a receiver that is already polling the line
//   send_busy   how long the sender is kept from its next instruction by one further message
//   recv_busy   how long the receiver is kept by one further message when it collects several
//   ready_read  reading a line whose message has been there for a while (one transaction instead of two)
//
// Beside the pairs stand the resources that messages under way at the same time share, `poller` and `service`, and what
// a line costs that is read on both sides of a boundary, `crossing`.
//
// The paper's model is the special case hop = t_send + t_receive, send_busy = t_send,
// recv_busy = ready_read = t_receive; `paper_costs` derives it from any machine, so both are priced by one engine.
#pragma once

#include <cstdint>
#include <span>

#include "base/arena.h"
#include "base/participants.h"
#include "model/distance.h"

namespace smelt {

inline constexpr uint16_t kNobody = 0xffff;  // "no participant"

enum class CostUnit : uint32_t { kNanoseconds = 0, kCycles = 1 };
inline constexpr const char* kCostUnitNames[] = {"ns", "cycles"};
inline const char* cost_unit_name(CostUnit unit) { return kCostUnitNames[unit == CostUnit::kCycles]; }

// Costs::service where nobody measured it, as a share of the distance's hop. DESIGN NOTE in cost_model.cc.
inline constexpr float kTypicalService[kDistances] = {0, 0, 0, 1 / 40.0f, 1 / 100.0f, 1 / 100.0f};

// Costs::crossing likewise.
inline constexpr float kTypicalCrossing[kDistances] = {0, 0, 0, 0.25f, 0.25f, 0.6f};

// A machine, or the part of it that takes part, as costs. All arrays belong to somebody else.
// Matrices are row-major, row = sender, column = receiver, diagonal 0, finite and >= 0, in `unit`.
struct Costs {
  uint32_t n = 0;  // participants, 1..kMaxParticipants; index i below means participant i
  CostUnit unit = CostUnit::kNanoseconds;
  const float* hop = nullptr;         // [n * n]
  const float* send_busy = nullptr;   // [n * n]
  const float* recv_busy = nullptr;   // [n * n]
  const float* ready_read = nullptr;  // [n * n]
  float poller = 0;                   // extra latency per further poller of one shared line
  // By distance: how long a message keeps the resource that messages of that distance share, one after the other.
  //   same core              the core's ports: all messages that leave it, of any of its threads and over any distance
  //   same last-level cache  the cache, in both directions
  //   same node              the way out of the sender's last-level cache
  //   same package, other    the link from the sender's node to the receiver's
  float service[kDistances] = {};     // 0: nothing queues there
  const uint16_t* node = nullptr;     // [n] NUMA node (the paper's cluster) of i; any numbers, equal = same
  const uint16_t* llc = nullptr;      // [n] last-level cache of i, core, package: likewise
  const uint16_t* core = nullptr;     // [n]
  const uint16_t* package = nullptr;  // [n]
  // By distance: what a shared line costs each of its readers beyond the farthest one's hop, where two of them are that
  // far apart.
  float crossing[kDistances] = {};

  size_t at(uint32_t from, uint32_t to) const { return size_t{from} * n + to; }
  // The paper's two weights. t_send + t_receive is always the hop.
  float t_send(uint32_t from, uint32_t to) const { return send_busy[at(from, to)]; }
  float t_receive(uint32_t from, uint32_t to) const {
    const float rest = hop[at(from, to)] - send_busy[at(from, to)];
    return rest > 0 ? rest : 0;
  }
};

// The costs among `members` (indices into `machine`, each at most once): participant i of the result is members[i].
// Returns 0; -EINVAL for an index out of range or twice; -ENOMEM when the arena is used up.
int subset_costs(const Costs& machine, std::span<const uint16_t> members, Arena& arena, Costs* out);

// The same machine under the paper's additive model. 0 or -ENOMEM.
int paper_costs(const Costs& machine, Arena& arena, Costs* out);

// Costs from the paper's two matrices (row = sender): the additive special case itself. The paper has no line that
// several poll; its `poller` is there so that sharing a line is not free. 0, -EINVAL,
// -ENOMEM. `node` may be empty: then everything is one node; the last-level caches and the packages are taken to be the
// nodes, and everybody has a core to itself.
int costs_from_send_receive(uint32_t n, CostUnit unit, const float* t_send, const float* t_receive,
                            const uint16_t* node, Arena& arena, Costs* out);

// The overlap-aware costs of a machine of which only t_send and t_receive are known (the shared matrices, the
// paper's machine database): hop = t_send + t_receive is kept; how much of it blocks is a share that errs on
// the safe side (DESIGN NOTE in cost_model.cc). Marked as derived wherever it is shown. 0, -ENOMEM.
int overlap_costs_from_additive(const Costs& additive, Arena& arena, Costs* out);

// Are all numbers finite, >= 0, and the diagonals 0? Every file and every caller's matrix goes through this.
bool costs_are_sane(const Costs& costs);

}  // namespace smelt
