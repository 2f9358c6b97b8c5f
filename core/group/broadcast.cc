// Broadcast: the root's data to everybody, down the tree that the plan has for this root.
//
//   inline  up to 224 bytes in lines that carry their own flags: one hop per level of the tree and nothing else
//   shelf   copied in by the root and out by its children, in pieces, so that both copies run at the same time; who has
//           children puts every piece on its own shelf for them before it serves itself
//   single  long ones go straight from the root's memory to everybody's (single_copy.h)
//
// The root does not wait for anybody to receive; it may be up to kRing calls, or kPieceRing pieces, ahead.
#include <cerrno>

#include "group/engine.h"
#include "group/fold.h"
#include "group/single_copy.h"

namespace smelt {
namespace {

struct BroadcastInline : Machine {
  static constexpr int kRooms = 1;
  char* const room;
  const smelt_data& data;
  size_t bytes;
  uint32_t root;
  const void* from = nullptr;

  BroadcastInline(InlineRoom* rooms, const smelt_data& data, size_t bytes, uint32_t root)
      : room(rooms[0].bytes), data(data), bytes(bytes), root(root) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how) {
    Group& group = how.group;
    const Route& route = group.route(root);
    switch (resume_at(how)) {
      case 0:
        ++group.episode;
        if (group.me == root) {
          from = packed_view(data, 0, bytes, room);
          SMELT_AWAIT(how.put(group.desk().down, from, bytes));
        } else {
          SMELT_AWAIT((from = how.get(route.parent, group.desks[route.parent].down, bytes,
                                      data.base ? data.base : room)) != nullptr);
          if (route.forwards) {
            SMELT_AWAIT(how.put(group.desk().down, from, bytes));
          }
          if (from != data.base) unpack(data, 0, bytes, from);
          // Of two, who hears the other knows that it has finished everything before.
          if (group.n == 2) group.settled = group.episode - 1;
        }
        group.finish();
    }
    return true;
  }
};

struct BroadcastShelf : Machine {
  static constexpr int kRooms = 1;
  const smelt_data& data;
  size_t bytes;
  uint32_t root;
  Pieces pieces;
  uint64_t k = 0, piece = 0;
  size_t offset = 0, length = 0;

  BroadcastShelf(InlineRoom*, const Group& group, const smelt_data& data, size_t bytes, uint32_t root)
      : data(data), bytes(bytes), root(root), pieces(bytes, 1, group.piece_bytes) {}

  template <typename How>
  [[gnu::always_inline]] bool step(How how) {
    Group& group = how.group;
    const Route& route = group.route(root);
    switch (resume_at(how)) {
      case 0:
        for (; k < pieces.count; ++k) {
          piece = group.pieces++;
          offset = k * pieces.elements, length = pieces.in(k, bytes);
          if (group.me == root) {
            SMELT_AWAIT(how.piece_free(piece));
            pack(data, offset, length, group.down_piece(group.me, piece));
            group.fill(&Desk::filled_down, piece);
          } else {
            SMELT_AWAIT(how.filled(route.parent, &Desk::filled_down, piece));
            if (route.forwards) {
              SMELT_AWAIT(how.piece_free(piece));
              std::memcpy(group.down_piece(group.me, piece), group.down_piece(route.parent, piece), length);
              group.fill(&Desk::filled_down, piece);
            }
            unpack(data, offset, length, group.down_piece(route.parent, piece));
          }
          group.consume(piece);
        }
    }
    return true;
  }
};

struct BroadcastLong : Machine {
  static constexpr int kRooms = 1;
  const smelt_data& data;
  size_t bytes;
  uint32_t root;
  BeginLong begin;
  BroadcastShelf shelf;
  BroadcastSingle single;

  BroadcastLong(InlineRoom* rooms, const Group& group, const smelt_data& data, size_t bytes, uint32_t root)
      : data(data), bytes(bytes), root(root), shelf(rooms, group, data, bytes, root), single(data, bytes, root) {}

  template <typename How>
  bool step(How how) {
    switch (resume_at(how)) {
      case 0:
        SMELT_AWAIT(begin.step(how, SMELT_COLLECTIVE_BROADCAST, bytes, single));
        error = begin.error;
        if (begin.done) return true;
        SMELT_AWAIT(shelf.step(how));
    }
    return true;
  }
};

// Apart, so that the short ones pay for no register that only these need.
template <typename Way>
[[gnu::noinline]] int broadcast_long(Way way, const smelt_data& data, size_t bytes, uint32_t root) {
  if (way.group.shelves &&
      !may_copy_once(way.group, SMELT_COLLECTIVE_BROADCAST, bytes))  // nothing to agree on any more
    return way.template run<BroadcastShelf>(way.group, data, bytes, root);
  return way.template run<BroadcastLong>(way.group, data, bytes, root);
}

template <typename Way>
int broadcast(Way way, const smelt_data& data, size_t bytes, uint32_t root) {
  if (bytes > kInlineBytes) return broadcast_long(way, data, bytes, root);
  return way.template run<BroadcastInline>(data, bytes, root);
}

}  // namespace

int group_broadcast(Group& group, const smelt_data& data, size_t bytes, uint32_t root) {
  return broadcast(Running{group}, data, bytes, root);
}
int start_broadcast(Group& group, Pending& place, size_t bytes, uint32_t root) {
  return broadcast(Starting{group, place}, place.in, bytes, root);
}

}  // namespace smelt
