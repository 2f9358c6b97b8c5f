#include "rails/network/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/os/descriptor.h"
#include "rails/rail/rail.h"

namespace smelt {
namespace {

bool parse(const std::string& text, uint32_t* address) {
  in_addr in{};
  if (::inet_pton(AF_INET, text.c_str(), &in) != 1) return false;
  *address = ntohl(in.s_addr);
  return true;
}

uint32_t number(const sockaddr* address) {
  sockaddr_in in{};
  std::memcpy(&in, address, sizeof in);
  return ntohl(in.sin_addr.s_addr);
}

bool is_loopback(uint32_t address) { return address >> 24 == 127; }

void ask_kernel(NetworkInterface* interface) {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, interface->name.c_str(), IFNAMSIZ - 1);
  if (::ioctl(socket.get(), SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 0)
    interface->mtu = static_cast<uint32_t>(request.ifr_mtu);
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  request.ifr_data = reinterpret_cast<char*>(&driver);
  if (::ioctl(socket.get(), SIOCETHTOOL, &request) == 0)
    interface->driver.assign(driver.driver, ::strnlen(driver.driver, sizeof driver.driver));
  ethtool_cmd settings{};
  settings.cmd = ETHTOOL_GSET;
  request.ifr_data = reinterpret_cast<char*>(&settings);
  constexpr uint32_t kUnknown = 0xffff;  // some drivers say it in the lower half only
  if (::ioctl(socket.get(), SIOCETHTOOL, &request) == 0) {
    const uint32_t speed = ethtool_cmd_speed(&settings);
    if (speed != UINT32_MAX && speed != kUnknown) interface->speed = speed;
  }
}

}  // namespace

bool is_ipv4(const std::string& text) {
  uint32_t address;
  return parse(text, &address);
}

std::vector<NetworkInterface> network_interfaces() {
  std::vector<NetworkInterface> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || !one->ifa_netmask || !(one->ifa_flags & IFF_UP))
      continue;
    NetworkInterface interface;
    interface.name = one->ifa_name;
    char text[INET_ADDRSTRLEN];
    const in_addr in{htonl(number(one->ifa_addr))};
    interface.address = ::inet_ntop(AF_INET, &in, text, sizeof text);
    interface.mask = number(one->ifa_netmask);
    interface.network = number(one->ifa_addr) & interface.mask;
    ask_kernel(&interface);
    found.push_back(interface);
  }
  ::freeifaddrs(all);
  return found;
}

std::vector<Reach> reaching(const std::vector<NetworkInterface>& mine, const std::vector<std::string>& peers,
                            const std::string& local, const std::string& peer) {
  std::vector<Reach> rails;
  const auto known = [&](const std::string& name) {
    return std::any_of(rails.begin(), rails.end(), [&](const Reach& rail) { return rail.interface.name == name; });
  };
  for (const NetworkInterface& interface : mine)
    if (interface.address == local) {
      rails.push_back({interface, peer});
      break;
    }
  for (const NetworkInterface& interface : mine)
    for (const std::string& remote : peers) {
      uint32_t address;
      if (rails.size() == kMaxRails || known(interface.name) || !parse(remote, &address)) continue;
      if (is_loopback(address) || is_loopback(interface.network) || remote == interface.address) continue;
      if ((address & interface.mask) == interface.network) rails.push_back({interface, remote});
    }
  return rails;
}

}  // namespace smelt
