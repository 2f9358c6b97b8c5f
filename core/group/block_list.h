// Lists of blocks, ascending by the participant for whom or from whom each is, and going through them: a stream of
// bytes is cut by the sender's list and by the receiver's (exchange.cc).
#pragma once

#include <smelt/group.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "transport/copy.h"

namespace smelt {

// How far a list has been gone through. Its end is followed by its beginning.
struct BlockCursor {
  size_t index = 0;
  size_t offset = 0;  // in that block
};

struct BlockList {
  const smelt_block* blocks;  // ascending by peer
  size_t count;

  size_t first_from(uint32_t peer) const {
    size_t i = 0;
    while (i < count && blocks[i].peer < peer) ++i;
    return i;
  }
  size_t bytes_of(uint32_t peer, size_t first) const {
    size_t bytes = 0;
    for (size_t i = first; i < count && blocks[i].peer == peer; ++i) bytes += blocks[i].bytes;
    return bytes;
  }
  // The next `bytes` of it, in parts that lie in one piece.
  template <typename Move>
  void go(BlockCursor* cursor, size_t bytes, Move move) const {
    while (bytes > 0) {
      const smelt_block& block = blocks[cursor->index];
      const size_t length = std::min(bytes, block.bytes - cursor->offset);
      if (length > 0) move(static_cast<char*>(block.base) + cursor->offset, length);
      bytes -= length, cursor->offset += length;
      if (cursor->offset == block.bytes) *cursor = {cursor->index + 1 == count ? 0 : cursor->index + 1, 0};
    }
  }
  void take(BlockCursor* cursor, size_t bytes, char* to) const {
    go(cursor, bytes, [&](const char* from, size_t length) { copy_piece(to, from, length), to += length; });
  }
  void fill(BlockCursor* cursor, size_t bytes, const char* from) const {
    go(cursor, bytes, [&](char* to, size_t length) { copy_piece(to, from, length), from += length; });
  }
};

}  // namespace smelt
