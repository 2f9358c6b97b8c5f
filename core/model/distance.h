// How far apart two CPUs are, in classes, and what a message typically costs in each: the guess where nobody measured.
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

// Where a CPU sits. Any numbers: equal = same.
struct Place {
  uint16_t core, llc, node, package;
};
Distance distance_between(const Place& a, const Place& b);  // never kSelf
const char* distance_name(Distance distance);               // "same core"

// In ns; the meaning of the figures is in model/cost_model.h.
struct TypicalCost {
  float hop, send_busy, recv_busy, ready_read;
};
TypicalCost typical_cost(Distance distance);

// What one further poller of a shared release line adds, ns.
extern const float kTypicalPoller;

}  // namespace smelt
