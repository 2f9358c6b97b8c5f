// The class table. Sources of the figures:
//
//   same LLC, other      this project's measurements between two CPUs of one L3 and of two dies or sockets of Zen
//                        machines: hop 57 / 260; ready_read 28 / 119 (reading a written line nobody polled)
//   same core            core-to-core compare-and-swap ping-pongs, published for 17 SMT machines: one transaction takes
//                        7.6 ns (median, 4.3 to 11.3); a hop is two of them, as it is in the other classes
//   same node, package   the same collection: between the core complexes of a desktop Zen 84, of one Zen 2 socket's
//                        quarter 104, between the quarters 110 to 190 with most below 120; hop scaled from the two
//                        measured classes
//   the others           the shares of a hop that matrix files get, on the safe side: DESIGN NOTE in cost_model.cc
//
// A guess ranks patterns; it does not predict nanoseconds. All output that shows it says that it is one.
#include "model/distance.h"

namespace smelt {

const float kTypicalPoller = 0.85f;  // ns: 0.015 of a near hop of 57 (cost_model.cc)

Distance distance_between(const Location& a, const Location& b) {
  // The sharing is not strictly nested on every machine: virtual machines with one vCPU per "socket" have one node
  // over several packages. Only sharing inside one package counts as near.
  if (a.package != b.package) return Distance::kOther;
  if (a.core == b.core) return Distance::kSameCore;
  if (a.llc == b.llc) return Distance::kSameLlc;
  if (a.node == b.node) return Distance::kSameNode;
  return Distance::kSamePackage;
}

TypicalCost typical_cost(Distance distance) {
  static constexpr TypicalCost kTable[kDistances] = {
      // hop  send  recv  ready  service  crossing
      {0, 0, 0, 0, 0, 0},
      {16, 4, 1.6f, 8, 0, 0},
      {57, 14.25f, 5.7f, 28, 0, 0},
      {190, 47.5f, 19, 90, 4.75f, 47.5f},
      {215, 53.75f, 21.5f, 100, 2.15f, 53.75f},
      {260, 65, 26, 119, 2.6f, 156},
  };
  return kTable[static_cast<uint32_t>(distance)];
}

}  // namespace smelt
