// How far apart two CPUs are, in classes, and a message's typical costs in each: the guess where nobody measured.
#pragma once

#include <cstdint>

namespace smelt {

enum class Distance : uint8_t {
  kSelf,
  kSameCore,     // SMT siblings
  kSameLlc,      // one last-level cache
  kSameNode,     // one NUMA node, several last-level caches in it
  kSamePackage,  // one socket with several NUMA nodes
  kOther,        // another socket
};
inline constexpr uint32_t kDistances = 6;
inline constexpr const char* kDistanceNames[kDistances] = {"self",      "same core",    "same last-level cache",
                                                           "same node", "same package", "other package"};

// The place of a CPU. Any numbers: equal = same.
struct Location {
  uint16_t core, llc, node, package;
};
Distance distance_between(const Location& a, const Location& b);  // never kSelf
inline const char* distance_name(Distance distance) { return kDistanceNames[static_cast<uint32_t>(distance)]; }

// CPU i's location in anything that keeps the four numbers in arrays of these names.
template <typename Ids>
Location location_in(const Ids& ids, uint32_t i) {
  return {ids.core[i], ids.llc[i], ids.node[i], ids.package[i]};
}
template <typename Ids>
Distance distance_in(const Ids& ids, uint32_t a, uint32_t b) {
  return distance_between(location_in(ids, a), location_in(ids, b));
}

// The figures are in ns; their meaning is in model/cost_model.h.
struct TypicalCost {
  float hop, send_busy, recv_busy, ready_read, service, crossing;
};
TypicalCost typical_cost(Distance distance);

// The cost of one further poller of a shared line, ns.
extern const float kTypicalPoller;

}  // namespace smelt
