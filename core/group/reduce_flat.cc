// Reduction in one place: everybody copies its operands to its shelf in pieces, and the root combines the pieces of
// all; or everybody does, each for itself, which takes no more communication than a barrier.
//
// No answer goes back, so this is the quickest for messages of a few pieces, and among two participants also for longer
// ones: one puts while the other combines.
#include "group/fold.h"
#include "group/group.h"
#include "group/reduction.h"

namespace smelt {

void reduce_flat(Group& group, const smelt_data& in, const smelt_data& out, size_t elements, const smelt_fold& fold,
                 uint32_t root) {
  const bool puts = root != group.me, gets = root == kEverybody || root == group.me;
  const size_t width = fold.element_bytes;
  const Pieces pieces(elements, width, group.plan.limits.piece);
  // In this process's own memory: our operands, two partial results, the result; each only where it has no other place.
  char* const scratch = group.scratch;
  for (uint64_t k = 0; k < pieces.count; ++k) {
    const uint64_t piece = group.pieces++;
    const size_t count = pieces.in(k, elements), offset = k * pieces.elements * width, bytes = count * width;
    const void* own = scratch;
    if (puts) {
      group.open_piece(piece);
      pack(in, offset, bytes, group.up_piece(group.me, piece));
      group.fill(&Desk::filled_up, piece);
      own = group.up_piece(group.me, piece);
    } else {
      own = packed_view(in, offset, bytes, scratch);
    }
    if (gets) {
      void* const result = out.base ? static_cast<char*>(out.base) + offset : scratch + 3 * kPieceBytes;
      Combiner combiner(fold, count, scratch + kPieceBytes, scratch + 2 * kPieceBytes);
      combiner.all(
          group.n,
          [&](uint32_t i) -> const void* {
            if (i == group.me) return own;
            group.wait_filled(i, &Desk::filled_up, piece);
            return group.up_piece(i, piece);
          },
          result);
      if (!out.base) out.unpack(out.context, offset, bytes, result);
    }
    group.consume(piece);
  }
}

}  // namespace smelt
