// The words that endpoints write into each other's memory, and the queues inside one.
#pragma once

#include <cstddef>
#include <cstring>

#include "message/endpoint.h"
#include "transport/copy.h"

namespace smelt::message {

enum class Kind : uint32_t {
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
  Kind kind;
  uint32_t which;    // packet
  uint64_t address;  // kLong: where the data are, or 0: not in one piece; kGo, kPiece: the receive; kKept: where we
                     // have them
  uint64_t answer;   // kFinish, kGo: the send; kinds that begin a message: the same, if it waits for one of them, or 0
};
static_assert(sizeof(Header) == kHeaderBytes);
inline constexpr uint32_t kShortHeaderBytes = offsetof(Header, address);
inline int32_t tag_of(const Header& header) { return static_cast<int32_t>(static_cast<uint32_t>(header.key)); }

// A message that has come, for as long as nobody has received it; then what is to be said to its sender.
struct Message {
  MatchMessage node;
  Header header;
  char bytes[kInCellBytes];
  uint16_t sender;
  Request* receive;  // the receive that gets it
  Message* behind;   // in a list
};
struct Parcel {
  Parcel* next;
};
struct Chunk {
  Chunk* next;
};

struct Endpoint::Queue {
  alignas(64) std::atomic<uintptr_t> lock;
  std::atomic<uint32_t> sends_wait;  // a send that begins now goes behind them
  std::atomic<uint32_t> anything;    // waits here
  Inbox inbox;                       // the member's
  Request *first, *last;             // sends that are not announced yet
  Message *first_reply, *last_reply;
  Request *first_granted, *last_granted;  // sends that go in pieces
};

// Lists with both ends, through `behind`.
template <typename T>
inline void push_back(T** first, T** last, T* one) {
  one->behind = nullptr;
  (*first ? (*last)->behind : *first) = one;
  *last = one;
}
template <typename T>
inline bool remove_from(T** first, T** last, T* one) {
  T *before = nullptr, *at = *first;
  for (; at && at != one; at = at->behind) before = at;
  if (!at) return false;
  (before ? before->behind : *first) = at->behind;
  if (*last == at) *last = before;
  return true;
}

// A thread that waits for requests.
struct Waiter {
  enum : uint32_t { kAwake, kAsleep, kCalled, kDone };
  std::atomic<uint32_t> word{kAwake};
  std::atomic<int64_t> left{0};  // how many must still complete
  bool is_called = false;        // to poll, and out of the list
  Waiter *before = nullptr, *after = nullptr;
};
void signal(Waiter* waiter);

// A count of several threads.
template <typename T>
inline void Endpoint::add(std::atomic<T>& counter, std::type_identity_t<T> by) const {
  // relaxed, all: nothing else is read on the strength of it
  if (alone_)
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  else
    counter.fetch_add(by, std::memory_order_relaxed);
}

// Within the call of its owner, whom nobody knows to wait for it.
inline void Endpoint::end(Request* request) {
  // release: for the thread to which it may be handed over
  request->state.store(Request::kComplete, std::memory_order_release);
}

// Nobody else has it any more but its waiter. `by_owner`: the owner itself ends it, and need not be told.
inline void Endpoint::finish(Request* request, bool by_owner) {
  void (*const completed)(Request*) = by_owner ? nullptr : request->completed;
  if (alone_) {  // so nobody waits by name
    end(request);
    if (completed) completed(request);
    return;
  }
  // acq_rel: the buffer and the request's words; the waiter
  const uintptr_t waiter = request->state.exchange(Request::kComplete, std::memory_order_acq_rel);
  if (completed) completed(request);
  if (waiter != Request::kPending) [[unlikely]]
    signal(reinterpret_cast<Waiter*>(waiter));
}

// A word of any data, anywhere. (Of a memcpy behind a header GCC 12 says that it writes past the header.)
struct [[gnu::packed, gnu::may_alias]] AnyWord {
  uint64_t word;
};

// Where they are few the call would take longer than the copy.
inline void copy(void* to, const void* from, uint64_t bytes) {
  uint64_t first, last;
  if (bytes < sizeof first || bytes > 2 * sizeof first) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&last, static_cast<const char*>(from) + bytes - sizeof last, sizeof last);
  static_cast<AnyWord*>(to)->word = first;
  reinterpret_cast<AnyWord*>(static_cast<char*>(to) + bytes - sizeof last)->word = last;
}

// ... and of those that may be many.
inline void copy_long(void* to, const void* from, uint64_t bytes) {
  if (bytes <= 2 * sizeof(uint64_t))
    copy(to, from, bytes);
  else
    copy_piece(to, from, bytes);
}

// Bytes of a message, out of the sender's data.
inline void fetch(Request* send, uint64_t at, void* to, uint64_t bytes) {
  if (bytes == 0) return;
  if (send->data)
    copy_long(to, static_cast<const char*>(send->data) + at, bytes);
  else
    send->pack(send, at, to, bytes);
}

// ... and into the receiver's.
inline void place(Request* receive, uint64_t at, const void* from, uint64_t bytes) {
  if (bytes == 0) return;
  if (receive->unpack)
    receive->unpack(receive, at, from, bytes);
  else
    copy_long(static_cast<char*>(receive->buffer) + at, from, bytes);
}

// One member's part of the shared memory:
//   member | inbox's front | stacks of packets and pieces | inbox's claims | links of both | cells | bodies | packets |
//   pieces
struct Endpoint::Area {
  MemberLine* member;
  Inbox inbox;
  PacketReturns returns, piece_returns;
  char *packets, *pieces;

  static uint64_t stacks_at() { return sizeof(MemberLine) + sizeof(InboxFront); }
  static uint64_t claims_at() { return stacks_at() + 2 * sizeof(PacketStack); }
  static uint64_t links_at(const Shape& shape) {
    return claims_at() + (shape.cells * sizeof(uint64_t) + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
  static uint64_t cells_at(const Shape& shape) {
    return (links_at(shape) + (uint64_t{shape.packets} + shape.pieces) * sizeof(uint32_t) + kCellBytes - 1) /
           kCellBytes * kCellBytes;
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
    auto* stacks = reinterpret_cast<PacketStack*>(at + stacks_at());
    auto* links = reinterpret_cast<uint32_t*>(at + links_at(shape));
    returns = {stacks, links};
    piece_returns = {stacks + 1, links + shape.packets};
    inbox.claims = reinterpret_cast<std::atomic<uint64_t>*>(at + claims_at());
    inbox.cells = reinterpret_cast<InboxCell*>(at + cells_at(shape));
    inbox.bodies = at + bodies_at(shape);
    inbox.size = shape.cells;
    packets = at + packets_at(shape);
    pieces = at + pieces_at(shape);
  }
};

}  // namespace smelt::message
