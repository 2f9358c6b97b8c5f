#include "rails/rail/packed.h"

#include <cstddef>
#include <cstring>

#include "base/fingerprint.h"

namespace smelt {
namespace {

constexpr char kMagic[8] = {'S', 'M', 'E', 'L', 'T', 'N', 'E', 'T'};
constexpr uint32_t kByteOrder = 0x01020304;  // reads otherwise on a machine of the other order
constexpr double kLongestUs = 1e9;           // 1,000 s: nothing that was measured takes longer

uint64_t checksum_of(const PackedNetwork& network) {
  constexpr size_t at = offsetof(PackedNetwork, checksum), after = at + sizeof network.checksum;
  const auto* bytes = reinterpret_cast<const char*>(&network);
  const uint64_t none = 0;
  return fnv1a(bytes + after, sizeof network - after, fnv1a(&none, sizeof none, fnv1a(bytes, at)));
}

bool is_text(const char* text, size_t bytes) {
  const size_t length = ::strnlen(text, bytes);
  if (length == 0 || length == bytes) return false;
  for (size_t i = 0; i < length; ++i)
    if (text[i] < ' ' || text[i] > '~') return false;
  return true;
}

bool is_curve(const RailCurve& curve) {
  if (curve.count == 0 || curve.count > kRailSizes) return false;
  for (uint32_t i = 0; i < curve.count; ++i) {
    if (curve.bytes[i] <= (i > 0 ? curve.bytes[i - 1] : 0) || curve.bytes[i] > kLongestRailSample) return false;
    if (!(curve.us[i] > 0 && curve.us[i] <= kLongestUs && curve.spread[i] >= 0 && curve.spread[i] <= kLongestUs))
      return false;
    if (i > 0 && curve.us[i] < curve.us[i - 1]) return false;
  }
  return true;
}

}  // namespace

void seal_network(PackedNetwork* network) {
  std::memcpy(network->magic, kMagic, sizeof kMagic);
  network->byte_order = kByteOrder;
  network->version = kPackedNetworkVersion;
  network->bytes = sizeof *network;
  network->reserved = 0;
  network->checksum = checksum_of(*network);
}

const char* network_fault(const void* file, uint64_t bytes) {
  constexpr size_t kBegin = offsetof(PackedNetwork, checksum);
  const auto* network = static_cast<const PackedNetwork*>(file);
  if (bytes < kBegin || std::memcmp(network->magic, kMagic, sizeof kMagic) != 0) return "not a network profile";
  if (network->byte_order != kByteOrder) return "of a machine of another byte order";
  if (network->version != kPackedNetworkVersion) return "of another version; sample again";
  if (bytes != sizeof *network || network->bytes != bytes) return "not whole; sample again";
  if (network->checksum != checksum_of(*network)) return "damaged; sample again";
  if (network->rails == 0 || network->rails > kMaxRails || !is_curve(network->copy)) return "hostile";
  for (uint32_t r = 0; r < network->rails; ++r) {
    const PackedRail& rail = network->rail[r];
    if (!is_text(rail.interface, sizeof rail.interface) || !is_text(rail.local, sizeof rail.local) ||
        !is_text(rail.remote, sizeof rail.remote) || !is_text(rail.provider, sizeof rail.provider))
      return "hostile";
    for (const RailCurve& curve : rail.rail.method)
      if (!is_curve(curve)) return "hostile";
  }
  return nullptr;
}

}  // namespace smelt
