// Reduction along the tree that the plan has for this root: everybody combines its own operands with its children's and
// hands the outcome on, so the arithmetic and the reading are shared out and the messages that cross the machine are
// few.
//
// The operands meet in the tree's order, not in the promised one: only for operations that allow it (Group::tree_for).
// Each participant takes its children in one order, that in which the model expects them, so that even what rounds
// comes out alike in every run.
#include "group/fold.h"
#include "group/group.h"
#include "group/reduction.h"

namespace smelt {

bool reduce_tree_inline(Group& group, const smelt_data& in, void* result, size_t elements, const smelt_fold& fold,
                        const ReduceRoute& route) {
  InlineRoom packed, room, total;
  const size_t bytes = elements * fold.element_bytes;
  const bool root = route.parent == kNobody;
  const void* partial = packed_view(in, 0, bytes, packed.bytes);
  void* const to = root ? result : total.bytes;
  Combiner combiner(fold, elements, nullptr, nullptr);
  for (uint32_t k = 0; k < route.count; ++k) {
    const uint16_t child = route.children[k];
    combiner.combine(group.get_inline(child, group.desks[child].up, bytes, room.bytes), partial, to, to);
    partial = to;
  }
  if (!root) group.put_inline(group.desk().up, partial, bytes);
  return root;
}

// Piece by piece: one is on its way up while the next is combined below.
void reduce_tree(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold,
                 const ReduceRoute& route) {
  const bool root = route.parent == kNobody;
  const size_t width = fold.element_bytes;
  const Pieces pieces(elements, width, group.plan.limits.piece);
  for (uint64_t k = 0; k < pieces.count; ++k) {
    const uint64_t piece = group.pieces++;
    const size_t count = pieces.in(k, elements), offset = k * pieces.elements * width, bytes = count * width;
    char* to = group.up_piece(group.me, piece);
    if (root) to = out.base ? static_cast<char*>(out.base) + offset : group.scratch + kPieceBytes;
    if (!root) group.open_piece(piece);
    const void* partial = to;
    if (route.count == 0)
      pack(in, offset, bytes, to);
    else
      partial = packed_view(in, offset, bytes, group.scratch);
    Combiner combiner(fold, count, nullptr, nullptr);
    for (uint32_t c = 0; c < route.count; ++c) {
      const uint16_t child = route.children[c];
      group.wait_filled(child, &Desk::filled_up, piece);
      combiner.combine(group.up_piece(child, piece), partial, to, to);
      partial = to;
    }
    if (!root)
      group.fill(&Desk::filled_up, piece);
    else if (!out.base)
      out.unpack(out.context, offset, bytes, to);
    group.consume(piece);
  }
}

}  // namespace smelt
