// The memory that all members share: what lies where in each member's part, and the words that members write into each
// other's inbox.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "message/inbox.h"
#include "message/packet_pool.h"
#include "message/piece_pool.h"

namespace smelt::message {

inline constexpr uint32_t kHeaderBytes = 40;
// Four lines of a cell with the words before them; longer ones are in its body.
inline constexpr uint32_t kInCellBytes = 208, kInlineBytes = kBodyBytes;

struct Shape {
  uint16_t members;
  uint32_t cells = 256;  // of an inbox; a power of two
  uint32_t packets = 64;
  uint32_t packet_bytes = 16384;  // a multiple of 64, at most 128 KiB
  uint32_t pieces = 8;            // of messages that travel in pieces; at most PiecePool::kMost
  uint32_t piece_bytes = 32768;   // a multiple of 64

  uint64_t area_bytes() const;  // of one member, whole pages
  uint64_t bytes() const { return members * area_bytes(); }
};

// Each member has one in the shared memory, written by it.
struct alignas(kLineBytes) MemberLine {
  int32_t process;
  uint64_t started;
  std::atomic<uint32_t> cpu;  // + 1: where it last waited in vain; 0: nowhere yet
};

enum class HeaderKind : uint32_t {
  kShort,  // inline, without an answer: the data begin where `address` would be
  kInline,
  kEager,
  kLong,    // announced: the data are with the sender
  kFinish,  // to the sender: it has been received
  kGo,      // to the sender: the data, in pieces, please
  kPiece,
  kKept,  // one that the receiver has moved out of a packet or a body; in no cell
};

// The beginning of a cell.
struct Header {
  uint64_t key;
  uint64_t length;
  HeaderKind kind;
  uint32_t which;    // packet; kGo: whether each piece is to say what it took
  uint64_t address;  // kLong: where the data are, or 0: not in one piece; kGo, kPiece: the receive; kKept: where we
                     // have them
  uint64_t answer;   // kFinish, kGo: the send; kinds that begin a message: the same, if it waits for one of them, or 0;
                     // kPiece: what it took the sender, ticks, if that was asked for
};
static_assert(sizeof(Header) == kHeaderBytes);
inline constexpr uint32_t kShortHeaderBytes = offsetof(Header, address);
inline int32_t tag_of(const Header& header) { return static_cast<int32_t>(static_cast<uint32_t>(header.key)); }

// One member's part of the shared memory:
//   member | inbox's front | returned packets and pieces | inbox's claims | packets' links | cells | bodies | packets |
//   pieces
struct Area {
  MemberLine* member;
  Inbox inbox;
  PacketReturns returns;
  PieceReturns* piece_returns;
  char *packets, *pieces;

  static uint64_t returns_at() { return sizeof(MemberLine) + sizeof(InboxFront); }
  static uint64_t claims_at() { return returns_at() + sizeof(PacketStack) + sizeof(PieceReturns); }
  static uint64_t links_at(const Shape& shape) {
    return claims_at() + (shape.cells * sizeof(uint64_t) + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
  static uint64_t cells_at(const Shape& shape) {
    return (links_at(shape) + uint64_t{shape.packets} * sizeof(uint32_t) + kCellBytes - 1) / kCellBytes * kCellBytes;
  }
  static uint64_t bodies_at(const Shape& shape) { return cells_at(shape) + uint64_t{shape.cells} * kCellBytes; }
  static uint64_t packets_at(const Shape& shape) { return bodies_at(shape) + uint64_t{shape.cells} * kBodySpacing; }
  static uint64_t pieces_at(const Shape& shape) {
    return packets_at(shape) + uint64_t{shape.packets} * shape.packet_bytes;
  }
  static uint64_t end(const Shape& shape) { return pieces_at(shape) + uint64_t{shape.pieces} * shape.piece_bytes; }

  Area(char* at, const Shape& shape) {
    member = reinterpret_cast<MemberLine*>(at);
    inbox.front = reinterpret_cast<InboxFront*>(at + sizeof(MemberLine));
    auto* stack = reinterpret_cast<PacketStack*>(at + returns_at());
    returns = {stack, reinterpret_cast<uint32_t*>(at + links_at(shape))};
    piece_returns = reinterpret_cast<PieceReturns*>(stack + 1);
    inbox.claims = reinterpret_cast<std::atomic<uint64_t>*>(at + claims_at());
    inbox.cells = reinterpret_cast<InboxCell*>(at + cells_at(shape));
    inbox.bodies = at + bodies_at(shape);
    inbox.size = shape.cells;
    packets = at + packets_at(shape);
    pieces = at + pieces_at(shape);
  }
};

inline uint64_t Shape::area_bytes() const {
  constexpr uint64_t kPageBytes = 4096;
  return (Area::end(*this) + kPageBytes - 1) & ~(kPageBytes - 1);
}

// All members' parts, as one of them sees them. It never changes after the endpoint is opened, so each part of the
// endpoint has a copy, and none reaches for it through another.
struct Areas {
  char* memory = nullptr;
  Shape shape{};
  uint64_t bytes = 0;  // of each
  uint16_t me = 0;

  Areas() = default;
  Areas(void* all, const Shape& as, uint16_t number)
      : memory(static_cast<char*>(all)), shape(as), bytes(as.area_bytes()), me(number) {}

  Area of(uint16_t member) const { return Area(memory + member * bytes, shape); }
  // An area begins with it.
  MemberLine& line_of(uint16_t member) const { return *reinterpret_cast<MemberLine*>(memory + member * bytes); }
  char* packet(uint16_t member, uint32_t number) const {
    return of(member).packets + uint64_t{number} * shape.packet_bytes;
  }
  char* piece(uint16_t member, uint32_t number) const {
    return of(member).pieces + uint64_t{number} * shape.piece_bytes;
  }
};

}  // namespace smelt::message
