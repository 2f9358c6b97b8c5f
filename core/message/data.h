// A message's data, on their way out of the sender's request and into the receiver's; and what the receive is told of
// its message.
#pragma once

#include <cerrno>
#include <cstring>

#include "message/area.h"
#include "message/request.h"
#include "transport/copy.h"

namespace smelt::message {

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

// Tells the receive of its message.
inline void describe(Request* receive, const Header& header, uint16_t sender) {
  receive->error = header.length > receive->capacity && !receive->holds ? -EMSGSIZE : 0;
  receive->peer = sender;
  receive->tag = tag_of(header);
  receive->length = header.length;
}

}  // namespace smelt::message
