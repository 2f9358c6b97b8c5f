// Checking, cutting out and converting cost matrices.
//
// DESIGN NOTE: overlap from the additive figures.
// t_send and t_receive say how long one message takes, not how much of it blocks: a core that has a store in its
// buffer, or a read under way, goes on with the next one. So of the additive figures only the sum is kept (the hop),
// and the rest is a share of it. The shares are a prior: they serve machines that nobody calibrated, and a program that
// finds less overlap than they promise pays for it with the pattern that was chosen, so they take only the overlap that
// is sure.
//
//   ready_read  0.5, far 0.45   A store to a line that others poll takes two transactions (invalidate, fetch), a line
//                               that was written a while ago one. Zen 5: 28 of 57 ns near, 119 of 260 ns far.
//   send_busy   0.25            Stores leave x86's buffer in order, each when its line is owned: one transaction, half
//                               a hop, less the time that a request ahead of its turn hides. Measured: t_send is 0.2 to
//                               0.5 of a hop on three of the four machines with times of trees that we have, and shares
//                               from 0.2 to 0.4 order those trees best
//                               (results/2026-11-22-model-measured-trees.txt). On Zen 5 0.024 near and 0.075 far:
//                               the other end, and a calibration finds it.
//   recv_busy   0.1             A core has about ten lines under way at once (Intel's line fill buffers: 10 up to
//                               Haswell, 12 later), and a line that is polled keeps its buffer until it comes, so of
//                               many that come at once each takes a tenth of a hop. With it the trees that others timed
//                               are chosen best (as above). On Zen 5 0 near and 0.011 far for 8 reads, which do not
//                               fill the buffers.
//   poller      0.015 near hop  A line that many poll is read by all of them at nearly the same time. On 24 cores of a
//                               Cascade Lake socket a further poller costs 0.7 ns, 0.007 of a hop, on Zen 5 a further
//                               child that is gathered and polls 1 ns near, 0.018 of a hop, and 2.8 ns far.
//   crossing    0.6 between     Readers on both sides of a boundary take a line from each other. On two sockets of 24
//               packages        Cascade Lake cores the first reader on the other one made all readers on the near one
//                               wait 0.3 us longer for each line (published with ICPP 2023's 10.1145/3605573.3605616;
//                               results/2026-11-27-model-shared-lines.txt). Two thirds of a far hop of that go to the
//                               hop, which is then the farthest reader's for all.
//               0.25 between    Nobody published it between the caches of one package, where reads go through a
//               caches          directory as well.
//   service     1/100 between   A link is kept while a line passes: 1.1 ns on three UPI links of Ice Lake, 1.7 on
//               nodes           Cascade Lake's two, of a far hop of 260, and a message takes two. That Nehalem keeps a
//                               dozen requests under way (its uncore's global queue) delays none of the few that a core
//                               sends in a round: a twelfth of a hop for each made exchanges dearer than trees that
//                               take longer (simulated: results/2026-11-29-simulated-shares.txt).
//               1/40 within     A Zen 2 complex writes 16 bytes per fabric clock to the rest (Suggs, Subramony and
//               one, between    Bouvier, "The AMD Zen 2 Processor", IEEE Micro 2020): a line takes 2.5 ns of a hop of
//               caches          200, and a message two.
//               0 in a cache    It has as many slices as cores, and nobody published a limit that messages would meet.
//               0 out of a core The threads of a core have store buffers of their own; that they share the ports costs
//                               something on some cores (Table 3, SB, 64 threads), which a calibration finds.
#include "model/cost_model.h"

#include <algorithm>
#include <cerrno>
#include <cmath>

namespace smelt {

namespace {

constexpr float kReadyNear = 0.5f, kReadyFar = 0.45f;  // shares of a hop, as all here: the table above has the reasons
constexpr float kSend = 0.25f;
constexpr float kReceive = 0.1f;
constexpr float kPoller = 0.015f;
constexpr float kPaperPoller = 0.007f;  // under the additive model; measured near on a Zen 5

// The arrays of a machine of n participants, still zero; `out` is only touched when all of them fit.
struct Arrays {
  float* hop = nullptr;
  float* send_busy = nullptr;
  float* recv_busy = nullptr;
  float* ready_read = nullptr;
  uint16_t* node = nullptr;
  uint16_t* llc = nullptr;
  uint16_t* core = nullptr;
  uint16_t* package = nullptr;

