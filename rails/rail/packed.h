// The network profile as programs read it: fixed in layout, in native byte order, checked as if an enemy had written
// it. The JSON form beside it is for people; the smelt program writes both (network/profile.h).
#pragma once

#include <cstdint>

#include "rails/rail/rail.h"

namespace smelt {

inline constexpr uint32_t kPackedNetworkVersion = 2;  // of the layout below: a file of another is refused
inline constexpr uint32_t kInterfaceName = 16;  // bytes, the final zero included: as long as the kernel lets them be
inline constexpr uint32_t kAddressText = 16;    // 255.255.255.255
inline constexpr uint32_t kProviderName = 32;   // bytes: "tcp;ofi_rxm" and its like

struct PackedRail {
  char interface[kInterfaceName];
  char local[kAddressText], remote[kAddressText];
  char provider[kProviderName];  // libfabric's
  Rail rail;
};

struct PackedNetwork {
  char magic[8];        // "SMELTNET"
  uint32_t byte_order;  // 0x01020304 as the writer stores it
  uint32_t version;     // kPackedNetworkVersion
  uint64_t bytes;       // of the whole file: sizeof(PackedNetwork)
  uint64_t checksum;    // FNV-1a over the file, this one taken as 0
  int64_t created;      // seconds since 1970
  uint32_t rails;       // 1 .. kMaxRails
  uint32_t reserved;    // 0
  RailCurve copy;
  PackedRail rail[kMaxRails];  // those beyond `rails` are zero
};

// Fills in all but created, rails, copy and rail.
void seal_network(PackedNetwork* network);
// nullptr: it is whole, and every number in it makes sense. Else what is wrong, in a few words.
const char* network_fault(const void* file, uint64_t bytes);

}  // namespace smelt
