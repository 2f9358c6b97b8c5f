// Short packets that wait for the same peer: one packet, or several?
//
// A packet that joins the one before it costs its copy and its bytes on the rail; alone it costs the rail's gap, the
// time that a second packet adds to a first (the sampled pair less the single one). The paper (section III-C) decides
// by the same two sums, for two packets; here each further packet is asked in turn.
#include "rails/rail/rail.h"

namespace smelt {

uint32_t aggregate_packets(const Rail& rail, const RailCurve& copy, const uint64_t* bytes, uint32_t count) {
  const RailCurve &eager = rail.method[kRailEager], &pair = rail.method[kRailPair];
  if (count == 0) return 0;
  if (eager.count == 0 || pair.count == 0) return 1;
  const auto copied = [&](uint64_t n) { return copy.count > 0 ? rail_time(copy, n) : 0; };
  uint64_t together = bytes[0];
  for (uint32_t i = 1; i < count; ++i) {
    const uint64_t more = together + bytes[i];
    if (more < together || more > eager.bytes[eager.count - 1]) return i;  // longer than any sample
    // Until the aggregate is there, the first packet's copy included, against the packets one by one.
    const double first_copy = i == 1 ? copied(together) : 0;
    const double joined = rail_time(eager, more) - rail_time(eager, together) + copied(bytes[i]) + first_copy;
    const double gap = rail_time(pair, bytes[i]) - rail_time(eager, bytes[i]);
    if (joined >= gap) return i;
    together = more;
  }
  return count;
}

}  // namespace smelt