  int make(uint32_t n, Arena& arena) {
    char* const start = arena.mark();
    const size_t pairs = size_t{n} * n;
    hop = arena.make<float>(pairs);
    send_busy = arena.make<float>(pairs);
    recv_busy = arena.make<float>(pairs);
    ready_read = arena.make<float>(pairs);
    node = arena.make<uint16_t>(n);
    llc = arena.make<uint16_t>(n);
    core = arena.make<uint16_t>(n);
    package = arena.make<uint16_t>(n);
    if (hop && send_busy && recv_busy && ready_read && node && llc && core && package) return 0;
    arena.rewind(start);
    return -ENOMEM;
  }

  void place(uint32_t i, const Costs& like, uint32_t j) {
    node[i] = like.node[j];
    llc[i] = like.llc[j];
    core[i] = like.core[j];
    package[i] = like.package[j];
  }

  // The costs have no service times.
  Costs costs(uint32_t n, CostUnit unit, float poller) const {
    return Costs{n, unit, hop, send_busy, recv_busy, ready_read, poller, {}, node, llc, core, package, {}};
  }
};

bool usable(float cost) { return std::isfinite(cost) && cost >= 0; }

bool matrix_is_sane(const float* matrix, uint32_t n) {
  if (!matrix) return false;
  for (size_t i = 0; i < size_t{n} * n; ++i) {
    if (!usable(matrix[i])) return false;
  }
  for (uint32_t i = 0; i < n; ++i) {
    if (matrix[size_t{i} * n + i] != 0) return false;
  }
  return true;
}

bool size_is_sane(uint32_t n) { return n >= 1 && n <= kMaxParticipants; }

// Mean hop between participants that share a last-level cache; over all pairs where nobody shares one.
float near_hop(const Costs& costs) {
  double near_sum = 0, sum = 0;
  uint32_t near_pairs = 0, pairs = 0;
  for (uint32_t i = 0; i < costs.n; ++i) {
    for (uint32_t j = 0; j < costs.n; ++j) {
      if (i == j) continue;
      const double hop = costs.hop[costs.at(i, j)];
      sum += hop;
      ++pairs;
      if (costs.llc[i] != costs.llc[j]) continue;
      near_sum += hop;
      ++near_pairs;
    }
  }
  if (near_pairs) return static_cast<float>(near_sum / near_pairs);
  return pairs ? static_cast<float>(sum / pairs) : 0;
}

// Typical service times and crossings, by the mean hop of each distance.
void set_typical_shared(Costs& costs) {
  double hops[kDistances] = {};
  uint32_t pairs[kDistances] = {};
  for (uint32_t i = 0; i < costs.n; ++i)
    for (uint32_t j = 0; j < costs.n; ++j) {
      if (i == j) continue;
      const auto d = static_cast<uint32_t>(distance_in(costs, i, j));
      hops[d] += double{costs.hop[costs.at(i, j)]};
      ++pairs[d];
    }
  for (uint32_t d = 0; d < kDistances; ++d) {
    const float hop = pairs[d] ? static_cast<float>(hops[d] / pairs[d]) : 0;
    costs.service[d] = kTypicalService[d] * hop;
    costs.crossing[d] = kTypicalCrossing[d] * hop;
  }
}

}  // namespace

bool costs_are_sane(const Costs& costs) {
  return size_is_sane(costs.n) && costs.node && costs.llc && costs.core && costs.package && usable(costs.poller) &&
         std::all_of(costs.service, costs.service + kDistances, usable) &&
         std::all_of(costs.crossing, costs.crossing + kDistances, usable) && matrix_is_sane(costs.hop, costs.n) &&
         matrix_is_sane(costs.send_busy, costs.n) && matrix_is_sane(costs.recv_busy, costs.n) &&
         matrix_is_sane(costs.ready_read, costs.n);
}

int subset_costs(const Costs& machine, std::span<const uint16_t> members, Arena& arena, Costs* out) {
  if (members.size() > kMaxParticipants || !size_is_sane(machine.n)) return -EINVAL;
  const auto n = static_cast<uint32_t>(members.size());
  if (n == 0) return -EINVAL;
  uint64_t seen[kMaxParticipants / 64] = {};
  for (uint16_t member : members) {
    if (member >= machine.n || (seen[member / 64] >> (member % 64) & 1)) return -EINVAL;
    seen[member / 64] |= uint64_t{1} << (member % 64);
  }
  Arrays part;
  if (int error = part.make(n, arena)) return error;
  for (uint32_t i = 0; i < n; ++i) {
    part.place(i, machine, members[i]);
    for (uint32_t j = 0; j < n; ++j) {
      const size_t from = machine.at(members[i], members[j]), to = size_t{i} * n + j;
      part.hop[to] = machine.hop[from];
      part.send_busy[to] = machine.send_busy[from];
      part.recv_busy[to] = machine.recv_busy[from];
      part.ready_read[to] = machine.ready_read[from];
    }
  }
  *out = part.costs(n, machine.unit, machine.poller);
  std::copy_n(machine.service, kDistances, out->service);
  std::copy_n(machine.crossing, kDistances, out->crossing);
  return 0;
}

int paper_costs(const Costs& machine, Arena& arena, Costs* out) {
  Arrays paper;
  if (int error = paper.make(machine.n, arena)) return error;
  for (uint32_t i = 0; i < machine.n; ++i) {
    paper.place(i, machine, i);
    for (uint32_t j = 0; j < machine.n; ++j) {
      const size_t at = machine.at(i, j);
      const float receive = machine.t_receive(i, j);
      paper.send_busy[at] = machine.send_busy[at];
      // A send that blocks for longer than the hop takes would make the hop the shorter of its own parts.
      paper.hop[at] = receive > 0 ? machine.hop[at] : machine.send_busy[at];
      paper.recv_busy[at] = paper.ready_read[at] = receive;
    }
  }
  // The paper has no line that several poll; its model does not make the machine's price for one cheaper. Nothing
  // queues in it, and nothing crosses.
  *out = paper.costs(machine.n, machine.unit, machine.poller);
  return 0;
}

int costs_from_send_receive(uint32_t n, CostUnit unit, const float* t_send, const float* t_receive,
                            const uint16_t* node, Arena& arena, Costs* out) {
  if (!size_is_sane(n) || !matrix_is_sane(t_send, n) || !matrix_is_sane(t_receive, n)) return -EINVAL;
  char* const start = arena.mark();
  Arrays additive;
  if (int error = additive.make(n, arena)) return error;
  for (size_t at = 0; at < size_t{n} * n; ++at) {
    additive.hop[at] = t_send[at] + t_receive[at];
    additive.send_busy[at] = t_send[at];
    additive.recv_busy[at] = additive.ready_read[at] = t_receive[at];
    if (!std::isfinite(additive.hop[at])) {
      arena.rewind(start);
      return -EINVAL;
    }
  }
  for (uint32_t i = 0; i < n; ++i) {
    additive.core[i] = static_cast<uint16_t>(i);
    if (node) additive.node[i] = additive.llc[i] = additive.package[i] = node[i];
  }
  *out = additive.costs(n, unit, 0);
  out->poller = kPaperPoller * near_hop(*out);
  return 0;
}

int overlap_costs_from_additive(const Costs& additive, Arena& arena, Costs* out) {
  Arrays overlap;
  if (int error = overlap.make(additive.n, arena)) return error;
  for (uint32_t i = 0; i < additive.n; ++i) {
    overlap.place(i, additive, i);
    for (uint32_t j = 0; j < additive.n; ++j) {
      const size_t at = additive.at(i, j);
      const float hop = additive.hop[at];
      const bool near = additive.llc[i] == additive.llc[j];
      overlap.hop[at] = hop;
      overlap.send_busy[at] = hop * kSend;
      overlap.recv_busy[at] = hop * kReceive;
      overlap.ready_read[at] = hop * (near ? kReadyNear : kReadyFar);
    }
  }
  *out = overlap.costs(additive.n, additive.unit, kPoller * near_hop(additive));
  set_typical_shared(*out);
  return 0;
}

}  // namespace smelt
