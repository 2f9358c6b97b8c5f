// Broadcast: the root's data to everybody, down the tree that the plan has for this root.
//
//   inline  up to 224 bytes in lines that carry their own flags: one hop per level of the tree and nothing else
//   shelf   copied in by the root and out by its children, in pieces, so that both copies run at the same time; who has
//           children puts every piece on its own shelf for them before it serves itself
//   single  long ones go straight from the root's memory to everybody's (single_copy.h)
//
// The root does not wait for anybody to receive; it may be up to kRing calls, or kPieceRing pieces, ahead.
#include <cerrno>

#include "group/fold.h"
#include "group/group.h"
#include "group/single_copy.h"

namespace smelt {
namespace {

void broadcast_inline(Group& group, const smelt_data& data, size_t bytes, uint32_t root) {
  ++group.episode;
  const Route& route = group.route(root);
  char room[kInlineBytes];
  if (group.me == root) {
    group.put_inline(group.desk().down, packed_view(data, 0, bytes, room), bytes);
  } else {
    void* const place = data.base ? data.base : room;
    const void* from = group.get_inline(route.parent, group.desks[route.parent].down, bytes, place);
    if (route.forwards) group.put_inline(group.desk().down, from, bytes);
    if (from != data.base) unpack(data, 0, bytes, from);
    // Of two, who hears the other knows that it has finished everything before.
    if (group.n == 2) group.settled = group.episode - 1;
  }
  group.finish();
}

void broadcast_shelf(Group& group, const smelt_data& data, size_t bytes, uint32_t root) {
  const Route& route = group.route(root);
  const Pieces pieces(bytes, 1, group.plan.limits.piece);
  for (uint64_t k = 0; k < pieces.count; ++k) {
    const uint64_t piece = group.pieces++;
    const size_t offset = k * pieces.elements, length = pieces.in(k, bytes);
    if (group.me == root) {
      group.open_piece(piece);
      pack(data, offset, length, group.down_piece(group.me, piece));
      group.fill(&Desk::filled_down, piece);
    } else {
      group.wait_filled(route.parent, &Desk::filled_down, piece);
      const char* from = group.down_piece(route.parent, piece);
      if (route.forwards) {
        group.open_piece(piece);
        std::memcpy(group.down_piece(group.me, piece), from, length);
        group.fill(&Desk::filled_down, piece);
      }
      unpack(data, offset, length, from);
    }
    group.consume(piece);
  }
}

}  // namespace

int group_broadcast(Group& group, const smelt_data& data, size_t bytes, uint32_t root) {
  if (bytes <= kInlineBytes) {
    broadcast_inline(group, data, bytes, root);
    return 0;
  }
  if (!group.have_shelves()) return -ENOTSUP;
  int error = 0;
  if (bytes > group.plan.limits.copy_broadcast && group.n <= kDirectCopyParticipants && group.agree_on_single_copy() &&
      broadcast_single_copy(group, data, bytes, root, &error)) {
    return error;
  }
  broadcast_shelf(group, data, bytes, root);
  return 0;
}

}  // namespace smelt
