// The wire: packets as they were sampled (kRailPacket), a header and fragments of messages.
//
//   +--------+----------+---------+----------+---------+--
//   | header | fragment | payload | fragment | payload | ..      each fragment begins at a multiple of 8
//   +--------+----------+---------+----------+---------+--
//
// A packet with fragments has a number on its rail, and stays with its sender until the receiver has said that it is
// there. Every packet says so for the other direction. Fragments name the bytes of the message that they are, so it
// does not matter which way they come, in which order, or how often.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rails/rail/rail.h"

namespace smelt::rail_ofi {

inline constexpr uint32_t kProtocol = 1;              // of the packets below: peers of another are refused
inline constexpr uint32_t kPacketMagic = 0x534d4c52;  // "SMLR"; another byte order is another magic
inline constexpr uint32_t kPacketBytes = kRailPacket;

enum class PacketKind : uint16_t {
  kHello,    // may this rail be used, from now on with this epoch?
  kWelcome,  // it may: the epoch is the other's
  kData,     // with fragments
  kNews,     // the header alone
  kPing,     // is anybody there? `number` comes back
  kPong,
  kBye,  // the sender closes its rails
  kByeSeen,
};

struct PacketHeader {
  uint32_t magic;
  uint16_t kind, fragments;
  uint64_t from, to;  // instances
  uint32_t bytes;     // of the packet
  uint32_t epoch;     // of the sender's direction of this rail; a welcome: the one that it answers
  uint64_t number;    // of a packet with fragments in its epoch: 0, 1, ..
  // About the other direction of this rail:
  uint64_t arrived;        // packets with fragments that arrived in heard_epoch
  uint32_t heard_epoch;    // 0: none
  uint32_t unread;         // of them those that nobody has asked for yet
  uint64_t messages_read;  // on all rails: as many, and all before them, were received in whole
};
static_assert(sizeof(PacketHeader) == 64);

struct Fragment {
  uint64_t message;  // its number: 0, 1, .. in one direction
  uint64_t length;   // of the whole message
  uint64_t offset;   // of these bytes in it
  uint32_t bytes;
  uint32_t reserved;
};
static_assert(sizeof(Fragment) == 32);

inline constexpr uint32_t kPayload =
    kPacketBytes - sizeof(PacketHeader) - sizeof(Fragment);  // of a packet with one fragment
constexpr uint32_t room_of(uint64_t bytes) { return sizeof(Fragment) + ((static_cast<uint32_t>(bytes) + 7) & ~7u); }

// The address of a process, as it tells its peers.
inline constexpr uint32_t kNameBytes = 64;
struct AddressRail {
  uint32_t network, mask;  // IPv4, as numbers
  uint32_t name_bytes;
  uint32_t host;  // IPv4, as a number
  char name[kNameBytes];
};
struct RailsAddress {
  uint32_t magic, protocol;
  uint64_t instance;
  uint32_t rails, reserved;
  AddressRail rail[8];
};

}  // namespace smelt::rail_ofi
