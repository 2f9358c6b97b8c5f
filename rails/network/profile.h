// The network profile: the samples of the networks between this machine and a peer, as JSON.
//
// It lies beside the machine's profile, <fingerprint>.network.json, for people and for the smelt program; beside it
// <fingerprint>.network, for programs that use rails (rail/packed.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rails/rail/packed.h"

namespace smelt {

inline constexpr uint32_t kNetworkProfileVersion = 3;

// One network interface that reaches the peer.
struct NetworkRail {
  std::string interface, driver;  // eth0; veth ("": the kernel names none, as of loopback)
  std::string local, remote;      // addresses
  std::string provider;           // libfabric's: tcp;ofi_rxm
  uint32_t mtu = 0;               // bytes, 0: not known
  uint32_t speed = 0;             // Mbit/s that the driver claims, 0: none
  Rail rail;
};

struct NetworkProfile {
  int64_t created = 0;  // seconds since 1970
  std::string node, peer, library;
  uint64_t peer_class = 0;  // the peer's machine: its fingerprint. Others of that class are as far away
  RailCurve copy;           // in this machine's memory
  std::vector<NetworkRail> rails;
};

// The rails of a profile as a message finds them, with nothing to carry.
struct IdleRails {
  explicit IdleRails(const NetworkProfile& profile) {
    for (const NetworkRail& rail : profile.rails) curves.push_back(transfer_curve(rail.rail));
    for (const RailCurve& curve : curves) now.push_back({&curve, 0});
  }
  IdleRails(const IdleRails&) = delete;
  IdleRails& operator=(const IdleRails&) = delete;
  uint32_t count() const { return static_cast<uint32_t>(now.size()); }

  std::vector<RailCurve> curves;
  std::vector<RailNow> now;
};

std::string network_to_json(const NetworkProfile& profile);

// Checks what it reads as if an enemy had written it. `name` begins the one line of each error. Throws UserError.
NetworkProfile network_from_json(const std::string& text, const std::string& name);
NetworkProfile read_network_profile(const std::string& path);

// The usual place, beside the machine's profile. Throws UserError.
std::string default_network_path();
// Beside it, that of the peers of one class: <fingerprint>-<class>.network.json.
std::string network_path_of(uint64_t peer_class);
// As the peer has it: half a round trip is the time of either way. The interfaces are still ours.
NetworkProfile seen_from_peer(NetworkProfile profile, uint64_t own_class);
// `path` and its packed form, each whole or not at all. Throws UserError.
void write_network_profile(const NetworkProfile& profile, const std::string& path);
std::string packed_network_path(const std::string& path);  // x.network of x.network.json, x.json or x; never `path`
PackedNetwork packed_network(const NetworkProfile& profile);

}  // namespace smelt
