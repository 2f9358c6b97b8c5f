// What endpoints write into each other's memory.
#pragma once

#include "message/endpoint.h"

namespace smelt::message {

enum class Kind : uint32_t { kInline, kEager, kRendezvous, kKept };  // the last: moved by the receiver

// What a cell begins with.
struct Header {
  uint64_t key;
  uint64_t length;
  Kind kind;
  uint32_t which;    // packet, or word
  uint64_t address;  // rendezvous: where the sender has it; kept: where we have it
  uint64_t answer;   // rendezvous without a word: where the sender waits for the answer; the others: the word in which
                     // it does, + 1, or 0
};
static_assert(sizeof(Header) == kHeaderBytes);
inline int32_t tag_of(const Header& header) { return static_cast<int32_t>(static_cast<uint32_t>(header.key)); }

// A message that has come, for as long as nobody has received it.
struct Message {
  MatchNode node;
  Header header;
  char bytes[kInlineBytes];
  uint16_t sender;
  Message* free;  // the next one that is free
};
struct Chunk {
  Chunk* next;
};

// What a receiver writes into the sender's word when it has read its memory; 0 before.
enum Answer : uint32_t { kRead = 1, kNotRead = 2 };

// One member's part of the shared memory:
//   member | inbox's tail | stack of packets | words | links of packets | cells | packets
struct Endpoint::Area {
  Member* member;
  Inbox inbox;
  PacketReturns returns;
  std::atomic<uint32_t>* words;  // [kWords]
  char* packets;

  static uint64_t words_at() { return sizeof(Member) + sizeof(InboxFront) + sizeof(PacketStack); }
  static uint64_t links_at() { return words_at() + kWords * sizeof(uint32_t); }
  static uint64_t cells_at(const Shape& shape) {
    return (links_at() + shape.packets * sizeof(uint32_t) + kCellBytes - 1) / kCellBytes * kCellBytes;
  }
  static uint64_t packets_at(const Shape& shape) { return cells_at(shape) + uint64_t{shape.cells} * kCellBytes; }

  Area(char* at, const Shape& shape) {
    member = reinterpret_cast<Member*>(at);
    inbox.front = reinterpret_cast<InboxFront*>(at + sizeof(Member));
    returns.stack = reinterpret_cast<PacketStack*>(at + sizeof(Member) + sizeof(InboxFront));
    words = reinterpret_cast<std::atomic<uint32_t>*>(at + words_at());
    returns.next = reinterpret_cast<uint32_t*>(at + links_at());
    inbox.cells = reinterpret_cast<InboxCell*>(at + cells_at(shape));
    inbox.size = shape.cells;
    packets = at + packets_at(shape);
  }
};

}  // namespace smelt::message
