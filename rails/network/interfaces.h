// This machine's network interfaces, and which of them reach a peer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt {

struct NetworkInterface {
  std::string name, driver;        // "": the kernel names none
  uint32_t mtu = 0;                // bytes
  uint32_t speed = 0;              // Mbit/s as the driver claims; 0: it claims none
  std::string address;             // IPv4
  uint32_t network = 0, mask = 0;  // of the address, as numbers
};

std::vector<NetworkInterface> network_interfaces();  // up, with an IPv4 address; in the kernel's order

struct Reach {
  NetworkInterface interface;
  std::string remote;  // the peer's address
};
// Each interface that shares a network with one of the peer's addresses, and the one by which `peer` was reached from
// `local`; each once, at most kMaxRails. A loopback interface only for a peer that was reached by it.
std::vector<Reach> reaching(const std::vector<NetworkInterface>& mine, const std::vector<std::string>& peers,
                            const std::string& local, const std::string& peer);

bool is_ipv4(const std::string& text);

}  // namespace smelt
